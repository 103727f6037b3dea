package import ObjectModel
import ObjectStore

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
