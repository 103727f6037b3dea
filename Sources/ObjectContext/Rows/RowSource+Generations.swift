import Foundation
import ObjectModel
import ObjectStore

extension RowSource {
  /// The token of the pinned state; nil if the newest state is read.
  var queryGenerationToken: QueryGenerationToken? {
    if let parent { return parent.source.queryGenerationToken }
    return generation?.token
  }

  /// Whether the context is pinned to a state, even if a transaction currently reads the newest one.
  var isPinned: Bool { parent?.source.isPinned ?? (generation != nil) }

  /// Pins the context to another state.
  ///
  /// - Parameter token: The state; ``QueryGenerationToken/current`` for the newest state at the next read, nil to always read the newest
  ///   state.
  func setQueryGeneration(_ token: QueryGenerationToken?) throws {
    if parent != nil { throw StoreError(.generationOfNestedContext, operation: .pin) }
    guard let token else { return setGeneration(nil) }
    for store in stores where !type(of: store.incrementalStore).hasQueryGenerations {
      throw StoreError(.noQueryGenerations(type: store.type.rawValue), operation: .pin, path: store.url?.path)
    }
    let open = stores
    for generation in token.generations {
      let path = generation.store.url?.path
      if generation.isOver { throw StoreError(.queryGenerationExpired, operation: .pin, path: path) }
      guard open.contains(where: { $0 === generation.store }) else {
        throw StoreError(.queryGenerationOfOtherStore, operation: .pin, path: path)
      }
    }
    setGeneration(ContextGeneration(Array(token.generations), named: contextName))
  }

  /// Moves a pinned context to the newest state as of its next read. Does nothing within a transaction, which reads the newest state and
  /// advances at its end. A nested context advances with its parent.
  func advance() {
    if parent == nil, presentGeneration != nil { setGeneration(ContextGeneration(named: contextName)) }
  }

  /// Returns the pinned state of a store; nil for the newest.
  @inline(__always) func pinned(in store: PersistentStore) throws -> PinnedGeneration? {
    guard let generation = presentGeneration else { return nil }
    return try generation.known(of: store) ?? pin(store, generation)
  }

  @inline(never) private func pin(_ store: PersistentStore, _ generation: ContextGeneration) throws -> PinnedGeneration? {
    try generation.pin(stores, named: contextName) { scope(for: $0, isInterruptible: false) }
    return generation.known(of: store)
  }

  /// Returns the row cache of the state that is read; nil if the store is not pinned yet.
  @inline(__always) func cache(of store: PersistentStore) -> RowCache? {
    guard let generation = presentGeneration else { return store.cache }
    return generation.known(of: store)?.cache
  }

  // MARK: The newest state

  /// Returns the newest rows of objects, regardless of pinned states. Saves use only these rows.
  func newestRows(of objectIDs: [ManagedObjectID], in store: PersistentStore, isPassing: Bool = false) throws -> RowList {
    // A nested context saves to its parent, even if the parent is pinned.
    if parent != nil { return try rows(of: objectIDs, in: store, isPassing: isPassing) }
    // Rows that a pinned context reads do not enter the shared caches.
    return try StoreError.inTask {
      try coordinator.readRows(of: objectIDs, from: store, scope: scope(for: store), isPassing: isPassing || generation != nil)
    }
  }

  /// Returns the cached row of an object if it is of the newest known state.
  func newestCachedRow(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    parent != nil || generation == nil ? cachedRow(reference, in: store) : nil
  }

  /// Returns the newest members of a to-many relationship of several objects, regardless of pinned states.
  func newestMembers(
    of relationship: CompiledRelationship, for objectIDs: [ManagedObjectID], in store: PersistentStore
  ) throws -> RelationshipValues {
    if parent != nil { return try members(of: relationship, for: objectIDs, in: store) }
    let scope = scope(for: store)
    return try StoreError.inTask {
      try scope.cancellation?.check()
      return try store.incrementalStore.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope)
    }
  }
}

extension StoreError.Reason {
  static var generationOfNestedContext: Self {
    Self(.invalidRequest, "A nested context reads its parent's query generation; pin the context that saves to the stores.")
  }
}
