package import ObjectModel

/// An optional composite of which a batch update sets some attributes.
///
/// As for objects, the first value of a composite also sets the default values of its required attributes. A required attribute that
/// remains null is an error.
package struct CompositeCompletion: Sendable {
  /// The stored attributes of the composite.
  package let slots: [CompiledSlot]
  /// The attributes that must have a value if any attribute of the composite has one.
  package let required: [CompiledSlot]
  /// The required attributes that have a default value and are not set by the update.
  package let defaults: [CompiledSlot]

  /// Returns nil if the update sets no attribute of the composite, or cannot leave a required attribute null.
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
    // All attributes are set to null, or all required ones are set to a value.
    if slots.allSatisfy({ removed.contains($0.index) }) { return nil }
    let setsRequired = assigned.filter { if case .constant(let value) = $0.value { !value.isNull } else { false } }.map(\.slot.index)
    if required.allSatisfy({ setsRequired.contains($0.index) }) { return nil }
    defaults = composite.slotsWithDefaults.map { entity.slots[$0] }.filter {
      $0.kind != .none && $0.isOptional && !given.contains($0.index)
    }
  }

  /// Returns the default values to set in a row.
  ///
  /// - Parameter isNull: Returns whether an attribute is null after the update.
  func values(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> [(slot: CompiledSlot, value: Slot)] {
    if try defaults.isEmpty || slots.allSatisfy(isNull) { return [] }
    return try defaults.filter(isNull).map { ($0, $0.defaultValue) }
  }

  /// Returns a required attribute that is null, or nil if the composite is complete or entirely null.
  ///
  /// - Parameter isNull: Returns whether an attribute is null after the update, including default values.
  package func missing(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> CompiledSlot? {
    try slots.allSatisfy(isNull) ? nil : try required.first(where: isNull)
  }
}

extension BatchError {
  /// Creates the error for a required attribute of a composite that a batch request leaves null.
  package init(missingPart slot: CompiledSlot, of entity: CompiledEntity, row: Int? = nil) {
    self.init(
      .missingValue, entityName: entity.name, key: slot.name, row: row,
      reason: "is a required element of a composite with a value, and would be empty. Set it too, or set all elements to nil.")
  }
}
