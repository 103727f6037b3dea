// DetachedStore: a store as a context would ask it, for work away from the context's isolation.
import ObjectModel
import ObjectQuery
import ObjectStore

/// A store as a context would ask it at one moment.
struct DetachedStore: Sendable {
  private let coordinator: PersistentStoreCoordinator
  private let store: PersistentStore
  private let scope: RequestScope
  /// The state that is read; nil for the newest.
  private let pinned: PinnedGeneration?

  init(coordinator: PersistentStoreCoordinator, store: PersistentStore, scope: RequestScope, pinned: PinnedGeneration?) {
    (self.coordinator, self.store, self.scope, self.pinned) = (coordinator, store, scope, pinned)
  }

  /// The number of the store's space.
  var space: UInt32 { store.space.number }

  /// The store's answer to a fetch or a count.
  func fetch(_ specification: FetchSpecification) throws -> PersistentStoreResult {
    try coordinator.fetch(specification, from: store, scope: scope, pinned: pinned)
  }

  /// The rows of objects, read from the store.
  func rows(of objectIDs: [ManagedObjectID]) throws -> RowList {
    try coordinator.readRows(of: objectIDs, from: store, scope: scope, pinned: pinned)
  }

  /// Inserts rows that come one after the other.
  ///
  /// - Parameter committed: Is told what each transaction has written, as soon as it is committed.
  func insert<Rows: AsyncSequence & Sendable>(
    _ rows: Rows, of entity: CompiledEntity, onConflict: BatchConflictPolicy, committing: BatchCommit, resultType: BatchResultType,
    committed: @escaping @Sendable (ChangeSet) -> Void
  ) async throws -> BatchOutcome where Rows.Element == [String: any Sendable] {
    try await coordinator.insert(
      rows, of: entity, into: store, scope: scope, onConflict: onConflict, committing: committing, resultType: resultType,
      committed: committed)
  }
}
