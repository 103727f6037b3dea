// ManagedObject+Slots: reading and writing slots, below typed properties and key-value access.
package import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Gets the values of a fault, and notes that the object is in use. False when its row is gone.
  @discardableResult
  final func willAccess(_ slot: Int? = nil) -> Bool {
    if flags.contains(.isFault) {
      if let slot, hasPartialValue(slot) { return true }
      return fireFault(trigger: slot)
    }
    return !flags.contains(.isInaccessible)
  }

  /// The value of a slot; null also where it cannot be read, of which the context is told. Fires a fault.
  package final func slotValue(_ slot: Int) -> Slot {
    do { return try readSlotValue(slot) } catch {
      managedObjectContext?.note(error)
      return .null
    }
  }

  /// The value of a slot. Fires a fault, of whose failure the context is told.
  ///
  /// - Throws: ``StoreError`` where the value cannot be read.
  final func readSlotValue(_ slot: Int) throws -> Slot {
    willAccess(slot)
    return try readSlotValueAtHand(slot) ?? .null
  }

  /// The value of a slot if it is at hand, without firing a fault.
  ///
  /// - Throws: ``StoreError`` where the value cannot be read.
  final func readSlotValueAtHand(_ slot: Int) throws -> Slot? {
    if let overlay, overlay.present.contains(slot) {
      guard let external = overlay.external(slot) else { return overlay[slot] }
      return .bytes(try external.data())
    }
    return try image.map { try storedValue(slot, of: $0) }
  }

  /// The value that a row has.
  ///
  /// - Throws: ``StoreError`` where it cannot be read.
  final func storedValue(_ slot: Int, of image: RowImage) throws -> Slot {
    try image.value(slot, of: compiledEntity, objectID)
  }

  /// Sets the value of a slot as a change. Fires a fault. What cannot be kept changes nothing and is told by ``ManagedObjectContext/pendingError``.
  package final func setSlotValue(_ value: Slot, at slot: Int) {
    guard prepareToWrite(slot) else { return }
    let overlay = overlayForWriting()
    if overlay.derived.contains(slot), !flags.contains(.isBatchRow) { return tell(derivedError(compiledEntity.slots[slot])) }
    // What awakeFromFetch sets is no change: it is neither saved nor reported.
    if flags.contains(.isAwaking) { return overlay.keep(value, at: slot) }
    overlay.set(value, at: slot)
    noteChange()
  }

  /// The overlay, made on the first change.
  final func overlayForWriting() -> Overlay {
    if flags.contains(.isPartial) { fireFault(trigger: nil) }
    if let overlay { return overlay }
    let made = Overlay(of: compiledEntity)
    overlay = made
    plainRow = nil
    return made
  }

  /// Gives a new object its default values.
  final func setDefaults(of entity: CompiledEntity) {
    if entity.slotsWithDefaults.isEmpty { return }
    let overlay = overlayForWriting()
    for slot in entity.slotsWithDefaults { overlay.keep(entity.slots[slot].defaultValue, at: slot) }
  }

  /// Gives transient attributes their default values, since no store has them: an object begins with them whenever it gets its values.
  final func setTransientDefaults() {
    let entity = compiledEntity
    if entity.transientSlotsWithDefaults.isEmpty { return }
    let overlay = overlayForWriting()
    for slot in entity.transientSlotsWithDefaults where !overlay.present.contains(slot) {
      overlay.keep(entity.slots[slot].defaultValue, at: slot)
    }
  }

  /// The object was changed: it joins the context's unit of work.
  final func noteChange() {
    if flags.isSuperset(of: [.isUpdated, .hasPendingChange]) || flags.contains(.isAwaking) { return }
    guard let context = managedObjectContext else { return }
    context.unitOfWork.noteUpdated(self)
  }

  /// Lets reads go straight to the row if nothing stands in the way.
  final func updatePlainRow() {
    plainRow = flags.isDisjoint(with: [.isFault, .isInaccessible]) && overlay == nil && !hasExternals ? image?.base : nil
  }

  /// The destination of a to-one relationship as it stands in the overlay or row. Fires a fault.
  final func referenceValue(_ slot: Int) -> ObjectReference {
    willAccess(slot)
    if let overlay, overlay.present.contains(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image.map { $0.reference(slot) } ?? ObjectReference(rawValue: 0)
  }

  /// The destination of a to-one relationship if it is at hand, without firing a fault.
  final func referenceValueAtHand(_ slot: Int) -> ObjectReference? {
    if let overlay, overlay.present.contains(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image?.reference(slot)
  }
}
