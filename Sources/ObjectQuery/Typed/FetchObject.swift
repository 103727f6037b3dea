/// An object in a typed query: the fetched one, one at the end of a relationship, or a member of a collection.
///
/// Generated code extends it for each class of the model: `$0.title` is a ``FetchField``, `$0.author` another object, and `$0.tags` a
/// ``FetchMembers``. Subclasses inherit the properties of their superclasses.
public struct FetchObject<FetchedClass, Reach: FetchReach>: Sendable {
  /// The path to the object.
  public let fetchExpression: FetchExpression

  package init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Returns an attribute by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> {
    FetchField(fetchExpression.appending([name]))
  }

  /// Returns an attribute whose values cannot be compared, by its name in the model. For generated code.
  @_spi(Generated) public func attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// Returns a to-one relationship by its name in the model. For generated code.
  @_spi(Generated) public func toOne<Destination>(_ name: String) -> FetchObject<Destination, FetchIndirect> {
    FetchObject<Destination, FetchIndirect>(fetchExpression.appending([name]))
  }

  /// Returns a to-many relationship by its name in the model. For generated code.
  @_spi(Generated) public func toMany<Member, Order>(_ name: String) -> FetchMembers<Member, Order> {
    FetchMembers(fetchExpression.appending([name]))
  }

  /// Returns a condition that the texts in the full-text indexes of the object's entity together match a query.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query.fetchConstant)) }

  /// Returns a condition that the texts in the full-text indexes of the object's entity together match a query from user input
  /// (``TextQuery/init(typed:)``).
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// Returns the relevance to a query of the texts in the full-text indexes of the object's entity, to sort by.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query.fetchConstant)]))
  }

  /// Returns the relevance of these texts to a query from user input, to sort by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// Returns a condition that the object matches a stored condition.
  public func matches(_ condition: FetchCondition<FetchedClass>) -> FetchPredicate { condition.predicate.moved(to: fetchExpression) }
}

/// The nesting depth of the current closure of a typed query. It numbers the variables, so that inner closures use different ones.
enum FetchDepth {
  @TaskLocal static var current = 0

  /// Calls a closure with the variable for a member.
  static func withVariable<Result>(_ body: (String) -> Result) -> Result {
    let depth = current + 1
    return $current.withValue(depth) { body("x\(depth)") }
  }
}
