import Foundation
import ObjectModel
public import ObjectStore

extension ManagedObjectContext {
  // MARK: Making changes

  /// Inserts a new object of an entity with its default values.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if the entity does not exist or is abstract.
  @discardableResult
  public func insertObject(entityName: String) throws -> ManagedObject {
    guard let entity = model.entity(named: entityName) else { throw unknownEntity(entityName, operation: .insert) }
    if entity.isAbstract { throw abstractEntity(entityName) }
    let object = entityClasses.type(ofEntity: entity.number).init(ManagedObjectSeed(newObjectOf: entity, in: self))
    registerInserted(object)
    return object
  }

  func abstractEntity(_ name: String) -> StoreError {
    StoreError(.abstractEntity(name), operation: .insert)
  }

  func unknownEntity(_ name: String, operation: StoreOperation) -> StoreError {
    return StoreError(.unknownEntity(name, known: model.entities.map(\.name)), operation: operation)
  }

  /// Adds a new object to the context: registers it, sets its default values, and calls `awakeFromInsert()`.
  func registerInserted(_ object: ManagedObject) {
    let entity = object.compiledEntity
    if entity.isAbstract {
      record(StoreError(.abstractEntity(entity.name), operation: .insert))
    }
    register(object)
    // An object created without a context already has its default values.
    if object.overlay == nil { object.setDefaults(of: entity) }
    unitOfWork.recordInsertion(object)
    recorder?.recordInsertion(of: object)
    object.awakeFromInsert()
  }

  /// Marks an object for deletion by the next save. Its delete rules are applied at the end of the event. A new object is removed from the
  /// context without being saved.
  ///
  /// An object of another context, or one that a reset removed from its context, is not deleted, and the next save throws.
  public func delete(_ object: ManagedObject) {
    guard object.managedObjectContext === self else {
      if object.managedObjectContext != nil {
        record(StoreError(.deletedInOtherContext(entity: object.compiledEntity.name), operation: .delete))
      } else if let error = object.rejectedDeletion {
        record(error)
      }
      return
    }
    if object.flags.contains(.isDeleted) { return }
    object.prepareForDeletion()
    recorder?.recordDeletion(of: object)
    unitOfWork.recordDeletion(object)
  }

  /// Sets the store that a new object will be saved to.
  ///
  /// - Throws: ``StoreError`` if the object was already saved, if the store does not contain its entity, or if its relationships refer to
  ///   saved objects of another store.
  public func assign(_ object: ManagedObject, to store: PersistentStore) throws {
    guard object.objectID.isTemporaryID else {
      throw StoreError(.assignedAfterSaving(entity: object.compiledEntity.name), operation: .assign)
    }
    guard store.entityNumbers.contains(Int(object.currentID.entityNumber)) else {
      throw StoreError(.entityNotInStore(object.entity.name), operation: .assign, path: store.url?.path)
    }
    if space(of: object) != store.space.number, refersToSavedObjects(object) {
      throw StoreError(.assignedAfterRelationships(entity: object.compiledEntity.name), operation: .assign, path: store.url?.path)
    }
    registry.assign(object.currentID, to: store.space.number)
  }

  /// Makes the next save check the version of an unchanged object for conflicts.
  public func detectConflicts(for object: ManagedObject) {
    guard object.managedObjectContext === self, !object.flags.contains(.isLocked) else { return }
    object.willAccess()
    unitOfWork.lock(object)
  }

  /// Inserts an object that was created without a context.
  ///
  /// An object of another context is not moved, and the next save throws.
  public func insert(_ object: ManagedObject) {
    guard object.contextReference == nil, object.flags.contains(.isInserted), object.currentID.isTemporaryID else {
      if object.managedObjectContext !== self {
        record(StoreError(.insertedTwice(entity: object.compiledEntity.name), operation: .insert))
      }
      return
    }
    guard isCompatible(object.currentID) else {
      return record(StoreError(.entityOfOtherModel(entity: object.compiledEntity.name), operation: .insert))
    }
    // The context clears the reference in `deinit`.
    object.contextReference = Unmanaged.passUnretained(self)
    if recordsWrites { object.flags.remove(.writesInPlace) }
    if object.flags.contains(.hasRejectedRelationship) {
      object.flags.remove(.hasRejectedRelationship)
      record(StoreError(.relationshipLost(entity: object.compiledEntity.name), operation: .insert))
    }
    registerInserted(object)
  }

