// RowSource+Generations: contexts that read a state of the stores which holds still.
import Foundation
import ObjectModel
import ObjectStore

extension RowSource {
  /// The token of what is read; nil where that is the newest state.
  var queryGenerationToken: QueryGenerationToken? {
    if let parent { return parent.source.queryGenerationToken }
    return generation?.token
  }

  /// Whether what is read is a state that was chosen, even where it is not read at the moment.
  var isPinned: Bool { parent?.source.isPinned ?? (generation != nil) }

  /// Reads another state from now on.
  ///
  /// - Parameter token: The state; ``QueryGenerationToken/current`` for that at the next read, nil for the newest at each read.
  func setQueryGeneration(_ token: QueryGenerationToken?) throws {
    if parent != nil { throw StoreError(.misuse(.generationOfNestedContext), operation: .pin) }
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

  /// A pinned context goes on to what is the newest state at the next read. Within a transaction it reads that, and goes on at its end. A nested one goes on
  /// when its parent does.
  func advance() {
    if parent == nil, presentGeneration != nil { setGeneration(ContextGeneration(named: contextName)) }
  }

  /// The state of a store that is read; nil for the newest.
  @inline(__always) func pinned(in store: PersistentStore) throws -> PinnedGeneration? {
    guard let generation = presentGeneration else { return nil }
    return try generation.known(of: store) ?? pin(store, generation)
  }

  @inline(never) private func pin(_ store: PersistentStore, _ generation: ContextGeneration) throws -> PinnedGeneration? {
    try generation.pin(stores, named: contextName) { scope(for: $0, isInterruptible: false) }
    return generation.known(of: store)
  }

  /// The row cache of what is read; nil where a state is to be pinned first.
  @inline(__always) func cache(of store: PersistentStore) -> RowCache? {
    guard let generation = presentGeneration else { return store.cache }
    return generation.known(of: store)?.cache
  }

  // MARK: The newest state

  /// The rows of objects as they are now, whatever the context reads: for saves, which go by nothing else.
  func newestRows(of objectIDs: [ManagedObjectID], in store: PersistentStore, isPassing: Bool = false) throws -> RowList {
    // What a nested context saves goes to its parent, whatever that reads.
    if parent != nil { return try rows(of: objectIDs, in: store, isPassing: isPassing) }
    // What a pinned context reads goes into no cache of others.
    return try StoreError.inTask {
      try coordinator.readRows(of: objectIDs, from: store, scope: scope(for: store), isPassing: isPassing || generation != nil)
    }
  }

  /// The row of an object at hand, if it is of the newest state, as far as that is known.
  func newestRowAtHand(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    parent != nil || generation == nil ? rowAtHand(reference, in: store) : nil
  }

  /// The members of a to-many relationship of several objects as they are now, whatever the context reads.
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
