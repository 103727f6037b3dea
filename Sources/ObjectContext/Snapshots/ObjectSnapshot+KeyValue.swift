// ObjectSnapshot+KeyValue: properties of a snapshot named by strings.
import Foundation
import ObjectModel
import ObjectStore

extension ObjectSnapshot {
  /// The value of a property: an attribute's as ``AttributeType`` says, the ID of a to-one relationship's destination, or the IDs of the members of a to-many
  /// relationship as an array, in their order if it has one; nil when there is none, no such property, or the snapshot does not have the members.
  ///
  /// A composite attribute gives a dictionary of the parts that have a value, nil when none has; `home.city` gives a part of it. A `transformable` attribute
  /// without a transformer, or whose transformer fails, gives its bytes. A large value is read.
  /// - Throws: ``StoreError`` where there is a value that cannot be read.
  public subscript(key: String) -> (any Sendable)? {
    get throws {
      switch entity.property(named: key) {
      case .attribute(let slot):
        guard let slot = self.slot(slot.index), let attribute = slot.attribute else { return nil }
        // What was not set is read as any row is.
        guard changes[slot.index] != nil else { return try base[key] }
        let stored = try stored(slot.index)
        if let value = try? AttributeConversion.untypedValue(of: stored, attribute) { return value }
        if case .bytes(let data) = stored, attribute.type == .transformable { return data }
        return nil
      case .toOne(let relationship): return slot(relationship.index) == nil ? nil : destination(relationship.index)
      case .toMany(let relationship): return _members(relationship.index)
      case .composite(let composite):
        var values: [String: any Sendable] = [:]
        for part in composite.partNames { values[part] = try self["\(composite.name).\(part)"] }
        return values.isEmpty ? nil : values
      case .fetched, nil: return nil
      }
    }
  }

  /// The value of a property as a type: one of an attribute's, an enumeration of its raw values, that of a `transformable` attribute, ``ManagedObjectID``, or an
  /// array of them. As ``ExternalData`` a large value is not read.
  ///
  /// - Returns: The value; nil when there is none, or no such property.
  /// - Throws: ``StoreError`` where there is a value that cannot be read; what a transformer throws, and an error where the value is of another type.
  public func value<Value>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    guard case .attribute(let slot) = entity.property(named: key), let slot = self.slot(slot.index), let attribute = slot.attribute else {
      return try self[key] as? Value
    }
    if type == ExternalData.self { return _externalData(at: slot.index) as? Value }
    return try AttributeConversion.value(of: stored(slot.index), attribute, as: type)
  }

  /// Sets a property, and notes it as set. Integers are taken by any integer type that holds them, raw values of enumerations as they are, a large value also as
  /// ``ExternalData``; relationships take IDs, an array or a set of them; a composite attribute takes a dictionary of its parts.
  ///
  /// - Throws: ``KeyValueError`` for a name that is no property's, a value of another type, and a property that cannot be set. Nothing is changed then.
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
      case nil: _setMembers([ManagedObjectID](), at: relationship.index)
      case let ids as [ManagedObjectID]: _setMembers(ids, at: relationship.index)
      case let ids as Set<ManagedObjectID>: _setMembers(ids, at: relationship.index)
      default: throw KeyValueError(.wrongType, key: key, entityName: entityName, detail: "a snapshot's relationship takes IDs")
      }
    case .composite(let composite):
      for index in composite.slots { try checkSettable(entity.slots[index]) }
      for (index, part) in try ManagedObject.slotValues(from: value, for: composite, of: entity) { changes[index] = .slot(part) }
    case .fetched: throw KeyValueError(.readOnly, key: key, entityName: entityName)
    case nil: throw KeyValueError(.unknownKey, key: key, entityName: entityName)
    }
  }

  /// Sets an attribute, or a part of a composite; the required parts of a composite that gets its first value by it get their default values, as in objects.
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

  /// A value of an enumeration as its raw value.
  private static func plain(_ value: Any?, _ slot: CompiledSlot) -> Any? {
    guard slot.attributeType != .transformable, let value, !(value is any AttributeValue), let raw = value as? any RawRepresentable else {
      return value
    }
    return raw.rawValue
  }
}
