package import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Loads the values of a fault and marks the object as used. Returns false if the object's row no longer exists.
  @discardableResult
  final func willAccess(_ slot: Int? = nil) -> Bool {
    if flags.contains(.isFault) {
      if let slot, hasPartialValue(slot) { return true }
      return fireFault(trigger: slot)
    }
    return !flags.contains(.isInaccessible)
  }

  /// Returns the value of a slot. If it cannot be read, returns null, and the context records the error. Fires a fault.
  package final func slotValue(_ slot: Int) -> Slot {
    do { return try readSlotValue(slot) } catch {
      managedObjectContext?.record(error)
      return .null
    }
  }

  /// Returns the value of a slot. Fires a fault; the context records an error of loading it.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read.
  final func readSlotValue(_ slot: Int) throws -> Slot {
    willAccess(slot)
    return try loadedSlotValue(slot) ?? .null
  }

  /// Returns the value of a slot if it is in memory; nil otherwise. Does not fire a fault.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read.
  final func loadedSlotValue(_ slot: Int) throws -> Slot? {
    if let overlay, overlay.has(slot) {
      guard let external = overlay.external(slot) else { return overlay[slot] }
      return .bytes(try external.data())
    }
    return try image.map { try storedValue(slot, of: $0) }
  }

  /// Returns the value of a slot in a row.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read.
  final func storedValue(_ slot: Int, of image: RowImage) throws -> Slot {
    try image.value(slot, of: compiledEntity, objectID)
  }

  /// Sets the value of a slot as a change. Fires a fault. An invalid write changes nothing, and ``ManagedObjectContext/pendingError``
  /// contains its error.
  package final func setSlotValue(_ value: Slot, at slot: Int) {
    // Fast path, taken by almost all texts: the object is read from its overlay, which accepts any value.
    if flags.allowsInPlaceValues, contextReference != nil, let overlay {
      overlay.set(value, at: slot)
      readOverlay()
      return recordChange()
    }
    guard prepareToWrite(slot) else { return }
    let entity = compiledEntity
    if entity.hasDerivedSlots, entity.slots[slot].isDerived, !flags.contains(.isBatchRow) {
      return reportError(derivedError(entity.slots[slot]))
    }
    let overlay = overlayForWriting(of: entity)
    // A value set by awakeFromFetch is not a change: it is neither saved nor reported.
    if flags.contains(.isAwakening) {
      overlay.keep(value, at: slot)
      return readOverlay()
    }
    recordWrite(at: slot)
    overlay.set(value, at: slot)
    readOverlay()
    recordChange()
  }

  /// Returns the overlay; creates it on the first change. After changing it, call ``readOverlay()``.
  final func overlayForWriting(of entity: CompiledEntity) -> Overlay {
    if flags.contains(.isPartial) { fireFault(trigger: nil) }
    if let overlay { return overlay }
    let made = makeOverlay(of: entity)
    setOverlay(made)
    return made
  }

  /// Creates an overlay. It contains all values of the object if they are in memory and few.
  private func makeOverlay(of entity: CompiledEntity) -> Overlay {
    guard flags.isDisjoint(with: [.isFault, .isInaccessible]) else { return Overlay(of: entity) }
    guard let row else { return Overlay(of: entity, isWhole: flags.contains(.isInserted)) }
    if hasExternals { return Overlay(of: entity) }
    // `passUnretained`: the argument stays alive for the call.
    return Overlay(of: .passUnretained(entity), copying: row) ?? Overlay(of: entity)
  }

  /// Fast path for the first change of a fetched object: creates an overlay with all values, into which numbers are written in place.
  /// Returns false if the general path is needed.
  final func makeWordOverlay() -> Bool {
    guard let contextReference, let row,
      flags.isDisjoint(with: [.isFault, .isPartial, .isInaccessible, .isRemoved, .isAwakening, .reportsReads])
    else { return false }
    let entity = contextReference._withUnsafeGuaranteedRef { $0.tables.unretainedEntity(numbered: Int(entityNumber)) }
    guard entity._withUnsafeGuaranteedRef({ !$0.hasDerivedSlots && !RowImage.mayHaveExternals(row, at: $0.largeSlots) }),
      let made = Overlay(of: entity, copying: row)
    else { return false }
    setOverlay(made)
    readOverlay()
    return flags.contains(.writesInPlace)
  }

  /// Directs reads to the overlay if it has all values. Call it after each change, which may move the overlay's row or store a value
  /// outside of it.
  @inline(__always) final func readOverlay() {
    guard let overlay, overlay.isWhole, flags.exposesRow else {
      hideRow()
      return
    }
    showRow(of: overlay)
    if !flags.contains(.writesInPlace), !recordsWrites, overlay.acceptsWords { flags.insert(.writesInPlace) }
  }

  /// Updates the overlay after the object's row has been replaced.
  final func rowWasReplaced() {
    overlay?.becomePartial()
    hideRow()
  }

  final func setDefaults(of entity: CompiledEntity) {
    if entity.slotsWithDefaults.isEmpty { return }
    let overlay = overlayForWriting(of: entity)
    for slot in entity.slotsWithDefaults { overlay.keep(entity.slots[slot].defaultValue, at: slot) }
    readOverlay()
  }

  /// Sets the default values of transient attributes, which no store provides, whenever the object loads its values.
  final func setTransientDefaults() {
    if withEntity({ $0.transientSlotsWithDefaults.isEmpty }) { return }
    let entity = compiledEntity
    let overlay = overlayForWriting(of: entity)
    for slot in entity.transientSlotsWithDefaults where !overlay.has(slot) {
      overlay.keep(entity.slots[slot].defaultValue, at: slot)
    }
  }

  /// Adds the object to the context's unit of work after a change.
  final func recordChange() {
    if flags.isSuperset(of: [.isUpdated, .hasPendingChange]) || flags.contains(.isAwakening) { return }
    contextReference?._withUnsafeGuaranteedRef { $0.unitOfWork.recordUpdate(self) }
  }

  /// Directs reads to the row if the object's state allows it.
  final func updateDirectRow() {
    if overlay != nil { return readOverlay() }
    flags.remove(.writesInPlace)
    if flags.exposesRow && !hasExternals { showRow() } else { hideRow() }
  }

  /// Returns the destination of a to-one relationship in the overlay or row. Fires a fault.
  final func referenceValue(_ slot: Int) -> ObjectReference {
    willAccess(slot)
    if let overlay, overlay.has(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image.map { $0.reference(slot) } ?? ObjectReference(rawValue: 0)
  }

  /// Returns the destination of a to-one relationship if it is in memory; nil otherwise. Does not fire a fault.
  final func loadedReference(_ slot: Int) -> ObjectReference? {
    if let overlay, overlay.has(slot) {
      if case .int(let word) = overlay[slot] { return ObjectReference(rawValue: word) }
      return ObjectReference(rawValue: 0)
    }
    return image?.reference(slot)
  }
}

