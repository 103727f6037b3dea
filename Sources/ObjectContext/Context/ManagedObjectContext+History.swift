// ManagedObjectContext+History: requests for the histories of stores.
public import ObjectStore

extension ManagedObjectContext {
  /// Answers a request for what the histories of stores have, or deletes from them. The context's objects are not concerned.
  ///
  /// - Throws: ``StoreError`` and ``FetchPredicateError``, as ``PersistentStoreCoordinator/execute(_:)``; `CancellationError` in background work whose task
  ///   was canceled. A canceled deletion may have deleted the oldest transactions; repeat it to delete the others.
  public func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    try rowSource.execute(request)
  }

  /// Brings the context in step with a transaction of a history, as ``mergeChanges(from:)-(ChangeSet)`` does. The transaction has to have its changes.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) { mergeChanges(from: transaction.changeSet) }

  /// Brings the context in step with all that was written behind a place, whoever has written it: each object is told once.
  ///
  /// - Parameter token: The place; nil for the beginning of each history.
  /// - Returns: The place behind what was merged: where the next call goes on. The one given where nothing has come since.
  /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)``, and `CancellationError` in background work whose task was canceled; nothing is
  ///   merged then. Where something behind the place is gone, refresh all
  ///   objects and go on from ``PersistentStoreCoordinator/currentPersistentHistoryToken(fromStores:)``.
  @discardableResult
  public func mergeChanges(fromHistoryAfter token: PersistentHistoryToken?) throws -> PersistentHistoryToken? {
    let (changes, last) = try rowSource.changeSets(afterHistory: token)
    for set in changes { mergeChanges(from: set) }
    return last
  }
}
