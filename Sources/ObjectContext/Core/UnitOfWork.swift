// UnitOfWork: the changed objects of a context, held until they are saved.

/// The changed objects of a context, and of them those of the event under way. Flags on the objects keep each in a list once; an object that left a state
/// is skipped by its flags.
package struct UnitOfWork: ~Copyable {
  /// Objects inserted, in order.
  package private(set) var inserted: [ManagedObject] = []
  /// Objects updated, in order of their first change.
  package private(set) var updated: [ManagedObject] = []
  /// Objects deleted, in order.
  package private(set) var deleted: [ManagedObject] = []
  /// Objects whose versions are checked by the next save.
  private var locked: [ManagedObject] = []
  /// Objects changed in the event under way.
  private var pending: [ManagedObject] = []
  /// How many of the deleted objects, from the first, had their delete rules applied.
  private var propagatedCount = 0
  /// Whether some deleted object was never saved.
  private var hasDeletedInsertions = false
  /// Whether the delete rules of some objects wait for the save.
  private var hasRulesWaiting = false
  /// How many of the updated objects, from the first, have given up their changes.
  private var unchangedCount = 0
  /// How often the work, or some of it, was saved.
  package private(set) var saveCount = 0
  /// How many objects were inserted ever.
  private(set) var insertionCount = 0
  /// Who wants to know that an event begins, by number: its end is theirs to bring about.
  private var beginningObservers: [UInt64: () -> Void] = [:]

  /// No work.
  package init() {}

  /// Whether no object is inserted, updated or deleted.
  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// Whether some stored object is changed or deleted, on which the answers about others may depend.
  var mayConcernOthers: Bool { !updated.isEmpty || !deleted.isEmpty }

  /// Whether the versions of some objects are to be checked.
  package var hasLocked: Bool { !locked.isEmpty }

  /// The objects inserted, updated and deleted.
  package var objects: [ManagedObject] { inserted + updated + deleted }

  /// Those of the objects inserted, updated and deleted that meet a condition.
  package func filter(_ condition: (ManagedObject) -> Bool) -> [ManagedObject] {
    inserted.filter(condition) + updated.filter(condition) + deleted.filter(condition)
  }

  /// The lists as they are now, with objects of which nothing is to be written any more.
  package var listed: SaveWork { SaveWork(inserted: inserted, updated: updated, deleted: deleted, locked: locked) }

  /// What a save writes and checks as things stand.
  package func work() -> SaveWork {
    SaveWork(
      inserted: Self.those(of: inserted) { $0.isInserted }, updated: Self.those(of: updated) { $0.isUpdated },
      deleted: Self.those(of: deleted) { $0.isDeleted && !$0.flags.contains(.isInserted) },
      locked: Self.those(of: locked) { !$0.hasChanges && $0.contextReference != nil })
  }

  /// The objects that meet a condition: as a rule all, and then the list itself, which is not copied.
  private static func those(of list: [ManagedObject], _ condition: (ManagedObject) -> Bool) -> [ManagedObject] {
    list.allSatisfy(condition) ? list : list.filter(condition)
  }

  // MARK: Changes

  /// An object was inserted.
  package mutating func noteInserted(_ object: ManagedObject) {
    object.flags.formUnion([.isListedAsInserted, .hasPendingChange])
    insertionCount += 1
    inserted.append(object)
    pending.append(object)
    if pending.count == 1 { tellBeginning() }
  }

  /// An object was changed.
  package mutating func noteUpdated(_ object: ManagedObject) {
    notePending(object)
    if object.flags.isDisjoint(with: [.isInserted, .isListedAsUpdated, .isInaccessible]) {
      object.flags.insert(.isListedAsUpdated)
      updated.append(object)
    } else if !object.flags.contains(.isUpdated) {
      // A listed object that had given up its changes has some again.
      unchangedCount = 0
    }
    object.flags.insert(.isUpdated)
  }

  /// An object was deleted by undoing or redoing.
  package mutating func noteUndone(_ object: ManagedObject) {
    // A new one just leaves: what refers to it was taken back before.
    object.flags.insert(object.flags.contains(.isInserted) ? .deletePropagated : .rulesWait)
    hasRulesWaiting = true
    noteDeleted(object)
  }

  /// An object was deleted.
  package mutating func noteDeleted(_ object: ManagedObject) {
    if object.flags.contains(.isDeleted) { return }
    object.flags.insert(.isDeleted)
    if !object.flags.contains(.isListedAsDeleted) {
      object.flags.insert(.isListedAsDeleted)
      deleted.append(object)
      if object.flags.contains(.isInserted) { hasDeletedInsertions = true }
    }
    notePending(object)
  }

  /// Deletions are taken back; the objects are what else they were.
  package mutating func takeBackDeletions(of objects: [ManagedObject]) {
    if objects.isEmpty { return }
    for object in objects { object.flags.subtract([.isDeleted, .isListedAsDeleted, .deletePropagated, .rulesWait]) }
    deleted.removeAll { !$0.flags.contains(.isDeleted) }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
  }

  /// A deletion is taken back; the object stays listed until ``dropTakenBack()``.
  package mutating func takeBackDeletion(of object: ManagedObject) {
    object.flags.subtract([.isDeleted, .deletePropagated, .rulesWait])
    object.flags.insert(.isBack)
    notePending(object)
  }

  /// Objects whose deletions were taken back leave the list.
  package mutating func dropTakenBack() {
    for object in deleted where !object.flags.contains(.isDeleted) { object.flags.remove(.isListedAsDeleted) }
    deleted.removeAll { !$0.flags.contains(.isDeleted) }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
  }

  /// The delete rules of objects that undoing has deleted are applied next, by a save.
  ///
  /// - Returns: False where there are no such objects.
  package mutating func releaseRules() -> Bool {
    if !hasRulesWaiting { return false }
    hasRulesWaiting = false
    for object in deleted { object.flags.remove(.rulesWait) }
    propagatedCount = 0
    return true
  }

  /// The next save checks an object's version.
  package mutating func lock(_ object: ManagedObject) {
    object.flags.insert(.isLocked)
    locked.append(object)
  }

  /// Objects that gave up their changes stay listed until all of them have.
  package mutating func dropUnchanged() {
    while unchangedCount < updated.count, !updated[unchangedCount].flags.contains(.isUpdated) { unchangedCount += 1 }
    guard unchangedCount > 0, unchangedCount == updated.count else { return }
    for object in updated { object.flags.remove(.isListedAsUpdated) }
    updated = []
    unchangedCount = 0
  }

  // MARK: The event under way

  /// Whether something happened that the end of the event is to tell of or to tidy up.
  package var hasEvent: Bool { hasPendingChanges || hasDeletedInsertions }

  /// Whether some object was changed in the event under way.
  package var hasPendingChanges: Bool { !pending.isEmpty }

  @inline(__always) private mutating func notePending(_ object: ManagedObject) {
    if object.flags.contains(.hasPendingChange) { return }
    object.flags.insert(.hasPendingChange)
    pending.append(object)
    if pending.count == 1 { tellBeginning() }
  }

  /// Tells somebody, by the number of whom, when an event begins with a first change. He changes nothing then, and sees to it that the event ends; nil tells him
  /// nothing more.
  mutating func setBeginningObserver(_ number: UInt64, _ observer: (() -> Void)?) { beginningObservers[number] = observer }

  /// Whether somebody sees to it that events end.
  var hasBeginningObservers: Bool { !beginningObservers.isEmpty }

  @inline(never) private func tellBeginning() {
    if beginningObservers.isEmpty { return }
    for observer in beginningObservers.values { observer() }
  }

  /// The objects changed in the event under way.
  package var pendingObjects: [ManagedObject] { pending }

  /// The objects changed in the event, which ends for them.
  package mutating func takePending() -> [ManagedObject] {
    let taken = pending
    pending = []
    for object in taken { object.flags.remove(.hasPendingChange) }
    return taken
  }

  /// Puts objects back into the event, those that are not in it.
  package mutating func restorePending(_ objects: [ManagedObject]) {
    for object in objects { notePending(object) }
  }

  /// The next deleted object whose delete rules were not applied, which counts as applied; nil when there is none. More come while rules cascade.
  package mutating func takeUnpropagated() -> ManagedObject? {
    while propagatedCount < deleted.count {
      let object = deleted[propagatedCount]
      propagatedCount += 1
      guard object.flags.contains(.isDeleted), object.flags.isDisjoint(with: [.deletePropagated, .rulesWait]) else { continue }
      object.flags.insert(.deletePropagated)
      return object
    }
    return nil
  }

  /// Takes out new objects that were deleted and whose delete rules were applied.
  package mutating func takeDeletedInsertions() -> [ManagedObject] {
    guard hasDeletedInsertions else { return [] }
    let taken = deleted.filter { $0.flags.isSuperset(of: [.isInserted, .deletePropagated]) }
    if taken.isEmpty { return [] }
    if taken.count <= 4 {
      // They came last, as a rule.
      for object in taken {
        if let position = inserted.lastIndex(where: { $0 === object }) { inserted.remove(at: position) }
        if let position = deleted.lastIndex(where: { $0 === object }) { deleted.remove(at: position) }
      }
    } else {
      let gone = Set(taken)
      deleted.removeAll(where: gone.contains)
      inserted.removeAll(where: gone.contains)
    }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
    return taken
  }

  /// The next save calls `willSave` on every object again. The end of the work says so of the objects that were saved.
  package func forgetWillSaveCalls() {
    listed.forEachChanged { $0.flags.remove(.willSaveCalled) }
  }

  // MARK: The end of the work

  /// All of the work was saved: as ``removeAll()``.
  @discardableResult
  package mutating func finishSave() -> FormerWork {
    saveCount += 1
    return removeAll()
  }

  /// A part of the work was saved; the other stays.
  package mutating func finishSave(of part: SaveWork) {
    saveCount += 1
    remove(part.inserted + part.updated + part.deleted + part.locked)
  }

  /// Forgets objects, which the caller holds.
  package mutating func remove(_ objects: [ManagedObject]) {
    let gone = Set(objects)
    for object in gone { object.flags.subtract(Self.flags) }
    inserted.removeAll(where: gone.contains)
    updated.removeAll(where: gone.contains)
    deleted.removeAll(where: gone.contains)
    pending.removeAll(where: gone.contains)
    locked.removeAll(where: gone.contains)
    propagatedCount = 0
    unchangedCount = 0
  }

  private static let flags: ObjectFlags = [
    .isListedAsInserted, .isListedAsUpdated, .isListedAsDeleted, .hasPendingChange, .deletePropagated, .isLocked, .isAnnounced,
    .willSaveCalled, .isBack, .rulesWait,
  ]

  /// Forgets all objects.
  ///
  /// - Returns: What was listed. Objects that nobody else holds die with it, when the lists are whole again.
  @discardableResult
  package mutating func removeAll() -> FormerWork {
    let former = FormerWork(listed: listed, pending: pending)
    (inserted, updated, deleted, locked, pending) = ([], [], [], [], [])
    (propagatedCount, unchangedCount, hasDeletedInsertions) = (0, 0, false)
    former.listed.forEachChanged { $0.flags.subtract(Self.flags) }
    for object in former.listed.locked { object.flags.subtract(Self.flags) }
    for object in former.pending { object.flags.subtract(Self.flags) }
    return former
  }

  /// What was listed.
  package struct FormerWork {
    fileprivate let listed: SaveWork
    fileprivate let pending: [ManagedObject]

    /// All of it, an object of two lists once.
    package var objects: [ManagedObject] {
      var seen = Set<ManagedObject>()
      return (listed.inserted + listed.updated + listed.deleted + listed.locked + pending).filter { seen.insert($0).inserted }
    }
  }
}
