// ManagedObject+Composites: composite attributes as dictionaries of their parts.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The parts of a composite attribute that have a value, by name; nil when none has.
  final func values(of composite: CompiledComposite) throws -> [String: Any]? {
    var values: [String: Any] = [:]
    for part in composite.partNames {
      if let value = try value(forKey: "\(composite.name).\(part)") { values[part] = value }
    }
    return values.isEmpty ? nil : values
  }

  /// Sets an attribute, or a part of a composite. Where a composite gets its first value by it, the required parts that have a default value get that, as in
  /// a value that was made with one part given.
  final func setAttributeValue(_ value: Slot, at slot: Int) {
    if value.isNull || askEntity({ $0.composites.isEmpty }) || flags.contains(.isBatchRow) { return setSlotValue(value, at: slot) }
    let entity = compiledEntity
    var defaults: [Int] = []
    for composite in entity.composites where composite.slots.contains(slot) && !composite.slots.contains(where: hasValue(_:)) {
      defaults += composite.slotsWithDefaults
    }
    setSlotValue(value, at: slot)
    for part in Set(defaults) where part != slot { setSlotValue(entity.slots[part].defaultValue, at: part) }
  }

  /// Gives the required parts of changed composites their default values where nothing has set them: a composite that was nil here may have got a part, and one
  /// that has parts here may have been set to nil by another context whose changes were merged.
  final func completeComposites() {
    if askEntity({ $0.composites.isEmpty }) { return }
    let entity = compiledEntity
    for composite in entity.composites where !composite.slotsWithDefaults.isEmpty {
      guard let overlay, composite.slots.contains(where: overlay.isDirty), composite.slots.contains(where: hasValue(_:)) else { continue }
      for slot in composite.slotsWithDefaults where !overlay.isDirty(slot) && !hasValue(slot) {
        setSlotValue(entity.slots[slot].defaultValue, at: slot)
      }
    }
  }

  /// Sets all parts of a composite attribute: those that the dictionary does not name have no value then, or their default value where they are required.
  /// Nothing is changed when one does not fit.
  final func setValues(_ value: Any?, of composite: CompiledComposite) throws {
    let values = try Self.slotValues(from: value, for: composite, of: compiledEntity)
    try checkWritable(composite.slots.lowerBound)
    for (slot, value) in values { setSlotValue(value, at: slot) }
  }

  /// The slots of all parts of a composite attribute that a dictionary gives values for; those that it does not name have none, or their default value where
  /// they are required.
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
