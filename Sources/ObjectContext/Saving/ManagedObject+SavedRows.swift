// ManagedObject+SavedRows: what an object takes of a save: its own row, and values that a store has computed.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The object was saved: its values are those of the row (nil keeps the row it has), and nothing is changed any more.
  ///
  /// - Parameters:
  ///   - row: The row.
  ///   - save: The save, which knows the references that new objects have by now.
  final func takeSavedRow(_ row: RowImage?, of save: SaveSession) {
    withExtendedLifetime(row) { takeSavedRow(heldRow: row?.base, of: save) }
  }

  /// Takes the row that was saved, which somebody holds.
  final func takeSavedRow(heldRow row: UnsafeRawPointer?, of save: SaveSession) {
    let overlay = takeOverlay()
    defer { overlay?.free() }
    if let row { takeRow(row) }
    if let overlay, askEntity(\.hasTransientSlots) { keepTransientValues(of: overlay, save) }
    for state in toManyStates { state.commit(replacing: save.savedReference) }
    flags.subtract([.isInserted, .isUpdated, .outlivesRow])
    updatePlainRow()
  }

  /// Transient values live on until the object becomes a fault.
  private func keepTransientValues(of former: Overlay, _ save: SaveSession) {
    let entity = compiledEntity
    for slot in entity.slots where slot.isTransient && former.has(slot.index) {
      var value = former[slot.index]
      if slot.relationship != nil, case .int(let word) = value {
        value = .int(save.savedReference(ObjectReference(rawValue: word)).rawValue)
      }
      overlayForWriting(of: entity).keep(value, at: slot.index)
    }
  }

  /// Takes a row of which nothing but computed values is new, unless somebody else has saved the object too.
  final func takeComputedRow(_ row: RowImage) {
    guard let image, !flags.contains(.isPartial) else {
      // A fault gets its row when it is asked for.
      if flags.contains(.isFault) { return forgetPartialRow() }
      return takeFreshRow(row)
    }
    if flags.contains(.isFault) {
      self.image = row
    } else if image.version == row.version {
      self.image = row
      updatePlainRow()
    } else {
      takeFreshRow(row)
    }
  }
}
