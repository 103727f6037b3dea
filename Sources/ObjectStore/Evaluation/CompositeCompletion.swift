// CompositeCompletion: the required parts of composites of which batch requests set other parts.
package import ObjectModel

/// An optional composite of which a batch update sets parts. As in objects, its first value brings the default values of the required parts, and a required
/// part without a value is an error.
package struct CompositeCompletion: Sendable {
  /// The stored parts.
  package let slots: [CompiledSlot]
  /// The parts that must have a value if any part has one.
  package let required: [CompiledSlot]
  /// The required parts with a default value that the update does not set.
  package let defaults: [CompiledSlot]

  /// Nil if the update sets no part of the composite, or if it leaves no required part without a value.
  init?(_ composite: CompiledComposite, of entity: CompiledEntity, assignments: [BatchUpdatePlan.Assignment]) {
    let assigned = assignments.filter { composite.slots.contains($0.slot.index) }
    slots = composite.slots.map { entity.slots[$0] }.filter { $0.kind != .none }
    required = composite.requiredSlots.map { entity.slots[$0] }.filter { $0.kind != .none && $0.isOptional }
    guard !assigned.isEmpty, !required.isEmpty else { return nil }
    var (given, removed) = (SlotMask(), SlotMask())
    for assignment in assigned {
      given.insert(assignment.slot.index)
      if case .constant(.null) = assignment.value { removed.insert(assignment.slot.index) }
    }
    // All parts are removed, or all required ones are set.
    if slots.allSatisfy({ removed.contains($0.index) }) { return nil }
    let setsRequired = assigned.filter { if case .constant(let value) = $0.value { !value.isNull } else { false } }.map(\.slot.index)
    if required.allSatisfy({ setsRequired.contains($0.index) }) { return nil }
    defaults = composite.slotsWithDefaults.map { entity.slots[$0] }.filter {
      $0.kind != .none && $0.isOptional && !given.contains($0.index)
    }
  }

  /// The default values that a row takes.
  ///
  /// - Parameter isNull: Whether a part has no value after the update.
  func values(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> [(slot: CompiledSlot, value: Slot)] {
    if try defaults.isEmpty || slots.allSatisfy(isNull) { return [] }
    return try defaults.filter(isNull).map { ($0, $0.defaultValue) }
  }

  /// The required part that lacks a value; nil if the composite is complete or has no value.
  ///
  /// - Parameter isNull: Whether a part has no value after the update, default values included.
  package func missing(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> CompiledSlot? {
    try slots.allSatisfy(isNull) ? nil : try required.first(where: isNull)
  }
}

extension BatchError {
  /// The error of a required part that a batch request leaves without a value.
  package init(missingPart slot: CompiledSlot, of entity: CompiledEntity, row: Int? = nil) {
    self.init(
      .missingValue, entityName: entity.name, key: slot.name, row: row,
      reason: "is a required part of a composite that has a value, and would have none. Set it too, or set all parts to nil.")
  }
}