  /// Merges waiting changes, runs a closure synchronously, and ends the event. The caller must already be in the context's isolation.
  @discardableResult
  public func perform<Result>(_ body: () throws -> Result) rethrows -> Result {
    mergeWaitingChanges()
    defer { processPendingChanges() }
    return try body()
  }

  // MARK: Changed objects

  /// Whether objects were inserted, updated or deleted since the last save.
  ///
  /// Values of reference types that transformable attributes have returned and that were mutated in place count as changes. To detect them,
  /// this property encodes these values.
  public var hasChanges: Bool {
    recordInPlaceMutations()
    unitOfWork.dropUnchanged()
    return !unitOfWork.isEmpty
  }

  /// Whether a save has changes to write or versions to check.
  var needsSave: Bool { hasChanges || unitOfWork.hasLocked }

  /// The objects that the next save inserts.
  public var insertedObjects: Set<ManagedObject> { Set(unitOfWork.inserted.filter(\.isInserted)) }
  /// The objects that the next save updates.
  public var updatedObjects: Set<ManagedObject> { Set(unitOfWork.updated.filter(\.isUpdated)) }
  /// The objects that the next save deletes.
  public var deletedObjects: Set<ManagedObject> {
    Set(unitOfWork.deleted.filter { $0.isDeleted && !$0.flags.contains(.isInserted) })
  }
  /// All objects of the context that are in memory.
  public var registeredObjects: Set<ManagedObject> {
    var objects = Set<ManagedObject>()
    registry.forEach { objects.insert($0) }
    return objects
  }

  // MARK: The end of an event

  /// Ends an event: applies delete rules and notifies observers of the changes. Saves call this method, and background tasks call it when
  /// they end.
  ///
  /// First, changes that wait to be merged are merged (see ``automaticallyMergesChangesFromParent``). At the end, the context releases the
  /// objects that it has retained because relationships led to them: the last 8,192, with at most 16 MiB of rows. A fetch also processes
  /// changes, but neither releases these objects nor closes the undo group of the event.
  public func processPendingChanges() {
    settleChanges()
    recorder?.closeEventGroup()
    dropRecentObjects()
  }

  /// Merges waiting changes, applies delete rules, and notifies observers of the changes.
  func settleChanges() {
    mergeWaitingChanges()
    recordInPlaceMutations()
    endEvent()
  }

  /// Applies delete rules and notifies observers of the changes.
  func endEvent() {
    guard unitOfWork.hasEvent else { return }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    let changed = unitOfWork.takePending()
    notifyObservers { ContextEvent(endOf: changed) }
    notifications.postObjectsDidChange(changed, in: self)
    for object in changed {
      object.overlay?.endEvent()
      for state in object.toManyStates { state.isChangedInEvent = false }
      if object.flags.contains(.isInserted) { object.flags.insert(.isAnnounced) }
      if object.flags.contains(.isRestored) { object.flags.remove(.isRestored) }
    }
    dropDeletedInsertions()
    finishNotifying()
  }

  /// Removes new objects that were deleted from the context.
  private func dropDeletedInsertions() {
    let dropped = unitOfWork.takeDeletedInsertions()
    if dropped.isEmpty { return }
    for object in dropped {
      object.flags.subtract([.isInserted, .isDeleted, .isUpdated, .isListedAsDeleted, .isListedAsInserted])
      object.flags.insert(.isRemoved)
      detach(object)
    }
    observation?.notifyLeaving()
  }
}

extension StoreError.Reason {
  static func assignedAfterRelationships(entity: String) -> Self {
    Self(
      .crossStoreRelationship, "The object already refers to objects in another store; assign it before its relationships are set.",
      entity: entity)
  }

  static func deletedInOtherContext(entity: String) -> Self {
    Self(.invalidRequest, "The object to delete belongs to another context; get it from this context by its ID.", entity: entity)
  }

  static func assignedAfterSaving(entity: String) -> Self {
    Self(.invalidRequest, "Only objects that were never saved can be assigned to a store.", entity: entity)
  }

  static func insertedTwice(entity: String) -> Self {
    Self(.invalidRequest, "Only objects made without a context can be inserted into one.", entity: entity)
  }

  static func entityOfOtherModel(entity: String) -> Self {
    Self(.invalidRequest, "The object's entity belongs to another model.", entity: entity)
  }

  static func relationshipLost(entity: String) -> Self {
    Self(
      .invalidRequest,
      "A relationship was set before the object had a context, and its value is lost; insert objects before setting their relationships.",
      entity: entity)
  }
}
