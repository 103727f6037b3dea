package import ObjectModel
package import ObjectStore

/// The changed objects of a context, retained until they are saved, and the objects changed in the current event.
///
/// Flags on the objects prevent duplicate entries. An object that is no longer inserted, updated or deleted remains in its list, and is
/// skipped because of its flags.
package struct UnitOfWork: ~Copyable {
  /// Inserted objects, in order.
  package private(set) var inserted: [ManagedObject] = []
  /// Updated objects, in the order of their first change.
  package private(set) var updated: [ManagedObject] = []
  /// Deleted objects, in order.
  package private(set) var deleted: [ManagedObject] = []
  /// Objects whose versions the next save checks.
  private var locked: [ManagedObject] = []
  /// Objects changed in the current event.
  private var pending: [ManagedObject] = []
  /// The number of deleted objects, from the first, whose delete rules were applied.
  private var propagatedCount = 0
  /// Whether some deleted object was never saved.
  private var hasDeletedInsertions = false
  /// Whether the delete rules of some objects are deferred to the save.
  private var hasDeferredRules = false
  /// The number of updated objects, from the first, that no longer have changes.
  private var unchangedCount = 0
  /// The number of saves, including partial ones.
  package private(set) var saveCount = 0
  /// The number of insertions since the context was created.
  private(set) var insertionCount = 0
  /// Observers of the start of an event, by number. They are responsible for ending the event.
  private var eventStartObservers: [UInt64: () -> Void] = [:]

  package init() {}

  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// Whether some stored object is changed or deleted, which can affect query results about other objects.
  var mayAffectOthers: Bool { !updated.isEmpty || !deleted.isEmpty }

  /// Whether the next save checks the versions of some objects.
  package var hasLocked: Bool { !locked.isEmpty }

  package var objects: [ManagedObject] { inserted + updated + deleted }

  /// Returns the inserted, updated and deleted objects that meet a condition.
  package func filter(_ condition: (ManagedObject) -> Bool) -> [ManagedObject] {
    inserted.filter(condition) + updated.filter(condition) + deleted.filter(condition)
  }

  /// All listed objects, including those that no longer need to be written.
  package var listed: SaveSet { SaveSet(inserted: inserted, updated: updated, deleted: deleted, locked: locked) }

  /// Returns the objects that a save would write or check now.
  package func objectsToSave() -> SaveSet {
    SaveSet(
      inserted: Self.filtered(inserted) { $0.isInserted }, updated: Self.filtered(updated) { $0.isUpdated },
      deleted: Self.filtered(deleted) { $0.isDeleted && !$0.flags.contains(.isInserted) },
      locked: Self.filtered(locked) { !$0.hasChanges && $0.contextReference != nil })
  }

  /// Returns the objects that meet a condition. Usually all do, and the list is returned without a copy.
  private static func filtered(_ list: [ManagedObject], _ condition: (ManagedObject) -> Bool) -> [ManagedObject] {
    list.allSatisfy(condition) ? list : list.filter(condition)
  }

  // MARK: Changes

  package mutating func recordInsertion(_ object: ManagedObject) {
    object.flags.formUnion([.isListedAsInserted, .hasPendingChange])
    insertionCount += 1
    inserted.append(object)
    pending.append(object)
    if pending.count == 1 { notifyEventStart() }
  }

  package mutating func recordUpdate(_ object: ManagedObject) {
    recordPending(object)
    if object.flags.isDisjoint(with: [.isInserted, .isListedAsUpdated, .isInaccessible]) {
      object.flags.insert(.isListedAsUpdated)
      updated.append(object)
    } else if !object.flags.contains(.isUpdated) {
      // A listed object whose changes were discarded has changes again.
      unchangedCount = 0
    }
    object.flags.insert(.isUpdated)
  }

  /// Records the deletion of an object by undo or redo.
  package mutating func recordDeletionByUndo(_ object: ManagedObject) {
    // The references to a new object were already undone, so no rules need to be applied.
    object.flags.insert(object.flags.contains(.isInserted) ? .deletePropagated : .defersDeleteRules)
    hasDeferredRules = true
    recordDeletion(object)
  }

  package mutating func recordDeletion(_ object: ManagedObject) {
    if object.flags.contains(.isDeleted) { return }
    object.flags.insert(.isDeleted)
    if !object.flags.contains(.isListedAsDeleted) {
      object.flags.insert(.isListedAsDeleted)
      deleted.append(object)
      if object.flags.contains(.isInserted) { hasDeletedInsertions = true }
    }
    recordPending(object)
  }

  /// Reverts the deletions of objects. Their other states are unaffected.
  package mutating func revertDeletions(of objects: [ManagedObject]) {
    if objects.isEmpty { return }
    for object in objects { object.flags.subtract([.isDeleted, .isListedAsDeleted, .deletePropagated, .defersDeleteRules]) }
    deleted.removeAll { !$0.flags.contains(.isDeleted) }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
  }

  /// Reverts the deletion of an object. The object stays listed until ``removeRevertedDeletions()``.
  package mutating func revertDeletion(of object: ManagedObject) {
    object.flags.subtract([.isDeleted, .deletePropagated, .defersDeleteRules])
    object.flags.insert(.isRestored)
    recordPending(object)
  }

  /// Removes objects whose deletions were reverted from the list of deleted objects.
  package mutating func removeRevertedDeletions() {
    for object in deleted where !object.flags.contains(.isDeleted) { object.flags.remove(.isListedAsDeleted) }
    deleted.removeAll { !$0.flags.contains(.isDeleted) }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
  }

  /// Releases the deferred delete rules of objects that undo has deleted, so that a save applies them next.
  ///
  /// - Returns: `false` if there are no such objects.
  package mutating func resumeRules() -> Bool {
    if !hasDeferredRules { return false }
    hasDeferredRules = false
    for object in deleted { object.flags.remove(.defersDeleteRules) }
    propagatedCount = 0
    return true
  }

  /// Makes the next save check the version of an object.
  package mutating func lock(_ object: ManagedObject) {
    object.flags.insert(.isLocked)
    locked.append(object)
  }

  /// Clears the list of updated objects if none of them has changes any more.
  package mutating func dropUnchanged() {
    while unchangedCount < updated.count, !updated[unchangedCount].flags.contains(.isUpdated) { unchangedCount += 1 }
    guard unchangedCount > 0, unchangedCount == updated.count else { return }
    for object in updated { object.flags.remove(.isListedAsUpdated) }
    updated = []
    unchangedCount = 0
  }

  // MARK: The current event

  /// Whether the end of the event has changes to report or objects to clean up.
  package var hasEvent: Bool { hasPendingChanges || hasDeletedInsertions }

  package var hasPendingChanges: Bool { !pending.isEmpty }

  @inline(__always) private mutating func recordPending(_ object: ManagedObject) {
    if object.flags.contains(.hasPendingChange) { return }
    object.flags.insert(.hasPendingChange)
    pending.append(object)
    if pending.count == 1 { notifyEventStart() }
  }

  /// Registers an observer for the start of an event, that is its first change, or removes it if `observer` is `nil`. The observer must not
  /// modify objects, and must ensure that the event ends.
  mutating func setEventStartObserver(_ number: UInt64, _ observer: (() -> Void)?) { eventStartObservers[number] = observer }

  /// Whether an observer ensures that events end.
  var hasEventStartObservers: Bool { !eventStartObservers.isEmpty }

  @inline(never) private func notifyEventStart() {
    if eventStartObservers.isEmpty { return }
    for observer in eventStartObservers.values { observer() }
  }

  package var pendingObjects: [ManagedObject] { pending }

  /// Returns the objects changed in the current event, and removes them from the event.
  package mutating func takePending() -> [ManagedObject] {
    let taken = pending
    pending = []
    for object in taken { object.flags.remove(.hasPendingChange) }
    return taken
  }

  /// Returns objects to the current event, unless they are part of it.
  package mutating func restorePending(_ objects: [ManagedObject]) {
    for object in objects { recordPending(object) }
  }

  /// Returns the next deleted object whose delete rules were not applied, and marks them as applied. Returns `nil` if there is none.
  /// Cascading rules can add more objects.
  package mutating func takeUnpropagated() -> ManagedObject? {
    while propagatedCount < deleted.count {
      let object = deleted[propagatedCount]
      propagatedCount += 1
      guard object.flags.contains(.isDeleted), object.flags.isDisjoint(with: [.deletePropagated, .defersDeleteRules]) else { continue }
      object.flags.insert(.deletePropagated)
      return object
    }
    return nil
  }

  /// Removes and returns new objects that were deleted and whose delete rules were applied.
  package mutating func takeDeletedInsertions() -> [ManagedObject] {
    guard hasDeletedInsertions else { return [] }
    let taken = deleted.filter { $0.flags.isSuperset(of: [.isInserted, .deletePropagated]) }
    if taken.isEmpty { return [] }
    if taken.count <= 4 {
      // Usually these objects are the most recent ones.
      for object in taken {
        if let position = inserted.lastIndex(where: { $0 === object }) { inserted.remove(at: position) }
        if let position = deleted.lastIndex(where: { $0 === object }) { deleted.remove(at: position) }
      }
    } else {
      let removed = Set(taken)
      deleted.removeAll(where: removed.contains)
      inserted.removeAll(where: removed.contains)
    }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
    return taken
  }

  /// Makes the next save call `willSave()` on every object again. After a successful save, removing the objects has the same effect.
  package func resetWillSaveCalls() {
    listed.forEachChanged { $0.flags.remove(.willSaveCalled) }
  }

  // MARK: Completion

  /// Completes a save of all objects; see ``removeAll()``.
  @discardableResult
  package mutating func finishSave() -> RemovedChanges {
    saveCount += 1
    return removeAll()
  }

  /// Completes a save of some objects. The others remain.
  package mutating func finishSave(of part: SaveSet) {
    saveCount += 1
    remove(part.inserted + part.updated + part.deleted + part.locked)
  }

  /// Removes objects, which the caller must retain.
  package mutating func remove(_ objects: [ManagedObject]) {
    let removed = Set(objects)
    for object in removed { object.flags.subtract(Self.flags) }
    inserted.removeAll(where: removed.contains)
    updated.removeAll(where: removed.contains)
    deleted.removeAll(where: removed.contains)
    pending.removeAll(where: removed.contains)
    locked.removeAll(where: removed.contains)
    propagatedCount = 0
    unchangedCount = 0
  }

  private static let flags: ObjectFlags = [
    .isListedAsInserted, .isListedAsUpdated, .isListedAsDeleted, .hasPendingChange, .deletePropagated, .isLocked, .isAnnounced,
    .willSaveCalled, .isRestored, .defersDeleteRules,
  ]

  /// Removes all objects.
  ///
  /// - Returns: The removed objects. Objects without other references are deallocated with the result, when the lists are consistent again.
  @discardableResult
  package mutating func removeAll() -> RemovedChanges {
    let former = RemovedChanges(listed: listed, pending: pending)
    (inserted, updated, deleted, locked, pending) = ([], [], [], [], [])
    (propagatedCount, unchangedCount, hasDeletedInsertions) = (0, 0, false)
    former.listed.forEachChanged { $0.flags.subtract(Self.flags) }
    for object in former.listed.locked { object.flags.subtract(Self.flags) }
    for object in former.pending { object.flags.subtract(Self.flags) }
    return former
  }

  /// The contents of the lists before they were cleared.
  package struct RemovedChanges {
    fileprivate let listed: SaveSet
    fileprivate let pending: [ManagedObject]

    /// The objects of all lists, without duplicates.
    package var objects: [ManagedObject] {
      var seen = Set<ManagedObject>()
      return (listed.inserted + listed.updated + listed.deleted + listed.locked + pending).filter { seen.insert($0).inserted }
    }
  }
}

