// SaveRequestBuilder: changed objects as the rows that a store writes.
import ObjectModel
import ObjectStore

/// Turns changed objects of one store into a ``SaveChangesRequest``.
final class SaveRequestBuilder {
  private let context: ManagedObjectContext
  let space: UInt32
  /// The writer of new rows; nil where there are none.
  private let inserted: RowWriter?
  /// The writer of changed rows. Many saves change nothing but members.
  private lazy var updated = RowWriter()
  private var updates: [SaveChangesRequest.Update] = []
  private var request = SaveChangesRequest()
  private var danglingError: StoreError?
  /// Whether it is the context's parent that takes the rows: they have no versions then, and it is told what they were before.
  private let isNested: Bool

  /// Starts a request.
  ///
  /// - Parameter insertedCount: How many new objects there are at most.
  init(context: ManagedObjectContext, space: UInt32, insertedCount: Int) {
    self.context = context
    self.space = space
    inserted = insertedCount > 0 ? RowWriter(rowCapacity: insertedCount) : nil
    isNested = context.rowSource.parent != nil
  }

  private var firstVersion: Int64 { isNested ? UnsavedRow.version : RowImage.firstVersion }

  private func version(after version: Int64) -> Int64 { isNested ? UnsavedRow.version : version + 1 }

  // MARK: New rows

  func insert(_ object: ManagedObject) {
    guard let inserted else { return }
    object.askEntity { entity in
      if let overlay = object.overlay, overlay.isCopyable, !entity.hasDerivedSlots {
        inserted.beginRow(
          copying: overlay.row, size: overlay.size, slotCount: entity.slots.count, key: object.currentID.key, version: firstVersion
        )
        for slot in entity.referenceSlots where !overlay.isNull(slot) { writeReference(overlay, slot, of: entity, to: inserted) }
      } else {
        writeSlots(of: object, entity, to: inserted)
      }
    }
    inserted.endRow()
    relationshipChanges(of: object)
  }

