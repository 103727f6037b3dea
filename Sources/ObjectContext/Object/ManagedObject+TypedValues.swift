// ManagedObject+TypedValues: what the generated properties of typed classes call, with literal slot numbers.
public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// The value of a required attribute: its value, else its default, else the type's empty value. Fires a fault; never traps. Of a stored value that cannot be
  /// read, ``ManagedObjectContext/pendingError`` tells.
  ///
  /// - Parameter slot: The attribute's slot number in the compiled model. A row read costs about a nanosecond, a string about 45.
  @inlinable public final func _value<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value {
    // One call where no value is at hand, so that a loop need not keep each object alive for the reads that find one.
    if let row = plainRow, let value = Value._read(row, slot) { return value }
    return missedValue(slot)
  }

  /// The value of an optional attribute; nil also where it cannot be read, which ``ManagedObjectContext/pendingError`` tells. Fires a fault.
  @inlinable public final func _optionalValue<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    if let row = plainRow {
      if let value = Value._read(row, slot) { return value }
      if !Value._isUnreadable(row, slot) { return nil }
    }
    return missedOptionalValue(slot)
  }

  /// Sets an attribute. Fires a fault; setting an equal value counts as a change too.
  @inlinable public final func _setValue<Value: _StoredAttributeValue>(_ value: Value, at slot: Int) {
    guard let word = Value._word(of: value) else { return setSlot(value._slot, at: slot) }
    if writesWord(at: slot) { writeWord(word, at: slot) } else { setSlot(value._slot, word: word, at: slot) }
  }

  /// Sets or clears an optional attribute.
  @inlinable public final func _setOptionalValue<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) {
    if let value { _setValue(value, at: slot) } else { setSlot(.null, at: slot) }
  }

  /// Whether a number is set by storing its word: the row that is read is the overlay's, and the object is known as changed.
  @inlinable @inline(__always) final func writesWord(at slot: Int) -> Bool {
    guard flags.admitsNumbers, contextReference != nil, let row = plainRow else { return false }
    // Code for another model must not write beside the memory of the values.
    return slot >= 0 && slot < RowImage.slotCount(row)
  }

  /// Stores a number's word in the row that properties are read from. It is the overlay's, which gave it to be written to: see `ObjectFlags.writesInPlace`.
  @inlinable @inline(__always) final func writeWord(_ word: Int64, at slot: Int) {
    if let plainRow { RowWords.set(word, slot, inOverlay: UnsafeMutableRawPointer(mutating: plainRow)) }
  }

  /// The value of a `transformable` attribute; nil when there is none, or when its transformer fails: the context's next fetch or save throws that, and
  /// the stored bytes stay as they are until another value is set. ``value(forKey:as:)`` throws at once.
  public final func _transformed<Value>(_ slot: Int, as type: Value.Type) -> Value? {
    do { return try transformedValue(slot, as: type) } catch {
      managedObjectContext?.note(error)
      return nil
    }
  }

  /// Sets a `transformable` attribute. If its transformer fails, nothing is changed and the next save throws.
  public final func _setTransformed(_ value: (any Sendable)?, at slot: Int) {
    do { try setTransformedValue(value, at: slot) } catch { tell(error) }
  }

  @inlinable @inline(never) final func missedValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value {
    // A fault has its row once it is fired.
    if let row = firedRow(slot), let value = Value._read(row, slot) { return value }
    return slowValue(slot) ?? Value._emptyValue
  }

  @inlinable @inline(never) final func missedOptionalValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value? {
    guard let row = firedRow(slot) else { return slowOptionalValue(slot) }
    let value = Value._read(row, slot)
    if value == nil, Value._isUnreadable(row, slot) { tellUnreadable(slot) }
    return value
  }

  @usableFromInline final func firedRow(_ slot: Int) -> UnsafeRawPointer? {
    if flags.isReadAtOnce || firesAtHand() { return plainRow }
    noteRead(slot)
    willAccess(slot)
    return plainRow ?? toldRow
  }

  @usableFromInline final func slowOptionalValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value? {
    let stored = slotValue(slot)
    let value = Value(_slot: stored)
    // Where the row says that it cannot be read, that is told already.
    if value == nil, !stored.isNull { tellUnreadable(slot) }
    return value
  }

  /// The context is told that a stored value is none of its attribute's type.
  @usableFromInline @inline(never) final func tellUnreadable(_ slot: Int) {
    managedObjectContext?.note(
      StoreError(
        .unreadableValue(entity: compiledEntity.name, property: compiledEntity.slots[slot].name, objectID), operation: .read))
  }

  @usableFromInline final func setSlot(_ value: Slot, at slot: Int) { setSlotValue(value, at: slot) }

  /// Sets a number, whose word is known.
  @usableFromInline final func setSlot(_ value: Slot, word: Int64, at slot: Int) {
    if overlay == nil, beginsToWriteWords(), let plainRow, slot >= 0, slot < RowImage.slotCount(plainRow) {
      writeWord(word, at: slot)
      return noteChange()
    }
    if !setHeardWord(of: value, word, at: slot) { setSlotValue(value, at: slot) }
  }

  @usableFromInline final func slowValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value? {
    slowOptionalValue(slot) ?? Value(_slot: compiledEntity.slots[slot].defaultValue)
  }
}