/// The objects of one save.
package struct SaveSet {
  package let inserted: [ManagedObject]
  package let updated: [ManagedObject]
  package let deleted: [ManagedObject]
  /// Unchanged objects whose versions are checked.
  package let locked: [ManagedObject]

  /// Calls a closure for the inserted, updated and deleted objects, without concatenating the lists, which would slow down small saves.
  @inline(__always) package func forEachChanged(_ body: (ManagedObject) throws -> Void) rethrows {
    for object in inserted { try body(object) }
    for object in updated { try body(object) }
    for object in deleted { try body(object) }
  }

  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && locked.isEmpty }

  /// Returns the ID of one of the objects in a store.
  package func first(inSpace space: UInt32) -> ManagedObjectID? {
    func isInSpace(_ object: ManagedObject) -> Bool { object.currentID.space == space }
    let object =
      inserted.first(where: isInSpace) ?? updated.first(where: isInSpace) ?? deleted.first(where: isInSpace)
      ?? locked.first(where: isInSpace)
    return object?.currentID
  }

  package func hasSameObjects(as other: SaveSet) -> Bool {
    inserted == other.inserted && updated == other.updated && deleted == other.deleted
  }

  /// Returns the objects that were saved after a merge policy has removed some of them.
  ///
  /// - Parameters:
  ///   - removed: Objects that are not in a store.
  ///   - merged: New objects that now represent stored ones.
  ///   - restored: Objects that were not deleted.
  package func without(_ removed: Set<ManagedObject>, merged: Set<ManagedObject>, restored: Set<ManagedObject>) -> SaveSet {
    SaveSet(
      inserted: inserted.filter { !removed.contains($0) && !merged.contains($0) },
      updated: updated.filter { !removed.contains($0) } + inserted.filter(merged.contains),
      deleted: deleted.filter { !removed.contains($0) && !restored.contains($0) }, locked: locked)
  }

  /// Returns the objects that are in the given stores.
  package func part(inStores stores: [PersistentStore]) -> SaveSet {
    let spaces = Set(stores.map(\.space.number))
    func isInStores(_ object: ManagedObject) -> Bool { spaces.contains(object.currentID.space) }
    return SaveSet(
      inserted: inserted.filter(isInStores), updated: updated.filter(isInStores), deleted: deleted.filter(isInStores),
      locked: locked.filter(isInStores))
  }
}
