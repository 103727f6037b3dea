// ContextEvent: what an event has changed in a context, object by object and slot by slot, for what keeps itself in step with it.
package import ObjectModel
package import ObjectStore

/// What an event has changed in a context. An object is in one of the lists; only of a save, what was updated may be among the refreshed ones too, with the
/// values that the store has computed.
package struct ContextEvent {
  /// What happened.
  package enum Kind: Sendable {
    /// Objects were changed in memory.
    case changed
    /// Changes were saved, of which an event ``changed`` has told before.
    case saved
    /// Changes of others were merged, or those of a batch request.
    case merged
    /// Objects took values from the store.
    case refreshed
    /// Changes were given up.
    case rolledBack
    /// All objects have left the context; none is listed.
    case reset
  }

  /// An object and what of it was changed.
  package struct Change {
    /// The object.
    package let object: ManagedObject
    /// The slots of the attributes and to-one relationships that were changed; nil where any may have been.
    package let slots: SlotMask?
    /// The indexes of the to-many relationships that were changed; nil where any may have been.
    package let toMany: SlotMask?

    init(_ object: ManagedObject, slots: SlotMask?, toMany: SlotMask?) {
      (self.object, self.slots, self.toMany) = (object, slots, toMany)
    }
  }

  /// What happened.
  package let kind: Kind
  /// New objects; of a save, with their permanent IDs. Of a change in memory, objects whose deletion was undone too.
  package internal(set) var inserted: [ManagedObject] = []
  /// Objects that others have inserted, and that are no objects here unless somebody asks for them.
  package internal(set) var insertedIDs: [ManagedObjectID] = []
  /// Of a merge all that others have changed, with what is no object here.
  package internal(set) var merged: ChangeSet?
  /// Whether anything may have been changed, also what is no object here.
  package internal(set) var isWhole = false
  /// Objects changed here.
  package internal(set) var updated: [Change] = []
  /// Objects deleted, or new ones that were given up.
  package internal(set) var deleted: [ManagedObject] = []
  /// Objects that took values from the store, or gave up changes.
  package internal(set) var refreshed: [Change] = []

  /// After a merge: of objects with unsaved changes the properties that others have changed too.
  package internal(set) var overridden: [ManagedObjectID: Set<String>] = [:]

  init(_ kind: Kind) { self.kind = kind }

  /// Whether nothing was changed.
  package var isEmpty: Bool {
    kind != .reset && !isWhole && (merged?.isEmpty ?? true) && inserted.isEmpty && insertedIDs.isEmpty && updated.isEmpty && deleted.isEmpty
      && refreshed.isEmpty
  }

  /// What the objects of an event have become in it.
  init(endOf objects: [ManagedObject]) {
    self.init(.changed)
    for object in objects {
      let isAnnounced = object.flags.contains(.isAnnounced)
      if object.flags.contains(.isDeleted) {
        // Of what came and went in one event nobody was told.
        if isAnnounced || !object.flags.contains(.isInserted) { deleted.append(object) }
      } else if object.flags.contains(.isBack) || object.flags.contains(.isInserted) && !isAnnounced {
        inserted.append(object)
      } else if object.flags.contains(.isInserted) || object.flags.contains(.isUpdated) {
        updated.append(
          Change(object, slots: object.overlay?.changedInEvent ?? SlotMask(), toMany: object.toManyIndexes(\.isChangedInEvent)))
      }
    }
  }

  /// What a save is about to take over from objects.
  init(saving work: SaveWork) {
    self.init(.saved)
    inserted = work.inserted
    updated = work.updated.map { Change($0, slots: $0.overlay?.dirty ?? SlotMask(), toMany: $0.toManyIndexes(\.isChanged)) }
    deleted = work.deleted
  }

  /// A save's event, once objects have taken what was saved, after a merge policy has taken some out and changed others.
  ///
  /// - Parameters:
  ///   - work: What was saved in the end.
  ///   - computed: Objects for which the store has computed values.
  ///   - merged: Objects that the merge policy has changed.
  func finished(_ work: SaveWork, computed: [ManagedObject], merged: [ManagedObject]) -> ContextEvent {
    var event = self
    let (inserted, deleted) = (Set(work.inserted), Set(work.deleted))
    event.inserted = work.inserted
    event.deleted = work.deleted
    event.updated.removeAll { inserted.contains($0.object) || deleted.contains($0.object) }
    var changes: [ManagedObject: Change] = [:]
    for object in computed where !inserted.contains(object) {
      changes[object] = Change(object, slots: object.compiledEntity.derivedSlots, toMany: SlotMask())
    }
    for object in merged { changes[object] = Change(object, slots: nil, toMany: nil) }
    event.refreshed = (computed + merged).compactMap { changes.removeValue(forKey: $0) }
    return event
  }

  /// Objects of which any property may have been changed.
  init(_ kind: Kind, refreshing objects: [ManagedObject]) {
    self.init(kind)
    refreshed = objects.map { Change($0, slots: nil, toMany: nil) }
  }
}

extension ManagedObject {
  /// The indexes of the to-many relationships whose states meet a condition.
  final func toManyIndexes(_ condition: (ToManyState) -> Bool) -> SlotMask {
    var mask = SlotMask()
    for state in toManyStates where condition(state) { mask.insert(state.relationship.index) }
    return mask
  }
}
