public import ObjectModel
public import ObjectQuery

/// A request to delete many objects in the store without instantiating them.
///
/// ```swift
/// let request = BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "author == nil"))
/// let count = try context.execute(request).count
/// ```
///
/// Delete rules apply as for objects: deletions cascade, references from other rows are set to nil, and links and positions in ordered
/// relationships are removed. The request throws ``BatchError`` and deletes nothing if a relationship with the rule `deny` leads to an
/// object that is not deleted, or if a required relationship would become empty. Methods of managed objects are not called.
public struct BatchDeleteRequest: Sendable {
  /// The fetch whose results are deleted, with its order, limit, and offset. Nil if ``objectIDs`` specifies the objects.
  public let fetch: FetchSpecification?
  /// The objects to delete if ``fetch`` is nil. Objects that are already deleted are skipped.
  public let objectIDs: [ManagedObjectID]
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores to delete from, or nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true

  /// Creates a request to delete the results of a fetch.
  public init<Result>(fetchRequest: FetchRequest<Result>) { self.init(fetchRequest.specification) }

  /// Creates a request to delete the objects of an entity and its subentities that match a predicate.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.init(FetchSpecification(entityName: entityName, predicate: predicate))
  }

  /// Creates a request to delete the given objects.
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
