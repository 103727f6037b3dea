import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Updates the object after it was saved: adopts the row and clears its changes.
  ///
  /// - Parameters:
  ///   - row: The row; nil to keep the current one.
  ///   - save: The save, which maps references of new objects to permanent ones.
  final func takeSavedRow(_ row: RowImage?, of save: SaveSession) {
    withExtendedLifetime(row) { takeSavedRow(heldRow: row?.base, of: save) }
  }

  /// Adopts a saved row. The caller keeps the row alive.
  final func takeSavedRow(heldRow row: UnsafeRawPointer?, of save: SaveSession) {
    let overlay = takeOverlay()
    defer { overlay?.free() }
    if let row { setRow(row) }
    if let overlay, withEntity(\.hasTransientSlots) { keepTransientValues(of: overlay, save) }
    for state in toManyStates { state.commit(replacing: save.savedReference) }
    flags.subtract([.isInserted, .isUpdated])
    flags.remove(.outlivesRow)
    updateDirectRow()
  }

  /// Keeps transient values, which live until the object becomes a fault.
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

  /// Adopts a row with new computed values. If another context has saved the object too, adopts the row as a refresh.
  final func takeComputedRow(_ row: RowImage) {
    guard let image, !flags.contains(.isPartial) else {
      // A fault reads its row when it fires.
      if flags.contains(.isFault) { return discardPartialRow() }
      return setRefreshedRow(row)
    }
    if flags.contains(.isFault) {
      self.image = row
    } else if image.version == row.version {
      self.image = row
      updateDirectRow()
    } else {
      setRefreshedRow(row)
    }
  }
}
