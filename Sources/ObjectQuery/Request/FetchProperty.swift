public import ObjectModel

/// A property of dictionary results: a key path, or a named expression.
///
/// ```swift
/// var request = FetchRequest<[String: Any]>(entityName: "Book")
/// request.propertiesToFetch = ["author.name", .expression(ExpressionDescription(name: "books", expression: try FetchExpression(format:
/// "count(title)")))]
/// request.propertiesToGroupBy = ["author.name"]
/// let counts = try context.fetch(request)
/// ```
///
/// A string literal is a key path. If the entity does not have a property of that name, the fetch throws ``FetchPredicateError``. The store
/// computes the values, without creating objects.
public enum FetchProperty: Sendable, Hashable, ExpressibleByStringLiteral {
  /// A dotted path of to-one relationships that ends in an attribute, a to-one relationship, or a collection operator such as
  /// `books.@count`.
  case keyPath(String)
  /// An expression over each object, or over a group of objects (`count(name)`).
  case expression(ExpressionDescription)

  /// Creates a key path.
  public init(stringLiteral value: String) { self = .keyPath(value) }

  /// The key in the dictionaries: the key path, or the expression's name.
  public var name: String {
    switch self {
    case .keyPath(let path): path
    case .expression(let description): description.name
    }
  }

  /// The expression that computes the value.
  public var expression: FetchExpression {
    switch self {
    case .keyPath(let path): .keyPath(path)
    case .expression(let description): description.expression
    }
  }

  /// Returns a property for a named expression.
  ///
  /// - Parameters:
  ///   - expression: The expression to evaluate.
  ///   - name: The key in the dictionaries.
  ///   - resultType: The type of the values; nil for the type of the expression.
  public static func expression(
    _ expression: FetchExpression, as name: String, resultType: AttributeType? = nil
  ) -> FetchProperty {
    .expression(ExpressionDescription(name: name, expression: expression, resultType: resultType))
  }
}

/// A named expression in dictionary results.
public struct ExpressionDescription: Sendable, Hashable {
  /// The key in the dictionaries. The `HAVING` predicate and sort descriptors can refer to it.
  public var name: String
  /// The expression over each object (`price * quantity`), or over a group of objects (`sum(price * quantity)`).
  public var expression: FetchExpression
  /// The type of the values; nil for the type of the expression. It must be able to represent every value of the expression's type.
  public var resultType: AttributeType?

  /// Creates a description.
  ///
  /// - Parameters:
  ///   - name: The key in the dictionaries.
  ///   - expression: The expression to evaluate.
  ///   - resultType: The type of the result; nil for the type of the expression.
  public init(name: String, expression: FetchExpression, resultType: AttributeType? = nil) {
    self.name = name
    self.expression = expression
    self.resultType = resultType
  }
}
