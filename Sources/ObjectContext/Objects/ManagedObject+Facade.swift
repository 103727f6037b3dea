// Support for modules that expose objects and contexts under other names, such as `CoreData`.
public import ObjectModel
package import ObjectStore

extension ManagedObjectSeed {
  /// Creates the seed of a new object without a context.
  package init(newObjectOf entity: CompiledEntity, of coordinator: PersistentStoreCoordinator) {
    let objectID = ObjectRegistry.makeTemporaryID(entity, space: coordinator.temporarySpace.number)
    self.init(objectID: objectID, context: nil, image: nil, flags: .newObject)
  }
}

extension ManagedObject {
  /// Sets the default values of an object created without a context, and inserts it into a context if one is given.
  package final func become(newOf entity: CompiledEntity, in context: ManagedObjectContext?) {
    setDefaults(of: entity)
    context?.insert(self)
  }

  /// Records an error that cannot be thrown here. The next save of the object's context throws it.
  package final func recordError(_ error: any Error) { reportError(error) }

  /// A value that identifies the object's entity and model without accessing the context: the ID space in the upper 32 bits, the entity
  /// number in the next 16 bits, and 16 zero bits. An ID space keeps the same model for the lifetime of the process.
  @_spi(Generated) @inlinable public final var entityKey: UInt64 {
    @inline(__always) get { UInt64(ownSpace) << 32 | UInt64(UInt16(truncatingIfNeeded: ownReference.entity)) << 16 }
  }

  /// Returns the value of an attribute if the object has a row in memory that contains it.
  @_spi(Generated) @inlinable public final func loadedValue<Value: StoredAttributeValue>(_ slot: Int) -> Value? {
    directRow.flatMap { Value.read($0, slot) }
  }

  /// Loads the values of a fault.
  package final func fireIfFault() { willAccess() }
}

extension ManagedObject {
  /// Returns the registered objects of the context that a request comes from; nil for IDs that are not registered.
  package static func registered(_ objectIDs: [ManagedObjectID], in scope: RequestScope) -> [ManagedObject?] {
    let context = ContextRegistry.context(scope.origin)
    return objectIDs.map { context?.registeredObject(for: $0) }
  }

  /// Converts a value to its stored form. For a to-one relationship, it is the object's ID.
  ///
  /// - Throws: ``KeyValueError`` for a value of the wrong type.
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
  /// The object that exposes this context under another name, such as a `CoreData` context; nil if there is none.
  package var facade: AnyObject? {
    get { notifications.facade }
    set { notifications.facade = newValue }
  }

  /// The class of objects whose entity the context does not define, if it is a common superclass of all entity classes; nil for
  /// ``ManagedObject``.
  package var fallbackClass: ManagedObject.Type? {
    get { notifications.fallbackClass }
    set { notifications.fallbackClass = newValue }
  }

  /// Records an error that cannot be thrown here. The next save throws it.
  package func recordError(_ error: any Error) { record(error) }

  /// Sets the function that schedules the context to merge changes of other contexts. It is called on any thread. Set it before the context
  /// merges automatically.
  package func setMergeScheduler(by scheduleMerge: @escaping @Sendable () -> Void) { changeReceiver.setMergeScheduler(scheduleMerge) }

  /// Sets the function that schedules the end of an event. It is called at the first change of the event.
  package func setEventEndScheduler(by endSoon: @escaping () -> Void) { unitOfWork.setEventStartObserver(0, endSoon) }

  /// Merges pending changes of other contexts.
  package func mergePendingChanges() { processWaitingChangesOfTree() }

  /// Creates an object of an entity that belongs to no context and whose values are empty.
  package func makeEmptyObject(ofEntity number: Int) -> ManagedObject {
    entityClasses.type(ofEntity: number).init(ManagedObjectSeed(invalidObjectOf: makeTemporaryID(model.entities[number])))
  }

  /// Returns an object with a row, for a context that is never saved.
  package func object(of objectID: ManagedObjectID, with row: RowImage, isNew: Bool) -> ManagedObject {
    let object = makeObject(objectID, row: row.base)
    object.flags = isNew ? [.isInserted] : []
    object.updateDirectRow()
    return object
  }

  /// Throws the recorded error, if any, and clears it.
  package func throwAndClearDeferredError() throws { try deferredErrors.settle() }

  /// Returns the entity of a class in the context's class table; nil for any other class.
  package func knownEntity(ofClass type: ManagedObject.Type) -> CompiledEntity? { entityClasses.entity(of: type) }
}
