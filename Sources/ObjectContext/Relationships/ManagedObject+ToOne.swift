public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// Returns the ID of the destination of a to-one relationship; nil if there is none. Fires this object's fault, and does not create the
  /// destination object.
  ///
  /// - Parameter slot: The relationship's slot number in the compiled model. A read from a row takes about 1 ns.
  @_spi(Generated) @inlinable public final func toOneID(_ slot: Int) -> ManagedObjectID? {
    // A row refers to rows of its own store only.
    if let row = directRow {
      let reference = ObjectReference(rawValue: RowImage.word(row, slot))
      if reference.isNull { return nil }
      // A temporary reference does not determine the store.
      if reference.key < 0 || currentID.key < 0 { return slowToOneID(slot) }
      return ManagedObjectID(space: currentID.space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
    }
    return slowToOneID(slot)
  }

  @usableFromInline final func slowToOneID(_ slot: Int) -> ManagedObjectID? {
    recordRead(slot)
    let reference = referenceValue(slot)
    return reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self)
  }

  /// Returns the destination of a to-one relationship; nil if there is none. Fires this object's fault, but not the destination's.
  ///
  /// - Parameters:
  ///   - slot: The relationship's slot number in the compiled model.
  ///   - type: The class of the destination.
  @inlinable package final func toOne<Destination: ManagedObject>(
    _ slot: Int, as type: Destination.Type = Destination.self
  ) -> Destination? {
    // Inlined, so that the class is a constant address.
    guard let address = reachedDestination(slot) else { return nil }
    // `reachedDestination` guarantees that the object is retained. Converting the address retains it only if the caller calls out before
    // its last use.
    let object = unsafeBitCast(address, to: ManagedObject.self)
    // The class nearly always matches exactly, and a comparison takes a fraction of the time of a cast.
    if Swift.type(of: object) == type { return unsafeDowncast(object, to: type) }
    return object as? Destination
  }

  /// Sets a to-one relationship and its inverse.
  package final func setToOne(_ destination: ManagedObject?, at slot: Int) {
    if let destination, setOnFastPath(destination, at: slot) { return }
    guard let context = managedObjectContext, let relationship = compiledEntity.slots[slot].relationship else {
      if flags.contains(.isBatchRow) { return setDestinationOfRow(destination, at: slot) }
      if destination != nil || !flags.contains(.isInserted) { rejectRelationship() }
      return
    }
    guard prepareToWrite(slot) else { return }
    if let destination, !context.accepts(destination, for: relationship, of: self) { return }
    let old = referenceValue(slot)
    let new = destination?.currentID.reference ?? ObjectReference(rawValue: 0)
    setReference(new, at: slot)
    guard old != new else { return }
    guard let inverse = context.tables.inverse(of: relationship) else {
      guard relationship.followedInverseID != nil else { return }
      if !old.isNull, let former = context.object(old, near: self) { context.follow(relationship, removing: former, from: self) }
      if let destination { context.follow(relationship, adding: destination, to: self) }
      return
    }
    if !old.isNull { context.removeFromInverse(inverse, owner: old, member: self) }
    guard let destination else { return }
    if inverse.isToMany {
      destination.addMember(self, to: inverse)
    } else {
      // One-to-one: clear the relationship of the destination's former partner. The inverse of this object's former destination has been
      // cleared above.
      let displaced = destination.referenceValue(inverse.index)
      if !displaced.isNull, displaced != currentID.reference, let other = context.object(displaced, near: destination) {
        other.setReference(ObjectReference(rawValue: 0), at: relationship.index)
      }
      destination.setReference(currentID.reference, at: inverse.index)
    }
  }

  /// Returns the address of the destination of a to-one relationship for an application.
  // Hot path of traversals: misses are handled by tail calls, so that no value has to be preserved across a call. The context retains
  // objects created here, and found objects have other owners.
  @usableFromInline final func reachedDestination(_ slot: Int) -> UnsafeRawPointer? {
    guard let row = directRow else { return destinationOfFault(slot) }
    return loadedDestination(row, slot) ?? searchedDestination(slot)
  }

  @inline(never) private final func destinationOfFault(_ slot: Int) -> UnsafeRawPointer? {
    if let row = firedRow(slot), let existing = loadedDestination(row, slot) { return existing }
    return searchedDestination(slot)
  }

  @inline(never) private final func searchedDestination(_ slot: Int) -> UnsafeRawPointer? {
    // Returns an address only, as in `reachedDestination`.
    destination(slot).map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
  }

  /// Fast path for setting an empty relationship of an object that is already changed and whose inverse is to-many. Returns false without
  /// changing anything if the general path is needed.
  private final func setOnFastPath(_ destination: ManagedObject, at slot: Int) -> Bool {
    guard let contextReference, writesWord(at: slot), let row = directRow, RowImage.word(row, slot) == 0 else { return false }
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let info = context.tables.toOne(slot, ofEntity: entityNumber), let inverse = context.tables.inverse(of: info),
        inverse.isToMany, context.isAcceptedOnFastPath(destination, for: info, of: self)
      else { return false }
      writeWord(destination.ownReference.rawValue, at: slot)
      destination.addMember(ownReference, at: inverse.index)
      return true
    }
  }

  /// Returns the address of the destination that a row refers to if it is in memory; nil if the general path is needed.
  @inline(__always) private final func loadedDestination(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawPointer? {
    guard let contextReference else { return nil }
    let reference = ObjectReference(rawValue: RowImage.word(row, slot))
    if reference.isNull || reference.key < 0 || currentID.key < 0 { return nil }
    let space = currentID.space
    MemoryPrefetch.prefetch(behind: self, row)
    return contextReference._withUnsafeGuaranteedRef { context -> UnsafeRawPointer? in
      guard let existing = context.registry.objectNearby(reference, space: space) else { return nil }
      // Prefetch the destination's row: the caller is about to read it.
      existing._withUnsafeGuaranteedRef { if let row = $0.directRow { MemoryPrefetch.prefetch(row) } }
      return UnsafeRawPointer(existing.toOpaque())
    }
  }

  /// Returns the destination of a to-one relationship.
  ///
  /// - Parameter isHeld: Whether the context retains a new object for a while, as it does for objects returned to applications.
  final func destination(_ slot: Int, isHeld: Bool = true) -> ManagedObject? {
    let reference = referenceValue(slot)
    if reference.isNull { return nil }
    return managedObjectContext?.destination(reference, of: self, slot: slot, isHeld: isHeld)
  }

  /// Sets the slot without updating the inverse. If the row no longer exists, does nothing and reports no error, because the application
  /// did not set this end of the relationship.
  final func setReference(_ reference: ObjectReference, at slot: Int) {
    guard fireFault(trigger: slot) else { return }
    setSlotValue(reference.isNull ? .null : .int(reference.rawValue), at: slot)
  }
}

