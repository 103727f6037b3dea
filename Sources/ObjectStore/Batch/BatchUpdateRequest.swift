// BatchUpdateRequest: new values for all objects that meet a predicate, computed by the store.
public import ObjectQuery

/// A request to set properties of all objects that meet a predicate, without making objects of their rows.
///
/// ```swift
/// let request = BatchUpdateRequest(
///   entityName: "Book", predicate: try FetchPredicate(format: "author.name == %@", "Ada"),
///   propertiesToUpdate: ["isOnSale": true, "price": try FetchExpression(format: "price * 0.8")])
/// let count = try context.execute(request).count
/// ```
///
/// All values are computed from the rows as they were before the request, then converted and checked by the model's rules as a save does it. The versions
/// of the rows grow, so that contexts with older values of them get a conflict and do not overwrite the new ones. Only saved rows are looked at; unsaved
/// changes stay as they are.
public struct BatchUpdateRequest: Sendable {
  /// The name of the entity.
  public var entityName: String
  /// Which objects; nil for all.
  public var predicate: FetchPredicate?
  /// The new values by property name: values of the attributes' types, `nil`, the ``ManagedObjectID``s of saved objects for to-one relationships, or
  /// ``FetchExpression``s that are computed for each object. The inverse of a relationship is kept in sync, except a named inverse that does not lead back: set
  /// that one in objects.
  public var propertiesToUpdate: [String: (any Sendable)?]
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// What is returned.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores concerned; nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator tells others what changed, as after a save.
  public var publishesChanges = true
  /// Whether the context that executes the request brings its objects in step before the call returns.
  public var mergesChanges = true

  /// Sets properties of the objects of an entity that meet a predicate.
  ///
  /// - Parameters:
  ///   - entityName: The entity of the objects.
  ///   - predicate: Which objects are changed; nil for all.
  ///   - propertiesToUpdate: The new values by property: constants or ``FetchExpression``s.
  public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: (any Sendable)?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.propertiesToUpdate = propertiesToUpdate
  }
}
