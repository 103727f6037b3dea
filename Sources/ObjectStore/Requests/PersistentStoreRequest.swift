public import ObjectModel
public import ObjectQuery

/// A request from a coordinator to a store. All writes are atomic.
public enum PersistentStoreRequest: Sendable {
  /// A fetch or a count.
  case fetch(FetchSpecification)
  /// A save.
  case save(SaveChangesRequest)
  /// A chunk of a batch insert.
  case batchInsert(BatchInsertion)
  /// A batch update.
  case batchUpdate(BatchUpdateRequest)
  /// A batch delete.
  case batchDelete(BatchDeleteRequest)
}

extension PersistentStoreRequest {
  /// The error for stores that do not support this kind of request.
  public var unsupported: StoreError {
    let operation: StoreOperation =
      switch self {
      case .fetch: .fetch
      case .save: .save
      case .batchInsert: .batchInsert
      case .batchUpdate: .batchUpdate
      case .batchDelete: .batchDelete
      }
    return StoreError(.unsupportedRequest, operation: operation)
  }
}

/// The result of a request to a store.
public enum PersistentStoreResult: Sendable {
  /// The rows of fetched objects, in order.
  case rows(RowList)
  /// The IDs of a fetch of IDs, or of a fetch of objects without property values.
  case objectIDs([ManagedObjectID])
  /// The dictionaries of a fetch of dictionaries.
  case dictionaries(DictionaryRows)
  /// The result of a count.
  case count(Int)
  /// The outcome of a successful save.
  case saved(SaveOutcome = SaveOutcome())
  /// The changes of a batch request.
  case batch(BatchChanges)
}
