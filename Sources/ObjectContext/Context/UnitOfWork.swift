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

  /// Whether nothing was changed.
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  mutating func removeAll() {
    for object in inserted + updated + deleted + pending + locked {
      object.flags.subtract([
        .isListedAsInserted, .isListedAsUpdated, .isListedAsDeleted, .hasPendingChange, .deletePropagated, .isLocked,
      ])
    }
    self = UnitOfWork()
  }
}
