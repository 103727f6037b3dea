import ObjectModel

/// Changes that the application made to objects while the stores wrote a save: in calls of transaction observers. They become unsaved changes
/// after the save.
struct SaveEdits {
  private struct Edit {
    let object: ManagedObject
    let isDeleted: Bool
    var attributes: [(slot: Int, value: Slot)] = []
    var toOnes: [(slot: Int, destination: ManagedObject?)] = []
    var toManys: [(name: String, members: Any?)] = []
  }
  /// The changes of the saved objects. The changes of other objects remain in the context.
  private var edits: [Edit] = []

  /// - Parameters:
  ///   - objects: The objects that were changed.
  ///   - work: The objects that were saved.
  init(_ objects: [ManagedObject], during work: SaveSet) {
    let saved = Set(work.inserted).union(work.updated)
    for object in objects where saved.contains(object) {
      var edit = Edit(object: object, isDeleted: object.flags.contains(.isDeleted))
      if !edit.isDeleted {
        for slot in object.compiledEntity.slots where !slot.isTransient && !slot.isDerived {
          guard let overlay = object.overlay, overlay.isDirty(slot.index) else { continue }
          if slot.relationship == nil {
            edit.attributes.append((slot.index, object.slotValue(slot.index)))
          } else {
            edit.toOnes.append((slot.index, object[slot.name] as? ManagedObject))
          }
        }
        for state in object.toManyStates where state.isChanged {
          edit.toManys.append((state.relationship.name, object[state.relationship.name]))
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
      for (name, members) in edit.toManys where !Self.isSame(object[name], members) {
        do { try object.setValue(members, forKey: name) } catch { object.reportError(error) }
      }
    }
  }

  private static func isSame(_ one: Any?, _ other: Any?) -> Bool {
    if let one = one as? [ManagedObject], let other = other as? [ManagedObject] { return one == other }
    return one as? Set<ManagedObject> == other as? Set<ManagedObject>
  }
}
