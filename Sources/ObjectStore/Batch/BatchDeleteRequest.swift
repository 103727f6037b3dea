// BatchDeleteRequest: the deletion of all objects of a fetch, or of given ones, with their delete rules, by the store.
public import ObjectModel
public import ObjectQuery

/// A request to delete many objects without making objects of their rows.
///
/// ```swift
/// let request = BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "author == nil"))
/// let count = try context.execute(request).count
/// ```
///
/// Delete rules hold as they do for objects: cascades go on as far as they reach, references from other rows are set to nil, and links and places in orders are
/// removed. A relationship with the rule `deny` that leads to an object that stays, or a required one that would become empty, stops the whole request: it
/// throws ``BatchError``, and nothing is deleted. Methods of the objects are not called.
public struct BatchDeleteRequest: Sendable {
  /// The objects to delete: those of a fetch, with its order, limit and offset; nil for given ones.
  public let fetch: FetchSpecification?
  /// The objects to delete, where no fetch says which. Those that are gone already are passed over.
  public let objectIDs: [ManagedObjectID]
  /// What is returned.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores concerned; nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator tells others what changed, as after a save.
  public var publishesChanges = true
  /// Whether the context that executes the request brings its objects in step before the call returns.
  public var mergesChanges = true

  /// Deletes the results of a fetch.
  public init<Result>(fetchRequest: FetchRequest<Result>) { self.init(fetchRequest.specification) }

  /// Deletes the objects of an entity, and of its subentities, that meet a predicate.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.init(FetchSpecification(entityName: entityName, predicate: predicate))
  }

  /// Deletes given objects.
  public init(objectIDs: some Sequence<ManagedObjectID>) {
    fetch = nil
    self.objectIDs = Array(objectIDs)
  }

  private init(_ specification: FetchSpecification) {
    fetch = specification
    objectIDs = []
    affectedStores = specification.affectedStores
  }
}
