public import ObjectModel

/// The result of a batch request: the number or the IDs of the affected objects, depending on the request's `resultType`.
///
/// ```swift
/// var request = BatchDeleteRequest(entityName: "Book")
/// request.resultType = .objectIDs
/// let gone = try context.execute(request).objectIDs
/// ```
public struct BatchResult: Sendable {
  /// The requested kind of result.
  public let resultType: BatchResultType
  /// The number of inserted objects.
  public internal(set) var insertedCount = 0
  /// The number of updated objects: those of a batch update, the stored rows that a batch insert changed because of a conflict, or the
  /// objects that delete rules changed.
  public internal(set) var updatedCount = 0
  /// The number of deleted objects, including cascades.
  public internal(set) var deletedCount = 0
  /// The IDs of the inserted objects, if ``BatchResultType/objectIDs`` was requested.
  public internal(set) var insertedObjectIDs: [ManagedObjectID] = []
  /// The IDs of the updated objects, if IDs were requested.
  public internal(set) var updatedObjectIDs: [ManagedObjectID] = []
  /// The IDs of the deleted objects, if IDs were requested.
  public internal(set) var deletedObjectIDs: [ManagedObjectID] = []
  private let kind: Kind

  enum Kind: Sendable {
    case insertion, update, deletion
  }

  init(_ kind: Kind, _ resultType: BatchResultType) {
    self.kind = kind
    self.resultType = resultType
  }

  /// The number of affected objects: for a batch insert, the inserted and the updated ones; for a batch update, the updated ones; for a
  /// batch delete, the deleted ones, including cascades.
  public var count: Int {
    switch kind {
    case .insertion: insertedCount + updatedCount
    case .update: updatedCount
    case .deletion: deletedCount
    }
  }

  /// The IDs of the objects that ``count`` includes, if ``BatchResultType/objectIDs`` was requested.
  public var objectIDs: [ManagedObjectID] {
    switch kind {
    case .insertion: insertedObjectIDs + updatedObjectIDs
    case .update: updatedObjectIDs
    case .deletion: deletedObjectIDs
    }
  }

  /// Adds the counts of a request to a store.
  mutating func add(_ changes: BatchChanges) {
    insertedCount += changes.counts?.inserted ?? changes.inserted.count
    updatedCount += changes.counts?.updated ?? changes.updated.count
    deletedCount += changes.counts?.deleted ?? changes.deleted.count
  }

  /// Adds the IDs of the objects that were affected in a store.
  mutating func addObjects(of changes: BatchChanges, in store: PersistentStore) {
    insertedObjectIDs += store.objectIDs(of: changes.inserted)
    updatedObjectIDs += store.objectIDs(of: changes.updated)
    deletedObjectIDs += store.objectIDs(of: changes.deleted)
  }
}
