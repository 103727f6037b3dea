// ManagedObjectContext+Generations: a context that reads a state of its stores which holds still, whatever others save meanwhile.
public import ObjectStore

extension ManagedObjectContext {
  /// Pins the context to a state of its stores that holds still.
  ///
  /// ```swift
  /// try context.setQueryGeneration(from: .current)
  /// let count = try context.count(for: Book.fetchRequest())
  /// let books = try context.fetch(Book.fetchRequest())  // as many, whatever others save meanwhile
  /// ```
  ///
  /// Fetches of every kind, faults, members of relationships and large values are then read from that state. Objects that have their values keep them:
  /// ``refreshAllObjects()`` or ``reset()`` brings them along, and takes the context to the newest state. So does what saves or merges: a ``save()`` of this
  /// context's, ``mergeChanges(from:)-(ChangeSet)``, and ``automaticallyMergesChangesFromParent`` when there is something to merge. Unsaved changes stay.
  ///
  /// A save of changes to rows that others have changed since is a conflict, as without a generation (``mergePolicy``). Batch requests go by the newest state.
  /// A context that is nested in another one reads what that one reads, and follows it to another state; it cannot be pinned itself. In ``performTransaction(_:)`` the context reads the transaction, and the newest state after it.
  ///
  /// A state that somebody reads keeps the store's log from beginning anew: do not hold it for ever. Where the log becomes too long the store ends the oldest
  /// one, and reads of it throw ``StoreError`` with ``StoreError/Code/queryGenerationExpired``; setting `.current` goes on.
  ///
  /// - Parameter token: ``QueryGenerationToken/current`` pins the context to what is the newest state when it reads next; another context's
  ///   ``queryGenerationToken`` to the state that that one reads; nil has the context read the newest state at each read, as it does from the beginning.
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` where an open store has no such states, with ``StoreError/Code/queryGenerationExpired`` or
  ///   ``StoreError/Code/queryGenerationOfOtherStore`` for a token that is of no use; the context then reads what it has read before. With `.current` the next
  ///   read may throw ``StoreError/Code/tooManyQueryGenerations``: 16 states of a store may be held at once.
  public func setQueryGeneration(from token: QueryGenerationToken?) throws {
    try rowSource.setQueryGeneration(token)
    forgetUnusedRows()
  }

  /// The state that the context is pinned to: ``QueryGenerationToken/current`` until something was read, then a token that other contexts of the coordinator can
  /// be pinned to; nil where the context reads the newest state.
  public var queryGenerationToken: QueryGenerationToken? { rowSource.queryGenerationToken }

  /// Faults read their rows when they are fired, and members when they are asked for: what was read ahead of that is of another state. Nested contexts have read
  /// the same.
  private func forgetUnusedRows() {
    registry.forEach { object in
      for state in object.toManyStates where state.isReadAhead { state.unload() }
      guard object.flags.contains(.isFault), !object.hasChanges else { return }
      object.forgetPartialRow()
      object.image = nil
    }
    for context in intake.nestedContexts() { context.forgetUnusedRows() }
  }
}
