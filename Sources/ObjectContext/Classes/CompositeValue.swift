@_spi(Generated) import ObjectModel
public import ObjectQuery
import ObjectStore

/// A generated struct for the values of a composite attribute. It reads and writes the elements of an object's composite directly in their
/// slots.
///
/// The elements of a composite attribute occupy consecutive slots, so access needs no intermediate dictionary.
public protocol CompositeValue: Sendable {
  /// The number of slots that the elements occupy, including the elements of nested composites.
  static var slotCount: Int { get }
  /// The names of the elements by slot; dotted paths for nested composites.
  static var partNames: [String] { get }
  /// The class table of the model that defines the composite.
  static var classTable: ManagedObjectClasses { get }
  /// Creates a value from the elements of an object.
  ///
  /// - Parameters:
  ///   - object: The object. If it is a fault, the fault fires.
  ///   - slot: The slot of the first element.
  init(of object: ManagedObject, at slot: Int)
  /// Writes the elements that differ from the object's, so that only these count as changed.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - slot: The slot of the first element.
  func write(to object: ManagedObject, at slot: Int)
}

extension ManagedObject {
  /// Returns the value of a composite attribute; nil if no element has a value. Fires a fault.
  ///
  /// - Parameters:
  ///   - slot: The slot of the first element.
  ///   - type: The type of the value.
  package final func optionalComposite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    hasValue(in: slot..<slot + Value.slotCount) ? Value(of: self, at: slot) : nil
  }

  /// Returns the value of a required composite attribute. A required element without a value reads as in `value(_:as:)`. Fires a fault.
  package final func composite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value { Value(of: self, at: slot) }

  /// Sets a composite attribute. Nil removes the values of all elements.
  package final func setComposite<Value: CompositeValue>(_ value: Value?, at slot: Int) {
    if let value { return value.write(to: self, at: slot) }
    for slot in slot..<slot + Value.slotCount { setPartSlot(.null, at: slot) }
  }

  /// Sets an element of a composite attribute if the value differs. Generated structs call it.
  package final func setPart<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) { setPartSlot(value?.slot ?? .null, at: slot) }

  /// Sets a `transformable` element of a composite attribute if its bytes differ. If the transformer fails, the element stays unchanged,
  /// and the next save throws the error.
  package final func setTransformedPart(_ value: (any Sendable)?, at slot: Int) {
    do { setPartSlot(try transformedSlot(of: value, at: slot), at: slot) } catch { reportError(error) }
  }

  private func setPartSlot(_ value: Slot, at slot: Int) {
    // A row of a batch insertion includes only the columns that are set, so set the value even if it is equal.
    if flags.contains(.isBatchRow) || (try? readSlotValue(slot)) != value { setSlotValue(value, at: slot) }
  }

  private func hasValue(in slots: Range<Int>) -> Bool {
    if flags.contains(.reportsReads) { for slot in slots { recordRead(slot) } }
    // A fired fault has a row.
    if let row = directRow ?? firedRow(slots.lowerBound) {
      return slots.contains { !RowImage.isNull(row, $0) || RowImage.isUnreadable(row, $0) }
    }
    return slots.contains { hasValue($0) }
  }
}

extension FetchComposite where Composite: CompositeValue {
  /// Returns a predicate that matches if no element has a value.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { .and(left.parts { .isNull($0, true) }) }
  /// Returns a predicate that matches if any element has a value.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { .or(left.parts { .isNull($0, false) }) }

  private func parts(_ condition: (FetchExpression) -> FetchPredicate) -> [FetchPredicate] {
    Composite.partNames.map { condition(fetchExpression.appending($0.split(separator: ".").map(String.init))) }
  }
}

// MARK: - Composite values of objects

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
