// ManagedObject+Lending: objects that have other values for a while, as those that a save asks code of the application about.
package import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Has other values as long as a body runs.
  ///
  /// - Parameters:
  ///   - row: The row; nil for the one that the object has.
  ///   - values: The values over it, which the object frees.
  ///   - owner: The context.
  ///   - isNew: Whether the object counts as inserted.
  ///   - body: What is done.
  /// - Returns: The other values as they are then, which the caller frees.
  final func lending(
    _ row: RowImage?, _ values: Overlay, in owner: ManagedObjectContext, isNew: Bool, _ body: () throws -> Void
  ) rethrows -> Overlay? {
    let (image, flags, context) = (self.image, self.flags, contextReference)
    let overlay = takeOverlay()
    func giveBack() -> Overlay? {
      let values = takeOverlay()
      self.image = image
      _ = takeOverlay(leaving: overlay)
      (self.flags, contextReference) = (flags, context)
      updatePlainRow()
      return values
    }
    contextReference = Unmanaged.passUnretained(owner)  // for the time of the body
    if let row { self.image = row }
    setOverlay(values)
    // Nothing is registered: the save has these values already.
    self.flags.formUnion([.isUpdated, .hasPendingChange])
    if !isNew { self.flags.remove(.isInserted) }
    hideRow()
    do { try body() } catch {
      giveBack()?.free()
      throw error
    }
    return giveBack()
  }

  /// The object's unsaved values once more.
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
  /// Has a body change objects, which are afterwards as they were.
  ///
  /// - Returns: The stored values that the body has set, by name: of several objects with one property that of the last.
  package func trying(_ objects: [ManagedObject], _ body: () throws -> Void) throws -> [String: Slot] {
    var values: [String: Slot] = [:]
    try lend(objects[...], body) { values[$0] = $1 }
    return values
  }

  private func lend(_ objects: ArraySlice<ManagedObject>, _ body: () throws -> Void, _ note: (String, Slot) -> Void) throws {
    guard let object = objects.last else { return try body() }
    if object.flags.contains(.isFault) { object.fireFault(trigger: nil) }
    let (entity, isNew) = (object.compiledEntity, object.flags.contains(.isInserted))
    let before = object.copyOfValues()
    defer { before.free() }
    let row = object.image
    let left = try object.lending(nil, object.copyOfValues(), in: self, isNew: isNew) { try lend(objects.dropLast(), body, note) }
    guard let left else { return }
    defer { left.free() }
    for slot in entity.slots where slot.kind != .none && !slot.isDerived && left.isDirty(slot.index) && left.external(slot.index) == nil {
      let former = before.has(slot.index) ? before[slot.index] : try row?.slot(slot.index, kind: slot.kind) ?? .null
      var value = left[slot.index]
      if value == former { continue }
      if slot.kind == .reference, case .int(let word) = value {
        value = .int(registry.savedReference(ObjectReference(rawValue: word)).rawValue)
      }
      note(slot.name, value)
    }
  }
}