extension ManagedObjectContext {
  /// Removes an object from the inverse relationship of its owner.
  func removeFromInverse(_ inverse: CompiledRelationship, owner: ObjectReference, member: ManagedObject) {
    if inverse.isToMany {
      // If the owner is not in memory, create it and retain it until the save, so that its members omit this one when they are loaded.
      object(owner, near: member)?.removeMember(member, from: inverse)
    } else if let owner = object(owner, near: member), owner.referenceValue(inverse.index) == member.currentID.reference {
      owner.setReference(ObjectReference(rawValue: 0), at: inverse.index)
    }
  }

  /// Returns whether a relationship can refer to an object. If not, the context records the error, and the next save throws it.
  func accepts(_ destination: ManagedObject, for relationship: CompiledRelationship, of source: ManagedObject) -> Bool {
    if isAcceptedOnFastPath(destination, for: tables.info(of: relationship), of: source) { return true }
    guard let rejection = rejection(of: destination, for: relationship, of: source) else { return true }
    record(rejection)
    return false
  }

  /// Fast check that a relationship can refer to an object without moving either one to another store.
  @inline(__always) func isAcceptedOnFastPath(_ destination: ManagedObject, for info: RelationshipInfo, of source: ManagedObject) -> Bool {
    // Only addresses are compared.
    destination.contextReference?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
      && info.leads(toEntity: destination.entityNumber) && space(of: source) == space(of: destination)
  }

