import ObjectModel
import ObjectQuery
import ObjectStore

/// A store together with the scope and state of a context, for requests outside the context's isolation.
struct DetachedStore: Sendable {
  private let coordinator: PersistentStoreCoordinator
  private let store: PersistentStore
  private let scope: RequestScope
  /// The state to read; nil for the newest.
  private let pinned: PinnedGeneration?

  init(coordinator: PersistentStoreCoordinator, store: PersistentStore, scope: RequestScope, pinned: PinnedGeneration?) {
    (self.coordinator, self.store, self.scope, self.pinned) = (coordinator, store, scope, pinned)
  }

  /// The number of the store's object ID space.
  var space: UInt32 { store.space.number }

  func fetch(_ specification: FetchSpecification) throws -> PersistentStoreResult {
    try coordinator.fetch(specification, from: store, scope: scope, pinned: pinned)
  }

  func rows(of objectIDs: [ManagedObjectID]) throws -> RowList {
    try coordinator.readRows(of: objectIDs, from: store, scope: scope, pinned: pinned)
  }

  /// Inserts rows from an asynchronous sequence.
  ///
  /// - Parameter committed: Called after each commit with the changes of the transaction.
  func insert<Rows: AsyncSequence & Sendable>(
    _ rows: Rows, of entity: CompiledEntity, onConflict: BatchConflictPolicy, committing: BatchCommit, resultType: BatchResultType,
    committed: @escaping @Sendable (ChangeSet) -> Void
  ) async throws -> BatchResult where Rows.Element == [String: any Sendable] {
    try await coordinator.insert(
      rows, of: entity, into: store, scope: scope, onConflict: onConflict, committing: committing, resultType: resultType,
      committed: committed)
  }
}
