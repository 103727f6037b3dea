import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Returns a row with the object's current values: set values over those of its own row. Does not fire a fault.
  ///
  /// - Parameter known: Converts the reference in a changed relationship to the one to store; null for none.
  final func presentRow(key: Int64, version: Int64, known: (ObjectReference) -> ObjectReference) -> RowImage {
    let (entity, overlay, image) = (compiledEntity, overlay, image)
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: key, version: version)
    for slot in entity.slots where slot.kind != .none {
      guard let overlay, overlay.has(slot.index) else {
        if let image { writer.copy(slot.index, kind: slot.kind, from: image) }
        continue
      }
      if let external = overlay.external(slot.index) {
        writer.setExternal(external, at: slot.index)
      } else if slot.kind == .reference, case .int(let word) = overlay[slot.index] {
        let reference = known(ObjectReference(rawValue: word))
        if !reference.isNull { writer.setReference(reference, at: slot.index) }
      } else {
        writer.set(overlay[slot.index], at: slot.index)
      }
    }
    return writer.endRow()
  }
}