  /// Returns the reason why a relationship cannot refer to an object; nil if it can. May assign an inserted object to another store.
  func rejection(of destination: ManagedObject, for relationship: CompiledRelationship, of source: ManagedObject) -> StoreError? {
    // Only addresses are compared.
    guard destination.contextReference?.toOpaque() == Unmanaged.passUnretained(self).toOpaque() else {
      return StoreError(
        .destinationOfOtherContext(entity: source.compiledEntity.name, property: relationship.name), operation: .setRelationship)
    }
    guard model.entities[relationship.destinationEntity].subtree.contains(Int(destination.currentID.entityNumber)) else {
      return StoreError(
        .destinationOfOtherEntity(
          entity: source.compiledEntity.name, property: relationship.name, destination: destination.compiledEntity.name),
        operation: .setRelationship)
    }
    let here = space(of: source)
    let there = space(of: destination)
    if here != there, !move(source, to: there), !move(destination, to: here) {
      return StoreError(
        .destinationOfOtherStore(entity: source.compiledEntity.name, property: relationship.name, isNew: false), operation: .setRelationship
      )
    }
    return nil
  }

  /// Assigns an inserted object to the store of a related object, unless its store has been determined already. Returns whether it did.
  private func move(_ object: ManagedObject, to space: UInt32) -> Bool {
    guard object.currentID.isTemporaryID, !registry.isAssigned(object.currentID), !refersToSavedObjects(object),
      rowSource.store(numbered: space)?.entityNumbers.contains(Int(object.currentID.entityNumber)) ?? false
    else { return false }
    registry.assign(object.currentID, to: space)
    return true
  }

  /// Returns whether an inserted object refers to an object with a permanent ID, which determines its store.
  func refersToSavedObjects(_ object: ManagedObject) -> Bool {
    if let overlay = object.overlay {
      for slot in object.compiledEntity.slots where slot.relationship != nil && overlay.has(slot.index) {
        if case .int(let word) = overlay[slot.index], ObjectReference(rawValue: word).key > 0 { return true }
      }
    }
    return object.toManyStates.contains { $0.added.elements.contains { $0.key > 0 } }
  }
}

extension ManagedObject {
  /// Visits the to-one references that a save would write: all references of an inserted object, and the changed ones of other objects.
  func forEachUnsavedReference(_ body: (_ slot: Int, _ reference: ObjectReference) -> Void) {
    guard let overlay else { return }
    for slot in compiledEntity.referenceSlots where overlay.has(slot) && (overlay.isDirty(slot) || isInserted) {
      if case .int(let word) = overlay[slot] { body(slot, ObjectReference(rawValue: word)) }
    }
  }
}

extension StoreError.Reason {
  static func destinationOfOtherContext(entity: String, property: String) -> Self {
    about(entity, property, .invalidRequest, "was set to an object of another context; get the object from this context by its ID first.")
  }

  static func destinationOfOtherEntity(entity: String, property: String, destination: String) -> Self {
    about(entity, property, .invalidRequest, "cannot refer to an object of the entity “\(destination)”.")
  }

  static func destinationOfOtherStore(entity: String, property: String, isNew: Bool) -> Self {
    about(
      entity, property, .crossStoreRelationship,
      isNew
        ? "refers to a new object that is assigned to another store; assign both to the same store."
        : "cannot refer to an object of another store.")
  }

