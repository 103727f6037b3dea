// The accessors that generated properties of typed snapshots call with literal slot numbers. Names match those of `GeneratedCode`.
@_spi(Generated) public import ObjectModel
public import ObjectStore

extension ObjectSnapshot {
  /// Returns the value of a required attribute, else its default value, else the empty value of the type. Never traps.
  ///
  /// - Parameter slot: The attribute's slot number in the compiled model.
  @_spi(Generated) public func value<Value: StoredAttributeValue>(at slot: Int, as type: Value.Type = Value.self) -> Value {
    if let value: Value = optionalValue(at: slot) { return value }
    return self.slot(slot).flatMap { Value(slot: $0.defaultValue) } ?? Value.emptyValue
  }

  /// Returns the value of an optional attribute; nil if it is null or cannot be read.
  @_spi(Generated) public func optionalValue<Value: StoredAttributeValue>(at slot: Int, as type: Value.Type = Value.self) -> Value? {
    guard let kind = self.slot(slot)?.kind else { return nil }
    // Bytes may be stored outside the row.
    if kind != .bytes, changes.isEmpty { return Value.read(row.base, slot) }
    return (try? stored(slot)).flatMap { Value(slot: $0) }
  }

  /// Sets an attribute.
  @_spi(Generated) public mutating func setValue<Value: StoredAttributeValue>(_ value: Value, at slot: Int) {
    set(.slot(value.slot), at: slot)
  }

