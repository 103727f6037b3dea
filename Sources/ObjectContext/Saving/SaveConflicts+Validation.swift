import ObjectModel
import ObjectStore

extension SaveConflicts {
  /// Validates the rows that were merged since the last call, against the model's rules and those of the objects' classes.
  ///
  /// Runs before anything is written. Each object shows the merged values during its validation and its own values afterwards.
  ///
  /// - Throws: ``ValidationError`` with all errors.
  func validate() throws {
    let references = takeMergedRows()
    if references.isEmpty { return }
    var found = ValidationErrorCollector()
    for reference in references {
      do {
        if let row = inserted[reference] {
          try validate(row, over: nil)
        } else if let update = updates[reference] {
          try validate(update.row, over: base(reference) ?? update.row, changed: update.changedSlots)
        }
      } catch {
        guard let row = inserted[reference] ?? updates[reference]?.row else { throw error }
        try found.add(error, of: holder(of: row))
      }
    }
    // Values that validators have replaced were validated with their objects.
    _ = takeMergedRows()
    try found.check()
  }

  /// Validates a row in place of the base row; a new row if there is none.
  private func validate(_ row: RowImage, over base: RowImage?, changed: SlotMask? = nil) throws {
    let entity = entity(row)
    let object = holder(of: row)
    let isNew = base == nil && object.flags.contains(.isInserted)
    let overlay = Overlay(of: entity)
    do { try fill(overlay, with: row, changed: changed, of: object) } catch {
      overlay.free()
      throw error
    }
    let left = try object.withTemporaryValues(base ?? row, overlay, in: context, isNew: isNew) {
      if isNew { try object.validateForInsert() } else { try object.validateForUpdate() }
    }
    // A validator may have replaced a value, or discarded all changes.
    guard let overlay = left else { return }
    defer { overlay.free() }
    var values: [Int: Slot] = [:]
    for slot in entity.slots where slot.kind != .none && !slot.isDerived && overlay.isDirty(slot.index) {
      guard overlay.external(slot.index) == nil, slot.kind != .bytes || row.external(slot.index) == nil else { continue }
      var value = overlay[slot.index]
      if slot.kind == .reference, case .int(let word) = value {
        value = .int(context.registry.savedReference(ObjectReference(rawValue: word)).rawValue)
      }
      if try value != row.slot(slot.index, kind: slot.kind) { values[slot.index] = value }
    }
    if values.isEmpty { return }
    if let base, inserted[row.reference] == nil { update(edited(row, values), over: base) } else { insert(edited(row, values)) }
  }

  /// Fills an overlay with the values of a row, and with the object's transient values.
  private func fill(_ overlay: Overlay, with row: RowImage, changed: SlotMask?, of object: ManagedObject) throws {
    for slot in entity(row).slots {
      if slot.kind == .none {
        // Transient values stay unchanged.
        if let own = object.overlay, own.has(slot.index) { overlay.keep(own[slot.index], at: slot.index) }
      } else if !slot.isDerived, changed?.contains(slot.index) ?? true {
        if let external = slot.kind == .bytes ? row.external(slot.index) : nil {
          overlay.setExternal(external, at: slot.index)
        } else {
          overlay.set(try row.slot(slot.index, kind: slot.kind), at: slot.index)
        }
      }
    }
  }

  /// Returns the object that has a row after the save: the registered one, or a new one that adopts the stored object's identity, else a
  /// temporary one.
  private func holder(of row: RowImage) -> ManagedObject {
    let reference = row.reference
    if let object = object(reference) {
      if object.flags.contains(.isFault) {
        if object.row == nil { object.image = base(reference) ?? row }
        object.fireFault(trigger: nil)
      }
      return object
    }
    if let new = merged.keys.first(where: { survivor(of: $0) == reference && $0.entity == reference.entity }), let object = object(new) {
      return object
    }
    return context.entityClasses.type(ofEntity: row.entityNumber).init(
      ManagedObjectSeed(objectID: objectID(reference), context: nil, image: row, flags: []))
  }
}