  static func deletedDestination(entity: String, property: String) -> Self {
    about(entity, property, .invalidRequest, "was set to a deleted object; set it to nil.")
  }

  static func notYetInContext(entity: String, property: String) -> Self {
    about(entity, property, .invalidRequest, "was set before its object was inserted into a context; insert the object first.")
  }

  /// Returns a reason whose message continues the name of a property.
  static func about(_ entity: String, _ property: String, _ code: StoreError.Code, _ text: String) -> Self {
    Self(code, "“\(entity).\(property)” \(text)", entity: entity, property: property)
  }
}

// MARK: - Inverses named by one side only

extension ManagedObjectContext {
  /// Updates the inverse that a relationship names but that does not name it back. Updates this side only, as Core Data does.
  ///
  /// The update maintains the inverse's own inverse, but follows no further ones, so that cycles terminate.
  func follow(_ relationship: CompiledRelationship, adding destination: ManagedObject, to owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { membershipTracker.endFollowing() }
    if inverse.isToMany { destination.addToToMany(owner, at: inverse.index) } else { destination.setToOne(owner, at: inverse.index) }
  }

  /// Removes an owner from the named inverse of an object that is removed from the owner's relationship.
  func follow(_ relationship: CompiledRelationship, removing destination: ManagedObject, from owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { membershipTracker.endFollowing() }
    if inverse.isToMany {
      destination.removeFromToMany(owner, at: inverse.index)
    } else if destination.referenceValue(inverse.index) == owner.currentID.reference {
      destination.setToOne(nil, at: inverse.index)
    }
  }

  /// Returns the inverse to update. Balance each result with ``MembershipTracker/endFollowing()``.
  private func followed(by relationship: CompiledRelationship, from destination: ManagedObject) -> CompiledRelationship? {
    guard let inverse = model.followedInverse(of: relationship), destination.flags.isDisjoint(with: [.isDeleted, .isRemoved]),
      membershipTracker.beginFollowing()
    else { return nil }
    return inverse
  }
}

// MARK: - Unsaved links

extension ManagedObjectContext {
  /// Clears the unsaved links to an object whose row is deleted and whose changes are discarded: no save inserts the row again.
  func clearLinks(toMissing object: ManagedObject) {
    clearUnsavedLinks(to: [object.currentID], in: object.currentID.space)
    for state in object.toManyStates { state.discardChanges() }
  }

  /// Clears unsaved links to rows that were deleted elsewhere, as the delete rule `nullify` does for stored links.
  ///
  /// The change set of a deletion contains stored links only. The deleted objects leave the context with their ends of the links, which a
  /// save checks. The ends that remain here would be stored unchecked.
  func clearUnsavedLinks(to deleted: [ManagedObjectID], in space: UInt32) {
    if deleted.isEmpty || unitOfWork.inserted.isEmpty && unitOfWork.updated.isEmpty { return }
    let roots = model.entities.map(\.root)
    func rooted(_ reference: ObjectReference) -> ObjectReference {
      // A reference may use the number of a superentity.
      ObjectReference(entity: roots[reference.entity], key: reference.key)
    }
    let deletedReferences = Set(deleted.lazy.map { rooted($0.reference) })
    for object in unitOfWork.inserted + unitOfWork.updated {
      guard !object.flags.isDisjoint(with: [.isInserted, .isUpdated]), !object.flags.contains(.isDeleted), self.space(of: object) == space
      else { continue }
      object.forEachUnsavedReference { slot, reference in
        if reference.key > 0, deletedReferences.contains(rooted(reference)) { object.setSlotValue(.null, at: slot) }
      }
      for state in object.toManyStates where !state.added.isEmpty {
        for reference in state.added.elements where reference.key > 0 && deletedReferences.contains(rooted(reference)) {
          if state.undoAddition(of: reference, []) { object.recordChange() }
        }
      }
    }
  }
}
