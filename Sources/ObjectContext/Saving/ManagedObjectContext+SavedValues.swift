package import ObjectModel
package import ObjectStore

extension ManagedObjectContext {
  /// Replaces unsaved values of properties by the saved ones. Objects that are not registered are skipped.
  package func setPropertiesToSavedValues(_ keys: [ManagedObjectID: Set<String>]) {
    for (id, keys) in keys {
      guard let object = registeredObject(for: id), let row = object.image else { continue }
      for slot in object.compiledEntity.slots where keys.contains(slot.name) {
        if slot.relationship != nil {
          object.setToOne(self.object(row.reference(slot.index), near: object), at: slot.index)
        } else if let value = try? object.storedValue(slot.index, of: row) {
          object.setSlotValue(value, at: slot.index)
        }
      }
    }
  }

  /// Retains objects that were changed elsewhere until their changes are merged, so that events report the unsaved values that differ.
  package func retainChangedObjects() { changeReceiver.retainChangedObjects() }
}

extension ManagedObject {
  /// The saved values of the object as last read; nil without a row.
  package final var savedSnapshot: RowSnapshot? { image.map { RowSnapshot($0, of: compiledEntity, space: ownSpace) } }
}