  /// Sets or clears an optional attribute.
  @_spi(Generated) public mutating func setOptionalValue<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) {
    set(.slot(value?.slot ?? .null), at: slot)
  }

  // MARK: Raw values

  /// Returns the value of an integer attribute as a type with integer raw values; nil if there is no value, or if the type has no case with
  /// that raw value.
  @_spi(Generated) public func rawValue<Value: RawRepresentable>(
    at slot: Int
  ) -> Value? where Value.RawValue: StoredAttributeValue & BinaryInteger {
    // A number outside the range of the raw type matches no case.
    let number: Int64? = optionalValue(at: slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an attribute as a type whose raw values have the attribute's type; nil if there is no value, or if the type has
  /// no case with that raw value.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model.
  ///   - stored: The Swift type of the attribute's values.
  @_spi(Generated) public func rawValue<Value: RawRepresentable, Stored: StoredAttributeValue>(
    at slot: Int, storedAs stored: Stored.Type
  ) -> Value? where Value.RawValue == Stored {
    let value: Stored? = optionalValue(at: slot)
    return value.flatMap(Value.init(rawValue:))
  }

  /// Sets an attribute to the raw value of a value, or clears it. An integer out of the range of the attribute's type fails the validation
  /// of the save.
  @_spi(Generated) public mutating func setRawValue<Value: RawRepresentable>(
    _ value: Value?, at slot: Int
  ) where Value.RawValue: StoredAttributeValue & BinaryInteger {
    setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets an attribute to the raw value of a value, or clears it.
  ///
  /// - Parameters:
  ///   - value: The new value; nil to clear the attribute.
  ///   - slot: The attribute's slot.
  ///   - stored: The type as which the raw value is stored.
  @_spi(Generated) public mutating func setRawValue<Value: RawRepresentable, Stored: StoredAttributeValue>(
    _ value: Value?, at slot: Int, storedAs stored: Stored.Type
  ) where Value.RawValue == Stored {
    setOptionalValue(value?.rawValue, at: slot)
  }

  // MARK: Transformable attributes

  /// Returns the value of a `transformable` attribute; nil if there is none, or if its transformer fails, in which case ``value(_:as:)``
  /// throws the error.
  @_spi(Generated) public func transformed<Value>(at slot: Int, as type: Value.Type) -> Value? {
    guard let attribute = self.slot(slot)?.attribute, let stored = try? stored(slot) else { return nil }
    return try? AttributeConversion.value(of: stored, attribute, as: type)
  }

  /// Sets a `transformable` attribute. If its transformer fails, the value stays unchanged, and applying the snapshot throws.
  @_spi(Generated) public mutating func setTransformed(_ value: (any Sendable)?, at slot: Int) {
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
  @_spi(Generated) public func externalData(at slot: Int) -> ExternalData? { entity.largeSlots.contains(slot) ? external(slot) : nil }

  /// Sets a binary attribute. The data is read only when a save follows applying the snapshot.
  @_spi(Generated) public mutating func setExternalData(_ value: ExternalData?, at slot: Int) {
    guard entity.largeSlots.contains(slot) else { return }
    set(value.map(SnapshotValue.external) ?? .slot(.null), at: slot)
  }

  // MARK: Composites

  /// Returns the value of a composite attribute; nil if all parts are null.
  @_spi(Generated) public func optionalComposite<Value: SnapshotComposite>(at slot: Int, as type: Value.Type = Value.self) -> Value? {
    let slots = slot..<slot + Value.slotCount
    return slots.contains { self.slot($0) != nil && hasValue($0) } ? Value(of: self, at: slot) : nil
  }

  /// Returns the value of a required composite attribute.
  @_spi(Generated) public func composite<Value: SnapshotComposite>(at slot: Int, as type: Value.Type = Value.self) -> Value {
    Value(of: self, at: slot)
  }

  /// Sets a composite attribute; nil clears all its parts. Only parts with different values count as changed.
  @_spi(Generated) public mutating func setComposite<Value: SnapshotComposite>(_ value: Value?, at slot: Int) {
    if let value { return value.write(to: &self, at: slot) }
    for slot in slot..<slot + Value.slotCount { setPartSlot(.null, at: slot) }
  }

  /// Sets a part of a composite attribute if the value differs.
  @_spi(Generated) public mutating func setPart<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) {
    setPartSlot(value?.slot ?? .null, at: slot)
  }

  /// Sets an integer part of a composite attribute to the raw value of a value, if it differs.
  @_spi(Generated) public mutating func setRawPart<Value: RawRepresentable>(
    _ value: Value?, at slot: Int
  ) where Value.RawValue: StoredAttributeValue & BinaryInteger {
    setPart(value?.rawValue, at: slot)
  }

  /// Sets a part of a composite attribute to the raw value of a value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil to clear the part.
  ///   - slot: The part's slot.
  ///   - stored: The type as which the raw value is stored.
  @_spi(Generated) public mutating func setRawPart<Value: RawRepresentable, Stored: StoredAttributeValue>(
    _ value: Value?, at slot: Int, storedAs stored: Stored.Type
  ) where Value.RawValue == Stored {
    setPart(value?.rawValue, at: slot)
  }

  /// Sets a `transformable` part of a composite attribute if its bytes differ.
  @_spi(Generated) public mutating func setTransformedPart(_ value: (any Sendable)?, at slot: Int) {
    if let stored = transformed(value, at: slot) { setPartSlot(stored, at: slot) }
  }

  private mutating func setPartSlot(_ value: Slot, at slot: Int) {
    if self.slot(slot) != nil, (try? stored(slot)) != value { set(.slot(value), at: slot) }
  }

  // MARK: Relationships

  /// Returns the ID of a to-one relationship's destination; nil if there is none.
  @_spi(Generated) public func toOneID(at slot: Int) -> ManagedObjectID? { self.slot(slot)?.kind == .reference ? destination(slot) : nil }

  /// Sets or clears a to-one relationship.
  @_spi(Generated) public mutating func setToOneID(_ id: ManagedObjectID?, at slot: Int) {
    if self.slot(slot)?.kind == .reference { set(id.map(SnapshotValue.object) ?? .slot(.null), at: slot) }
  }

  /// Returns the IDs of the members of a to-many relationship, in order if the relationship is ordered; nil if the snapshot does not
  /// include them.
  ///
  /// - Parameter index: The relationship's to-many index in the compiled model.
  @_spi(Generated) public func memberIDs(at index: Int) -> [ManagedObjectID]? { changedMembers[index] ?? members[index] }

  /// Sets the members of a to-many relationship; nil restores those of the time when the snapshot was taken.
  @_spi(Generated) public mutating func setMemberIDs(_ ids: (some Sequence<ManagedObjectID>)?, at index: Int) {
    guard entity.toManyRelationships.indices.contains(index), !entity.toManyRelationships[index].isTransient else { return }
    changedMembers[index] = ids.map { Self.ordered($0, of: entity.toManyRelationships[index]) }
  }
}
