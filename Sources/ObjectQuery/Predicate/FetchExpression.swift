// FetchExpression: one side of a comparison.

/// An expression of a predicate, a sort or a projection: a key path, a constant, a function of others.
///
/// ```swift
/// let length = try FetchExpression(format: "length(title) + 1")
/// let request = FetchRequest<Book>(entityName: "Book").sorted(by: length, ascending: false)
/// ```
///
/// A mistake of grammar throws ``PredicateFormatError``; a function that nobody knows, or a wrong type, throws ``FetchPredicateError`` when the expression is used.
public indirect enum FetchExpression: Sendable, Hashable {
  /// A constant.
  case constant(FetchConstant)
  /// The object itself.
  case evaluatedObject
  /// A path of property names and collection operators (`@count`, `@sum` ...) from the object.
  case keyPath([String])
  /// A variable, to be substituted, or bound by a subquery.
  case variable(String)
  /// A path from another expression, such as a subquery's variable or a subquery.
  case path(FetchExpression, [String])
  /// A list of expressions.
  case aggregate([FetchExpression])
  /// A function of arguments, by its name in format language (`add:to:`, `abs:`, `uppercase:` ...).
  case function(String, [FetchExpression])
  /// The members of a collection that meet a predicate on a variable.
  case subquery(collection: FetchExpression, variable: String, predicate: FetchPredicate)
  /// One of two expressions, as a predicate decides.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// An element of an ordered collection.
  case element(FetchExpression, CollectionIndex)

  /// Which element of an ordered collection.
  public enum CollectionIndex: Sendable, Hashable {
    /// The first.
    case first
    /// The last.
    case last
    /// The number of elements.
    case size
    /// The element at a position, from 0. There is none at a negative one.
    case at(Int)
  }

  /// The function that CAST of something other than a literal is: of a value and the name of a type.
  static let castFunction = "castObject:toType:"

  /// A key path from its dotted form. Complexity: linear in the text's length.
  public static func keyPath(_ dotted: String) -> FetchExpression {
    .keyPath(dotted.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
}
