/// An expression in a predicate, a sort key or a dictionary result: a key path, a constant, or a function of other expressions.
///
/// ```swift
/// let length = try FetchExpression(format: "length(title) + 1")
/// let request = FetchRequest<Book>(entityName: "Book").sorted(by: length, ascending: false)
/// ```
///
/// A syntax error throws ``PredicateFormatError``. An unknown function or a wrong type throws ``FetchPredicateError`` when the expression
/// is used.
public indirect enum FetchExpression: Sendable, Hashable {
  /// A constant.
  case constant(FetchConstant)
  /// The evaluated object (`SELF`).
  case evaluatedObject
  /// A path of property names and collection operators (`@count`, `@sum`, …) from the object.
  case keyPath([String])
  /// A variable to be substituted, or bound by a subquery.
  case variable(String)
  /// A path from another expression, such as a subquery or its variable.
  case path(FetchExpression, [String])
  /// A list of expressions.
  case aggregate([FetchExpression])
  /// A function call, with the function's name in the format language (`add:to:`, `abs:`, `uppercase:`, …).
  case function(String, [FetchExpression])
  /// The members of a collection for which a predicate on a variable is true.
  case subquery(collection: FetchExpression, variable: String, predicate: FetchPredicate)
  /// The first expression if the predicate is true, otherwise the second.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// An element of an ordered collection.
  case element(FetchExpression, CollectionIndex)

  /// The position of an element in an ordered collection.
  public enum CollectionIndex: Sendable, Hashable {
    /// The first element.
    case first
    /// The last element.
    case last
    /// The number of elements.
    case size
    /// The element at a zero-based position. A negative position has no element.
    case at(Int)
  }

  /// The function for CAST of an expression that is not a literal. Its arguments are a value and the name of a type.
  static let castFunction = "castObject:toType:"

  /// Returns a key path for its dotted form.
  ///
  /// - Complexity: O(*n*), where *n* is the length of the string.
  public static func keyPath(_ dotted: String) -> FetchExpression {
    .keyPath(dotted.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
}
