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
    if let overlay, overlay.has(slot) {
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
    // As with nearly every text: the object is read from its overlay, which takes what it is given.
    if flags.admitsValues, contextReference != nil, let overlay {
      overlay.set(value, at: slot)
      readOverlay()
      return noteChange()
    }
    guard prepareToWrite(slot) else { return }
    let entity = compiledEntity
    if entity.hasDerivedSlots, entity.slots[slot].isDerived, !flags.contains(.isBatchRow) { return tell(derivedError(entity.slots[slot])) }
    let overlay = overlayForWriting(of: entity)
    // What awakeFromFetch sets is no change: it is neither saved nor reported.
    if flags.contains(.isAwaking) {
      overlay.keep(value, at: slot)
      return readOverlay()
    }
    hearWrite(at: slot)
    overlay.set(value, at: slot)
    readOverlay()
    noteChange()
  }

  /// The overlay, made on the first change. Whoever changes it calls ``readOverlay()`` then.
  final func overlayForWriting(of entity: CompiledEntity) -> Overlay {
    if flags.contains(.isPartial) { fireFault(trigger: nil) }
    if let overlay { return overlay }
    let made = makeOverlay(of: entity)
    setOverlay(made)
    return made
  }

  /// An overlay with all values of the object, where these are at hand and no more than a few.
  private func makeOverlay(of entity: CompiledEntity) -> Overlay {
    guard flags.isDisjoint(with: [.isFault, .isInaccessible]) else { return Overlay(of: entity) }
    guard let row else { return Overlay(of: entity, isWhole: flags.contains(.isInserted)) }
    if hasExternals { return Overlay(of: entity) }
    // Alive as the argument.
    return Overlay(of: .passUnretained(entity), copying: row) ?? Overlay(of: entity)
  }

  /// The first change of an object with a row, as of nearly every one that was fetched: gives it an overlay with all its values to which numbers are written
  /// as they are. False where more is to be looked at.
  final func beginsToWriteWords() -> Bool {
    guard let contextReference, let row,
      flags.isDisjoint(with: [.isFault, .isPartial, .isInaccessible, .isGone, .isAwaking, .tellsReads])
    else { return false }
    let entity = contextReference._withUnsafeGuaranteedRef { $0.tables.unretainedEntity(numbered: Int(entityNumber)) }
    guard entity._withUnsafeGuaranteedRef({ !$0.hasDerivedSlots && !RowImage.mayHaveExternals(row, at: $0.largeSlots) }),
      let made = Overlay(of: entity, copying: row)
    else { return false }
    setOverlay(made)
    readOverlay()
    return flags.contains(.writesInPlace)
  }

  /// Lets reads go straight to the overlay if it has all values: it may have moved, or has got a value that does not fit into it.
  @inline(__always) final func readOverlay() {
    guard let overlay, overlay.isWhole, flags.showsRow else {
      hideRow()
      return
    }
    showRow(of: overlay)
    if !flags.contains(.writesInPlace), !hearsWrites, overlay.takesWords { flags.insert(.writesInPlace) }
  }

  /// The row below the overlay is another one from now on.
  final func overlayLostItsRow() {
    overlay?.becomePartial()
    hideRow()
  }

  /// Gives a new object its default values.
  final func setDefaults(of entity: CompiledEntity) {
    if entity.slotsWithDefaults.isEmpty { return }
    let overlay = overlayForWriting(of: entity)
    for slot in entity.slotsWithDefaults { overlay.keep(entity.slots[slot].defaultValue, at: slot) }
    readOverlay()
  }

  /// Gives transient attributes their default values, since no store has them: an object begins with them whenever it gets its values.
  final func setTransientDefaults() {
    if askEntity({ $0.transientSlotsWithDefaults.isEmpty }) { return }
    let entity = compiledEntity
    let overlay = overlayForWriting(of: entity)
    for slot in entity.transientSlotsWithDefaults where !overlay.has(slot) {
      overlay.keep(entity.slots[slot].defaultValue, at: slot)
    }
  }

  /// The object was changed: it joins the context's unit of work.
  final func noteChange() {
    if flags.isSuperset(of: [.isUpdated, .hasPendingChange]) || flags.contains(.isAwaking) { return }
    contextReference?._withUnsafeGuaranteedRef { $0.unitOfWork.noteUpdated(self) }
  }

  /// Lets reads go straight to the row if nothing stands in the way.
  final func updatePlainRow() {
    if overlay != nil { return readOverlay() }
    flags.remove(.writesInPlace)
    if flags.showsRow && !hasExternals { showRow() } else { hideRow() }
  }

  /// The destination of a to-one relationship as it stands in the overlay or row. Fires a fault.
  final func referenceValue(_ slot: Int) -> ObjectReference {
    willAccess(slot)
    if let overlay, overlay.has(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image.map { $0.reference(slot) } ?? ObjectReference(rawValue: 0)
  }

  /// The destination of a to-one relationship if it is at hand, without firing a fault.
  final func referenceValueAtHand(_ slot: Int) -> ObjectReference? {
    if let overlay, overlay.has(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image?.reference(slot)
  }
}