// MARK: - Writing values

extension ManagedObject {
  /// Prepares the object for a write. If the write would be lost, records the error and returns false.
  ///
  /// - Parameter slot: The slot; nil for a to-many relationship.
  @inline(__always) final func prepareToWrite(_ slot: Int?) -> Bool {
    if contextReference != nil, flags.isDisjoint(with: [.isFault, .isInaccessible, .isRemoved]) { return true }
    do {
      try checkWritable(slot)
      return true
    } catch {
      reportError(error)
      return false
    }
  }

  /// Throws if a write to the object would be lost. Fires a fault, unless the write is to a to-many relationship.
  final func checkWritable(_ slot: Int?) throws {
    // An object created without a context can be written to before its insertion.
    if contextReference == nil, flags.contains(.isInserted), !flags.contains(.isRemoved) { return }
    if contextReference == nil || flags.contains(.isRemoved) {
      throw rejectedWrite(.inNoContext)
    }
    if slot != nil, flags.contains(.isFault), !fireFault(trigger: slot), !flags.contains(.isInaccessible) {
      throw managedObjectContext?.pendingError ?? rejectedWrite(.unreadable)
    }
    if flags.contains(.isInaccessible) { throw rejectedWrite(.deleted) }
  }

  private final func rejectedWrite(_ why: StoreError.Reason.LostChange) -> StoreError {
    return StoreError(.lostChange(objectID, why), operation: .setValue)
  }

  /// The error of a deletion that would be lost, because the object left its context without being deleted; nil if there is nothing to
  /// delete.
  final var rejectedDeletion: StoreError? {
    if flags.contains(.isUnsaved) || flags.contains(.isRemoved) && !flags.contains(.wasReset) { return nil }
    return StoreError(.lostChange(objectID, .inNoContext), operation: .delete)
  }

  /// Records an error in the object's context, or in the one that it has left. The next save throws it.
  final func reportError(_ error: any Error) {
    if let context = managedObjectContext { return context.record(error) }
    // If the context no longer exists, the error is dropped here. Key-value access throws it in any case.
    if flags.contains(.isRemoved) { ContextRegistry.context(previousContextNumber)?.record(error) }
  }

  /// Records an attempt to set a relationship of an object without a context.
  final func rejectRelationship() {
    if flags.contains(.isRemoved) || !flags.contains(.isInserted) {
      _ = prepareToWrite(nil)
    } else {
      flags.insert(.hasRejectedRelationship)
    }
  }

  /// Throws if applications cannot set the property.
  final func checkSettable(_ slot: CompiledSlot) throws(KeyValueError) {
    if slot.isDerived { throw derivedError(slot) }
  }

  final func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: compiledEntity.name, detail: "its value is derived, by the store")
  }

  // MARK: Former context

  /// The number of the context that the object has left. Shares storage with the fetch group, which only objects in a context have.
  final var previousContextNumber: UInt64 {
    get { UInt64(groupPosition) << 32 | UInt64(group) }
    set { (group, groupPosition) = (UInt32(truncatingIfNeeded: newValue), UInt32(truncatingIfNeeded: newValue >> 32)) }
  }
}

extension StoreError.Reason {
  /// The reason why a change cannot be saved. The raw value continues the object's name.
  enum LostChange: String {
    case inNoContext = "which no longer belongs to a context: its deletion was saved, or the context was reset"
    case unreadable = "whose values cannot be read"
    case deleted = "whose row was deleted"
  }

  static func lostChange(_ id: ManagedObjectID, _ why: LostChange) -> Self {
    Self(
      .objectNotFound, "A change cannot be saved: it was made to the object \(id.uriString), \(why.rawValue). Fetch the object again.",
      object: id)
  }
}
