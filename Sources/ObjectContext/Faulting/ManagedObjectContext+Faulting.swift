// ManagedObjectContext+Faulting: rows and members for faults, their siblings' with them.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// The objects whose members are read together, at most.
  static var memberBatch: Int { 250 }

  // MARK: Rows

  /// Finds the row of a fault, at hand or in the store. False when there is none.
  func readRow(of object: ManagedObject, trigger: Int?) -> Bool {
    let objectID = object.currentID
    guard !objectID.isTemporaryID else { return fulfillInaccessible(object, trigger: trigger) }
    guard let store = rowSource.store(numbered: objectID.space) else {
      // Nobody knows whether its row is gone.
      note(StoreError.noOpenStore(of: objectID, .fault))
      return false
    }
    if let row = rowSource.rowAtHand(objectID.reference, in: store) {
      object.image = row
      if let group = faultGroups.group(object.group) { group.noteRowUse(at: Int(object.groupPosition)) }
      noteRow(row, of: object)
      return true
    }
    do {
      guard let ids = siblings(of: object, in: store) else {
        guard let row = try rowSource.row(of: objectID, in: store) else { return fulfillInaccessible(object, trigger: trigger) }
        object.image = try checked(row, as: objectID)
        noteRow(row, of: object)
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
        noteRow(row, of: object)
        return true
      }
      return fulfillInaccessible(object, trigger: trigger)
    } catch {
      note(error)
      return false
    }
  }

  /// A row that a store has given for an ID, which may be that of a superentity. Another entity's slots would be read as this one's.
  func checked(_ row: RowImage, as objectID: ManagedObjectID) throws -> RowImage {
    guard model.entities[Int(objectID.entityNumber)].subtree.contains(row.entityNumber) else {
      throw StoreError.rowOfAnotherEntity(objectID)
    }
    return row
  }

  /// The IDs of a fault and of those of its siblings that are read with it; nil when there are none.
  private func siblings(of object: ManagedObject, in store: PersistentStore) -> [ManagedObjectID]? {
    guard let group = faultGroups.group(object.group), group.space == store.space.number else { return nil }
    let space = group.space
    let root = registry.root(ofEntity: Int(object.currentID.entityNumber))
    // Within a transaction no row stays at hand: only objects that are there can take theirs.
    let needsObject = !rowSource.keepsRows(of: store)
    let found = group.missRow(
      object.currentID.key, at: Int(object.groupPosition), destination: { knownDestination(of: $0, slot: $1, in: store) }
    ) { reference in
      guard reference.key > 0, registry.root(ofEntity: reference.entity) == root else { return false }
      if let sibling = registry.unretainedObject(reference, space: space) {
        if sibling._withUnsafeGuaranteedRef({ !$0.flags.contains(.isFault) || $0.row != nil }) { return false }
      } else if needsObject {
        return false
      }
      // Last what costs most.
      return !rowSource.knowsRow(reference, in: store)
    }
    if found.isEmpty { return nil }
    return [object.currentID]
      + found.map { ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: $0.entity), key: $0.key) }
  }

  /// Where a to-one relationship of an object leads to, as far as it is at hand. Makes no object.
  private func knownDestination(of source: ObjectReference, slot: Int, in store: PersistentStore) -> ObjectReference? {
    if let object = registry.unretainedObject(source, space: store.space.number),
      let known = object._withUnsafeGuaranteedRef({ $0.readReference(slot) })
    {
      return known
    }
    return rowSource.knownRow(source, in: store).flatMap { slot < $0.slotCount ? $0.reference(slot) : nil }
  }

  /// The row of a fault is gone.
  private func fulfillInaccessible(_ object: ManagedObject, trigger: Int?) -> Bool {
    object.flags.remove(.isFault)
    object.flags.insert(.isInaccessible)
    let property = trigger.map { object.compiledEntity.slots[$0].name }
    if let handler = inaccessibleFaultHandler, handler(object, object.objectID, property) { return false }
    if shouldDeleteInaccessibleFaults {
      unitOfWork.noteDeleted(object)
      object.flags.insert(.deletePropagated)
    } else {
      note(
        StoreError(.noRow(object.objectID), operation: .fault))
    }
    return false
  }

  // MARK: Destinations

  /// The destination of a to-one relationship: the living object, or a new fault that belongs to the group of its siblings.
  ///
  /// - Parameter isHeld: Whether the context holds a new one for a while, as one that an application has asked for.
  func destination(_ reference: ObjectReference, of source: ManagedObject, slot: Int, isHeld: Bool = true) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object }
    let made = makeFault(reference, space: space)
    if let group = faultGroups.group(source.group) {
      made.join(faultGroups.destinations(of: group, slot: slot), at: Int(source.groupPosition))
    }
    if isHeld { holdForAWhile(made) }
    return made
  }

  /// A member of a to-many relationship: the living object, or a new fault that belongs to the group of the members read with it.
  ///
  /// - Parameter isHeld: Whether the context holds a new one for a while, as one that an application has asked for.
  func member(
    _ reference: ObjectReference, of source: ManagedObject, state: ToManyState, offset: Int, isHeld: Bool = true
  ) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference).flatMap { $0.flags.contains(.isDeleted) ? nil : $0 } }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object.flags.contains(.isDeleted) ? nil : object }
    if memberStates.isGone(reference) { return nil }
    let made = makeFault(reference, space: space)
    made.join(state.memberGroup, at: Int(state.memberGroupStart) + offset)
    if isHeld { holdForAWhile(made) }
    return made
  }

  /// The object of a member that is in memory and not deleted, not retained; nil also where more is to be looked at.
  // Whoever asks is done with it, or holds it, before anybody lets go of anything.
  @inline(__always) func livingMember(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    guard reference.key >= 0, let object = registry.unretainedObject(reference, space: space) else { return nil }
    return object._withUnsafeGuaranteedRef { $0.flags.contains(.isDeleted) } ? nil : object
  }

  // MARK: Recently reached objects

  /// Holds an object that a relationship has led to until many others came, or the event ends.
  private func holdForAWhile(_ object: ManagedObject) {
    if registry.holdsObjects { return }
    object.flags.insert(.isRecent)
    // Those that have to go die here, where nothing is being changed: each takes itself out of the registry.
    _ = recentObjects.hold(object)
  }

  /// A fault has got its row: held ones count with its bytes.
  private func noteRow(_ row: RowImage, of object: ManagedObject) {
    if object.flags.contains(.isRecent) { _ = recentObjects.noteRow(size: row.size) }
  }

  /// Lets go of the objects that relationships have led to.
  func dropRecentObjects() { _ = recentObjects.removeAll() }

  /// Whether a member of a to-many relationship is there: not deleted, and its row not known to be gone. Makes no object.
  func isLiving(_ reference: ObjectReference, near source: ManagedObject) -> Bool {
    if let object = registeredObject(reference, near: source) { return !object.flags.contains(.isDeleted) }
    return reference.key > 0 && !memberStates.isGone(reference)
  }

  // MARK: Members

  /// Reads the members of a to-many relationship, and of the same relationship of the object's siblings.
  func loadMembers(of object: ManagedObject, state: ToManyState) {
    guard !object.currentID.isTemporaryID, !object.flags.contains(.isInserted) else {
      state.load([])
      return
    }
    guard let store = rowSource.store(numbered: object.currentID.space) else {
      note(StoreError.noOpenStore(of: object.currentID, .fault))
      return
    }
    let relationship = state.relationship
    var objects = [object]
    if let group = faultGroups.group(object.group), group.space == store.space.number {
      let owners = model.entities[relationship.sourceEntity].subtree
      var seen: Set<ManagedObject> = [object]
      group.missMembers(
        of: relationship.id, at: Int(object.groupPosition), limit: Self.memberBatch,
        destination: { knownDestination(of: $0, slot: $1, in: store) }
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
      note(error)
    }
  }

  /// An object that a walk will come to, so that there is somebody to have the members read ahead; nil among objects that somebody has fetched: who has let
  /// go of one of these does not come to it again.
  private func makeSibling(_ reference: ObjectReference, position: Int, in group: FetchGroup) -> ManagedObject? {
    if group.isFetched || registry.holdsObjects || memberStates.isGone(reference) { return nil }
    let made = makeFault(reference, space: group.space)
    made.join(group.number, at: position)
    holdForAWhile(made)
    return made
  }

  /// Members that were read with those of a sibling are asked for.
  func noteUse(of state: ToManyState, of object: ManagedObject) {
    state.isReadAhead = false
    faultGroups.group(object.group)?.noteMembersUse(of: state.relationship.id, at: Int(object.groupPosition))
  }

  /// Reads the members of a to-many relationship of several objects of a store with one request, less those whose row is known to be gone.
  ///
  /// - Parameter isReadAhead: Whether somebody has asked for those of the first object only.
  func readMembers(
    of objects: [ManagedObject], _ relationship: CompiledRelationship, from store: PersistentStore, isInterruptible: Bool = true,
    isReadAhead: Bool = false
  ) throws {
    let values = try rowSource.members(of: relationship, for: objects.map(\.currentID), in: store, isInterruptible: isInterruptible)
    let group = values.references.isEmpty ? 0 : faultGroups.add(values.references, membersOf: relationship.id, space: store.space.number)
    // The objects share one array, of which each has a range.
    let hasGone = memberStates.hasGone
    var (position, start) = (0, 0)
    var unchanged: [(owner: ManagedObject, members: [ObjectReference])] = []
    MemoryAhead.visitWhile(objects) { held in
      let end = values.ends[position]
      let stored = values.references[start..<end]
      // The array holds the object, which holds its state, and loading calls nobody.
      held._withUnsafeGuaranteedRef { $0.stateUnretained(relationship) }._withUnsafeGuaranteedRef { state in
        let members = state.load(hasGone ? memberStates.living(stored)[...] : stored)
        if !members.isEmpty { unchanged.append((objects[position], members)) }
        state.memberGroup = group
        state.memberGroupStart = UInt32(truncatingIfNeeded: start)
        state.isReadAhead = isReadAhead && position > 0
      }
      (position, start) = (position + 1, end)
      return true
    }
    for (owner, members) in unchanged { settle(relationship, of: owner, members) }
  }

  /// Members whose addition or removal turned out to be no change have none of the owner either: a save would undo what others have done since.
  private func settle(_ relationship: CompiledRelationship, of owner: ManagedObject, _ members: [ObjectReference]) {
    guard let inverse = tables.inverse(of: relationship), inverse.isToMany, let state = owner.toManyStates[relationship.index] else {
      return
    }
    for member in members {
      let other = registeredObject(member, near: owner)?.toManyStates[inverse.index]
      other?.settle(owner.ownReference, isStored: state.isStored(member))
    }
  }
}

extension StoreError {
  /// What a store has under an object's key is of another entity than the reference to it says.
  fileprivate static func rowOfAnotherEntity(_ objectID: ManagedObjectID) -> StoreError {
    return StoreError(.strangeEntityOfObject(objectID), operation: .fault)
  }
}
