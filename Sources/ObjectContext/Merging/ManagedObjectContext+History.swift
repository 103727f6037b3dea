public import ObjectStore

extension ManagedObjectContext {
  /// Executes a request that reads or deletes persistent history. It does not affect the context's objects.
  ///
  /// - Throws: ``StoreError`` and ``FetchPredicateError``, as ``PersistentStoreCoordinator/execute(_:)`` does; `CancellationError` in a
  ///   background task that was canceled. A canceled deletion may have deleted the oldest transactions; repeat it to delete the rest.
  public func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    try rowSource.execute(request)
  }

  /// Merges the changes of a history transaction into the context; see ``mergeChanges(from:)-(ChangeSet)``. The transaction must have been
  /// fetched with its changes.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) { mergeChanges(from: transaction.changeSet) }

  /// Merges all changes after a history token into the context, including those of other processes. Each changed object is reported once.
  ///
  /// - Parameter token: The token; `nil` starts at the beginning of each history.
  /// - Returns: The token after the merged changes, for the next call, or `token` if there are no new changes.
  /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)`` does, and `CancellationError` in a background task that was
  ///   canceled. Nothing is merged then. If history after the token was deleted, refresh all objects, and continue with
  ///   ``PersistentStoreCoordinator/currentPersistentHistoryToken(fromStores:)``.
  @discardableResult
  public func mergeChanges(fromHistoryAfter token: PersistentHistoryToken?) throws -> PersistentHistoryToken? {
    let (changes, last) = try rowSource.changeSets(afterHistory: token)
    for set in changes { mergeChanges(from: set) }
    return last
  }
}
