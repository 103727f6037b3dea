// FetchProperty: one column of a dictionary result, and one key of a grouping.
public import ObjectModel

/// A property of dictionary results: a key path, or an expression with a name.
///
/// ```swift
/// var request = FetchRequest<[String: Any]>(entityName: "Book")
/// request.propertiesToFetch = ["author.name", .expression(ExpressionDescription(name: "books", expression: try FetchExpression(format: "count(title)")))]
/// request.propertiesToGroupBy = ["author.name"]
/// let counts = try context.fetch(request)
/// ```
///
/// A string literal is a key path. A name that the entity does not have makes the fetch throw ``FetchPredicateError``. Objects are not
/// made: the store computes the values.
public enum FetchProperty: Sendable, Hashable, ExpressibleByStringLiteral {
  /// A dotted path of to-one relationships that ends in an attribute or a to-one relationship; or in a collection operator, as in `books.@count`.
  case keyPath(String)
  /// A computed value: of each object, or of a group of objects (`count(name)`).
  case expression(ExpressionDescription)

  /// A key path.
  public init(stringLiteral value: String) { self = .keyPath(value) }

  /// The key in the dictionaries: the path, or the expression's name.
  public var name: String {
    switch self {
    case .keyPath(let path): path
    case .expression(let description): description.name
    }
  }

  /// What is computed.
  public var expression: FetchExpression {
    switch self {
    case .keyPath(let path): .keyPath(path)
    case .expression(let description): description.expression
    }
  }

  /// A computed value with a name.
  ///
  /// - Parameters:
  ///   - expression: What is computed.
  ///   - name: The key in the dictionaries.
  ///   - resultType: The type of the values; nil for the expression's own.
  public static func expression(
    _ expression: FetchExpression, as name: String, resultType: AttributeType? = nil
  ) -> FetchProperty {
    .expression(ExpressionDescription(name: name, expression: expression, resultType: resultType))
  }
}

/// A computed value of dictionary results.
public struct ExpressionDescription: Sendable, Hashable {
  /// The key in the dictionaries; HAVING and the order may refer to it.
  public var name: String
  /// What is computed: of each object (`price * quantity`), or of a group of objects (`sum(price * quantity)`).
  public var expression: FetchExpression
  /// The type of the values; nil for the one that follows from the expression. It has to hold every value of that type.
  public var resultType: AttributeType?

  /// Makes a description.
  ///
  /// - Parameters:
  ///   - name: The key of the result.
  ///   - expression: What is computed.
  ///   - resultType: The type of the result; nil for the expression's own.
  public init(name: String, expression: FetchExpression, resultType: AttributeType? = nil) {
    self.name = name
    self.expression = expression
    self.resultType = resultType
  }
}
