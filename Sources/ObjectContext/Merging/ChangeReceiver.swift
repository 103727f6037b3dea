import ObjectModel
import ObjectStore

/// The changes of other contexts and processes that a context merges automatically, and its nested contexts.
struct ChangeReceiver: ~Copyable {
  /// The changes that wait to be merged; `nil` if the context merges only explicitly.
  private var inbox: ChangeInbox?
  /// Schedules a merge of the waiting changes; callable from any thread.
  private(set) var scheduleMerge: (@Sendable () -> Void)?
  /// Whether objects with unsaved changes remain when their rows are deleted elsewhere, whatever the merge policy. The save then detects
  /// the conflict.
  private(set) var retainsChangedObjects = false
  private var nested = NestedContexts()

  /// Whether changes are collected.
  var isOpen: Bool { inbox != nil }

  /// Sets the closure that schedules a merge in the context's isolation. Without it, waiting changes are merged at the context's next
  /// event.
  mutating func setMergeScheduler(_ scheduleMerge: @escaping @Sendable () -> Void) { self.scheduleMerge = scheduleMerge }

  mutating func retainChangedObjects() { retainsChangedObjects = true }

  /// Starts collecting changes.
  mutating func open(_ rowSource: RowSource) {
    if inbox == nil { inbox = rowSource.makeInbox(scheduleMerge: scheduleMerge) }
  }

  /// Stops collecting changes, and discards waiting ones.
  mutating func close() { inbox = nil }

  // MARK: Nested contexts

  var hasNested: Bool { !nested.isEmpty }

  /// Returns the nested contexts, which share this context's isolation.
  func nestedContexts() -> [ManagedObjectContext] { nested.contexts }

  mutating func registerNested(_ number: UInt64, isOpen: Bool) {
    if isOpen { nested.insert(number) } else { nested.remove(number) }
  }

  /// Adds changes that were made in the parent of a nested context.
  func add(_ changes: ChangeSet) { inbox?.add(changes) }

  /// Removes and returns the waiting changes; `nil` if there are none.
  func take() -> ChangeInbox.Waiting? { inbox?.take() }
}

/// The contexts nested in a context, by number. Nested contexts retain their parent; the parent does not retain them.
struct NestedContexts {
  private var numbers: [UInt64] = []

  var isEmpty: Bool { numbers.isEmpty }

  mutating func insert(_ number: UInt64) { numbers.append(number) }
  mutating func remove(_ number: UInt64) { numbers.removeAll { $0 == number } }

  var contexts: [ManagedObjectContext] { numbers.compactMap(ContextRegistry.context) }
}

extension ManagedObjectContext {
  /// Notifies nested contexts of changes made in this context. Those that merge automatically do so at their next event.
  ///
  /// - Parameter origin: The number of the context that has made the changes, which is not notified.
  func notifyNested(_ changes: @autoclosure () -> ChangeSet, except origin: UInt64 = 0) {
    if !changeReceiver.hasNested { return }
    var cached: ChangeSet?
    for context in changeReceiver.nestedContexts() where context.number != origin && context.changeReceiver.isOpen {
      let set = cached ?? changes()
      cached = set
      context.changeReceiver.add(set)
    }
  }

  /// Notifies nested contexts that unsaved changes, which they may have read, were discarded.
  func invalidateNested() {
    if !changeReceiver.hasNested { return }
    // Objects that have left this context may exist again.
    for context in changeReceiver.nestedContexts() { context.recheckDeletedRows() }
    for store in rowSource.stores { notifyNested(ChangeSet(wholeOf: store)) }
  }

  /// Notifies nested contexts that this context has saved its changes.
  ///
  /// The rows that nested contexts have are at least as new as the saved ones, so their own changes do not conflict with this save.
  func notifyNested(ofSaved work: SaveSet, _ parts: [(store: PersistentStore, request: SaveChangesRequest, outcome: SaveOutcome)]) {
    forgetVersionsBelow(of: work)
    for part in parts {
      notifyNested(ChangeSet(part.request, part.outcome, of: part.store, scope: rowSource.scope(for: part.store)))
    }
  }
}

extension ManagedObjectContext {
  /// Merges the waiting changes of this context and its nested contexts, and ends those events that end automatically. Called when no other
  /// operation runs in their isolation.
  func processWaitingChangesOfTree() {
    if unitOfWork.hasEventStartObservers { processPendingChanges() } else { mergeWaitingChanges() }
    for context in changeReceiver.nestedContexts() { context.processWaitingChangesOfTree() }
  }

  /// Schedules the waiting operations of this context, from any thread; `nil` if its isolation is unknown.
  var scheduleMerge: (@Sendable () -> Void)? { changeReceiver.scheduleMerge ?? rowSource.parent?.scheduleMerge }

  private func forgetVersionsBelow(of work: SaveSet) {
    for context in changeReceiver.nestedContexts() {
      work.forEachChanged { object in
        context.registry.object(object.ownReference, space: object.ownSpace)?.forgetVersion()
      }
      context.forgetVersionsBelow(of: work)
    }
  }

  /// Restores members whose pending removal no longer has a counterpart: while the object's row was deleted, the other objects have dropped
  /// the removal.
  private func undoOverriddenRemovals(of object: ManagedObject) {
    for state in object.toManyStates where !state.removed.isEmpty {
      guard let inverse = tables.inverse(of: state.relationship), inverse.isToMany else { continue }
      for reference in state.removed {
        let other = registeredObject(reference, near: object)?.toManyStates[inverse.index]
        if !(other?.removed.contains(object.ownReference) ?? false) { object.addMember(reference, at: state.relationship.index) }
      }
    }
  }

  /// Turns objects whose rows were deleted into faults, so that their rows are looked up again.
  fileprivate func recheckDeletedRows() {
    recorder?.suspend()
    defer { recorder?.resume() }
    membershipTracker.discardRemoved()
    let inaccessible = unitOfWork.deleted.filter { $0.flags.contains(.isInaccessible) }
    unitOfWork.revertDeletions(of: inaccessible)
    for object in inaccessible {
      object.flags.remove(.isInaccessible)
      object.flags.insert(.isFault)
      undoOverriddenRemovals(of: object)
    }
    for context in changeReceiver.nestedContexts() { context.recheckDeletedRows() }
  }
}

extension ManagedObject {
  /// Marks the object's row as unsaved, since the parent context has saved a newer version that includes it.
  fileprivate final func forgetVersion() {
    guard let image, image.version != UnsavedRow.version else { return }
    let former = overlay
    if former == nil, flags.contains(.isFault) {
      // A fault reads its row again.
      self.image = nil
      return
    }
    self.image = image.edited(of: compiledEntity, version: UnsavedRow.version)
    updateDirectRow()
  }
}
