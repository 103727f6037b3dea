import ObjectModel
import ObjectStore

/// Changes that the application made to objects while the stores wrote a save: in calls of transaction observers. They become unsaved changes
/// after the save.
struct SaveEdits {
  private struct Edit {
    let object: ManagedObject
    let isDeleted: Bool
    var attributes: [(slot: Int, value: Slot)] = []
    var toOnes: [(slot: Int, destination: ManagedObject?)] = []
    var toManys: [ToMany] = []
  }
  private struct ToMany {
    let name: String
    let members: Any?
    /// The added and removed members, those of the save among them.
    let added: Set<ManagedObject>
    let removed: Set<ObjectReference>
  }
  /// The changes of the saved objects. The changes of other objects remain in the context.
  private var edits: [Edit] = []
  /// Whether the save was merged with changes that others have saved meanwhile.
  private let isMerged: Bool

  /// - Parameters:
  ///   - objects: The objects that were changed.
  ///   - work: The objects that were saved.
  ///   - requests: What was to be saved, before a merge.
  ///   - isMerged: Whether the merge policy has resolved conflicts.
  init(_ objects: [ManagedObject], during work: SaveSet, _ requests: [(PersistentStore, SaveChangesRequest)], isMerged: Bool) {
    self.isMerged = isMerged
    let saved = Set(work.inserted).union(work.updated)
    var rows: [ManagedObjectID: RowImage] = [:]
    for (store, request) in requests {
      for row in request.inserted { rows[store.space.objectID(of: row.reference)] = row }
      for update in request.updated { rows[store.space.objectID(of: update.row.reference)] = update.row }
    }
    for object in objects where saved.contains(object) {
      var edit = Edit(object: object, isDeleted: object.flags.contains(.isDeleted))
      if !edit.isDeleted {
        for slot in object.compiledEntity.slots where !slot.isTransient && !slot.isDerived {
          guard let context = object.managedObjectContext, let overlay = object.overlay, overlay.isDirty(slot.index),
            rows[object.currentID].map({ overlay.differs(slot, from: $0, in: context) }) ?? true
          else { continue }
          if slot.relationship == nil {
            edit.attributes.append((slot.index, object.slotValue(slot.index)))
          } else {
            edit.toOnes.append((slot.index, object[slot.name] as? ManagedObject))
          }
        }
        for state in object.toManyStates where state.isChanged {
          let members = object[state.relationship.name]
          let present = members as? Set<ManagedObject> ?? Set(members as? [ManagedObject] ?? [])
          edit.toManys.append(
            ToMany(
              name: state.relationship.name, members: members, added: present.filter { state.added.contains($0.ownReference) },
              removed: state.removed))
        }
      }
      edits.append(edit)
    }
  }

  /// Makes the changes again, after the objects have adopted the saved values.
  func restore(in context: ManagedObjectContext) {
    for edit in edits where edit.object.managedObjectContext === context {
      let object = edit.object
      if edit.isDeleted {
        object.flags.subtract([.isDeleted, .isListedAsDeleted, .deletePropagated])
        context.delete(object)
        continue
      }
      for (slot, value) in edit.attributes where object.slotValue(slot) != value { object.setAttributeValue(value, at: slot) }
      for (slot, destination) in edit.toOnes {
        let name = object.compiledEntity.slots[slot].name
        if object[name] as? ManagedObject !== destination { object.setToOne(destination, at: slot) }
      }
      // The save has made all members stored ones.
      for state in object.toManyStates where edit.toManys.contains(where: { $0.name == state.relationship.name }) {
        state.unload(keepingOrder: false)
      }
      for edit in edit.toManys {
        let members = members(of: edit, after: object[edit.name])
        if Self.isSame(object[edit.name], members) { continue }
        do { try object.setValue(members, forKey: edit.name) } catch { object.reportError(error) }
      }
    }
  }

  /// Returns the members after the changes, among which members that others have added or removed are kept if the save was merged.
  private func members(of edit: ToMany, after saved: Any?) -> Any? {
    guard isMerged else { return edit.members }
    if let saved = saved as? [ManagedObject] {
      return saved.filter { !edit.removed.contains($0.ownReference) } + edit.added.subtracting(saved)
    }
    return (saved as? Set<ManagedObject> ?? []).filter { !edit.removed.contains($0.ownReference) }.union(edit.added)
  }

  private static func isSame(_ one: Any?, _ other: Any?) -> Bool {
    if let one = one as? [ManagedObject], let other = other as? [ManagedObject] { return one == other }
    return one as? Set<ManagedObject> == other as? Set<ManagedObject>
  }
}
