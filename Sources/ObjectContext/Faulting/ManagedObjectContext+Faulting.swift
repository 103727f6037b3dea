// ManagedObjectContext+Faulting: rows and members for faults, their siblings' with them.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// The siblings read with a fault, at most: one statement's list.
  static var faultBatch: Int { 500 }
  /// How far siblings are looked for in a group.
  static var faultWindow: Int { 4_000 }
  /// The objects whose members are read together.
  static var memberBatch: Int { 250 }
  /// The groups that are remembered; the objects of older ones fault one by one.
  static var groupLimit: UInt32 { 64 }
  /// The bytes that remembered groups may hold beside the newest.
  static var groupByteLimit: Int { 16 << 20 }

  // MARK: Groups

  func makeGroup(space: UInt32, origin: FetchGroup.Origin) -> FetchGroup {
    lastGroup &+= 1
    if lastGroup == 0 { lastGroup = 1 }
    let group = FetchGroup(number: lastGroup, space: space, origin: origin)
    let index = Int(lastGroup % Self.groupLimit)
    while groups.count <= index { groups.append(nil) }
    groups[index] = group
    dropOldGroups()
    return group
  }

  /// Groups hold the rows of their fetches: the oldest go when all together hold too much.
  private func dropOldGroups() {
    var bytes = 0
    for age in 0..<min(Self.groupLimit, lastGroup) {
      let index = Int((lastGroup - age) % Self.groupLimit)
      guard index < groups.count, let group = groups[index] else { continue }
      bytes += group.byteCount
      if age > 0, bytes > Self.groupByteLimit { groups[index] = nil }
    }
  }

  func group(_ number: UInt32) -> FetchGroup? {
    let index = Int(number % Self.groupLimit)
    guard number != 0, index < groups.count, let group = groups[index], group.number == number else { return nil }
    return group
  }

  /// The group of the destinations of a slot of a group's objects.
  private func destinationGroup(of group: FetchGroup, slot: Int) -> FetchGroup {
    if let number = group.destinationGroups[slot], let known = self.group(number) { return known }
    let made = makeGroup(space: group.space, origin: .destinations(of: group, slot: slot))
    group.destinationGroups[slot] = made.number
    return made
  }

  // MARK: Rows

  /// Finds the row of a fault, in the row cache or the store. False when there is none.
  func readRow(of object: ManagedObject, trigger: String?) -> Bool {
    let objectID = object.currentID
    guard !objectID.isTemporaryID, let store = coordinator.store(numbered: objectID.space) else {
      return fulfillInaccessible(object, trigger: trigger)
    }
    if let row = cachedRow(objectID.reference, of: store) {
      object.image = row
      return true
    }
    do {
      let ids = siblings(of: object, in: store) ?? [objectID]
      let rows = try coordinator.readRows(of: ids, from: store, scope: scope(for: store))
      for row in rows where row.key == objectID.key {
        object.image = row
        return true
      }
      return fulfillInaccessible(object, trigger: trigger)
    } catch {
      note(error)
      return false
    }
  }

  /// The row of the row cache, if ``stalenessInterval`` lets it count.
  func cachedRow(_ reference: ObjectReference, of store: PersistentStore) -> RowImage? {
    if stalenessInterval < 0 { return store.cache.row(reference) }
    return stalenessInterval == 0 ? nil : store.cache.row(reference, notOlderThan: stalenessInterval)
  }

  /// The IDs of a fault and of its unfired siblings; nil when it has none.
  private func siblings(of object: ManagedObject, in store: PersistentStore) -> [ManagedObjectID]? {
    guard let group = group(object.group), group.space == store.space.number else { return nil }
    var ids = [object.currentID]
    var seen: Set<ObjectReference> = [object.currentID.reference]
    let start = Int(object.groupPosition)
    let end = min(group.count, start + Self.faultWindow)
    let root = model.entities[Int(object.currentID.entityNumber)].root
    var position = start + 1
    while position < end, ids.count < Self.faultBatch {
      let reference = group.reference(at: position, cache: store.cache)
      position += 1
      guard reference.key > 0, model.entities[reference.entity].root == root, seen.insert(reference).inserted else { continue }
      if store.cache.row(reference) != nil { continue }
      if let sibling = registeredObject(reference, space: group.space), !sibling.flags.contains(.isFault) || sibling.image != nil {
        continue
      }
      ids.append(ManagedObjectID(space: group.space, entityNumber: UInt32(reference.entity), key: reference.key))
    }
    return ids.count > 1 ? ids : nil
  }

  /// The row of a fault is gone.
  private func fulfillInaccessible(_ object: ManagedObject, trigger: String?) -> Bool {
    object.flags.remove(.isFault)
    object.flags.insert(.isInaccessible)
    if let handler = inaccessibleFaultHandler, handler(object, object.objectID, trigger) { return false }
    if shouldDeleteInaccessibleFaults {
      registerDeleted(object)
      object.flags.insert(.deletePropagated)
    } else {
      note(
        StoreError(
          .objectNotFound, "A fault could not be fulfilled: the object \(object.objectID) has no row any more.", operation: "fault"))
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
    if let group = group(source.group) {
      made.group = destinationGroup(of: group, slot: slot).number
      made.groupPosition = source.groupPosition
    }
    return made
  }

  /// A member of a to-many relationship: the living object, or a new fault that belongs to the group of the members read with it.
  func member(_ reference: ObjectReference, of source: ManagedObject, state: ToManyState, offset: Int) -> ManagedObject? {
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: source)
    if let object = registeredObject(reference, space: space) { return object.flags.contains(.isDeleted) ? nil : object }
    if !goneReferences.isEmpty, goneReferences.contains(reference) { return nil }
    let made = makeFault(reference, space: space)
    made.group = state.memberGroup
    made.groupPosition = UInt32(truncatingIfNeeded: state.memberGroupStart + offset)
    return made
  }

  // MARK: Members

  /// Reads the members of a to-many relationship, and of the same relationship of the object's siblings.
  func loadMembers(of object: ManagedObject, state: ToManyState) {
    guard !object.currentID.isTemporaryID, let store = coordinator.store(numbered: object.currentID.space) else {
      state.load(EmptyCollection())
      return
    }
    if object.flags.contains(.isInserted) {
      state.load(EmptyCollection())
      return
    }
    let relationship = state.relationship
    var objects = [object]
    if let group = group(object.group), group.space == store.space.number {
      let start = Int(object.groupPosition)
      let end = min(group.count, start + Self.faultWindow)
      var position = start + 1
      while position < end, objects.count < Self.memberBatch {
        let reference = group.reference(at: position, cache: store.cache)
        position += 1
        guard reference.key > 0, model.entities[relationship.sourceEntity].subtree.contains(reference.entity),
          let sibling = registeredObject(reference, space: group.space), !sibling.flags.contains(.isInserted),
          !(sibling.toManyStates?[relationship.index]?.isLoaded ?? false)
        else { continue }
        objects.append(sibling)
      }
    }
    do {
      let values = try store.incrementalStore.newValues(
        forRelationship: relationship, forObjectsWith: objects.map(\.currentID), in: scope(for: store))
      let members = makeGroup(space: store.space.number, origin: .references(values.references))
      for (position, sibling) in objects.enumerated() {
        let siblingState = sibling.state(relationship.index)
        siblingState.load(mergingPending(values[position], of: sibling, relationship: relationship))
        siblingState.memberGroup = members.number
        siblingState.memberGroupStart = position == 0 ? 0 : values.ends[position - 1]
      }
    } catch {
      note(error)
    }
  }

  /// The stored members less those whose row is known to be gone.
  private func mergingPending(
    _ stored: ArraySlice<ObjectReference>, of object: ManagedObject, relationship: CompiledRelationship
  ) -> [ObjectReference] {
    goneReferences.isEmpty ? Array(stored) : stored.filter { !goneReferences.contains($0) }
  }
}
