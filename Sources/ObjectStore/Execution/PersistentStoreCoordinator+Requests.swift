import Foundation
package import ObjectModel
package import ObjectQuery

extension PersistentStoreCoordinator {
  /// Executes a fetch in one store, and enters fetched rows into the row cache.
  ///
  /// - Parameter pinned: The generation to read, which has its own row cache, or nil for the newest state.
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

  /// Returns the unordered result of a fetch of IDs in one store.
  package func fetchedIDs(
    _ specification: FetchSpecification, in store: PersistentStore, scope: RequestScope, pinned: PinnedGeneration? = nil
  ) throws -> FetchedIDs {
    try scope.cancellation?.check()
    if let store = store.incrementalStore as? any KeyListingStore {
      var scope = scope
      if let pinned { scope.generation = pinned.generation }
      let found = try store.fetchedIDs(specification, in: scope)
      try scope.cancellation?.check()
      return found
    }
    guard case .objectIDs(let ids) = try fetch(specification, from: store, scope: scope, pinned: pinned) else {
      throw StoreError(.resultTypeMismatch, operation: .fetch)
    }
    return .ids(ids)
  }

  /// Explains how one store would execute a fetch.
  package func explain(
    _ specification: FetchSpecification, from store: PersistentStore, scope: RequestScope
  ) throws -> FetchExplanation.StorePart {
    var part = try store.incrementalStore.explain(specification, in: scope)
    part.storeIdentifier = store.identifier
    return part
  }

  /// Returns the open stores that contain objects of an entity, which may be none.
  package func stores(holding entity: CompiledEntity, affectedStores: [String]?) -> [PersistentStore] {
    persistentStores.filter { store in
      (affectedStores?.contains(store.identifier) ?? true) && entity.subtree.contains { store.entityNumbers.contains($0) }
    }
  }

  /// Reads the rows of objects from one store.
  ///
  /// - Parameters:
  ///   - isPassing: Whether the rows are short-lived, as in an enumeration in batches. If so, they are not entered into the row cache.
  ///   - pinned: The generation to read, which has its own row cache, or nil for the newest state.
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

  /// Reads the row of an object with a row reader, and enters it into the row cache that belongs to the reader's state.
  package func readRow(_ reference: ObjectReference, into cache: RowCache, with reader: any RowReader) throws -> RowImage? {
    let generation = cache.generation
    guard let row = try reader.row(reference) else { return nil }
    cache.insert(row, readAt: generation)
    return row
  }

  /// Saves to one store, updates the row cache, and notifies observers.
  ///
  /// - Returns: The rows that were written in addition to the request.
  @discardableResult
  package func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome {
    if store.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .save, path: store.url?.path)
    }
    try checkNotObserving(.save)
    let request = store.incrementalStore.acceptsExternalData ? request : try request.withBytesInRows(store.model)
    store.saving.lock()
    defer { store.saving.unlock() }
    // Not checked after the save, which cannot be undone.
    try scope.cancellation?.check(.save)
    let outcome: SaveOutcome
    do {
      outcome = try store.executeObserved(request, in: scope)
    } catch var error as StoreError where error.code == .mergeConflict {
      for index in error.mergeConflicts.indices {
        error.mergeConflicts[index].cachedRow = store.cache.row(error.mergeConflicts[index].objectID.reference)
      }
      // The cached rows are outdated.
      store.cache.remove(error.mergeConflicts.map(\.objectID.reference))
      throw error
    }
    store.cache.apply(request, outcome)
    store.publish { ChangeSet(request, outcome, of: store, scope: scope) }
    return outcome
  }

  /// Runs saves and fetches in one transaction for each open store.
  package func performTransaction(_ body: () throws -> Void) throws {
    try checkOpen(.transaction)
    try checkNotObserving(.transaction)
    try performTransaction(of: persistentStores, body)
  }

  /// Runs requests to several stores in one transaction for each of them, if there are transaction observers: those of all stores can then
  /// reject the requests before the first commit.
  ///
  /// - Parameter committed: Called after the commit of each store, in reverse order.
  /// - Returns: False if the body was not run: there is one store, there are no observers, or a store does not support transactions.
  package func performTogether(
    in stores: [PersistentStore], committed: (PersistentStore) -> Void = { _ in }, _ body: () throws -> Void
  ) throws -> Bool {
    if stores.count < 2 || transactionObservers.isEmpty { return false }
    try checkNotObserving(.transaction)
    var hasBegun = false
    do {
      try performTransaction(of: stores, committed: committed) {
        hasBegun = true
        try body()
      }
      return true
    } catch let error as StoreError where !hasBegun && error.code == .invalidRequest {
      return false
    }
  }

  private func performTransaction(
    of stores: [PersistentStore], committed: (PersistentStore) -> Void = { _ in }, _ body: () throws -> Void
  ) throws {
    func perform(_ rest: ArraySlice<PersistentStore>) throws {
      guard let store = rest.first else {
        try body()
        if stores.count > 1 { for store in stores { try store.askObserversOfTransaction() } }
        return
      }
      try store.performTransaction { try perform(rest.dropFirst()) }
      committed(store)
    }
    try perform(stores[...])
  }
}
