import Foundation
import ObjectModel
import ObjectStore

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
