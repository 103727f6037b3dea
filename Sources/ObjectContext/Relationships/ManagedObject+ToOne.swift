// ManagedObject+ToOne: to-one relationships and the upkeep of their inverses.
public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// The ID of a to-one relationship's destination; nil when there is none. Fires this object's fault; no object is made for the destination.
  ///
  /// - Parameter slot: The relationship's slot number in the compiled model. A row read costs about a nanosecond.
  @inlinable public final func _toOneID(_ slot: Int) -> ManagedObjectID? {
    // What a row refers to lies in the row's own store.
    if let row = plainRow {
      let reference = ObjectReference(rawValue: RowImage.word(row, slot))
      if reference.isNull { return nil }
      // A new object's store, or that of one that it refers to, is not known by the reference alone.
      if reference.key < 0 || currentID.key < 0 { return slowToOneID(slot) }
      return ManagedObjectID(space: currentID.space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
    }
    return slowToOneID(slot)
  }

  @usableFromInline final func slowToOneID(_ slot: Int) -> ManagedObjectID? {
    noteRead(slot)
    let reference = referenceValue(slot)
    return reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self)
  }

  /// The destination of a to-one relationship; nil when there is none. Fires this object's fault, not the destination's.
  ///
  /// - Parameter slot: The relationship's slot number in the compiled model.
  @inlinable public final func _toOne<Destination: ManagedObject>(
    _ slot: Int, as type: Destination.Type = Destination.self
  ) -> Destination? {
    // Inlined, so that the class is a known address.
    guard let address = reachedDestination(slot) else { return nil }
    // Somebody holds the object: see there. A reference that is made of its address is retained only where the caller calls out before he is done with it.
    let object = unsafeBitCast(address, to: ManagedObject.self)
    // A class is nearly always the exact one: comparing it costs a fraction of a cast.
    if Swift.type(of: object) == type { return unsafeDowncast(object, to: type) }
    return object as? Destination
  }

  /// Sets a to-one relationship and its inverse.
  public final func _setToOne(_ destination: ManagedObject?, at slot: Int) {
    if let destination, setsPlainly(destination, at: slot) { return }
    guard let context = managedObjectContext, let relationship = compiledEntity.slots[slot].relationship else {
      if flags.contains(.isBatchRow) { return setDestinationOfRow(destination, at: slot) }
      if destination != nil || !flags.contains(.isInserted) { refuseRelationship() }
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
      // One to one: whoever pointed at the destination lets go of it, and whoever the destination pointed at is left alone.
      let displaced = destination.referenceValue(inverse.index)
      if !displaced.isNull, displaced != currentID.reference, let other = context.object(displaced, near: destination) {
        other.setReference(ObjectReference(rawValue: 0), at: relationship.index)
      }
      destination.setReference(currentID.reference, at: inverse.index)
    }
  }

  /// The address of the destination of a to-one relationship that an application has asked for.
  // The way of nearly every step through a graph: what it does not find at once, a function that is called last looks for, so that nothing has to be kept
  // over a call. The context holds the objects that are made here, and somebody holds those that are found.
  @usableFromInline final func reachedDestination(_ slot: Int) -> UnsafeRawPointer? {
    guard let row = plainRow else { return destinationOfFault(slot) }
    return livingDestination(row, slot) ?? searchedDestination(slot)
  }

  @inline(never) private final func destinationOfFault(_ slot: Int) -> UnsafeRawPointer? {
    if let row = firedRow(slot), let living = livingDestination(row, slot) { return living }
    return searchedDestination(slot)
  }

  @inline(never) private final func searchedDestination(_ slot: Int) -> UnsafeRawPointer? {
    // An address, for the reason above.
    destination(slot).map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
  }

  /// Sets a relationship that was empty, of an object that is changed already, where the inverse is to-many and nothing stands against it. False where more
  /// is to be looked at; nothing was done then.
  private final func setsPlainly(_ destination: ManagedObject, at slot: Int) -> Bool {
    guard let contextReference, writesWord(at: slot), let row = plainRow, RowImage.word(row, slot) == 0 else { return false }
    // The context takes this back before it goes, and nothing here calls out.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let way = context.tables.toOne(slot, ofEntity: entityNumber), let inverse = context.tables.inverse(of: way),
        inverse.isToMany, context.isPlainlyAccepted(destination, for: way, of: self)
      else { return false }
      writeWord(destination.ownReference.rawValue, at: slot)
      destination.addMember(ownReference, at: inverse.index)
      return true
    }
  }

  /// The address of the destination that a row refers to, if it is in memory; nil also where more is to be looked at.
  @inline(__always) private final func livingDestination(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawPointer? {
    guard let contextReference else { return nil }
    let reference = ObjectReference(rawValue: RowImage.word(row, slot))
    if reference.isNull || reference.key < 0 || currentID.key < 0 { return nil }
    let space = currentID.space
    MemoryAhead.expect(behind: self, row)
    return contextReference._withUnsafeGuaranteedRef { context -> UnsafeRawPointer? in
      guard let living = context.registry.objectNearby(reference, space: space) else { return nil }
      // Nobody asks for an object to leave it alone.
      living._withUnsafeGuaranteedRef { if let row = $0.plainRow { MemoryAhead.expect(row) } }
      return UnsafeRawPointer(living.toOpaque())
    }
  }

  /// The destination of a to-one relationship.
  ///
  /// - Parameter isHeld: Whether the context holds a new one for a while, as one that an application has asked for.
  final func destination(_ slot: Int, isHeld: Bool = true) -> ManagedObject? {
    let reference = referenceValue(slot)
    if reference.isNull { return nil }
    return managedObjectContext?.destination(reference, of: self, slot: slot, isHeld: isHeld)
  }

  /// Sets the slot alone, without its inverse. Nothing happens where the row is gone: nobody has asked for this end of the relationship.
  final func setReference(_ reference: ObjectReference, at slot: Int) {
    guard fireFault(trigger: slot) else { return }
    setSlotValue(reference.isNull ? .null : .int(reference.rawValue), at: slot)
  }
}

