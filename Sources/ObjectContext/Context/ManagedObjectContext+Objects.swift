// ManagedObjectContext+Objects: finding objects by ID, refreshing, rolling back, resetting.
public import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  // MARK: By ID

  /// The living object of an ID; nil when there is none. Never reads the store.
  public func registeredObject(for objectID: ManagedObjectID) -> ManagedObject? {
    if objectID.isTemporaryID { return temporaryObject(objectID.reference) }
    return knows(objectID) ? registeredObject(objectID.reference, space: objectID.space) : nil
  }

  /// The object of an ID: the living one or a fault, also when there is no such row. Never reads the store.
  public func object(with objectID: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: objectID) { return object }
    guard knows(objectID), !objectID.isTemporaryID else {
      // An ID of another model, of a closed store or of an object that is gone: it stays empty.
      let flags: ObjectFlags = [.isInaccessible, .isGone]
      return ManagedObject(ManagedObjectSeed(objectID: objectID, context: nil, image: nil, flags: flags))
    }
    return makeFault(objectID.reference, space: objectID.space)
  }

  /// The object of an ID, read from the store unless its row is at hand.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` when there is no such object or it is deleted, or what the store throws.
  public func existingObject(with objectID: ManagedObjectID) throws -> ManagedObject {
    if let object = registeredObject(for: objectID) {
      if object.flags.contains(.isDeleted) { throw notFound(objectID) }
      if !object.flags.contains(.isFault) || object.image != nil { return object }
      guard let row = try row(of: objectID) else { throw notFound(objectID) }
      object.image = row
      return object
    }
    guard knows(objectID), !objectID.isTemporaryID, let row = try row(of: objectID) else { throw notFound(objectID) }
    return makeObject(ManagedObjectID(space: objectID.space, entityNumber: UInt32(row.entityNumber), key: row.key), image: row)
  }

  private func row(of objectID: ManagedObjectID) throws -> RowImage? {
    guard let store = coordinator.store(numbered: objectID.space) else { return nil }
    if let row = cachedRow(objectID.reference, of: store) { return row }
    return try coordinator.readRows(of: [objectID], from: store, scope: scope(for: store)).first
  }

  private func notFound(_ objectID: ManagedObjectID) -> StoreError {
    var error = StoreError(.objectNotFound, "There is no object \(objectID.uriString).", operation: "find object")
    error.entityName = objectID.entityName
    return error
  }

  /// Whether an ID's numbers are those of this context's model.
  func knows(_ objectID: ManagedObjectID) -> Bool {
    if coordinator.store(numbered: objectID.space) != nil || objectID.space == coordinator.temporarySpace.number { return true }
    return ObjectIDSpace.space(objectID.space)?.model.checksum == model.checksum
  }

  // MARK: Refreshing

  /// Brings an object in step with its store.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - mergeChanges: True reads the row anew and keeps unsaved changes on top of it; false drops them and makes the object a fault.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.managedObjectContext === self, !object.flags.contains(.isInserted) else { return }
    if !mergeChanges {
      object.flags.subtract([.isUpdated, .isListedAsUpdated])
      unitOfWork.updated.removeAll { $0 === object }
      object.turnIntoFault()
      return
    }
    for state in object.toManyStates ?? [] { state?.unload() }
    do {
      guard let store = coordinator.store(numbered: object.currentID.space) else { return }
      let rows = try coordinator.readRows(of: [object.currentID], from: store, scope: scope(for: store))
      object.image = rows.first
      if rows.isEmpty {
        object.flags.insert(.isFault)
        object.updatePlainRow()
        _ = object.fireFault(trigger: nil)
      } else {
        object.updatePlainRow()
        if !object.flags.contains(.isFault) { object.awake(fromSnapshotEvents: .refresh) }
      }
    } catch {
      note(error)
    }
  }

  /// Makes all objects faults that read their rows anew; unsaved changes stay on top of them.
  public func refreshAllObjects() {
    var objects: [ManagedObject] = []
    forEachRegistered { objects.append($0) }
    for store in coordinator.persistentStores { store.cache.removeAll() }
    for object in objects where !object.flags.contains(.isInserted) {
      if object.hasChanges {
        if !object.flags.contains(.isDeleted) { refresh(object, mergeChanges: true) }
      } else {
        object.turnIntoFault()
      }
    }
  }

  // MARK: Giving up changes

  /// Gives up all changes: new objects leave, deleted ones are back, values are the last read or saved ones. Does not read the store.
  public func rollback() {
    forgetNotedError()
    let work = unitOfWork
    unitOfWork.removeAll()
    for object in work.inserted where object.flags.contains(.isInserted) {
      object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
      object.flags.insert(.isGone)
      detach(object)
    }
    for object in work.updated + work.deleted where !object.flags.contains(.isGone) {
      object.flags.subtract([.isUpdated, .isDeleted])
      object.overlay = nil
      for state in object.toManyStates ?? [] { state?.discardChanges() }
      object.updatePlainRow()
      object.awake(fromSnapshotEvents: .rollback)
    }
    assignedSpaces = [:]
    let changed = (work.updated + work.deleted).filter { !$0.flags.contains(.isGone) }
    notifications.postRefreshed(changed, in: self)
  }

  /// Drops all objects and changes. Objects that are still held keep their last values but belong to no context.
  public func reset() {
    forgetNotedError()
    var objects: [ManagedObject] = []
    forEachRegistered { objects.append($0) }
    unitOfWork.removeAll()
    for object in objects {
      object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
      object.flags.insert(.isGone)
      detach(object)
    }
    permanentIDs = [:]
    assignedSpaces = [:]
    groups = []
    goneReferences = []
    notifications.postInvalidatedAll(in: self)
  }
}
