import Foundation
import ObjectModel
public import ObjectStore
import Synchronization

/// The store states that a pinned context reads: one per store, pinned at the context's first read or given by a token.
final class ContextGeneration {
  private(set) var generations: [PinnedGeneration]
  /// A unique number. A context that is pinned to the same state again briefly holds it twice.
  private let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private static let lastNumber = Atomic<UInt64>(0)

  /// Creates a generation and holds its pinned states.
  ///
  /// - Parameters:
  ///   - generations: The states that are already pinned. Other stores are pinned at the next read.
  ///   - name: The context's name.
  init(_ generations: [PinnedGeneration] = [], named name: String?) {
    self.generations = generations
    for generation in generations { generation.hold(number, named: name) }
  }

  deinit { for generation in generations { generation.release(number) } }

  /// The token with which another context reads the same states; ``QueryGenerationToken/current`` before the first read.
  var token: QueryGenerationToken { QueryGenerationToken(generations) }

  /// Returns the pinned state of a store; nil if the store is not pinned yet.
  @inline(__always) func known(of store: PersistentStore) -> PinnedGeneration? {
    for generation in generations where generation.store === store { return generation }
    return nil
  }

  /// Pins all given stores that are not pinned yet.
  ///
  /// - Throws: ``StoreError`` if a store cannot be pinned, or if it was reopened after it was pinned, which ends the state that the context
  ///   reads.
  func pin(_ stores: [PersistentStore], named name: String?, _ scope: (PersistentStore) -> RequestScope) throws {
    for store in stores where known(of: store) == nil {
      if generations.contains(where: { $0.store.identifier == store.identifier }) {
        throw StoreError(.queryGenerationExpired, operation: .read, path: store.url?.path)
      }
      let generation = try store.pin(scope(store))
      generation.hold(number, named: name)
      generations.append(generation)
    }
  }
}

// MARK: - Reading pinned generations

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

// MARK: - Pinning contexts

extension ManagedObjectContext {
  /// Pins the context to a query generation: a state of its stores that later saves do not change.
  ///
  /// ```swift
  /// try context.setQueryGeneration(from: .current)
  /// let count = try context.count(for: Book.fetchRequest())
  /// let books = try context.fetch(Book.fetchRequest())  // the same number, whatever is saved elsewhere
  /// ```
  ///
  /// All fetches, faults, members of relationships and large values are then read from that generation. Objects whose values are loaded
  /// keep them. The context moves to the newest generation when it is refreshed with ``refreshAllObjects()``, reset with ``reset()``, or
  /// saved with ``save()``, and when it merges changes, through ``mergeChanges(from:)-(ChangeSet)`` or
  /// ``automaticallyMergesChangesFromParent``. Unsaved changes remain.
  ///
  /// Saving changes to rows that were changed elsewhere since is a conflict, as it is without a generation; see ``mergePolicy``. Batch
  /// requests use the newest state. A nested context reads the generation of its parent and cannot be pinned itself. In
  /// ``performTransaction(_:)`` the context reads the state of the transaction, and the newest state afterwards.
  ///
  /// A generation in use prevents the store from truncating its log, so do not keep one indefinitely. If the log becomes too long, the
  /// store ends the oldest generation, and reads from it throw ``StoreError`` with ``StoreError/Code/queryGenerationExpired``. Set
  /// `.current` to continue.
  ///
  /// - Parameter token: ``QueryGenerationToken/current`` pins the context to the state that is newest at its next read. The
  ///   ``queryGenerationToken`` of another context pins it to the generation of that context. `nil`, the initial setting, makes each read
  ///   use the newest state.
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` if an open store does not support generations, and with
  ///   ``StoreError/Code/queryGenerationExpired`` or ``StoreError/Code/queryGenerationOfOtherStore`` if the token is not valid. The context
  ///   then keeps its previous setting. With `.current`, the next read may throw ``StoreError/Code/tooManyQueryGenerations``: a store
  ///   supports 16 generations at once.
  public func setQueryGeneration(from token: QueryGenerationToken?) throws {
    try rowSource.setQueryGeneration(token)
    dropUnfiredRows()
  }

  /// The query generation that the context is pinned to, or `nil` if it reads the newest state. The value is
  /// ``QueryGenerationToken/current`` until the first read, and then a token that other contexts of the coordinator can be pinned to.
  public var queryGenerationToken: QueryGenerationToken? { rowSource.queryGenerationToken }

  /// Removes the rows of faults and the members that were read ahead, also in nested contexts, since they belong to the previous
  /// generation.
  private func dropUnfiredRows() {
    registry.forEach { object in
      for state in object.toManyStates where state.isReadAhead { state.unload() }
      guard object.flags.contains(.isFault), !object.hasChanges else { return }
      object.discardPartialRow()
      object.image = nil
    }
    for context in changeReceiver.nestedContexts() { context.dropUnfiredRows() }
  }
}
