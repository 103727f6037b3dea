// ObjectSnapshot+TypedValues: what the generated properties of typed snapshots call, with literal slot numbers, under the names that objects have them by.
public import ObjectModel
public import ObjectStore

extension ObjectSnapshot {
  /// The value of a required attribute: its value, else its default, else the type's empty value; never traps.
  ///
  /// - Parameter slot: The attribute's slot number in the compiled model.
  public func _value<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value {
    if let value: Value = _optionalValue(slot) { return value }
    return self.slot(slot).flatMap { Value(_slot: $0.defaultValue) } ?? Value._emptyValue
  }

  /// The value of an optional attribute; nil also where it cannot be read.
  public func _optionalValue<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    guard let kind = self.slot(slot)?.kind else { return nil }
    // Bytes may be outside the row.
    if kind != .bytes, changes.isEmpty { return Value._read(row.base, slot) }
    return (try? stored(slot)).flatMap { Value(_slot: $0) }
  }

  /// Sets an attribute.
  public mutating func _setValue<Value: _StoredAttributeValue>(_ value: Value, at slot: Int) { set(.slot(value._slot), at: slot) }

  /// Sets or clears an optional attribute.
  public mutating func _setOptionalValue<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) {
    set(.slot(value?._slot ?? .null), at: slot)
  }

  // MARK: Raw values

  /// The value of an integer attribute as a type with integer raw values; nil when there is none, or when its raw value is none of the type's.
  public func _rawValue<Value: RawRepresentable>(
    _ slot: Int, integer type: Value.Type = Value.self
  ) -> Value? where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    // A number that the raw type cannot hold is none of its values.
    let number: Int64? = _optionalValue(slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// The value of an attribute as a type whose raw values are of the attribute's type; nil when there is none, or when its raw value is none of the type's.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model.
  ///   - stored: The Swift type of the attribute's values.
  ///   - type: The type of the value.
  public func _rawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ slot: Int, of stored: Stored.Type, as type: Value.Type = Value.self
  ) -> Value? where Value.RawValue == Stored {
    let value: Stored? = _optionalValue(slot)
    return value.flatMap(Value.init(rawValue:))
  }

  /// Sets or clears an attribute by a value's raw value. An integer that the attribute's type cannot hold fails the validation of the save.
  public mutating func _setRawValue<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets or clears an attribute by a value's raw value.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The attribute's slot.
  ///   - stored: The type that the raw value is stored as.
  public mutating func _setRawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  // MARK: Transformable attributes

  /// The value of a `transformable` attribute; nil when there is none, or when its transformer fails: ``value(_:as:)`` throws that.
  public func _transformed<Value>(_ slot: Int, as type: Value.Type) -> Value? {
    guard let attribute = self.slot(slot)?.attribute, let stored = try? stored(slot) else { return nil }
    return try? AttributeConversion.value(of: stored, attribute, as: type)
  }

  /// Sets a `transformable` attribute. If its transformer fails, nothing is set, and applying the snapshot throws.
  public mutating func _setTransformed(_ value: (any Sendable)?, at slot: Int) {
    guard let stored = transformed(value, at: slot) else { return }
    set(.slot(stored), at: slot)
  }

  private mutating func transformed(_ value: (any Sendable)?, at slot: Int) -> Slot? {
    guard let slot = self.slot(slot) else { return nil }
    do { return try ManagedObject.slotValue(from: value, for: slot, entityName: entityName) } catch {
      fail(error)
      return nil
    }
  }

  // MARK: Large values

  /// The value of a binary attribute, to be read when it is asked for, whole or as a stream; nil when there is none.
  public func _externalData(at slot: Int) -> ExternalData? { entity.largeSlots.contains(slot) ? external(slot) : nil }

  /// Sets a binary attribute. Nothing is read before the save that follows applying the snapshot.
  public mutating func _setExternalData(_ value: ExternalData?, at slot: Int) {
    guard entity.largeSlots.contains(slot) else { return }
    set(value.map(SnapshotValue.external) ?? .slot(.null), at: slot)
  }

  // MARK: Composites

  /// The value of a composite attribute; nil when no part has one.
  public func _optionalComposite<Value: SnapshotComposite>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    let slots = slot..<slot + Value._slotCount
    return slots.contains { self.slot($0) != nil && hasValue($0) } ? Value(_of: self, at: slot) : nil
  }

  /// The value of a required composite attribute.
  public func _composite<Value: SnapshotComposite>(_ slot: Int, as type: Value.Type = Value.self) -> Value { Value(_of: self, at: slot) }

  /// Sets a composite attribute; nil takes the values of all its parts away. Parts that do not differ do not count as set.
  public mutating func _setComposite<Value: SnapshotComposite>(_ value: Value?, at slot: Int) {
    if let value { return value._write(to: &self, at: slot) }
    for slot in slot..<slot + Value._slotCount { setPart(.null, at: slot) }
  }

  /// Sets a part of a composite attribute if it differs.
  public mutating func _setPart<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) { setPart(value?._slot ?? .null, at: slot) }

  /// Sets an integer part of a composite attribute by a value's raw value, if it differs.
  public mutating func _setRawPart<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets a part of a composite attribute by a value's raw value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The part's slot.
  ///   - stored: The type that the raw value is stored as.
  public mutating func _setRawPart<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets a `transformable` part of a composite attribute if its bytes differ.
  public mutating func _setTransformedPart(_ value: (any Sendable)?, at slot: Int) {
    if let stored = transformed(value, at: slot) { setPart(stored, at: slot) }
  }

  private mutating func setPart(_ value: Slot, at slot: Int) {
    if self.slot(slot) != nil, (try? stored(slot)) != value { set(.slot(value), at: slot) }
  }

  // MARK: Relationships

  /// The ID of a to-one relationship's destination; nil when there is none.
  public func _toOneID(_ slot: Int) -> ManagedObjectID? { self.slot(slot)?.kind == .reference ? destination(slot) : nil }

  /// Sets or clears a to-one relationship.
  public mutating func _setToOneID(_ id: ManagedObjectID?, at slot: Int) {
    if self.slot(slot)?.kind == .reference { set(id.map(SnapshotValue.object) ?? .slot(.null), at: slot) }
  }

  /// The IDs of the members of a to-many relationship, in their order if it has one; nil when the snapshot does not have them.
  ///
  /// - Parameter index: The relationship's to-many index in the compiled model.
  public func _members(_ index: Int) -> [ManagedObjectID]? { changedMembers[index] ?? members[index] }

  /// Sets the members of a to-many relationship. With nil they are as they were when the snapshot was taken.
  public mutating func _setMembers(_ ids: (some Sequence<ManagedObjectID>)?, at index: Int) {
    guard entity.toManyRelationships.indices.contains(index), !entity.toManyRelationships[index].isTransient else { return }
    changedMembers[index] = ids.map { Self.ordered($0, of: entity.toManyRelationships[index]) }
  }
}
