// ManagedObject+OtherNames: what a class needs that gives objects other names for their members, as that of the module CoreData.
public import ObjectModel
package import ObjectStore

extension ManagedObjectSeed {
  /// The seed of a new object that belongs to no context yet.
  package init(newObjectOf entity: CompiledEntity, of coordinator: PersistentStoreCoordinator) {
    let objectID = ObjectRegistry.makeTemporaryID(entity, space: coordinator.temporarySpace.number)
    self.init(objectID: objectID, context: nil, image: nil, flags: [.isInserted])
  }
}

extension ManagedObject {
  /// The object, made for no context, gets its default values, and is inserted into a context, if there is one.
  package final func become(newOf entity: CompiledEntity, in context: ManagedObjectContext?) {
    setDefaults(of: entity)
    context?.insert(self)
  }

  /// Keeps an error that cannot be thrown here for the next save of the object's context.
  package final func noteFailure(_ error: any Error) { tell(error) }

  /// What tells which model's entity the object is of, without asking the context: the space of its ID and the entity's number, above 16 bits that are 0. A
  /// space has one model as long as the program runs.
  @inlinable public final var _place: UInt64 {
    @inline(__always) get { UInt64(ownSpace) << 32 | UInt64(UInt16(truncatingIfNeeded: ownReference.entity)) << 16 }
  }

  /// The value of an attribute, where a row with one is at hand.
  @inlinable public final func _valueAtHand<Value: _StoredAttributeValue>(_ slot: Int) -> Value? {
    plainRow.flatMap { Value._read($0, slot) }
  }

  /// Gets the values of a fault.
  package final func fireIfFault() { willAccess() }
}

extension ManagedObject {
  /// The living objects of the context that a request comes from; nil for those that it does not have.
  package static func living(_ objectIDs: [ManagedObjectID], in scope: RequestScope) -> [ManagedObject?] {
    let context = LivingContexts.context(scope.origin)
    return objectIDs.map { context?.registeredObject(for: $0) }
  }

  /// A value as a store keeps it: of a to-one relationship the ID.
  ///
  /// - Throws: ``KeyValueError`` for a value of another type.
  package static func storedValue(_ value: Any?, for slot: CompiledSlot, of entity: CompiledEntity) throws -> Slot {
    guard slot.relationship != nil else { return try slotValue(from: value, for: slot, entityName: entity.name) }
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    guard let objectID = value as? ManagedObjectID ?? (value as? ManagedObject)?.objectID else {
      throw KeyValueError(.wrongType, key: slot.name, entityName: entity.name, detail: "a store gives the ID of an object")
    }
    return .int(objectID.reference.rawValue)
  }
}

extension ManagedObjectContext {
  /// Who shows the context to applications by other names, as a class of the module CoreData does; nil where nobody does.
  package var face: AnyObject? {
    get { notifications.face }
    set { notifications.face = newValue }
  }

  /// The class of objects of no entity that the context knows, where those of its entities all lie below it; nil for ``ManagedObject``.
  package var plainClass: ManagedObject.Type? {
    get { notifications.plainClass }
    set { notifications.plainClass = newValue }
  }

  /// Keeps an error that cannot be thrown here for the next save.
  package func noteFailure(_ error: any Error) { note(error) }

  /// Says how the context is brought to take over what others have saved, from any thread. To be said before it takes over anything.
  package func isWoken(by wake: @escaping @Sendable () -> Void) { intake.setWake(wake) }

  /// Says who sees to it that each event ends, from its first change on.
  package func endsEvents(by endSoon: @escaping () -> Void) { unitOfWork.setBeginningObserver(0, endSoon) }

  /// Takes over what others have saved.
  package func takeOverWhatWaits() { doWaitingWorkOfAll() }

  /// An object of an entity that is in no context and reads as empty.
  package func makeEmptyObject(ofEntity number: Int) -> ManagedObject {
    entityClasses.type(ofEntity: number).init(ManagedObjectSeed(goneObjectOf: makeTemporaryID(model.entities[number])))
  }

  /// The object of an ID, with a row, in a context that is never saved.
  package func object(of objectID: ManagedObjectID, with row: RowImage, isNew: Bool) -> ManagedObject {
    let object = makeObject(objectID, row: row.base)
    object.flags = isNew ? [.isInserted] : []
    object.updatePlainRow()
    return object
  }

  /// Throws what went wrong where nothing could be thrown.
  package func throwPendingError() throws { try notedErrors.settle() }

  /// The entity of a class of the context's table; nil for a class that is not there.
  package func knownEntity(ofClass type: ManagedObject.Type) -> CompiledEntity? { entityClasses.entity(of: type) }
}
