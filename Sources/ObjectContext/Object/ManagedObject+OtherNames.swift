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

  /// Gets the values of a fault.
  package final func fireIfFault() { willAccess() }
}

extension ManagedObjectContext {
  /// Who shows the context to applications by other names, as a class of the module CoreData does; nil where nobody does.
  package var face: AnyObject? {
    get { notifications.face }
    set { notifications.face = newValue }
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

  /// The entity of a class of the context's table; nil for a class that is not there.
  package func knownEntity(ofClass type: ManagedObject.Type) -> CompiledEntity? { entityClasses.entity(of: type) }
}
