// BatchResult: what a batch request has done, for its caller and between stores and coordinators.
public import ObjectModel

/// What a batch request has done: how many rows it concerned, or which, as the request's `resultType` says.
///
/// ```swift
/// var request = BatchDeleteRequest(entityName: "Book")
/// request.resultType = .objectIDs
/// let gone = try context.execute(request).objectIDs
/// ```
public struct BatchResult: Sendable {
  /// What was asked for.
  public let resultType: BatchResultType
  /// How many objects were inserted.
  public internal(set) var insertedCount = 0
  /// How many objects were changed: by an update; as the stored rows of an insertion's conflicts; or by a deletion's delete rules.
  public internal(set) var updatedCount = 0
  /// How many objects were deleted, those included that delete rules led to.
  public internal(set) var deletedCount = 0
  /// The objects inserted, where ``BatchResultType/objectIDs`` was asked for.
  public internal(set) var insertedObjectIDs: [ManagedObjectID] = []
  /// The objects changed, where IDs were asked for.
  public internal(set) var updatedObjectIDs: [ManagedObjectID] = []
  /// The objects deleted, where IDs were asked for.
  public internal(set) var deletedObjectIDs: [ManagedObjectID] = []
  private let kind: Kind

  enum Kind: Sendable {
    case insertion, update, deletion
  }

  init(_ kind: Kind, _ resultType: BatchResultType) {
    self.kind = kind
    self.resultType = resultType
  }

  /// How many objects the request concerned: inserted and, where they were there already, changed ones; updated ones; or deleted ones, those included
  /// that delete rules led to.
  public var count: Int {
    switch kind {
    case .insertion: insertedCount + updatedCount
    case .update: updatedCount
    case .deletion: deletedCount
    }
  }

  /// The objects that ``count`` counts, where ``BatchResultType/objectIDs`` was asked for.
  public var objectIDs: [ManagedObjectID] {
    switch kind {
    case .insertion: insertedObjectIDs + updatedObjectIDs
    case .update: updatedObjectIDs
    case .deletion: deletedObjectIDs
    }
  }

  mutating func add(_ changes: BatchChanges, of store: PersistentStore) {
    insertedCount += changes.inserted.count
    updatedCount += changes.updated.count
    deletedCount += changes.deleted.count
    guard resultType == .objectIDs else { return }
    insertedObjectIDs += store.objectIDs(of: changes.inserted)
    updatedObjectIDs += store.objectIDs(of: changes.updated)
    deletedObjectIDs += store.objectIDs(of: changes.deleted)
  }
}
