import ObjectModel
import ObjectStore

/// Converts the changed objects of one store into a ``SaveChangesRequest``.
final class SaveRequestBuilder {
  private let context: ManagedObjectContext
  let space: UInt32
  /// The writer of new rows; nil if there are no new objects.
  private let inserted: RowWriter?
  /// The writer of changed rows. Lazy, since many saves change only members.
  private lazy var updated = RowWriter()
  private var updates: [SaveChangesRequest.Update] = []
  private var request = SaveChangesRequest()
  private var danglingError: StoreError?
  /// Whether the rows go to a parent context. They then have no versions, and include the former rows.
  private let isNested: Bool

  /// Creates a builder.
  ///
  /// - Parameter insertedCount: The maximum number of new objects.
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
    object.withEntity { entity in
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
    // The store computes derived values.
    for slot in entity.slots where slot.kind != .none && !slot.isDerived && overlay.has(slot.index) { write(overlay, slot, to: writer) }
  }

  // MARK: Changed rows

  func update(_ object: ManagedObject) {
    relationshipChanges(of: object)
    // The object retains the row throughout.
    guard let row = object.row else { return }
    if let overlay = object.overlay, update(object, overlay, over: row) { return }
    if object.flags.reinsertsRow(row) { writeUnchanged(object, RowImage(heldRow: row)) }
  }

  /// Writes the row of an object with changed members only whose row is missing: the store reports a conflict, and the merge policy inserts the
  /// row.
  private func writeUnchanged(_ object: ManagedObject, _ image: RowImage) {
    let row = image.edited(of: object.compiledEntity, version: version(after: image.version))
    var update = SaveChangesRequest.Update(row: row, changedSlots: SlotMask(), oldVersion: image.version)
    update.previousRow = image
    updates.append(update)
  }

  /// - Returns: Whether a value differs from the row's.
  private func update(_ object: ManagedObject, _ overlay: Overlay, over row: UnsafeRawPointer) -> Bool {
    let writer = updated
    return object.withEntity { entity in
      let changed: SlotMask
      if overlay.isCopyable, (1...64).contains(entity.slots.count) {
        changed = SlotMask(low: write(overlay, of: entity, over: row, to: writer))
      } else {
        changed = writeSlots(of: overlay, entity, over: RowImage(heldRow: row), to: writer)
      }
      if changed.isEmpty { return false }
      var update = SaveChangesRequest.Update(row: writer.endSingleRow(), changedSlots: changed, oldVersion: RowImage.version(row))
      // Needed to find the former owners. Set only if required, because the row has probably left the processor's cache by then.
      if isNested || entity.referenceSlots.contains(where: changed.contains) { update.previousRow = RowImage(heldRow: row) }
      updates.append(update)
      return true
    }
  }

