import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// The maximum number of objects whose members are read together.
  static var memberBatch: Int { 250 }

  // MARK: Rows

  /// Loads the row of a fault from memory or from the store. Returns `false` if there is no row or it could not be read.
  func readRow(of object: ManagedObject, trigger: Int?) -> Bool {
    let objectID = object.currentID
    guard !objectID.isTemporaryID else { return fulfillInaccessible(object, trigger: trigger) }
    guard let store = rowSource.store(numbered: objectID.space) else {
      // Without the store it is unknown whether the row exists.
      record(StoreError.noOpenStore(of: objectID, .fault))
      return false
    }
    if let row = rowSource.cachedRow(objectID.reference, in: store) {
      object.image = row
      if let group = faultGroups.group(object.group) { group.recordRowUse(at: Int(object.groupPosition)) }
      recordRow(row, of: object)
      return true
    }
    do {
      guard let ids = siblings(of: object, in: store) else {
        guard let row = try rowSource.row(of: objectID, in: store) else { return fulfillInaccessible(object, trigger: trigger) }
        object.image = try checked(row, as: objectID)
        recordRow(row, of: object)
        return true
      }
      let found = try rowSource.rows(of: ids, in: store, isInterruptible: false)
      if !rowSource.keepsRows(of: store) {
        for row in found {
          if let sibling = registeredObject(row.reference, space: objectID.space), sibling.flags.contains(.isFault) { sibling.image = row }
        }
      }
      for row in found where row.key == objectID.key {
        object.image = try checked(row, as: objectID)
        recordRow(row, of: object)
        return true
      }
      return fulfillInaccessible(object, trigger: trigger)
    } catch {
      record(error)
      return false
    }
  }

  /// Returns a row after checking its entity, which may be a subentity of the ID's. The slots of another entity would be misinterpreted.
  func checked(_ row: RowImage, as objectID: ManagedObjectID) throws -> RowImage {
    guard model.entities[Int(objectID.entityNumber)].subtree.contains(row.entityNumber) else {
      throw StoreError(.entityMismatch(objectID), operation: .fault)
    }
    return row
  }

  /// Returns the IDs of a fault and of the siblings to read with it; `nil` if there are no siblings to read.
  private func siblings(of object: ManagedObject, in store: PersistentStore) -> [ManagedObjectID]? {
    guard let group = faultGroups.group(object.group), group.space == store.space.number else { return nil }
    let space = group.space
    let root = registry.root(ofEntity: Int(object.currentID.entityNumber))
    // Rows are not cached during a transaction, so only registered objects can receive theirs.
    let needsObject = !rowSource.keepsRows(of: store)
    let found = group.missRow(
      object.currentID.key, at: Int(object.groupPosition), destination: { cachedDestination(of: $0, slot: $1, in: store) }
    ) { reference in
      guard reference.key > 0, registry.root(ofEntity: reference.entity) == root else { return false }
      if let sibling = registry.unretainedObject(reference, space: space) {
        if sibling._withUnsafeGuaranteedRef({ !$0.flags.contains(.isFault) || $0.row != nil }) { return false }
      } else if needsObject {
        return false
      }
      // The most expensive check comes last.
      return !rowSource.hasCachedRow(reference, in: store)
    }
    if found.isEmpty { return nil }
    return [object.currentID]
      + found.map { ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: $0.entity), key: $0.key) }
  }

  /// Returns the destination of an object's to-one relationship if it is in memory. Does not create objects.
  private func cachedDestination(of source: ObjectReference, slot: Int, in store: PersistentStore) -> ObjectReference? {
    if let object = registry.unretainedObject(source, space: store.space.number),
      let known = object._withUnsafeGuaranteedRef({ $0.readReference(slot) })
    {
      return known
    }
    return rowSource.loadedRow(source, in: store).flatMap { slot < $0.slotCount ? $0.reference(slot) : nil }
  }

  /// Handles a fault whose row was deleted. Always returns `false`.
  private func fulfillInaccessible(_ object: ManagedObject, trigger: Int?) -> Bool {
    object.flags.remove(.isFault)
    object.flags.insert(.isInaccessible)
    let property = trigger.map { object.compiledEntity.slots[$0].name }
    if let handler = inaccessibleFaultHandler, handler(object, object.objectID, property) { return false }
    if shouldDeleteInaccessibleFaults {
      unitOfWork.recordDeletion(object)
      object.flags.insert(.deletePropagated)
    } else {
      record(
        StoreError(.noRow(object.objectID), operation: .fault))
    }
    return false
  }

  // MARK: Destinations

  /// Returns the destination of a to-one relationship: the registered object, or a new fault that joins the group of its siblings'
  /// destinations.
  ///
  /// - Parameter isHeld: Whether the context retains a new fault temporarily, because the application has requested it.
  func destination(_ reference: ObjectReference, of source: ManagedObject, slot: Int, isHeld: Bool = true) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object }
    let made = makeFault(reference, space: space)
    if let group = faultGroups.group(source.group) {
      made.join(faultGroups.destinations(of: group, slot: slot), at: Int(source.groupPosition))
    }
    if isHeld { retainTemporarily(made) }
    return made
  }

  /// Returns a member of a to-many relationship: the registered object, or a new fault that joins the group of the members read with it.
  /// Returns `nil` for a deleted member.
  ///
  /// - Parameter isHeld: Whether the context retains a new fault temporarily, because the application has requested it.
  func member(
    _ reference: ObjectReference, of source: ManagedObject, state: ToManyState, offset: Int, isHeld: Bool = true
  ) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference).flatMap { $0.flags.contains(.isDeleted) ? nil : $0 } }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object.flags.contains(.isDeleted) ? nil : object }
    if membershipTracker.isRemoved(reference) { return nil }
    let made = makeFault(reference, space: space)
    made.join(state.memberGroup, at: Int(state.memberGroupStart) + offset)
    if isHeld { retainTemporarily(made) }
    return made
  }

  /// Returns a member that is registered and not deleted, without retaining it. `nil` does not mean that there is no such member.
  // Callers use or retain the object before anything is released.
  @inline(__always) func loadedMember(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    guard reference.key >= 0, let object = registry.unretainedObject(reference, space: space) else { return nil }
    return object._withUnsafeGuaranteedRef { $0.flags.contains(.isDeleted) } ? nil : object
  }

  // MARK: Recently reached objects

  /// Retains an object that was reached through a relationship until many others follow, or the event ends.
  private func retainTemporarily(_ object: ManagedObject) {
    if registry.holdsObjects { return }
    object.flags.insert(.isRecent)
    // Released objects are deallocated here, when nothing is being modified: each unregisters itself.
    _ = recentObjects.hold(object)
  }

  /// Adds the size of a row loaded for a temporarily retained object to the size of the retained rows.
  private func recordRow(_ row: RowImage, of object: ManagedObject) {
    if object.flags.contains(.isRecent) { _ = recentObjects.recordRow(size: row.size) }
  }

  /// Releases the objects that were reached through relationships.
  func dropRecentObjects() { _ = recentObjects.removeAll() }

  /// Returns whether a member of a to-many relationship exists: it is not deleted, and its row is not known to be deleted. Does not create
  /// objects.
  func exists(_ reference: ObjectReference, near source: ManagedObject) -> Bool {
    if let object = registeredObject(reference, near: source) { return !object.flags.contains(.isDeleted) }
    return reference.key > 0 && !membershipTracker.isRemoved(reference)
  }

  // MARK: Members

  /// Loads the members of a to-many relationship, and those of the same relationship of the object's siblings.
  func loadMembers(of object: ManagedObject, state: ToManyState) {
    guard !object.currentID.isTemporaryID, !object.flags.contains(.isInserted) else {
      state.load([])
      return
    }
    guard let store = rowSource.store(numbered: object.currentID.space) else {
      record(StoreError.noOpenStore(of: object.currentID, .fault))
      return
    }
    let relationship = state.relationship
    var objects = [object]
    if let group = faultGroups.group(object.group), group.space == store.space.number {
      let owners = model.entities[relationship.sourceEntity].subtree
      var seen: Set<ManagedObject> = [object]
      group.missMembers(
        of: relationship.id, at: Int(object.groupPosition), limit: Self.memberBatch,
        destination: { cachedDestination(of: $0, slot: $1, in: store) }
      ) { reference, position in
        guard reference.key > 0, owners.contains(reference.entity),
          let sibling = registry.object(reference, space: group.space) ?? makeSibling(reference, position: position, in: group),
          !sibling.flags.contains(.isInserted), !sibling.hasMembers(at: relationship.index),
          group.isFetched || seen.insert(sibling).inserted, sibling !== object
        else { return false }
        objects.append(sibling)
        return true
      }
    }
    do {
      try readMembers(of: objects, relationship, from: store, isInterruptible: false, isReadAhead: true)
    } catch {
      record(error)
    }
  }

  /// Creates a fault for an object that a traversal will reach, so that its members can be read ahead. Returns `nil` for fetched objects:
  /// if the application has released one, the traversal does not return to it.
  private func makeSibling(_ reference: ObjectReference, position: Int, in group: FetchGroup) -> ManagedObject? {
    if group.isFetched || registry.holdsObjects || membershipTracker.isRemoved(reference) { return nil }
    let made = makeFault(reference, space: group.space)
    made.join(group.number, at: position)
    retainTemporarily(made)
    return made
  }

  /// Records the use of members that were read together with those of a sibling.
  func recordUse(of state: ToManyState, of object: ManagedObject) {
    state.isReadAhead = false
    faultGroups.group(object.group)?.recordMembersUse(of: state.relationship.id, at: Int(object.groupPosition))
  }

  /// Reads the members of a to-many relationship of several objects of a store with one request, and omits members whose rows are known to
  /// be deleted.
  ///
  /// - Parameter isReadAhead: Whether only the members of the first object were requested.
  func readMembers(
    of objects: [ManagedObject], _ relationship: CompiledRelationship, from store: PersistentStore, isInterruptible: Bool = true,
    isReadAhead: Bool = false
  ) throws {
    let values = try rowSource.members(of: relationship, for: objects.map(\.currentID), in: store, isInterruptible: isInterruptible)
    let group = values.references.isEmpty ? 0 : faultGroups.add(values.references, membersOf: relationship.id, space: store.space.number)
    // The objects share one array, of which each has a slice.
    let hasRemovedRows = membershipTracker.hasRemovedRows
    var (position, start) = (0, 0)
    var unchanged: [(owner: ManagedObject, members: [ObjectReference])] = []
    MemoryPrefetch.visitWhile(objects) { held in
      let end = values.ends[position]
      let stored = values.references[start..<end]
      // The array retains the object, the object retains its state, and loading calls no application code.
      held._withUnsafeGuaranteedRef { $0.stateUnretained(relationship) }._withUnsafeGuaranteedRef { state in
        let members = state.load(hasRemovedRows ? membershipTracker.existing(stored)[...] : stored)
        if !members.isEmpty { unchanged.append((objects[position], members)) }
        state.memberGroup = group
        state.memberGroupStart = UInt32(truncatingIfNeeded: start)
        state.isReadAhead = isReadAhead && position > 0
      }
      (position, start) = (position + 1, end)
      return true
    }
    for (owner, members) in unchanged { removeIneffectiveInverseChanges(relationship, of: owner, members) }
  }

  /// Removes pending changes of the inverse for members whose addition or removal turned out not to be a change. Otherwise a save would
  /// revert later changes made elsewhere.
  private func removeIneffectiveInverseChanges(
    _ relationship: CompiledRelationship, of owner: ManagedObject, _ members: [ObjectReference]
  ) {
    guard let inverse = tables.inverse(of: relationship), inverse.isToMany, let state = owner.toManyStates[relationship.index] else {
      return
    }
    for member in members {
      let other = registeredObject(member, near: owner)?.toManyStates[inverse.index]
      other?.settle(owner.ownReference, isStored: state.isStored(member))
    }
  }
}

extension StoreError.Reason {
  static func noRow(_ id: ManagedObjectID) -> Self {
    Self(.objectNotFound, "The fault cannot be fulfilled: the row of the object \(id) was deleted.", object: id)
  }

  /// The entity of a row differs from that of the reference to it.
  static func entityMismatch(_ id: ManagedObjectID) -> Self {
    Self(
      .storeCorrupt,
      "The row of the object \(id.uriString) has a different entity than the references to it; verify the store.", object: id)
  }
}
