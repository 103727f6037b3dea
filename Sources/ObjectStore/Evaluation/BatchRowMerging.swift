package import ObjectModel

/// A uniqueness constraint that an entity declares or inherits.
package struct DeclaredConstraint: Sendable {
  /// The number of the declaring entity. The constraint applies to it and its subentities.
  package let entity: Int
  package let names: [String]
  package let slots: [CompiledSlot]
}

extension CompiledEntity {
  /// Returns the uniqueness constraints that apply to the entity.
  package func constraints(in model: CompiledModel) -> [DeclaredConstraint] {
    var result: [DeclaredConstraint] = []
    var next: CompiledEntity? = self
    while let declaring = next {
      for names in declaring.entityDescription.uniquenessConstraints {
        let slots = names.compactMap { name in self.slots.first { $0.name == name } }
        guard slots.count == names.count, !slots.isEmpty else { continue }
        result.append(DeclaredConstraint(entity: declaring.number, names: names, slots: slots))
      }
      next = declaring.parent.map { model.entities[$0] }
    }
    return result
  }
}

/// Decides for each row of a batch insert whether it is inserted, skipped, or merged into a stored row.
package struct BatchRowMerging {
  /// The decision for a row.
  package enum Resolution {
    case inserted
    case skipped
    /// A stored row takes the values of the given slots.
    case merged(RowImage, SlotMask)
  }

  package let entity: CompiledEntity
  private let model: CompiledModel
  private let insertion: BatchInsertion
  private let requiredSlots: [CompiledSlot]
  /// The slots that `.update(only:)` names, or nil if it names none.
  private let named: SlotMask?

  /// Creates the merging for a chunk of a batch insert.
  ///
  /// - Throws: ``BatchError`` if `.update(only:)` names anything but attributes and to-one relationships.
  package init(_ insertion: BatchInsertion, model: CompiledModel) throws {
    guard let entity = model.entity(named: insertion.entityName) else {
      throw StoreError(.unknownEntity(insertion.entityName, known: []), operation: .batchInsert)
    }
    self.insertion = insertion
    self.entity = entity
    self.model = model
    requiredSlots = entity.slots.filter { !$0.isOptional && $0.kind != .none && !$0.isDerived }
    guard case .update(let names?) = insertion.onConflict else {
      named = nil
      return
    }
    var slots = SlotMask()
    for name in names {
      switch entity.property(named: name) {
      case .attribute(let slot) where slot.kind != .none: slots.insert(slot.index)
      case .toOne(let relationship) where !relationship.isTransient: slots.insert(relationship.index)
      case .composite(let composite): for slot in composite.slots { slots.insert(slot) }
      default:
        throw BatchError(
          .notSettable, entityName: entity.name, key: name,
          reason: "is named in update(only:), but is not a stored attribute or to-one relationship of the entity.")
      }
    }
    named = slots
  }

  /// Checks that a row has all required values.
  ///
  /// - Throws: ``BatchError`` if a required value is missing.
  package func checkComplete(_ position: Int) throws(BatchError) {
    let row = insertion.rows[position]
    var missing = requiredSlots.first { row.isNull($0.index) }?.name
    for composite in entity.composites where missing == nil {
      if composite.slots.allSatisfy(row.isNull) {
        if !composite.attribute.isOptional { missing = composite.name }
      } else {
        missing = composite.requiredSlots.first(where: row.isNull).map { entity.slots[$0].name }
      }
    }
    guard let missing else { return }
    throw BatchError(
      .missingValue, entityName: entity.name, key: missing, row: insertion.firstRow + position,
      reason: "is required, and the row has no value for it.")
  }

  /// Returns the decision for a row.
  ///
  /// - Parameter holders: The distinct rows that have its values under uniqueness constraints.
  package func resolution(of position: Int, holders: [RowImage], space: ObjectIDSpace) throws -> Resolution {
    guard let holder = holders.first else {
      try checkComplete(position)
      return .inserted
    }
    if insertion.onConflict == .ignore { return .skipped }
    let new = insertion.rows[position]
    let isOfEntity = entity.subtree.contains(holder.entityNumber)
    guard holders.count == 1, isOfEntity else {
      throw StoreError(
        .rowConflictsWithObjects(row: insertion.firstRow + position, entity: entity.name, ofSeveral: isOfEntity), operation: .batchInsert)
    }
    let slots = merged(position)
    if insertion.onConflict == .replace, let slot = slots.first(where: { !$0.isOptional && new.isNull($0.index) }) {
      throw BatchError(
        .missingValue, entityName: entity.name, key: slot.name, row: insertion.firstRow + position,
        reason: "is required, and the row has no value for it.")
    }
    var changed = try differing(slots, new, holder)
    try complete(&changed, position, new, holder)
    return changed.isEmpty ? .skipped : .merged(holder, changed)
  }

  /// Returns the slots that a stored row takes from a new one.
  private func merged(_ position: Int) -> [CompiledSlot] {
    let given = insertion.given[position]
    return entity.slots.filter { slot in
      guard slot.kind != .none, !slot.isDerived else { return false }
      if insertion.onConflict == .replace { return given.contains(slot.index) || slot.relationship == nil }
      return given.contains(slot.index) && named?.contains(slot.index) ?? true
    }
  }

  /// If the merge gives a composite its first value, adds its required attributes with default values. The new row contains the default
  /// values unless it was given others.
  ///
  /// - Throws: ``BatchError`` if a required attribute of a composite remains without a value.
  private func complete(_ changed: inout SlotMask, _ position: Int, _ new: RowImage, _ holder: RowImage) throws {
    let given = insertion.given[position]
    for composite in entity.composites where composite.slots.contains(where: changed.contains) {
      let mask = changed
      func isNull(_ slot: Int) -> Bool { mask.contains(slot) ? new.isNull(slot) : holder.isNull(slot) }
      if composite.slots.allSatisfy(isNull) { continue }
      for slot in composite.slotsWithDefaults where isNull(slot) && !given.contains(slot) && !new.isNull(slot) { changed.insert(slot) }
      let missing = composite.requiredSlots.first { entity.slots[$0].kind != .none && (changed.contains($0) ? new : holder).isNull($0) }
      if let missing { throw BatchError(missingPart: entity.slots[missing], of: entity, row: insertion.firstRow + position) }
    }
  }

  /// Returns the slots whose values differ in two rows. Only these are written.
  private func differing(_ slots: [CompiledSlot], _ new: RowImage, _ old: RowImage) throws -> SlotMask {
    var changed = SlotMask()
    for slot in slots where try new.slot(slot.index, kind: slot.kind) != old.slot(slot.index, kind: slot.kind) {
      changed.insert(slot.index)
    }
    return changed
  }
}
