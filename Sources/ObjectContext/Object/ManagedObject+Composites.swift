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

  /// Sets all parts of a composite attribute: those that the dictionary does not name have no value then. Nothing is changed when one does not fit.
  final func setValues(_ value: Any?, of composite: CompiledComposite) throws {
    let values = try Self.slotValues(from: value, for: composite, of: compiledEntity)
    try checkWritable(composite.slots.lowerBound)
    for (slot, value) in values { setSlotValue(value, at: slot) }
  }

  /// The slots of all parts of a composite attribute that a dictionary gives values for; those that it does not name have none.
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
    return result
  }
}