  private func writeSlots(of object: ManagedObject, _ entity: CompiledEntity, to writer: RowWriter) {
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: object.currentID.key, version: firstVersion)
    guard let overlay = object.overlay else { return }
    // Derived values are the store's.
    for slot in entity.slots where slot.kind != .none && !slot.isDerived && overlay.has(slot.index) { write(overlay, slot, to: writer) }
  }

  // MARK: Changed rows

  func update(_ object: ManagedObject) {
    relationshipChanges(of: object)
    // The object holds its row, and nothing takes it away here.
    guard let row = object.row else { return }
    if let overlay = object.overlay, update(object, overlay, over: row) { return }
    if object.flags.insertsRowAgain(row) { writeUnchanged(object, RowImage(heldRow: row)) }
  }

  /// Writes the row of an object of which nothing but members is changed and whose row is missing: the store reports a conflict, and the merge policy
  /// has the row inserted.
  private func writeUnchanged(_ object: ManagedObject, _ image: RowImage) {
    let entity = object.compiledEntity
    updated.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: image.key, version: version(after: image.version))
    for slot in entity.slots where slot.kind != .none { updated.copy(slot.index, kind: slot.kind, from: image) }
    var update = SaveChangesRequest.Update(row: updated.endRowAlone(), changedSlots: SlotMask(), oldVersion: image.version)
    update.formerRow = image
    updates.append(update)
  }

  /// - Returns: Whether a value differs from the row's.
  private func update(_ object: ManagedObject, _ overlay: Overlay, over row: UnsafeRawPointer) -> Bool {
    let writer = updated
    return object.askEntity { entity in
      let changed: SlotMask
      if overlay.isCopyable, (1...64).contains(entity.slots.count) {
        changed = SlotMask(low: write(overlay, of: entity, over: row, to: writer))
      } else {
        changed = writeSlots(of: overlay, entity, over: RowImage(heldRow: row), to: writer)
      }
      if changed.isEmpty { return false }
      var update = SaveChangesRequest.Update(row: writer.endRowAlone(), changedSlots: changed, oldVersion: RowImage.version(row))
      // Asked for the owners that an object has left, and by then far from the processor.
      if isNested || entity.referenceSlots.contains(where: changed.contains) { update.formerRow = RowImage(heldRow: row) }
      updates.append(update)
      return true
    }
  }

  /// Begins a changed row, with those values of an overlay that differ from the former row's.
  ///
  /// - Returns: What differs. Where nothing does no row was begun.
  private func writeSlots(of overlay: Overlay, _ entity: CompiledEntity, over image: RowImage, to writer: RowWriter) -> SlotMask {
    var changed = SlotMask()
    for slot in entity.slots
    where slot.kind != .none && !slot.isDerived && overlay.isDirty(slot.index) && differs(overlay, slot, image) {
      changed.insert(slot.index)
    }
    if changed.isEmpty { return changed }
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: image.key, version: version(after: image.version))
    for slot in entity.slots where slot.kind != .none {
      if changed.contains(slot.index) {
        write(overlay, slot, to: writer)
      } else {
        writer.copy(slot.index, kind: slot.kind, from: image)
      }
    }
    return changed
  }

  /// Begins a changed row that is a copy of the overlay's, which has all values.
  ///
  /// - Returns: What differs from the former row. Where nothing does no row was begun.
  private func write(_ overlay: Overlay, of entity: CompiledEntity, over row: UnsafeRawPointer, to writer: RowWriter) -> UInt64 {
    var (changed, dirty) = (UInt64(0), overlay.dirtyBits)
    while dirty != 0 {
      let slot = dirty.trailingZeroBitCount
      if differs(overlay, slot, entity.kinds[slot], row) { changed |= 1 << UInt64(slot) }
      dirty &= dirty - 1
    }
    if changed == 0 { return 0 }
    writer.beginRow(
      copying: overlay.row, size: overlay.size, slotCount: entity.slots.count, key: RowImage.key(row),
      version: version(after: RowImage.version(row)))
    for slot in entity.referenceSlots where changed >> UInt64(slot) & 1 != 0 && !overlay.isNull(slot) {
      writeReference(overlay, slot, of: entity, to: writer)
    }
    return changed
  }

  /// Whether a value differs from the row's; both are in rows. What only looks alike is other bytes in the store.
  private func differs(_ overlay: Overlay, _ slot: Int, _ kind: SlotKind, _ row: UnsafeRawPointer) -> Bool {
    let isNull = overlay.isNull(slot)
    if isNull || RowImage.isNull(row, slot) { return isNull != RowImage.isNull(row, slot) }
    switch kind {
    case .int: return overlay.word(slot) != RowImage.word(row, slot)
    case .real: return Double(bitPattern: UInt64(bitPattern: overlay.word(slot))) != RowImage.real(row, slot)
    case .reference:
      return context.registry.savedReference(ObjectReference(rawValue: overlay.word(slot))).rawValue != RowImage.word(row, slot)
    case .text, .bytes:
      let (new, old) = (overlay.bytes(slot), RowImage.bytes(row, slot))
      return new.count != old.count || !new.elementsEqual(old)
    case .none: return false
    }
  }

  private func writeReference(_ overlay: Overlay, _ slot: Int, of entity: CompiledEntity, to writer: RowWriter) {
    let reference = ObjectReference(rawValue: overlay.word(slot))
    let compiled = entity.slots[slot]
    writer.setReference(saved(reference, compiled.name, entity: compiled.declaringEntity), at: slot)
  }

  func delete(_ object: ManagedObject) {
    var deleted = SaveChangesRequest.VersionedReference(reference: object.currentID.reference, version: object.image?.version ?? 0)
    deleted.formerRow = object.image
    request.deleted.append(deleted)
  }

  func lock(_ object: ManagedObject) {
    guard let image = object.image else { return }
    request.locked.append(SaveChangesRequest.VersionedReference(reference: image.reference, version: image.version))
  }

  /// The request.
  ///
  /// - Throws: ``StoreError`` when an object refers to one that was never saved and is gone.
  func finish() throws -> SaveChangesRequest {
    if let danglingError { throw danglingError }
    if let inserted { request.inserted = inserted.finish() }
    if !updates.isEmpty { request.updated = updates }
    return request
  }

  /// Whether a value differs from the row's: a value set back to what it was is not written.
  private func differs(_ overlay: Overlay, _ slot: CompiledSlot, _ image: RowImage) -> Bool {
    let isNull = image.isNull(slot.index)
    let stored = slot.kind == .bytes && !isNull ? image.external(slot.index) : nil
    if let external = overlay.external(slot.index) { return stored.map { !external.isIdentical(to: $0) } ?? true }
    let value = overlay[slot.index]
    // Whether bytes of another length differ is known without reading them.
    if let stored, case .bytes(let bytes) = value, (try? stored.count) != bytes.count { return true }
    switch value {
    case .null: return !isNull || image.isUnreadable(slot.index)
    case .int(let word) where slot.kind == .reference:
      return isNull || context.registry.savedReference(ObjectReference(rawValue: word)).rawValue != image.word(slot.index)
    case .text(let text):
      // Texts that only look alike are different bytes in the store.
      return isNull || slot.kind != .text || !image.bytes(slot.index).elementsEqual(text.utf8)
    // What cannot be read differs from every value.
    default: return isNull || (try? image.slot(slot.index, kind: slot.kind)) != value
    }
  }

  /// Bytes of an attribute with external storage that are not copied into the row, since the store may take them out again.
  private static let largeByteCount = 16_384

  private func write(_ overlay: Overlay, _ slot: CompiledSlot, to writer: RowWriter) {
    if let external = overlay.external(slot.index) { return writer.setExternal(external, at: slot.index) }
    let value = overlay[slot.index]
    if case .bytes(let bytes) = value, bytes.count >= Self.largeByteCount, slot.attribute?.allowsExternalBinaryDataStorage ?? false {
      return writer.setExternal(ExternalData(bytes), at: slot.index)
    }
    if slot.kind == .reference, case .int(let word) = value {
      let reference = saved(ObjectReference(rawValue: word), slot.name, entity: slot.declaringEntity)
      writer.setReference(reference, at: slot.index)
    } else {
      writer.set(value, at: slot.index)
    }
  }

  /// The reference as it is saved, after a look at whether it may be.
  private func saved(_ reference: ObjectReference, _ name: String, entity: Int) -> ObjectReference {
    if reference.key > 0 {
      if isDeleted(reference), leavesNothingDangling(name, entity: entity) { noteDangling(name, entity: entity) }
      return reference
    }
    guard let objectID = context.registry.permanentID(reference) else {
      noteDangling(name, entity: entity)
      return reference
    }
    if objectID.space != space {
      danglingError =
        danglingError
        ?? StoreError(.destinationOfOtherStore(entity: context.model.entities[entity].name, property: name, isNew: true), operation: .save)
    }
    return objectID.reference
  }

  /// Whether this save deletes an object.
  private func isDeleted(_ reference: ObjectReference) -> Bool {
    guard reference.key > 0, !context.unitOfWork.deleted.isEmpty else { return false }
    return context.registeredObject(reference, space: space)?.flags.contains(.isDeleted) ?? false
  }

  /// Whether deleting the destination of a relationship does something about it; otherwise references to missing rows are as the model wants it.
  private func leavesNothingDangling(_ name: String, entity: Int) -> Bool {
    guard case .toOne(let relationship) = context.model.entities[entity].property(named: name),
      let inverse = context.model.inverse(of: relationship)
    else { return false }
    return inverse.deleteRule != .noAction
  }

  private func noteDangling(_ name: String, entity: Int) {
    danglingError =
      danglingError
      ?? StoreError(.deletedDestination(entity: context.model.entities[entity].name, property: name), operation: .save)
  }

  private func relationshipChanges(of object: ManagedObject) {
    for state in object.toManyStates where state.isChanged && !state.relationship.isTransient {
      let relationship = state.relationship
      let inverse = context.tables.inverse(of: relationship)
      let order: [ObjectReference]? = relationship.isOrdered ? order(of: object, state) : nil
      // Membership is written once: in the member's to-one slot, or for the relationship with the lower number.
      let ownsMembership = inverse.map { $0.isToMany && relationship.id <= $0.id } ?? true
      if !ownsMembership && order == nil { continue }
      request.relationshipChanges.append(
        SaveChangesRequest.RelationshipChange(
          source: object.currentID.reference, relationshipID: relationship.id,
          added: ownsMembership ? savedAdditions(to: state, of: relationship) : [],
          removed: ownsMembership && !state.removed.isEmpty ? state.removed.map { context.registry.savedReference($0) } : [], order: order))
    }
  }

  /// The members that come, as they are saved.
  private func savedAdditions(to state: ToManyState, of relationship: CompiledRelationship) -> [ObjectReference] {
    if context.unitOfWork.deleted.isEmpty, !context.memberStates.hasGone {
      // No copy is made of them: the references that they are saved by are good here too.
      return state.savedAdditions { saved($0, relationship.name, entity: relationship.sourceEntity) }
    }
    var added = state.added.elements
    // Nor is one a member that others have deleted since it was added.
    added.removeAll { isDeleted($0) || context.memberStates.isGone($0) }
    for position in added.indices { added[position] = saved(added[position], relationship.name, entity: relationship.sourceEntity) }
    return added
  }

  private func order(of object: ManagedObject, _ state: ToManyState) -> [ObjectReference] {
    if !state.isLoaded { context.loadMembers(of: object, state: state) }
    return state.members.map { context.registry.savedReference($0) }
  }
}
