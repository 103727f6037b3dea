// ManagedObjectContext+Changes: inserting, updating and deleting objects, and what follows at the end of an event.
import Foundation
import ObjectModel
public import ObjectStore

extension ManagedObjectContext {
  // MARK: Changing

  /// Inserts a new object with its default values.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` when there is no such entity or it is abstract.
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

  /// A new object joins the context: defaults, registration, awakening.
  func registerInserted(_ object: ManagedObject) {
    let entity = object.compiledEntity
    if entity.isAbstract {
      note(StoreError(.abstractEntity(entity.name), operation: .insert))
    }
    register(object)
    // An object made without a context has its defaults already.
    if object.overlay == nil { object.setDefaults(of: entity) }
    unitOfWork.noteInserted(object)
    recorder?.recordInsertion(of: object)
    object.awakeFromInsert()
  }

  /// Marks an object for deletion by the next save; its delete rules run at the end of the event. A new object just leaves the context.
  public func delete(_ object: ManagedObject) {
    guard object.managedObjectContext === self else {
      if object.managedObjectContext != nil {
        note(StoreError(.misuse(.deletedInOtherContext, entity: object.compiledEntity.name), operation: .delete))
      }
      return
    }
    if object.flags.contains(.isDeleted) { return }
    object.prepareForDeletion()
    recorder?.recordDeletion(of: object)
    unitOfWork.noteDeleted(object)
  }

  /// Chooses the store that a new object will be saved to.
  ///
  /// - Throws: ``StoreError`` when the object was saved before or the store does not hold its entity.
  public func assign(_ object: ManagedObject, to store: PersistentStore) throws {
    guard object.objectID.isTemporaryID else {
      throw StoreError(.misuse(.assignedAfterSaving, entity: object.compiledEntity.name), operation: .assign)
    }
    guard store.entityNumbers.contains(Int(object.currentID.entityNumber)) else {
      throw StoreError(.entityNotInStore(object.entity.name), operation: .assign, path: store.url?.path)
    }
    if space(of: object) != store.space.number, refersToSavedObjects(object) {
      throw StoreError(.assignedAfterRelationships(entity: object.compiledEntity.name), operation: .assign, path: store.url?.path)
    }
    registry.assign(object.currentID, to: store.space.number)
  }

  /// Adds an unchanged object's version to those that the next save checks.
  public func detectConflicts(for object: ManagedObject) {
    guard object.managedObjectContext === self, !object.flags.contains(.isLocked) else { return }
    object.willAccess()
    unitOfWork.lock(object)
  }

  /// Puts an object that was made without a context into this one.
  ///
  /// Objects of other contexts stay where they are; the next save throws.
  public func insert(_ object: ManagedObject) {
    guard object.contextReference == nil, object.flags.contains(.isInserted), object.currentID.isTemporaryID else {
      if object.managedObjectContext !== self {
        note(StoreError(.misuse(.insertedTwice, entity: object.compiledEntity.name), operation: .insert))
      }
      return
    }
    guard knows(object.currentID) else {
      return note(StoreError(.misuse(.entityOfOtherModel, entity: object.compiledEntity.name), operation: .insert))
    }
    // `deinit` takes it back.
    object.contextReference = Unmanaged.passUnretained(self)
    if hearsWrites { object.flags.remove(.writesInPlace) }
    if object.flags.contains(.hasLostRelationship) {
      object.flags.remove(.hasLostRelationship)
      note(StoreError(.misuse(.relationshipLost, entity: object.compiledEntity.name), operation: .insert))
    }
    registerInserted(object)
  }

  /// Runs work and then ends the event. The caller is in the context's isolation already; nothing is sent to a queue.
  @discardableResult
  public func perform<Result>(_ body: () throws -> Result) rethrows -> Result {
    mergeWaitingChanges()
    defer { processPendingChanges() }
    return try body()
  }

  // MARK: What was changed

  /// Whether objects were inserted, changed or deleted since the last save.
  ///
  /// Values of reference types that transformable attributes have given out count when they were changed in place; asking encodes them.
  public var hasChanges: Bool {
    noticeChangesInPlace()
    unitOfWork.dropUnchanged()
    return !unitOfWork.isEmpty
  }

  /// Whether a save has something to write, or versions to check.
  var isToBeSaved: Bool { hasChanges || unitOfWork.hasLocked }

  /// The objects that the next save inserts.
  public var insertedObjects: Set<ManagedObject> { Set(unitOfWork.inserted.filter(\.isInserted)) }
  /// The objects that the next save updates.
  public var updatedObjects: Set<ManagedObject> { Set(unitOfWork.updated.filter(\.isUpdated)) }
  /// The objects that the next save deletes.
  public var deletedObjects: Set<ManagedObject> {
    Set(unitOfWork.deleted.filter { $0.isDeleted && !$0.flags.contains(.isInserted) })
  }
  /// All living objects of the context.
  public var registeredObjects: Set<ManagedObject> {
    var objects = Set<ManagedObject>()
    registry.forEach { objects.insert($0) }
    return objects
  }

  // MARK: The end of an event

  /// Ends an event: runs delete rules and tells observers what changed. Saves call it, and background tasks do at their end.
  ///
  /// Changes of others that wait to be merged (``automaticallyMergesChangesFromParent``) are merged first. The objects that the context has held since
  /// relationships led to them (the last 8,192, with at most 16 MiB of rows) are let go. A fetch does the same but for this.
  public func processPendingChanges() {
    settleChanges()
    recorder?.closeEventGroup()
    dropRecentObjects()
  }

  /// Merges what waits, and runs delete rules and tells observers what changed.
  func settleChanges() {
    mergeWaitingChanges()
    noticeChangesInPlace()
    endEvent()
  }

  /// Runs delete rules and tells observers what changed.
  func endEvent() {
    guard unitOfWork.hasEvent else { return }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    let changed = unitOfWork.takePending()
    tellEvent { ContextEvent(endOf: changed) }
    notifications.postObjectsDidChange(changed, in: self)
    for object in changed {
      object.overlay?.endEvent()
      for state in object.toManyStates { state.isChangedInEvent = false }
      if object.flags.contains(.isInserted) { object.flags.insert(.isAnnounced) }
      if object.flags.contains(.isBack) { object.flags.remove(.isBack) }
    }
    dropDeletedInsertions()
    endTelling()
  }

  /// New objects that were deleted leave the context without a trace.
  private func dropDeletedInsertions() {
    let dropped = unitOfWork.takeDeletedInsertions()
    if dropped.isEmpty { return }
    for object in dropped {
      object.flags.subtract([.isInserted, .isDeleted, .isUpdated, .isListedAsDeleted, .isListedAsInserted])
      object.flags.insert(.isGone)
      detach(object)
    }
    observation?.tellLeaving()
  }
}
