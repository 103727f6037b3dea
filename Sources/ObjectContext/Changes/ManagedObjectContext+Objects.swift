public import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  // MARK: Finding objects by ID

  /// Returns the registered object with an ID, or `nil` if there is none in memory. Never reads from the store.
  public func registeredObject(for objectID: ManagedObjectID) -> ManagedObject? {
    if objectID.isTemporaryID { return temporaryObject(objectID.reference) }
    return isCompatible(objectID) ? registeredObject(objectID.reference, space: objectID.space) : nil
  }

  /// Returns the object with an ID: the registered object or a fault, even if there is no such row. Never reads from the store.
  public func object(with objectID: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: objectID) { return object }
    if let permanent = permanentID(inParent: objectID) { return object(with: permanent) }
    guard isCompatible(objectID), !objectID.isTemporaryID else {
      // The ID belongs to another model, a closed store or a deleted new object. The object remains empty.
      return invalidObject(invalidObjectClass(of: objectID), objectID)
    }
    return makeFault(objectID.reference, space: objectID.space)
  }

  /// Returns the permanent ID of a new object that was saved to a parent context.
  private func permanentID(inParent objectID: ManagedObjectID) -> ManagedObjectID? {
    guard objectID.isTemporaryID, let parent = rowSource.parent else { return nil }
    do { return try parent.permanentID(of: objectID) } catch {
      record(error)
      return nil
    }
  }

  private func invalidObjectClass(of objectID: ManagedObjectID) -> ManagedObject.Type {
    guard let fallbackClass else { return ManagedObject.self }
    guard let entity = ObjectIDSpace.space(objectID.space)?.model.entities[Int(objectID.entityNumber)],
      let own = model.entity(named: entity.name), own.layoutFingerprint == entity.layoutFingerprint
    else { return fallbackClass }
    return entityClasses.type(ofEntity: own.number)
  }

  /// Returns an empty object for an ID that is not valid. Writing to the object records an error in this context.
  func invalidObject<Object: ManagedObject>(_ type: Object.Type, _ objectID: ManagedObjectID) -> Object {
    let object = type.init(ManagedObjectSeed(invalidObjectOf: objectID))
    object.previousContextNumber = number
    return object
  }

  /// Returns the object with an ID and loads its values, from the store if they are not in memory. The result is never a fault.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if the object does not exist or is deleted, or another error of the
  ///   store.
  public func existingObject(with objectID: ManagedObjectID) throws -> ManagedObject {
    if let object = registeredObject(for: objectID) {
      if !object.flags.isDisjoint(with: [.isDeleted, .isInaccessible]) { throw notFound(objectID) }
      guard object.flags.contains(.isFault) else { return object }
      if object.row == nil {
        guard let row = try row(of: objectID) else { throw notFound(objectID) }
        object.image = try checked(row, as: objectID)
      }
      object.fireFault(trigger: nil)
      return object
    }
    if let permanent = permanentID(inParent: objectID) { return try existingObject(with: permanent) }
    guard !objectID.isTemporaryID, let row = try row(of: objectID) else { throw notFound(objectID) }
    let id = ManagedObjectID(space: objectID.space, entityNumber: UInt32(row.entityNumber), key: row.key)
    // The ID may use the number of a superentity.
    let object = registeredObject(row.reference, space: objectID.space) ?? withExtendedLifetime(row) { makeObject(id, row: row.base) }
    object.fireFault(trigger: nil)
    return object
  }

  private func row(of objectID: ManagedObjectID) throws -> RowImage? {
    guard let store = rowSource.store(numbered: objectID.space) else {
      if !isCompatible(objectID) { return nil }
      throw StoreError.noOpenStore(of: objectID, .findObject)
    }
    return try rowSource.cachedRow(objectID.reference, in: store) ?? rowSource.row(of: objectID, in: store, isInterruptible: true)
  }

  private func notFound(_ objectID: ManagedObjectID) -> StoreError {
    return StoreError(.noObject(objectID), operation: .findObject)
  }

  /// Returns whether an ID uses the entity numbers of this context's model.
  func isCompatible(_ objectID: ManagedObjectID) -> Bool {
    if rowSource.hasStore(numbered: objectID.space) || objectID.space == rowSource.temporarySpace { return true }
    return ObjectIDSpace.space(objectID.space)?.model.checksum == model.checksum
  }

  // MARK: Refreshing

  /// Updates an object with its row in the store.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - mergeChanges: If `true`, the row is read again and unsaved changes are kept. If `false`, unsaved changes are discarded and the
  ///     object becomes a fault.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.managedObjectContext === self, !object.flags.contains(.isInserted) else { return }
    if mergeChanges {
      recordInPlaceMutations()
      unrecorded { rereadRows(of: [object]) }
    } else {
      recorder?.suspend()
      defer { recorder?.resume() }
      discardChanges(of: object)
      if object.flags.contains(.outlivesRow) { clearLinks(toMissing: object) }
      // The cached row is dropped, since another process may have changed the row in the store.
      if let store = rowSource.store(numbered: object.currentID.space) { rowSource.forgetRows([object.currentID.reference], in: store) }
      object.turnIntoFault()
      // Only this object is to be read again, not its siblings.
      object.group = 0
      // Changes of the relationship that the members made themselves still have to be saved.
      if !object.toManyStates.isEmpty { object.recordChange() }
    }
    notifyObservers { ContextEvent(.refreshed, refreshing: [object]) }
    notifications.postRefreshed([object], in: self)
    finishNotifying()
  }

  /// Makes all unchanged objects faults that read their rows again. Changed objects read their rows at once and keep their unsaved changes.
  /// A context that is pinned to a query generation moves to the newest one.
  public func refreshAllObjects() {
    dropRecentObjects()
    recordInPlaceMutations()
    var objects: [ManagedObject] = []
    registry.forEach { if !$0.flags.contains(.isInserted) { objects.append($0) } }
    rowSource.forgetAllRows()
    unrecorded { rereadRows(of: objects.filter { $0.hasChanges && !$0.flags.contains(.isDeleted) }) }
    for object in objects where !object.hasChanges { object.turnIntoFault() }
    fetchedProperties.removeAll()
    notifyObservers {
      var event = ContextEvent(.refreshed, refreshing: objects)
      event.isWhole = true
      return event
    }
    notifications.postRefreshed(objects, in: self)
    finishNotifying()
  }

  /// Reads rows from their stores, and keeps the objects' changes.
  private func rereadRows(of objects: [ManagedObject]) {
    for group in Dictionary(grouping: objects, by: \.currentID.space).values {
      do {
        let store = try rowSource.openStore(of: group[0].currentID, .fault)
        rowSource.forgetRows(group.map(\.currentID.reference), in: store)
        let fresh = try rowSource.rows(of: group.map(\.currentID), in: store, isInterruptible: false)
        // Rows of different entity trees can have the same key.
        let found = Dictionary(fresh.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
        for object in group {
          let row = found[object.currentID.reference]
          // The save inserts the row again, with the values that the object has.
          if row == nil, object.flags.reinsertsRow(object.row) { continue }
          object.setRefreshedRow(row)
        }
      } catch {
        record(error)
      }
    }
  }

  /// Discards an object's changes and the corresponding changes of inverse relationships.
  private func discardChanges(of object: ManagedObject) {
    object.flags.remove(.isUpdated)
    let reference = object.currentID.reference
    for slot in object.compiledEntity.slots {
      guard let relationship = slot.relationship, let overlay = object.overlay, overlay.isDirty(slot.index),
        let inverse = model.inverse(of: relationship)
      else { continue }
      let now = object.loadedReference(slot.index) ?? ObjectReference(rawValue: 0)
      let before = object.image?.reference(slot.index) ?? ObjectReference(rawValue: 0)
      if now == before { continue }
      if let partner = now.isNull ? nil : registeredObject(now, near: object) {
        if inverse.isToMany {
          partner.removeMember(object, from: inverse)
        } else if partner.referenceValue(inverse.index) == reference {
          partner.setReference(ObjectReference(rawValue: 0), at: inverse.index)
        }
      }
      if let partner = before.isNull ? nil : registeredObject(before, near: object) {
        if inverse.isToMany {
          if partner.toManyStates[inverse.index] != nil { partner.addMember(object, to: inverse) }
        } else if partner.referenceValue(inverse.index).isNull {
          partner.setReference(reference, at: inverse.index)
        }
      }
    }
    for state in object.toManyStates where state.isChanged {
      guard let inverse = model.inverse(of: state.relationship), inverse.isToMany else { continue }
      // The members of the inverse may not be loaded: the opposite change would be pending there.
      for member in state.added.elements {
        if let member = registeredObject(member, near: object), member.toManyStates[inverse.index]?.added.contains(reference) ?? false {
          member.undoAddition(of: reference, at: inverse.index, [])
        }
      }
      for member in state.removed {
        if let member = registeredObject(member, near: object), member.toManyStates[inverse.index]?.removed.contains(reference) ?? false {
          member.undoRemoval(of: reference, at: inverse.index, [])
        }
      }
    }
  }

  // MARK: Discarding changes

  /// Discards all changes: removes new objects, restores deleted ones, and restores the values as last read or saved. Does not read from
  /// the store.
  public func rollback() {
    deferredErrors.forget()
    recorder?.removeAllActions()
    mutableValues.removeAll()
    let (inserted, others) = (unitOfWork.inserted, unitOfWork.updated + unitOfWork.deleted)
    var changed: [ManagedObject] = []
    var seen = Set<ManagedObject>()
    for object in others where object.hasChanges && !object.flags.contains(.isInserted) {
      if seen.insert(object).inserted { changed.append(object) }
    }
    unitOfWork.removeAll()
    for object in inserted where object.flags.contains(.isInserted) {
      object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
      object.flags.insert(.isRemoved)
      detach(object)
    }
    for object in changed {
      object.flags.subtract([.isUpdated, .isDeleted])
      object.setOverlay(nil)
      for state in object.toManyStates { state.discardChanges() }
      // Whether its row exists is checked again when the fault fires.
      if object.flags.contains(.isInaccessible) { object.turnIntoFault() }
      if !object.flags.contains(.isFault) { object.setTransientDefaults() }
      object.updateDirectRow()
      object.awake(fromSnapshotEvents: .rollback)
    }
    registry.forgetAssignments()
    registry.forgetPermanentIDs()
    notifyObservers {
      var event = ContextEvent(.rolledBack, refreshing: changed)
      event.deleted = inserted
      return event
    }
    notifications.postRefreshed(changed, in: self)
    invalidateNested()
    finishNotifying()
  }

  /// Removes all objects and changes from the context. Objects that are still referenced keep their last values but no longer belong to a
  /// context. A context that is pinned to a query generation moves to the newest one.
  public func reset() {
    deferredErrors.forget()
    recorder?.removeAllActions()
    mutableValues.removeAll()
    var objects: [ManagedObject] = []
    registry.forEach { objects.append($0) }
    unitOfWork.removeAll()
    for object in objects {
      object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
      object.flags.formUnion([.isRemoved, .wasReset])
      detach(object)
    }
    registry.forgetPermanentIDs()
    registry.forgetAssignments()
    rowSource.advance()
    faultGroups.removeAll()
    membershipTracker.discardRemoved()
    fetchedProperties.removeAll()
    dropRecentObjects()
    notifyObservers { ContextEvent(.reset) }
    notifications.postInvalidatedAll(in: self)
    invalidateNested()
    finishNotifying()
  }
}

extension StoreError.Reason {
  static func noObject(_ id: ManagedObjectID) -> Self { Self(.objectNotFound, "There is no object \(id.uriString).", object: id) }
}
