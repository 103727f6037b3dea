// UnitOfWork: the changed objects of a context, held until they are saved.

/// The changed objects of a context. Flags on the objects keep each in a list once; an object that left a state is skipped by its flags.
struct UnitOfWork {
  /// Objects inserted, in order.
  var inserted: [ManagedObject] = []
  /// Objects updated, in order of their first change.
  var updated: [ManagedObject] = []
  /// Objects deleted, in order.
  var deleted: [ManagedObject] = []
  /// Objects changed since changes were last processed.
  var pending: [ManagedObject] = []
  /// Objects whose versions are checked by the next save.
  var locked: [ManagedObject] = []
  /// How many of the deleted objects, from the first, had their delete rules applied.
  var propagatedCount = 0
  /// Whether some deleted object was never saved.
  var hasDeletedInsertions = false

  /// Whether no list has an object.
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// The objects inserted, updated and deleted.
  var objects: [ManagedObject] { inserted + updated + deleted }

  /// How many of the updated objects, from the first, have given up their changes.
  private var unchangedCount = 0

  /// Those of the objects inserted, updated and deleted that meet a condition.
  func filter(_ condition: (ManagedObject) -> Bool) -> [ManagedObject] {
    var result: [ManagedObject] = []
    for list in [inserted, updated, deleted] {
      for object in list where condition(object) { result.append(object) }
    }
    return result
  }

  /// Objects that gave up their changes stay listed until all of them have.
  mutating func dropUnchanged() {
    while unchangedCount < updated.count, !updated[unchangedCount].flags.contains(.isUpdated) { unchangedCount += 1 }
    guard unchangedCount > 0, unchangedCount == updated.count else { return }
    for object in updated { object.flags.remove(.isListedAsUpdated) }
    updated = []
    unchangedCount = 0
  }

  /// A listed object that had given up its changes was changed again.
  mutating func noteChangedAgain() { unchangedCount = 0 }

  /// Forgets new objects that were deleted.
  mutating func drop(_ dropped: [ManagedObject]) {
    if dropped.count <= 4 {
      // They came last, as a rule.
      for object in dropped {
        if let position = inserted.lastIndex(where: { $0 === object }) { inserted.remove(at: position) }
        if let position = deleted.lastIndex(where: { $0 === object }) { deleted.remove(at: position) }
      }
    } else {
      let gone = Set(dropped)
      deleted.removeAll(where: gone.contains)
      inserted.removeAll(where: gone.contains)
    }
    propagatedCount = 0
    hasDeletedInsertions = deleted.contains { $0.flags.contains(.isInserted) }
  }

  /// Forgets the objects of a save; others stay.
  mutating func remove(_ work: SaveWork) { remove(work.inserted + work.updated + work.deleted + work.locked) }

  /// Forgets objects.
  mutating func remove(_ objects: [ManagedObject]) {
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
  ]

  mutating func removeAll() {
    for list in [inserted, updated, deleted, pending, locked] {
      for object in list { object.flags.subtract(Self.flags) }
    }
    self = UnitOfWork()
  }
}
