import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Returns the elements of a composite attribute that have a value, by name; nil if none has.
  final func values(of composite: CompiledComposite) throws -> [String: Any]? {
    var values: [String: Any] = [:]
    for part in composite.partNames {
      if let value = try value(forKey: "\(composite.name).\(part)") { values[part] = value }
    }
    return values.isEmpty ? nil : values
  }

  /// Sets an attribute or an element of a composite.
  ///
  /// If this gives a composite its first value, its other required elements take their default values.
  final func setAttributeValue(_ value: Slot, at slot: Int) {
    if value.isNull || withEntity({ $0.composites.isEmpty }) || flags.contains(.isBatchRow) { return setSlotValue(value, at: slot) }
    let entity = compiledEntity
    var defaults: [Int] = []
    for composite in entity.composites where composite.slots.contains(slot) && !composite.slots.contains(where: hasValue(_:)) {
      defaults += composite.slotsWithDefaults
    }
    setSlotValue(value, at: slot)
    for part in Set(defaults) where part != slot { setSlotValue(entity.slots[part].defaultValue, at: part) }
  }

  /// Sets missing required elements of changed composites to their default values.
  ///
  /// They can be missing if an element of a nil composite was set, or if another context's merged changes set the composite to nil.
  final func completeComposites() {
    if withEntity({ $0.composites.isEmpty }) { return }
    let entity = compiledEntity
    for composite in entity.composites where !composite.slotsWithDefaults.isEmpty {
      guard let overlay, composite.slots.contains(where: overlay.isDirty), composite.slots.contains(where: hasValue(_:)) else { continue }
      for slot in composite.slotsWithDefaults where !overlay.isDirty(slot) && !hasValue(slot) {
        setSlotValue(entity.slots[slot].defaultValue, at: slot)
      }
    }
  }

  /// Sets all elements of a composite attribute. An element missing from the dictionary is set to its default value if it is required, and
  /// otherwise to null. If a value does not fit, nothing changes.
  final func setValues(_ value: Any?, of composite: CompiledComposite) throws {
    let values = try Self.slotValues(from: value, for: composite, of: compiledEntity)
    try checkWritable(composite.slots.lowerBound)
    for (slot, value) in values { setSlotValue(value, at: slot) }
  }

  /// Returns the slot values of all elements of a composite attribute. An element missing from the dictionary gets its default value if it
  /// is required, and otherwise null.
  static func slotValues(
    from value: Any?, for composite: CompiledComposite, of entity: CompiledEntity
  ) throws(KeyValueError) -> [Int: Slot] {
    var result = Dictionary(uniqueKeysWithValues: composite.slots.map { ($0, Slot.null) })
    guard let value = AttributeConversion.unwrapped(value) else { return result }
    guard let values = value as? [String: Any?] else {
      throw KeyValueError(.wrongType, key: composite.name, entityName: entity.name, detail: "a composite takes a dictionary of its parts")
    }
    for (name, value) in values {
      let key = "\(composite.name).\(name)"
      guard composite.partNames.contains(name) else { throw KeyValueError(unknown: key, of: entity) }
      switch entity.property(named: key) {
      case .attribute(let slot): result[slot.index] = try slotValue(from: value, for: slot, entityName: entity.name)
      case .composite(let part): result.merge(try slotValues(from: value, for: part, of: entity)) { $1 }
      default: throw KeyValueError(unknown: key, of: entity)
      }
    }
    composite.addDefaults(to: &result, given: values.keys, of: entity)
    return result
  }
}
