// The accessors that generated properties of typed snapshots call with literal slot numbers. Names match those of `ManagedObject`.
public import ObjectModel
public import ObjectStore

extension ObjectSnapshot {
  /// Returns the value of a required attribute, else its default value, else the empty value of the type. Never traps.
  ///
  /// - Parameter slot: The attribute's slot number in the compiled model.
  public func _value<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value {
    if let value: Value = _optionalValue(slot) { return value }
    return self.slot(slot).flatMap { Value(_slot: $0.defaultValue) } ?? Value._emptyValue
  }

  /// Returns the value of an optional attribute; nil if it is null or cannot be read.
  public func _optionalValue<Value: _StoredAttributeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    guard let kind = self.slot(slot)?.kind else { return nil }
    // Bytes may be stored outside the row.
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

  /// Returns the value of an integer attribute as a type with integer raw values; nil if there is no value, or if the type has no case with
  /// that raw value.
  public func _rawValue<Value: RawRepresentable>(
    _ slot: Int, integer type: Value.Type = Value.self
  ) -> Value? where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    // A number outside the range of the raw type matches no case.
    let number: Int64? = _optionalValue(slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an attribute as a type whose raw values have the attribute's type; nil if there is no value, or if the type has
  /// no case with that raw value.
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

  /// Sets an attribute to the raw value of a value, or clears it. An integer out of the range of the attribute's type fails the validation
  /// of the save.
  public mutating func _setRawValue<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets an attribute to the raw value of a value, or clears it.
  ///
  /// - Parameters:
  ///   - value: The new value; nil to clear the attribute.
  ///   - slot: The attribute's slot.
  ///   - stored: The type as which the raw value is stored.
  public mutating func _setRawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  // MARK: Transformable attributes

  /// Returns the value of a `transformable` attribute; nil if there is none, or if its transformer fails, in which case ``value(_:as:)``
  /// throws the error.
  public func _transformed<Value>(_ slot: Int, as type: Value.Type) -> Value? {
    guard let attribute = self.slot(slot)?.attribute, let stored = try? stored(slot) else { return nil }
    return try? AttributeConversion.value(of: stored, attribute, as: type)
  }

  /// Sets a `transformable` attribute. If its transformer fails, the value stays unchanged, and applying the snapshot throws.
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

  /// Returns the value of a binary attribute, which is read on demand, in full or as a stream; nil if there is none.
  public func _externalData(at slot: Int) -> ExternalData? { entity.largeSlots.contains(slot) ? external(slot) : nil }

  /// Sets a binary attribute. The data is read only when a save follows applying the snapshot.
  public mutating func _setExternalData(_ value: ExternalData?, at slot: Int) {
    guard entity.largeSlots.contains(slot) else { return }
    set(value.map(SnapshotValue.external) ?? .slot(.null), at: slot)
  }

  // MARK: Composites

  /// Returns the value of a composite attribute; nil if all parts are null.
  public func _optionalComposite<Value: SnapshotComposite>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    let slots = slot..<slot + Value._slotCount
    return slots.contains { self.slot($0) != nil && hasValue($0) } ? Value(_of: self, at: slot) : nil
  }

  /// Returns the value of a required composite attribute.
  public func _composite<Value: SnapshotComposite>(_ slot: Int, as type: Value.Type = Value.self) -> Value { Value(_of: self, at: slot) }

  /// Sets a composite attribute; nil clears all its parts. Only parts with different values count as changed.
  public mutating func _setComposite<Value: SnapshotComposite>(_ value: Value?, at slot: Int) {
    if let value { return value._write(to: &self, at: slot) }
    for slot in slot..<slot + Value._slotCount { setPart(.null, at: slot) }
  }

  /// Sets a part of a composite attribute if the value differs.
  public mutating func _setPart<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) { setPart(value?._slot ?? .null, at: slot) }

  /// Sets an integer part of a composite attribute to the raw value of a value, if it differs.
  public mutating func _setRawPart<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets a part of a composite attribute to the raw value of a value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil to clear the part.
  ///   - slot: The part's slot.
  ///   - stored: The type as which the raw value is stored.
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

  /// Returns the ID of a to-one relationship's destination; nil if there is none.
  public func _toOneID(_ slot: Int) -> ManagedObjectID? { self.slot(slot)?.kind == .reference ? destination(slot) : nil }

  /// Sets or clears a to-one relationship.
  public mutating func _setToOneID(_ id: ManagedObjectID?, at slot: Int) {
    if self.slot(slot)?.kind == .reference { set(id.map(SnapshotValue.object) ?? .slot(.null), at: slot) }
  }

  /// Returns the IDs of the members of a to-many relationship, in order if the relationship is ordered; nil if the snapshot does not
  /// include them.
  ///
  /// - Parameter index: The relationship's to-many index in the compiled model.
  public func _members(_ index: Int) -> [ManagedObjectID]? { changedMembers[index] ?? members[index] }

  /// Sets the members of a to-many relationship; nil restores those of the time when the snapshot was taken.
  public mutating func _setMembers(_ ids: (some Sequence<ManagedObjectID>)?, at index: Int) {
    guard entity.toManyRelationships.indices.contains(index), !entity.toManyRelationships[index].isTransient else { return }
    changedMembers[index] = ids.map { Self.ordered($0, of: entity.toManyRelationships[index]) }
  }
}
