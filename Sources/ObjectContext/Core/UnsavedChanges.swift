// UnsavedChanges: what becomes of unsaved changes when others' changes are merged: nothing of them goes without being told.
import ObjectModel
import ObjectStore

/// The unsaved changes that a merge has met.
struct UnsavedChanges {
  /// The unsaved values of objects that others have deleted, by object and name.
  private(set) var discarded: [ManagedObjectID: [String: (any Sendable)?]] = [:]
  /// The properties that were changed on both sides, by object.
  private(set) var overridden: [ManagedObjectID: Set<String>] = [:]
  /// Changed objects with the rows that their changes lay above.
  private var former: [(object: ManagedObject, row: RowImage)] = []

  /// An object leaves since others have deleted it.
  mutating func noteDiscarded(_ object: ManagedObject) {
    guard object.flags.contains(.isUpdated), !object.flags.contains(.isDeleted) else { return }
    var values: [String: (any Sendable)?] = [:]
    for slot in object.compiledEntity.slots where object.overlay?.isDirty(slot.index) ?? false {
      if let attribute = slot.attribute {
        let value = (try? AttributeConversion.untypedValue(of: object.slotValue(slot.index), attribute)) ?? nil
        values.updateValue(value, forKey: slot.name)
      } else {
        values.updateValue((object[slot.name] as? ManagedObject)?.objectID, forKey: slot.name)
      }
    }
    for state in object.toManyStates where state.isChanged {
      let members = object[state.relationship.name]
      let ids =
        (members as? [ManagedObject])?.map(\.objectID) ?? (members as? Set<ManagedObject>)?.map(\.objectID).sorted(by: Self.precedes)
      values.updateValue(ids, forKey: state.relationship.name)
    }
    if !values.isEmpty { discarded[object.objectID] = values }
  }

  private static func precedes(_ one: ManagedObjectID, _ other: ManagedObjectID) -> Bool {
    (one.entityNumber, one.key) < (other.entityNumber, other.key)
  }

  /// Objects are about to take the rows of others.
  mutating func begin(_ objects: [ManagedObject]) {
    for object in objects {
      guard let overlay = object.overlay, !overlay.dirty.isEmpty, let row = object.image else { continue }
      former.append((object, row))
    }
  }

  /// They have them: what is different now was changed by others.
  mutating func end() {
    for (object, row) in former {
      guard let overlay = object.overlay, let now = object.image else { continue }
      let entity = object.compiledEntity
      let names = entity.slots.filter { slot in
        overlay.isDirty(slot.index) && !slot.isTransient && !row.hasSameValue(slot.index, kind: slot.kind, as: now)
      }.map(\.name)
      if !names.isEmpty { overridden[object.objectID] = Set(names) }
    }
    former = []
  }
}