extension ManagedObjectContext {
  /// Takes an object out of the relationship that leads from an owner back to it.
  func removeFromInverse(_ inverse: CompiledRelationship, owner: ObjectReference, member: ManagedObject) {
    if inverse.isToMany {
      // An owner that nobody holds is made and held until the save, so that its members, when they are read, lack this one.
      object(owner, near: member)?.removeMember(member, from: inverse)
    } else if let owner = object(owner, near: member), owner.referenceValue(inverse.index) == member.currentID.reference {
      owner.setReference(ObjectReference(rawValue: 0), at: inverse.index)
    }
  }

  /// Whether an object may be put into a relationship; a mistake is kept and thrown by the next save.
  func accepts(_ destination: ManagedObject, for relationship: CompiledRelationship, of source: ManagedObject) -> Bool {
    if isPlainlyAccepted(destination, for: tables.way(of: relationship), of: source) { return true }
    guard let refusal = refusal(of: destination, for: relationship, of: source) else { return true }
    note(refusal)
    return false
  }

  /// Whether nothing stands against an object in a relationship, and no object has to go to another store for it.
  @inline(__always) func isPlainlyAccepted(_ destination: ManagedObject, for way: RelationshipWay, of source: ManagedObject) -> Bool {
    // Addresses are compared, nothing is read.
    destination.contextReference?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
      && way.leads(toEntity: destination.entityNumber) && space(of: source) == space(of: destination)
  }

  /// Why an object may not be put into a relationship; nil where it may. A new object may go to another store for it.
  func refusal(of destination: ManagedObject, for relationship: CompiledRelationship, of source: ManagedObject) -> StoreError? {
    // Addresses are compared, nothing is read.
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

  /// Lets a new object that nobody assigned go to the store of an object that it is related to.
  private func move(_ object: ManagedObject, to space: UInt32) -> Bool {
    guard object.currentID.isTemporaryID, !registry.isAssigned(object.currentID), !refersToSavedObjects(object),
      rowSource.store(numbered: space)?.entityNumbers.contains(Int(object.currentID.entityNumber)) ?? false
    else { return false }
    registry.assign(object.currentID, to: space)
    return true
  }

  /// Whether a new object has a relationship to an object with a permanent ID, which is one of the store that it goes to.
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
  /// Visits the to-one references that a save would write: all of a new object, the changed ones of others.
  func forEachUnsavedReference(_ body: (_ slot: Int, _ reference: ObjectReference) -> Void) {
    guard let overlay else { return }
    for slot in compiledEntity.referenceSlots where overlay.has(slot) && (overlay.isDirty(slot) || isInserted) {
      if case .int(let word) = overlay[slot] { body(slot, ObjectReference(rawValue: word)) }
    }
  }
}
