// The accessors that generated properties of typed snapshots call with literal slot numbers. Names match those of `GeneratedCode`.

import Foundation
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

// MARK: - Key-value coding

extension ObjectSnapshot {
  /// The value of a property: an attribute value as documented in ``AttributeType``, the ID of a to-one destination, or an array of the IDs
  /// of to-many members, in order if the relationship is ordered. Nil if there is no value or no such property, or if the snapshot does not
  /// include the members.
  ///
  /// A composite attribute returns a dictionary of its non-null parts, or nil if all are null; `home.city` returns one part. A
  /// `transformable` attribute without a transformer, or whose transformer fails, returns its bytes. A large value is read.
  ///
  /// - Throws: ``StoreError`` if a value cannot be read.
  public subscript(key: String) -> (any Sendable)? {
    get throws {
      switch entity.property(named: key) {
      case .attribute(let slot):
        guard let slot = self.slot(slot.index), let attribute = slot.attribute else { return nil }
        // Unchanged values are read like those of any row.
        guard changes[slot.index] != nil else { return try base[key] }
        let stored = try stored(slot.index)
        if let value = try? AttributeConversion.untypedValue(of: stored, attribute) { return value }
        if case .bytes(let data) = stored, attribute.type == .transformable { return data }
        return nil
      case .toOne(let relationship): return slot(relationship.index) == nil ? nil : destination(relationship.index)
      case .toMany(let relationship): return memberIDs(at: relationship.index)
      case .composite(let composite):
        var values: [String: any Sendable] = [:]
        for part in composite.partNames { values[part] = try self["\(composite.name).\(part)"] }
        return values.isEmpty ? nil : values
      case .fetched, nil: return nil
      }
    }
  }

  /// Returns the value of a property as a type: an attribute type, an enumeration with raw values, the type of a `transformable` attribute,
  /// ``ManagedObjectID``, or an array of IDs. As ``ExternalData``, a large value is not read.
  ///
  /// - Returns: The value; nil if there is no value or no such property.
  /// - Throws: ``StoreError`` if a value cannot be read; errors of a transformer; an error if the value has another type.
  public func value<Value>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    guard case .attribute(let slot) = entity.property(named: key), let slot = self.slot(slot.index), let attribute = slot.attribute else {
      return try self[key] as? Value
    }
    if type == ExternalData.self { return externalData(at: slot.index) as? Value }
    return try AttributeConversion.value(of: stored(slot.index), attribute, as: type)
  }

  /// Sets a property and marks it as changed.
  ///
  /// Accepts any integer type that can hold the value, raw values of enumerations, and ``ExternalData`` for a large value. Relationships
  /// take an ID, or an array or set of IDs. A composite attribute takes a dictionary of its parts.
  ///
  /// - Throws: ``KeyValueError`` for an unknown name, a value of another type, or a property that cannot be set. In each case nothing is
  ///   changed.
  public mutating func setValue(_ value: (any Sendable)?, forKey key: String) throws(KeyValueError) {
    let value = AttributeConversion.unwrapped(value)
    switch entity.property(named: key) {
    case .attribute(let slot):
      try checkSettable(slot)
      if let external = value as? ExternalData, entity.largeSlots.contains(slot.index) {
        changes[slot.index] = .external(external)
      } else {
        setAttribute(try ManagedObject.slotValue(from: Self.plain(value, slot), for: slot, entityName: entityName), at: slot.index)
      }
    case .toOne(let relationship):
      try checkSettable(entity.slots[relationship.index])
      switch value {
      case nil: changes[relationship.index] = .slot(.null)
      case let id as ManagedObjectID: changes[relationship.index] = .object(id)
      default: throw KeyValueError(.wrongType, key: key, entityName: entityName, detail: "a snapshot's relationship takes an ID")
      }
    case .toMany(let relationship):
      if relationship.isTransient { throw KeyValueError(.readOnly, key: key, entityName: entityName, detail: Self.transient) }
      switch value {
      case nil: setMemberIDs([ManagedObjectID](), at: relationship.index)
      case let ids as [ManagedObjectID]: setMemberIDs(ids, at: relationship.index)
      case let ids as Set<ManagedObjectID>: setMemberIDs(ids, at: relationship.index)
      default: throw KeyValueError(.wrongType, key: key, entityName: entityName, detail: "a snapshot's relationship takes IDs")
      }
    case .composite(let composite):
      for index in composite.slots { try checkSettable(entity.slots[index]) }
      for (index, part) in try ManagedObject.slotValues(from: value, for: composite, of: entity) { changes[index] = .slot(part) }
    case .fetched: throw KeyValueError(.readOnly, key: key, entityName: entityName)
    case nil: throw KeyValueError(.unknownKey, key: key, entityName: entityName)
    }
  }

  /// Sets an attribute or a part of a composite. If this is the first non-null part of a composite, its required parts receive their
  /// default values, as in objects.
  private mutating func setAttribute(_ value: Slot, at slot: Int) {
    let composites = value.isNull ? [] : entity.composites.filter { $0.slots.contains(slot) && !$0.slots.contains(where: hasValue(_:)) }
    changes[slot] = .slot(value)
    for part in Set(composites.flatMap(\.slotsWithDefaults)) where part != slot { changes[part] = .slot(entity.slots[part].defaultValue) }
  }

  private static let transient = "it is transient, and in no snapshot"

  private func checkSettable(_ slot: CompiledSlot) throws(KeyValueError) {
    if slot.isDerived { throw derivedError(slot) }
    if slot.kind == .none { throw KeyValueError(.readOnly, key: slot.name, entityName: entityName, detail: Self.transient) }
  }

  private static func plain(_ value: Any?, _ slot: CompiledSlot) -> Any? {
    guard slot.attributeType != .transformable, let value, !(value is any AttributeValue), let raw = value as? any RawRepresentable else {
      return value
    }
    return raw.rawValue
  }
}
