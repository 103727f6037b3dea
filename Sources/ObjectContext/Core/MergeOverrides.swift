import ObjectModel
import ObjectStore

/// The unsaved changes that a merge of other changes affects, so that the context can report each of them.
struct MergeOverrides {
  /// The unsaved values of objects that were deleted elsewhere, by object and property name.
  private(set) var discarded: [ManagedObjectID: [String: (any Sendable)?]] = [:]
  /// The properties changed both here and elsewhere, by object.
  private(set) var overridden: [ManagedObjectID: Set<String>] = [:]
  /// Changed objects with the rows that they had before the merge.
  private var former: [(object: ManagedObject, row: RowImage)] = []

  /// Records the unsaved values of an object that was deleted elsewhere.
  mutating func recordDiscarded(_ object: ManagedObject) {
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

  /// Records the rows of objects before the merge replaces them.
  mutating func begin(_ objects: [ManagedObject]) {
    for object in objects {
      guard let overlay = object.overlay, !overlay.dirty.isEmpty, let row = object.image else { continue }
      former.append((object, row))
    }
  }

  /// Compares the rows after the merge: values that differ were changed elsewhere.
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
