// PersistentStoreRequest: what a coordinator asks of a store, and what it answers.
public import ObjectModel
public import ObjectQuery

/// A request to a store.
public enum PersistentStoreRequest: Sendable {
  /// A fetch or a count.
  case fetch(FetchSpecification)
  /// A save: all or nothing.
  case save(SaveChangesRequest)
  /// A portion of a batch insertion: all or nothing.
  case batchInsert(BatchInsertion)
  /// A batch update: all or nothing.
  case batchUpdate(BatchUpdateRequest)
  /// A batch deletion: all or nothing.
  case batchDelete(BatchDeleteRequest)
}

extension PersistentStoreRequest {
  /// The error of a store that cannot answer a request of this kind.
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

/// A store's answer.
public enum PersistentStoreResult: Sendable {
  /// The rows of a fetch of objects, in order.
  case rows(RowList)
  /// The IDs of a fetch of IDs, or of objects without property values.
  case objectIDs([ManagedObjectID])
  /// The dictionaries of a fetch of dictionaries.
  case dictionaries(DictionaryRows)
  /// The number of a count.
  case count(Int)
  /// A save succeeded.
  case saved(SaveOutcome = SaveOutcome())
  /// What a batch request has written.
  case batch(BatchChanges)
}