  /// Begins a changed row with the values of an overlay that differ from the former row.
  ///
  /// - Returns: The changed slots. If there are none, no row was begun.
  private func writeSlots(of overlay: Overlay, _ entity: CompiledEntity, over image: RowImage, to writer: RowWriter) -> SlotMask {
    var changed = SlotMask()
    for slot in entity.slots
    where slot.kind != .none && !slot.isDerived && overlay.isDirty(slot.index) && overlay.differs(slot, from: image, in: context) {
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

  /// Begins a changed row as a copy of an overlay that has all values.
  ///
  /// - Returns: The changed slots. If there are none, no row was begun.
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

  /// Returns whether a value differs from the row's; both are in row format. Compares text bytewise, since canonically equivalent strings
  /// differ in the store.
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
    deleted.previousRow = object.image
    request.deleted.append(deleted)
  }

  func lock(_ object: ManagedObject) {
    guard let image = object.image else { return }
    request.locked.append(SaveChangesRequest.VersionedReference(reference: image.reference, version: image.version))
  }

  /// Returns the request.
  ///
  /// - Throws: ``StoreError`` if an object refers to a deleted object that was never saved.
  func finish() throws -> SaveChangesRequest {
    if let danglingError { throw danglingError }
    if let inserted { request.inserted = inserted.finish() }
    if !updates.isEmpty { request.updated = updates }
    return request
  }

  /// The size from which bytes of an attribute with external storage are not copied into the row, since the store may move them out again.
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

  /// Returns the saved form of a reference, and records an error if it would dangle.
  private func saved(_ reference: ObjectReference, _ name: String, entity: Int) -> ObjectReference {
    if reference.key > 0 {
      if isDeleted(reference), leavesNothingDangling(name, entity: entity) { recordDangling(name, entity: entity) }
      return reference
    }
    guard let objectID = context.registry.permanentID(reference) else {
      recordDangling(name, entity: entity)
      return reference
    }
    if objectID.space != space {
      danglingError =
        danglingError
        ?? StoreError(.destinationOfOtherStore(entity: context.model.entities[entity].name, property: name, isNew: true), operation: .save)
    }
    return objectID.reference
  }

  private func isDeleted(_ reference: ObjectReference) -> Bool {
    guard reference.key > 0, !context.unitOfWork.deleted.isEmpty else { return false }
    return context.registeredObject(reference, space: space)?.flags.contains(.isDeleted) ?? false
  }

  /// Returns whether deleting the destination of a relationship updates the relationship. Otherwise the model permits dangling references.
  private func leavesNothingDangling(_ name: String, entity: Int) -> Bool {
    guard case .toOne(let relationship) = context.model.entities[entity].property(named: name),
      let inverse = context.model.inverse(of: relationship)
    else { return false }
    return inverse.deleteEffect.leavesNoReferences
  }

  private func recordDangling(_ name: String, entity: Int) {
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
          removed: ownsMembership && !state.removed.isEmpty ? state.removed.map { context.registry.savedReference($0) } : [], order: order,
          previousOrder: order == nil ? nil : state.base.map(Array.init)))
    }
  }

  /// Returns the added members with saved references.
  private func savedAdditions(to state: ToManyState, of relationship: CompiledRelationship) -> [ObjectReference] {
    if context.unitOfWork.deleted.isEmpty, !context.membershipTracker.hasRemovedRows {
      // Converts the references in place: the state can use the saved references, too.
      return state.savedAdditions { saved($0, relationship.name, entity: relationship.sourceEntity) }
    }
    var added = state.added.elements
    // Omit members that were deleted since they were added.
    added.removeAll { isDeleted($0) || context.membershipTracker.isRemoved($0) }
    for position in added.indices { added[position] = saved(added[position], relationship.name, entity: relationship.sourceEntity) }
    return added
  }

  private func order(of object: ManagedObject, _ state: ToManyState) -> [ObjectReference] {
    if !state.isLoaded { context.loadMembers(of: object, state: state) }
    return state.members.map { context.registry.savedReference($0) }
  }
}

extension Overlay {
  /// Returns whether the value of a slot differs from a row's. A value that was reset to its former value does not.
  ///
  /// - Parameter context: The context, which knows the permanent references of new objects.
  func differs(_ slot: CompiledSlot, from image: RowImage, in context: ManagedObjectContext) -> Bool {
    let isNull = image.isNull(slot.index)
    let stored = slot.kind == .bytes && !isNull ? image.external(slot.index) : nil
    if let external = external(slot.index) { return stored.map { !external.isIdentical(to: $0) } ?? true }
    let value = self[slot.index]
    // Bytes of another length differ; there is no need to read them.
    if let stored, case .bytes(let bytes) = value, (try? stored.count) != bytes.count { return true }
    switch value {
    case .null: return !isNull || image.isUnreadable(slot.index)
    case .int(let word) where slot.kind == .reference:
      return isNull || context.registry.savedReference(ObjectReference(rawValue: word)).rawValue != image.word(slot.index)
    case .text(let text):
      // Canonically equivalent strings have different bytes in the store.
      return isNull || slot.kind != .text || !image.bytes(slot.index).elementsEqual(text.utf8)
    // An unreadable value differs from every value.
    default: return isNull || (try? image.slot(slot.index, kind: slot.kind)) != value
    }
  }
}
