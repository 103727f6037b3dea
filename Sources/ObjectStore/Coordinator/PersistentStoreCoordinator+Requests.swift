// PersistentStoreCoordinator+Requests: the requests of contexts, on their way through the row cache to a store.
import Foundation
package import ObjectModel
package import ObjectQuery

extension PersistentStoreCoordinator {
  /// Answers a fetch from one store; rows go into its row cache.
  ///
  /// - Parameter pinned: The state that is read, with a row cache of its own; nil for the newest.
  package func fetch(
    _ specification: FetchSpecification, from store: PersistentStore, scope: RequestScope, pinned: PinnedGeneration? = nil
  ) throws -> PersistentStoreResult {
    let cache = pinned?.cache ?? store.cache
    let generation = cache.generation
    try scope.cancellation?.check()
    var scope = scope
    scope.rowTables = cache
    if let pinned { scope.generation = pinned.generation }
    let result = try store.incrementalStore.execute(.fetch(specification), in: scope)
    try scope.cancellation?.check()
    if case .rows(let rows) = result { cache.insert(rows, readAt: generation) }
    return result
  }

  /// What a fetch of IDs finds in one store, in no order.
  package func foundObjects(
    _ specification: FetchSpecification, in store: PersistentStore, scope: RequestScope, pinned: PinnedGeneration? = nil
  ) throws -> FoundObjects {
    try scope.cancellation?.check()
    if let store = store.incrementalStore as? any KeyListingStore {
      var scope = scope
      if let pinned { scope.generation = pinned.generation }
      let found = try store.foundObjects(specification, in: scope)
      try scope.cancellation?.check()
      return found
    }
    guard case .objectIDs(let ids) = try fetch(specification, from: store, scope: scope, pinned: pinned) else {
      throw StoreError(.internalInconsistency(.otherResult), operation: .fetch)
    }
    return .ids(ids)
  }

  /// How one store would answer a fetch.
  package func explain(
    _ specification: FetchSpecification, from store: PersistentStore, scope: RequestScope
  ) throws -> FetchExplanation.StorePart {
    var part = try store.incrementalStore.explain(specification, in: scope)
    part.storeIdentifier = store.identifier
    return part
  }

  /// The stores that hold an entity's objects.
  package func stores(holding entity: CompiledEntity, affectedStores: [String]?) -> [PersistentStore] {
    persistentStores.filter { store in
      (affectedStores?.contains(store.identifier) ?? true) && entity.subtree.contains { store.entityNumbers.contains($0) }
    }
  }

  /// The rows of objects of one store, read from it.
  ///
  /// - Parameters:
  ///   - isPassing: Whether they are let go soon, one batch of very many after the other; others go into the row cache.
  ///   - pinned: The state that is read, with a row cache of its own; nil for the newest.
  package func readRows(
    of objectIDs: [ManagedObjectID], from store: PersistentStore, scope: RequestScope, isPassing: Bool = false,
    pinned: PinnedGeneration? = nil
  ) throws -> RowList {
    let cache = pinned?.cache ?? store.cache
    let generation = cache.generation
    try scope.cancellation?.check()
    var scope = scope
    if let pinned { scope.generation = pinned.generation }
    let rows = try store.incrementalStore.newValuesForObjects(with: objectIDs, in: scope)
    if !isPassing { cache.insert(rows, readAt: generation) }
    return rows
  }

  /// The row of an object of one store, read from it; it goes into the row cache of what the reader reads.
  package func readRow(_ reference: ObjectReference, into cache: RowCache, with reader: any RowReader) throws -> RowImage? {
    let generation = cache.generation
    guard let row = try reader.row(reference) else { return nil }
    cache.insert(row, readAt: generation)
    return row
  }

  /// Saves to one store; the row cache takes the new rows over, and whoever listens is told.
  ///
  /// - Returns: What was written beside what the request says.
  @discardableResult
  package func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome {
    if store.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .save, path: store.url?.path)
    }
    let request = store.incrementalStore.takesExternalData ? request : try request.withBytesInRows(scope.objectIDSpace.model)
    store.saving.lock()
    defer { store.saving.unlock() }
    // Not afterwards: what is saved is saved.
    try scope.cancellation?.check(.save)
    let outcome: SaveOutcome
    do {
      guard case .saved(let answer) = try store.incrementalStore.execute(.save(request), in: scope) else {
        throw StoreError(.internalInconsistency(.otherResult), operation: .save)
      }
      outcome = answer
    } catch var error as StoreError where error.code == .mergeConflict {
      for index in error.mergeConflicts.indices {
        error.mergeConflicts[index].cachedRow = store.cache.row(error.mergeConflicts[index].objectID.reference)
      }
      // The cache held what others have changed since.
      store.cache.remove(error.mergeConflicts.map(\.objectID.reference))
      throw error
    }
    store.cache.apply(request, outcome)
    store.publish { ChangeSet(request, outcome, of: store, scope: scope) }
    return outcome
  }

  /// Runs saves and fetches as one transaction of each open store.
  package func performTransaction(_ body: () throws -> Void) throws {
    try checkOpen(.transaction)
    try performTransaction(of: persistentStores[...], body)
  }

  private func performTransaction(of stores: ArraySlice<PersistentStore>, _ body: () throws -> Void) throws {
    guard let store = stores.first else { return try body() }
    try store.performTransaction { try performTransaction(of: stores.dropFirst(), body) }
  }
}
