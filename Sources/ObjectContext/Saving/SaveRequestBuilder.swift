// SaveRequestBuilder: changed objects as the rows that a store writes.
import ObjectModel
import ObjectStore

/// Turns changed objects of one store into a ``SaveChangesRequest``.
final class SaveRequestBuilder {
  private let context: ManagedObjectContext
  let space: UInt32
  private let insertedCount: Int
  private lazy var inserted = RowWriter(rowCapacity: insertedCount)
  private lazy var updated = RowWriter()
  private var request = SaveChangesRequest()
  private var danglingError: StoreError?

  init(context: ManagedObjectContext, space: UInt32, insertedCount: Int) {
    self.context = context
    self.space = space
    self.insertedCount = insertedCount
  }

  func insert(_ object: ManagedObject) {
    let entity = object.compiledEntity
    if let overlay = object.overlay, overlay.isCopyable, !entity.hasDerivedSlots {
      inserted.beginRow(
        copying: overlay.row, size: overlay.size, slotCount: entity.slots.count, key: object.currentID.key, version: RowImage.firstVersion)
      for slot in entity.referenceSlots where !overlay.isNull(slot) { writeReference(overlay, slot, of: entity, to: inserted) }
      inserted.endRow()
      return relationshipChanges(of: object)
    }
    inserted.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: object.currentID.key, version: RowImage.firstVersion)
    if let overlay = object.overlay {
      // Derived values are the store's.
      for slot in entity.slots where slot.kind != .none && !slot.isDerived && overlay.has(slot.index) {
        write(overlay, slot, to: inserted)
      }
    }
    inserted.endRow()
    relationshipChanges(of: object)
  }

  func update(_ object: ManagedObject) {
    relationshipChanges(of: object)
    guard let image = object.image, let overlay = object.overlay else { return }
    let entity = object.compiledEntity
    if overlay.isCopyable, (1...64).contains(entity.slots.count) { return update(overlay, of: entity, from: image) }
    var changed = SlotMask()
    for slot in entity.slots
    where slot.kind != .none && !slot.isDerived && overlay.isDirty(slot.index) && differs(overlay, slot, image) {
      changed.insert(slot.index)
    }
    if changed.isEmpty { return }
    updated.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: image.key, version: image.version + 1)
    for slot in entity.slots where slot.kind != .none {
      if changed.contains(slot.index) {
        write(overlay, slot, to: updated)
      } else {
        updated.copy(slot.index, kind: slot.kind, from: image)
      }
    }
    appendUpdate(changed, of: image)
  }

  /// An update that copies the overlay's row, which has all values.
  private func update(_ overlay: Overlay, of entity: CompiledEntity, from image: RowImage) {
    var (changed, dirty) = (UInt64(0), overlay.dirtyBits)
    while dirty != 0 {
      let slot = dirty.trailingZeroBitCount
      if differs(overlay, slot, entity.kinds[slot], image) { changed |= 1 << UInt64(slot) }
      dirty &= dirty - 1
    }
    if changed == 0 { return }
    updated.beginRow(
      copying: overlay.row, size: overlay.size, slotCount: entity.slots.count, key: image.key, version: image.version + 1)
    for slot in entity.referenceSlots where changed >> UInt64(slot) & 1 != 0 && !overlay.isNull(slot) {
      writeReference(overlay, slot, of: entity, to: updated)
    }
    appendUpdate(SlotMask(low: changed), of: image)
  }

  /// Ends the row of an update.
  private func appendUpdate(_ changed: SlotMask, of image: RowImage) {
    var update = SaveChangesRequest.Update(row: updated.endRowAlone(), changedSlots: changed, oldVersion: image.version)
    update.formerRow = image
    request.updated.append(update)
  }

  /// Whether a value differs from the row's; both are in rows. What only looks alike is other bytes in the store.
  private func differs(_ overlay: Overlay, _ slot: Int, _ kind: SlotKind, _ image: RowImage) -> Bool {
    let isNull = overlay.isNull(slot)
    if isNull || image.isNull(slot) { return isNull != image.isNull(slot) }
    switch kind {
    case .int: return overlay.word(slot) != image.word(slot)
    case .real: return Double(bitPattern: UInt64(bitPattern: overlay.word(slot))) != image.real(slot)
    case .reference: return context.registry.savedReference(ObjectReference(rawValue: overlay.word(slot))) != image.reference(slot)
    case .text, .bytes:
      let (new, old) = (overlay.bytes(slot), image.bytes(slot))
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
    if insertedCount > 0 { request.inserted = inserted.finish() }
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
    if context.unitOfWork.deleted.isEmpty {
      // No copy is made of them: the references that they are saved by are good here too.
      return state.savedAdditions { saved($0, relationship.name, entity: relationship.sourceEntity) }
    }
    var added = state.added.elements
    added.removeAll(where: isDeleted)
    for position in added.indices { added[position] = saved(added[position], relationship.name, entity: relationship.sourceEntity) }
    return added
  }

  private func order(of object: ManagedObject, _ state: ToManyState) -> [ObjectReference] {
    if !state.isLoaded { context.loadMembers(of: object, state: state) }
    return state.members.map { context.registry.savedReference($0) }
  }
}
