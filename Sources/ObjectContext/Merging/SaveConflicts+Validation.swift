package import ObjectModel
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

// MARK: - Evaluating with temporary values

extension ManagedObject {
  /// Replaces the object's values temporarily while a closure runs, for example to validate merged values.
  ///
  /// - Parameters:
  ///   - row: The row; nil for the object's own.
  ///   - values: The overlay above it, which the object frees.
  ///   - owner: The context.
  ///   - isNew: Whether the object appears as inserted.
  ///   - body: The closure.
  /// - Returns: The temporary overlay with the changes of the closure, which the caller frees.
  final func withTemporaryValues(
    _ row: RowImage?, _ values: Overlay, in owner: ManagedObjectContext, isNew: Bool, _ body: () throws -> Void
  ) rethrows -> Overlay? {
    let (image, flags, context) = (self.image, self.flags, contextReference)
    let overlay = takeOverlay()
    func restoreValues() -> Overlay? {
      let values = takeOverlay()
      self.image = image
      _ = takeOverlay(leaving: overlay)
      (self.flags, contextReference) = (flags, context)
      updateDirectRow()
      return values
    }
    contextReference = Unmanaged.passUnretained(owner)  // `owner` outlives the body
    if let row { self.image = row }
    setOverlay(values)
    // Changes need not be registered, because the save already has these values.
    self.flags.formUnion([.isUpdated, .hasPendingChange])
    if !isNew { self.flags.remove(.isInserted) }
    hideRow()
    do { try body() } catch {
      restoreValues()?.free()
      throw error
    }
    return restoreValues()
  }

  fileprivate final func copyOfValues() -> Overlay {
    let entity = compiledEntity
    let copy = Overlay(of: entity)
    guard let overlay else { return copy }
    for slot in entity.slots.indices {
      if overlay.isDirty(slot) {
        if let external = overlay.external(slot) { copy.setExternal(external, at: slot) } else { copy.set(overlay[slot], at: slot) }
      } else if overlay.has(slot) {
        copy.keep(overlay[slot], at: slot)
      }
    }
    return copy
  }
}

extension ManagedObjectContext {
  /// Runs a closure that changes objects, and restores them afterwards.
  ///
  /// - Returns: The stored values that the closure has set, by name. If several objects share a property, the value of the last one.
  package func withTrialChanges(_ objects: [ManagedObject], _ body: () throws -> Void) throws -> [String: Slot] {
    var values: [String: Slot] = [:]
    try collectTrialChanges(objects[...], body) { values[$0] = $1 }
    return values
  }

  private func collectTrialChanges(_ objects: ArraySlice<ManagedObject>, _ body: () throws -> Void, _ record: (String, Slot) -> Void) throws
  {
    guard let object = objects.last else { return try body() }
    if object.flags.contains(.isFault) { object.fireFault(trigger: nil) }
    let (entity, isNew) = (object.compiledEntity, object.flags.contains(.isInserted))
    let before = object.copyOfValues()
    defer { before.free() }
    let row = object.image
    let left = try object.withTemporaryValues(nil, object.copyOfValues(), in: self, isNew: isNew) {
      try collectTrialChanges(objects.dropLast(), body, record)
    }
    guard let left else { return }
    defer { left.free() }
    for slot in entity.slots where slot.kind != .none && !slot.isDerived && left.isDirty(slot.index) && left.external(slot.index) == nil {
      let former = before.has(slot.index) ? before[slot.index] : try row?.slot(slot.index, kind: slot.kind) ?? .null
      var value = left[slot.index]
      if value == former { continue }
      if slot.kind == .reference, case .int(let word) = value {
        value = .int(registry.savedReference(ObjectReference(rawValue: word)).rawValue)
      }
      record(slot.name, value)
    }
  }
}
