// ManagedObjectContext+Faulting: rows and members for faults, their siblings' with them.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// How far siblings are looked for in a group.
  static var faultWindow: Int { 4_000 }
  /// After how many siblings in a row that need nothing the search ends.
  static var missLimit: Int { 400 }
  /// The objects whose members are read together.
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
      return true
    }
    do {
      let ids = siblings(of: object, in: store) ?? [objectID]
      let found = try rowSource.rows(of: ids, in: store, isInterruptible: false)
      if ids.count > 1, !rowSource.keepsRows(of: store) {
        for row in found {
          if let sibling = registeredObject(row.reference, space: objectID.space), sibling.flags.contains(.isFault) { sibling.image = row }
        }
      }
      for row in found where row.key == objectID.key {
        object.image = try checked(row, as: objectID)
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

  /// The IDs of a fault and of its unfired siblings; nil when it has none.
  ///
  /// Those that follow it come first; then, for who goes through the results backwards, those before it.
  private func siblings(of object: ManagedObject, in store: PersistentStore) -> [ManagedObjectID]? {
    guard let group = faultGroups.group(object.group), group.space == store.space.number else { return nil }
    var ids = [object.currentID]
    var seen: Set<ObjectReference> = [object.currentID.reference]
    let root = registry.root(ofEntity: Int(object.currentID.entityNumber))
    // Within a transaction no row stays at hand: only objects that are there can take theirs.
    let needsObject = !rowSource.keepsRows(of: store)
    visitNeighbours(of: Int(object.groupPosition), in: group, of: store, limit: group.batch - 1) { reference in
      guard reference.key > 0, registry.root(ofEntity: reference.entity) == root else { return false }
      if let sibling = registeredObject(reference, space: group.space) {
        if !sibling.flags.contains(.isFault) || sibling.image != nil { return false }
      } else if needsObject {
        return false
      }
      // Last what costs most.
      if !seen.insert(reference).inserted || rowSource.knownRow(reference, in: store) != nil { return false }
      ids.append(ManagedObjectID(space: group.space, entityNumber: UInt32(reference.entity), key: reference.key))
      return true
    }
    return ids.count > 1 ? ids : nil
  }

  /// Shows the objects of a group near a position to a visitor, who says whether it takes them: those behind, then those before it, nearest first.
  ///
  /// Ends when enough were taken; a direction is given up after many in a row that were not.
  private func visitNeighbours(
    of position: Int, in group: FetchGroup, of store: PersistentStore, limit: Int, _ takes: (ObjectReference) -> Bool
  ) {
    var taken = 0
    let count = group.count
    for step in [1, -1] {
      var missed = 0
      var next = position + step
      while taken < limit, missed < Self.missLimit, abs(next - position) <= Self.faultWindow, next >= 0, next < count {
        let reference = group.reference(at: next) { source, slot in
          if let known = registeredObject(source, space: group.space)?.readReference(slot) { return known }
          return rowSource.knownRow(source, in: store).flatMap { slot < $0.slotCount ? $0.reference(slot) : nil }
        }
        if takes(reference) {
          taken += 1
          missed = 0
        } else {
          missed += 1
        }
        next += step
      }
    }
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
  func destination(_ reference: ObjectReference, of source: ManagedObject, slot: Int) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object }
    let made = makeFault(reference, space: space)
    if let group = faultGroups.group(source.group) {
      made.group = faultGroups.destinations(of: group, slot: slot)
      made.groupPosition = source.groupPosition
    }
    return made
  }

  /// A member of a to-many relationship: the living object, or a new fault that belongs to the group of the members read with it.
  func member(_ reference: ObjectReference, of source: ManagedObject, state: ToManyState, offset: Int) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference).flatMap { $0.flags.contains(.isDeleted) ? nil : $0 } }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object.flags.contains(.isDeleted) ? nil : object }
    if memberStates.isGone(reference) { return nil }
    let made = makeFault(reference, space: space)
    made.group = state.memberGroup
    made.groupPosition = UInt32(truncatingIfNeeded: state.memberGroupStart + offset)
    return made
  }

  /// Whether a member of a to-many relationship is there: not deleted, and its row not known to be gone. Makes no object.
  func isLiving(_ reference: ObjectReference, near source: ManagedObject) -> Bool {
    if let object = registeredObject(reference, near: source) { return !object.flags.contains(.isDeleted) }
    return reference.key > 0 && !memberStates.isGone(reference)
  }

  // MARK: Members

  /// Reads the members of a to-many relationship, and of the same relationship of the object's siblings.
  func loadMembers(of object: ManagedObject, state: ToManyState) {
    guard !object.currentID.isTemporaryID, !object.flags.contains(.isInserted) else {
      state.load(EmptyCollection())
      return
    }
    guard let store = rowSource.store(numbered: object.currentID.space) else {
      note(StoreError.noOpenStore(of: object.currentID, .fault))
      return
    }
    let relationship = state.relationship
    var objects = [object]
    if let group = faultGroups.group(object.group), group.space == store.space.number {
      visitNeighbours(of: Int(object.groupPosition), in: group, of: store, limit: Self.memberBatch - 1) { reference in
        guard reference.key > 0, model.entities[relationship.sourceEntity].subtree.contains(reference.entity),
          let sibling = registeredObject(reference, space: group.space), !sibling.flags.contains(.isInserted), sibling !== object,
          !(sibling.toManyStates?[relationship.index]?.isLoaded ?? false)
        else { return false }
        objects.append(sibling)
        return true
      }
    }
    do { try readMembers(of: objects, relationship, from: store, isInterruptible: false) } catch { note(error) }
  }

  /// Reads the members of a to-many relationship of several objects of a store with one request, less those whose row is known to be gone.
  func readMembers(
    of objects: [ManagedObject], _ relationship: CompiledRelationship, from store: PersistentStore, isInterruptible: Bool = true
  ) throws {
    let values = try rowSource.members(of: relationship, for: objects.map(\.currentID), in: store, isInterruptible: isInterruptible)
    let group = values.references.isEmpty ? 0 : faultGroups.add(values.references, space: store.space.number)
    for (position, object) in objects.enumerated() {
      let state = object.state(relationship.index)
      let stored = values[position]
      state.load(memberStates.living(stored))
      state.memberGroup = group
      state.memberGroupStart = position == 0 ? 0 : values.ends[position - 1]
    }
  }
}

extension StoreError {
  /// What a store has under an object's key is of another entity than the reference to it says.
  fileprivate static func rowOfAnotherEntity(_ objectID: ManagedObjectID) -> StoreError {
    return StoreError(.strangeEntityOfObject(objectID), operation: .fault)
  }
}
