public import ObjectStore

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
