public import ObjectQuery

/// A request to set properties of all objects that match a predicate, in the store and without instantiating them.
///
/// ```swift
/// let request = BatchUpdateRequest(
///   entityName: "Book", predicate: try FetchPredicate(format: "author.name == %@", "Ada"),
///   propertiesToUpdate: ["isOnSale": true, "price": try FetchExpression(format: "price * 0.8")])
/// let count = try context.execute(request).count
/// ```
///
/// All values are computed from the rows as they were before the request, then converted and validated as in a save. The versions of the
/// rows are incremented, so that contexts with older values detect a conflict and do not overwrite the new ones. The request reads saved
/// rows only; unsaved changes are unaffected.
public struct BatchUpdateRequest: Sendable {
  /// The name of the entity.
  public var entityName: String
  /// The predicate that selects the objects, or nil for all.
  public var predicate: FetchPredicate?
  /// The new values, by property name.
  ///
  /// Values are of the attributes' types, `nil`, ``ManagedObjectID``s of saved objects for to-one relationships, or ``FetchExpression``s
  /// that are computed for each object. The inverse of a relationship is updated, except a named inverse that does not lead back: set that one
  /// in objects.
  public var propertiesToUpdate: [String: (any Sendable)?]
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores to update, or nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - predicate: The predicate that selects the objects, or nil for all.
  ///   - propertiesToUpdate: The new values by property name: constants or ``FetchExpression``s.
  public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: (any Sendable)?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.propertiesToUpdate = propertiesToUpdate
  }
}
