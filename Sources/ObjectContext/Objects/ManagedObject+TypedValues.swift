@_spi(Generated) public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// Returns the value of a required attribute: its value, its default value, or the type's empty value. Fires a fault. Never traps.
  ///
  /// Generated properties call it. A read from a row takes about 1 ns, or about 45 ns for a string. If the stored value cannot be read,
  /// ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model.
  ///   - type: The type of the value.
  @_spi(Generated) @inlinable public final func value<Value: StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value {
    // Use a single call if no value is in memory, so that loops need not retain each object for the reads that find one.
    if let row = directRow, let value = Value.read(row, slot) { return value }
    return missedValue(slot)
  }

  /// Returns the value of an optional attribute. Fires a fault.
  ///
  /// If the stored value cannot be read, the result is nil, and ``ManagedObjectContext/pendingError`` contains the error.
  @_spi(Generated) @inlinable public final func optionalValue<Value: StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self)
    -> Value?
  {
    if let row = directRow {
      if let value = Value.read(row, slot) { return value }
      if !Value.isUnreadable(row, slot) { return nil }
    }
    return missedOptionalValue(slot)
  }

  /// Sets an attribute. Fires a fault. Setting an equal value also counts as a change.
  @_spi(Generated) @inlinable public final func setValue<Value: StoredAttributeValue>(_ value: Value, at slot: Int) {
    guard let word = Value.word(of: value) else { return setSlot(value.slot, at: slot) }
    if writesWord(at: slot) { writeWord(word, at: slot) } else { setSlot(value.slot, word: word, at: slot) }
  }

  /// Sets or clears an optional attribute.
  @_spi(Generated) @inlinable public final func setOptionalValue<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) {
    if let value { setValue(value, at: slot) } else { setSlot(.null, at: slot) }
  }

  /// Whether a number can be set by storing its word: reads use the overlay's row, and the object is already marked as changed.
  @inlinable @inline(__always) final func writesWord(at slot: Int) -> Bool {
    guard flags.allowsInPlaceNumbers, contextReference != nil, let row = directRow else { return false }
    // Bounds check: code generated for another model must not write outside the row.
    return slot >= 0 && slot < RowImage.slotCount(row)
  }

  /// Stores a number's word in the overlay's row, which the overlay vended for writing. See `ObjectFlags.writesInPlace`.
  @inlinable @inline(__always) final func writeWord(_ word: Int64, at slot: Int) {
    if let directRow { RowWords.set(word, slot, inOverlay: UnsafeMutableRawPointer(mutating: directRow)) }
  }

  /// Returns the value of a `transformable` attribute; nil if there is none.
  ///
  /// If the transformer fails, the result is nil, and the context's next fetch or save throws the error. The stored bytes stay until
  /// another value is set. ``value(forKey:as:)`` throws immediately.
  package final func transformed<Value>(_ slot: Int, as type: Value.Type) -> Value? {
    do { return try transformedValue(slot, as: type) } catch {
      managedObjectContext?.record(error)
      return nil
    }
  }

  /// Sets a `transformable` attribute. If the transformer fails, nothing changes, and the next save throws the error.
  package final func setTransformed(_ value: (any Sendable)?, at slot: Int) {
    do { try setTransformedValue(value, at: slot) } catch { reportError(error) }
  }

  /// Returns the value of a required attribute that is not in memory.
  @_spi(Generated) @inlinable @inline(never) public final func missedValue<Value: StoredAttributeValue>(_ slot: Int) -> Value {
    // A fired fault has a row.
    if let row = firedRow(slot), let value = Value.read(row, slot) { return value }
    return slowValue(slot) ?? Value.emptyValue
  }

  /// Returns the value of an optional attribute that is not in memory.
  @_spi(Generated) @inlinable @inline(never) public final func missedOptionalValue<Value: StoredAttributeValue>(_ slot: Int) -> Value? {
    guard let row = firedRow(slot) else { return slowOptionalValue(slot) }
    let value = Value.read(row, slot)
    if value == nil, Value.isUnreadable(row, slot) { recordUnreadable(slot) }
    return value
  }

  @usableFromInline final func firedRow(_ slot: Int) -> UnsafeRawPointer? {
    if flags.isDirectlyReadable || firesInMemory() { return directRow }
    recordRead(slot)
    willAccess(slot)
    return directRow ?? observedRow
  }

  @usableFromInline final func slowOptionalValue<Value: StoredAttributeValue>(_ slot: Int) -> Value? {
    let stored = slotValue(slot)
    let value = Value(slot: stored)
    // If the row marks the value as unreadable, the error has been recorded already.
    if value == nil, !stored.isNull { recordUnreadable(slot) }
    return value
  }

  /// Records the error of a stored value that is not of its attribute's type.
  @usableFromInline @inline(never) final func recordUnreadable(_ slot: Int) {
    managedObjectContext?.record(
      StoreError(
        .unreadableValue(entity: compiledEntity.name, property: compiledEntity.slots[slot].name, objectID), operation: .read))
  }

  @usableFromInline final func setSlot(_ value: Slot, at slot: Int) { setSlotValue(value, at: slot) }

  /// Sets a number whose word is given.
  @usableFromInline final func setSlot(_ value: Slot, word: Int64, at slot: Int) {
    if overlay == nil, makeWordOverlay(), let directRow, slot >= 0, slot < RowImage.slotCount(directRow) {
      writeWord(word, at: slot)
      return recordChange()
    }
    if !setRecordedWord(of: value, word, at: slot) { setSlotValue(value, at: slot) }
  }

  @usableFromInline final func slowValue<Value: StoredAttributeValue>(_ slot: Int) -> Value? {
    slowOptionalValue(slot) ?? Value(slot: compiledEntity.slots[slot].defaultValue)
  }
}
