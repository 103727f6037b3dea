// FetchObject: an object in a typed query, whose properties generated code adds.

/// An object that a typed query asks about: the one fetched, one behind a relationship, or a member of a collection.
///
/// Generated code extends it where `FetchedClass` is a class of the model: `$0.title` is a ``FetchField``, `$0.author` another object, `$0.tags`
/// a ``FetchMembers``. Subclasses have what their superclasses have.
public struct FetchObject<FetchedClass, Reach: FetchReach>: Sendable {
  /// The path to the object.
  public let fetchExpression: FetchExpression

  package init(_ expression: FetchExpression) { fetchExpression = expression }

  /// An attribute by its name in the model; for generated code.
  public func _attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> { FetchField(fetchExpression.appending([name])) }

  /// An attribute whose values cannot be compared, by its name in the model; for generated code.
  public func _attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// A to-one relationship by its name in the model; for generated code.
  public func _toOne<Destination>(_ name: String) -> FetchObject<Destination, FetchIndirect> {
    FetchObject<Destination, FetchIndirect>(fetchExpression.appending([name]))
  }

  /// A to-many relationship by its name in the model; for generated code.
  public func _toMany<Member, Order>(_ name: String) -> FetchMembers<Member, Order> { FetchMembers(fetchExpression.appending([name])) }

  /// Whether the texts that the full-text indexes of the object's entity are over have the words of a query between them.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query._fetchConstant)) }

  /// Whether the texts that the full-text indexes of the object's entity are over have the words of a query between them, as somebody typed
  /// it (``TextQuery/init(typed:)``).
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// How much of a query is in the texts that the full-text indexes of the object's entity are over, to order by.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query._fetchConstant)]))
  }

  /// How much of a query, as somebody typed it, is in the text or texts, to order by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// Whether the object meets a condition that was made before.
  public func meets(_ condition: FetchCondition<FetchedClass>) -> FetchPredicate { condition.predicate.moved(to: fetchExpression) }
}

/// How deep the member is that a closure of a typed query is given: the number of its variable, which inner ones must not take.
enum FetchDepth {
  @TaskLocal static var current = 0

  /// Calls a closure with the variable of a member.
  static func withVariable<Result>(_ body: (String) -> Result) -> Result {
    let depth = current + 1
    return $current.withValue(depth) { body("x\(depth)") }
  }
}
