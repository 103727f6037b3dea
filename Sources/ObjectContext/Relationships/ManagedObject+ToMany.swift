import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Returns the members of an unordered to-many relationship. The first call reads them from the store, without firing their faults.
  ///
  /// - Parameters:
  ///   - index: The relationship's to-many index in the compiled model.
  ///   - type: The class of the members.
  /// - Complexity: O(*n*) in the number of members.
  @inlinable package final func toManySet<Member: ManagedObject>(_ index: Int, as type: Member.Type = Member.self) -> Set<Member> {
    // Inlined, so that the set is specialized for the class of the members.
    var result = Set<Member>()
    visitMembers(index) { count in
      result = Set(minimumCapacity: count)
    } body: { visited in
      // The object is alive during the visit, and the set retains it.
      let object = visited.takeUnretainedValue()
      if Swift.type(of: object) == type {
        // The type has just been compared. Members are distinct, so none is replaced. `insert` would retain the element it returns.
        result.update(with: unsafeDowncast(object, to: type))
      } else if let member = object as? Member {
        result.update(with: member)
      }
    }
    return result
  }

  /// Returns the members of a to-many relationship as an array, in order if the relationship is ordered.
  @inlinable package final func toManyArray<Member: ManagedObject>(_ index: Int, as type: Member.Type = Member.self) -> [Member] {
    var result: [Member] = []
    visitMembers(index) { count in
      result.reserveCapacity(count)
    } body: { visited in
      // The object is alive during the visit, and the array retains it.
      let object = visited.takeUnretainedValue()
      if Swift.type(of: object) == type {
        // The type has just been compared.
        result.append(unsafeDowncast(object, to: type))
      } else if let member = object as? Member {
        result.append(member)
      }
    }
    return result
  }

  /// Returns the number of members of a to-many relationship, without firing their faults.
  package final func toManyCount(_ index: Int) -> Int {
    recordRead(toMany: index)
    guard let context = managedObjectContext, let state = loadedState(index) else { return 0 }
    if context.unitOfWork.deleted.isEmpty && !context.membershipTracker.hasRemovedRows { return state.count }
    return state.members.count { context.exists($0, near: self) }
  }

  /// Replaces the members of a to-many relationship, in the given order if the relationship is ordered. An object given twice counts once.
  ///
  /// If an object cannot be a member, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  package final func setToMany(_ members: some Collection<ManagedObject>, at index: Int) {
    if flags.contains(.isBatchRow) { _ = state(index) }
    do { try replaceMembers(members, at: index) } catch { reportError(error) }
  }

  /// Replaces the members of a to-many relationship.
  ///
  /// - Throws: ``StoreError`` if an object cannot be a member, or if this object's row or context no longer exists. Nothing has changed
  ///   then.
  final func replaceMembers(_ members: some Collection<ManagedObject>, at index: Int) throws {
    guard let context = managedObjectContext else {
      if !members.isEmpty || !flags.contains(.isInserted) { rejectRelationship() }
      return
    }
    try checkWritable(nil)
    let state = state(index)
    let relationship = state.relationship
    var target: [ObjectReference] = []
    var seen = Set<ObjectReference>()
    let assigned = context.registry.assignments()
    for member in members {
      if let rejection = context.rejection(of: member, for: relationship, of: self) {
        context.registry.restore(assignments: assigned)
        throw rejection
      }
      if seen.insert(member.currentID.reference).inserted { target.append(member.currentID.reference) }
    }
    if !state.isLoaded { context.loadMembers(of: self, state: state) }
    // Loading failed, and the context has recorded the error. Without the former members, none can be removed.
    guard state.isLoaded else { return }
    let former = state.members
    for reference in former where !seen.contains(reference) {
      if let member = context.object(reference, near: self) {
        removeFromToMany(member, at: index)
      } else {
        // An inserted object that has left the context can remain a member of a relationship without an inverse.
        removeMember(reference, from: state)
      }
    }
    for member in members where seen.contains(member.currentID.reference) { addToToMany(member, at: index) }
    if relationship.isOrdered { setOrder(orderIncludingHidden(of: former, in: target, state), of: state) }
  }

  /// Returns an order of all members, including deleted ones, which are hidden. Each deleted member follows the same member as before.
  private final func orderIncludingHidden(of former: [ObjectReference], in target: [ObjectReference], _ state: ToManyState)
    -> [ObjectReference]
  {
    if state.count == target.count { return target }
    let isTarget = Set(target)
    var order = target
    for (position, reference) in former.enumerated() where !isTarget.contains(reference) && state.contains(reference) {
      let previous = former[..<position].last(where: order.contains).flatMap(order.firstIndex)
      order.insert(reference, at: previous.map { $0 + 1 } ?? 0)
    }
    return order
  }

  /// Adds an object to a to-many relationship and updates the inverse. Does not load the members.
  package final func addToToMany(_ member: ManagedObject, at index: Int) {
    if addOnFastPath(member, at: index) { return }
    guard let context = managedObjectContext else { return rejectRelationship() }
    let relationship = compiledEntity.toManyRelationships[index]
    guard canTakeMembers else { return }
    guard context.accepts(member, for: relationship, of: self) else { return }
    guard let inverse = context.tables.inverse(of: relationship) else {
      addMember(member, to: relationship)
      return context.follow(relationship, adding: member, to: self)
    }
    if inverse.isToMany {
      addMember(member.ownReference, at: index, isStored: storedLink(to: member, at: index, inverse.index))
      return member.addMember(ownReference, at: inverse.index, isStored: member.storedLink(to: self, at: inverse.index, index))
    }
    // One-to-many: the member's to-one relationship is authoritative. Setting it removes the member from its former owner.
    if member.referenceValue(inverse.index) != currentID.reference {
      member.setToOne(self, at: inverse.index)
    } else if !recordsWrites || toManyStates[index]?.isLoaded ?? false {
      // If the members are not loaded, the stored or added members include it already, and there is nothing to record.
      addMember(member, to: relationship)
    }
  }

  /// Fast path for a many-to-many relationship. Returns false without changing anything if the general path is needed.
  private final func addOnFastPath(_ member: ManagedObject, at index: Int) -> Bool {
    guard let contextReference, flags.isDisjoint(with: [.isInaccessible, .isRemoved]) else { return false }
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let info = context.tables.toMany(index, ofEntity: entityNumber), let inverse = context.tables.inverse(of: info),
        inverse.isToMany, context.isAcceptedOnFastPath(member, for: info, of: self)
      else { return false }
      addMember(member.ownReference, at: index, isStored: storedLink(to: member, at: index, inverse.index))
      member.addMember(ownReference, at: inverse.index, isStored: member.storedLink(to: self, at: inverse.index, index))
      return true
    }
  }

  /// Returns whether a many-to-many link is stored, according to its other end; nil if this end is loaded, or if neither end is.
  ///
  /// A change without effect at one end must not be pending at the other: a save would revert changes that other contexts have made since.
  private final func storedLink(to member: ManagedObject, at index: Int, _ inverse: Int) -> Bool? {
    if hasMembers(at: index) || flags.contains(.isInserted) { return nil }
    // The member retains its states.
    guard let state = member.toManyStates.unretained(inverse) else { return nil }
    return state._withUnsafeGuaranteedRef { $0.isStored(ownReference) }
  }

  /// Removes an object from a to-many relationship and updates the inverse. Does not load the members.
  package final func removeFromToMany(_ member: ManagedObject, at index: Int) {
    guard canTakeMembers else { return }
    guard let context = managedObjectContext, member.managedObjectContext === context else { return }
    let relationship = compiledEntity.toManyRelationships[index]
    let inverse = context.model.inverse(of: relationship)
    // The links of a deleted object belong to its deletion: if another change removed them, undoing the deletion could not restore them.
    if member.flags.contains(.isDeleted), inverse?.deleteEffect.removesLinks ?? true { return }
    guard let inverse else {
      removeMember(member, from: relationship)
      return context.follow(relationship, removing: member, from: self)
    }
    if inverse.isToMany {
      removeMember(member.ownReference, from: state(index), isStored: storedLink(to: member, at: index, inverse.index))
      let isStored = member.storedLink(to: self, at: inverse.index, index)
      member.removeMember(ownReference, from: member.state(inverse.index), isStored: isStored)
    } else if member.referenceValue(inverse.index) == currentID.reference {
      member.setToOne(nil, at: inverse.index)
      // Setting the inverse finds the owner by its reference. Make sure that this instance is updated.
      removeMember(member, from: relationship)
    }
  }

  /// Inserts an object into an ordered relationship at a position, or moves it there if it is already a member. The number of members is a
  /// valid position.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - member: The object.
  ///   - position: The position.
  ///   - index: The relationship's to-many index.
  package final func insertIntoToMany(_ member: ManagedObject, position: Int, at index: Int) {
    guard let state = loadedState(index), state.relationship.isOrdered else { return addToToMany(member, at: index) }
    // Loading failed, and the context has recorded the error. Without the members, positions are unknown.
    guard state.isLoaded else { return }
    let (former, visible) = (state.members, visibleMembers(of: state))
    guard hasPosition(position, upTo: visible.count, state.relationship) else { return }
    addToToMany(member, at: index)
    guard state.contains(member.currentID.reference) else { return }
    var order = visible.filter { $0 != member.currentID.reference }
    order.insert(member.currentID.reference, at: min(max(position, 0), order.count))
    setOrder(orderIncludingHidden(of: former, in: order, state), of: state)
  }

  /// Removes the member at a position of an ordered relationship.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  package final func removeFromToMany(position: Int, at index: Int) {
    guard canTakeMembers, let state = loadedState(index), state.isLoaded else { return }
    let visible = visibleMembers(of: state)
    guard hasPosition(position, upTo: visible.count - 1, state.relationship) else { return }
    if let member = managedObjectContext?.object(visible[position], near: self) { removeFromToMany(member, at: index) }
  }

  /// Returns the members that are visible to applications, without deleted ones.
  private final func visibleMembers(of state: ToManyState) -> [ObjectReference] {
    guard let context = managedObjectContext, !context.unitOfWork.deleted.isEmpty || context.membershipTracker.hasRemovedRows else {
      return state.members
    }
    return state.members.filter { context.exists($0, near: self) }
  }

  /// Whether members can be added and removed. If not, the context records the error.
  private final var canTakeMembers: Bool {
    if contextReference != nil, flags.isDisjoint(with: [.isInaccessible, .isRemoved]) { return true }
    return prepareToWrite(nil)
  }

  /// Returns whether a position is valid in an ordered relationship. If not, the context records the error.
  final func hasPosition(_ position: Int, upTo last: Int, _ relationship: CompiledRelationship) -> Bool {
    if position >= 0, position <= last { return true }
    reportError(
      StoreError(
        .noSuchPosition(entity: compiledEntity.name, property: relationship.name, position: position, last: last),
        operation: .setRelationship))
    return false
  }

  final func objectIDs(forRelationshipNamed name: String) throws -> [ManagedObjectID] {
    switch compiledEntity.property(named: name) {
    case .toOne(let relationship):
      recordRead(relationship.index)
      let reference = referenceValue(relationship.index)
      return reference.isNull ? [] : [managedObjectContext?.objectID(reference, near: self)].compactMap { $0 }
    case .toMany(let relationship):
      recordRead(toMany: relationship.index)
      guard let context = managedObjectContext, let state = loadedState(relationship.index) else { return [] }
      return state.members.filter { context.exists($0, near: self) }.compactMap { context.objectID($0, near: self) }
    default: throw KeyValueError(unknown: name, of: compiledEntity, isRelationship: true)
    }
  }

  /// Returns whether the objects of a relationship have not been loaded yet. Does not fire a fault.
  public final func hasFault(forRelationshipNamed name: String) -> Bool {
    guard case .toMany(let relationship) = compiledEntity.property(named: name) else { return isFault }
    return !hasMembers(at: relationship.index)
  }

  // MARK: States

  /// Returns whether the stored members of a to-many relationship are loaded.
  final func hasMembers(at index: Int) -> Bool {
    // The object retains its states.
    toManyStates.unretained(index)?._withUnsafeGuaranteedRef { $0.isLoaded } ?? false
  }

  /// Returns the state of a to-many relationship, loaded or not.
  final func state(_ index: Int) -> ToManyState {
    if let state = toManyStates[index] { return state }
    return makeState(compiledEntity.toManyRelationships[index])
  }

  /// Returns the state of a to-many relationship of the object's entity, loaded or not, without retaining it. Use it in loops that call no
  /// external code.
  // The object retains its states.
  @inline(__always) final func stateUnretained(_ relationship: CompiledRelationship) -> Unmanaged<ToManyState> {
    // The object retains the new state too.
    toManyStates.unretained(relationship.index) ?? .passUnretained(makeState(relationship))
  }

  private final func makeState(_ relationship: CompiledRelationship) -> ToManyState {
    // An inserted object has no stored members, and a transient relationship stores none.
    let isNew = flags.contains(.isInserted) || relationship.isTransient
    let made = ToManyState(relationship: relationship, base: isNew ? [] : nil)
    toManyStates.insert(made)
    contextReference?._withUnsafeGuaranteedRef { $0.membershipTracker.recordState(of: relationship) }
    return made
  }

  /// Returns the state with the stored members loaded; nil if the object has no context and no state.
  final func loadedState(_ index: Int) -> ToManyState? {
    if contextReference == nil { return toManyStates[index] }
    let state = state(index)
    // The most frequent case.
    if state.isInUse { return state }
    guard let context = managedObjectContext else { return nil }
    if state.isLoaded { context.recordUse(of: state, of: self) } else { context.loadMembers(of: self, state: state) }
    return state
  }

  /// Returns the same state as ``loadedState(_:)`` without retaining it. Use it in loops that call no external code.
  // The object retains its states.
  @inline(__always) final func loadedStateUnretained(_ index: Int) -> Unmanaged<ToManyState>? {
    if let state = toManyStates.unretained(index), state._withUnsafeGuaranteedRef(\.isInUse) { return state }
    // The object retains its states.
    return loadedState(index).map(Unmanaged.passUnretained)
  }

  /// Adds a member without updating the inverse.
  final func addMember(_ member: ManagedObject, to relationship: CompiledRelationship) {
    addMember(member.ownReference, at: relationship.index)
  }

  /// Adds a member without updating the inverse.
  ///
  /// - Parameter isStored: If the members are not loaded, whether the link is stored; nil if this is unknown.
  final func addMember(_ reference: ObjectReference, at index: Int, isStored: Bool? = nil) {
    if recordsWrites { return addRecordedMember(reference, at: index, isStored: isStored) }
    if let state = toManyStates.unretained(index) {
      // The object retains its states, and adding calls no external code.
      if state._withUnsafeGuaranteedRef({ $0.add(reference, isStored: isStored) }) { recordChange() }
    } else if makeState(compiledEntity.toManyRelationships[index]).add(reference, isStored: isStored) {
      recordChange()
    }
  }

  /// Removes a member without updating the inverse.
  final func removeMember(_ member: ManagedObject, from relationship: CompiledRelationship) {
    removeMember(member.currentID.reference, from: state(relationship.index))
  }

  /// Removes a member without updating the inverse.
  private final func removeMember(_ reference: ObjectReference, from state: ToManyState, isStored: Bool? = nil) {
    if recordsWrites { return removeRecordedMember(reference, from: state, isStored: isStored) }
    if state.remove(reference, isStored: isStored) { recordChange() }
  }

  /// Merges an order with that of the current members.
  ///
  /// - Parameters:
  ///   - order: The order.
  ///   - former: The members from which the order was made; nil if the order itself counts, and other members come last.
  ///   - index: The relationship's to-many index.
  final func mergeOrder(_ order: [ObjectReference], from former: [ObjectReference]?, at index: Int) {
    guard let state = loadedState(index), state.isLoaded else { return }
    let members = state.members
    let target = members.arranged(by: former.map { ThreeWayMerge.order(base: $0, mine: order, theirs: members) } ?? order)
    if target != members { setOrder(target, of: state) }
  }

  /// Sets the order of the members. The order must contain exactly the current members.
  final func setOrder(_ order: [ObjectReference], of state: ToManyState) {
    if recordsWrites { managedObjectContext?.recorder?.recordOrder(of: self, state) }
    state.setOrder(order)
    recordChange()
  }

  /// Visits the members of a to-many relationship for an application, without retaining them. The visitor retains those it keeps.
  // Each member is alive during its visit: the context releases nothing meanwhile, and the visitor calls no external code.
  @usableFromInline final func visitMembers(_ index: Int, reserve: (Int) -> Void, body: (Unmanaged<ManagedObject>) -> Void) {
    recordRead(toMany: index)
    forEachMember(index, reserve: reserve, body: body)
  }

  /// Visits the members of a to-many relationship without retaining them.
  ///
  /// - Parameters:
  ///   - isHeld: Whether the context retains new objects for a while, as it does for objects returned to applications.
  ///   - reserve: Called first with the number of members.
  // Each member is alive during its visit, as in `visitMembers`.
  final func forEachMember(_ index: Int, isHeld: Bool = true, reserve: (Int) -> Void, body: (Unmanaged<ManagedObject>) -> Void) {
    guard let context = managedObjectContext, let state = loadedState(index) else { return }
    let members = state.visibleMembers
    reserve(members.count)
    let space = context.space(of: self)
    for (offset, reference) in members.enumerated() {
      if let existing = context.loadedMember(reference, space: space) {
        body(existing)
      } else if let member = context.member(reference, of: self, state: state, offset: offset, isHeld: isHeld) {
        // A new object lives for its visit, and longer if the context retains it.
        withExtendedLifetime(member) { body(.passUnretained(member)) }
      }
    }
  }
}

extension StoreError.Reason {
  static func noSuchPosition(entity: String, property: String, position: Int, last: Int) -> Self {
    let places = last < 0 ? "none" : "0 to \(last)"
    return about(entity, property, .invalidRequest, "has no position \(position) (valid positions: \(places)); nothing was changed.")
  }
}

// MARK: - Ordered relationships

extension ManagedObject {
  /// Inserts objects consecutively into an ordered relationship, and moves those that are already members.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - members: The objects. Only the first occurrence of an object counts.
  ///   - position: The position of the first object among the members that are not moved. The number of members is a valid position.
  ///   - index: The relationship's to-many index.
  /// - Complexity: O(*n*) in the number of members.
  package final func insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    guard hasPosition(position, upTo: old.count, compiledEntity.toManyRelationships[index]) else { return }
    var new = old.filter { !moved.contains($0) }
    new.insert(contentsOf: Self.removingDuplicates(members), at: min(max(position, 0), new.count))
    if new != old { setToMany(new, at: index) }
  }

  /// Removes the members at positions of an ordered relationship.
  ///
  /// If any position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  package final func removeFromToMany(positions: some Sequence<Int>, at index: Int) {
    let positions = Set(positions)
    let members = toManyArray(index, as: ManagedObject.self)
    let relationship = compiledEntity.toManyRelationships[index]
    for position in positions where !hasPosition(position, upTo: members.count - 1, relationship) { return }
    for (position, member) in members.enumerated() where positions.contains(position) { removeFromToMany(member, at: index) }
  }

  /// Replaces the member at a position of an ordered relationship.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - position: The position of the member to replace.
  ///   - member: The new member.
  ///   - index: The relationship's to-many index.
  package final func replaceInToMany(position: Int, with member: ManagedObject, at index: Int) {
    guard hasPosition(position, upTo: toManyCount(index) - 1, compiledEntity.toManyRelationships[index]) else { return }
    replaceInToMany(position..<position + 1, with: [member], at: index)
  }

  /// Replaces a range of members of an ordered relationship, and moves objects that are already members.
  ///
  /// If the range is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - positions: The positions of the members to replace.
  ///   - members: The new members, in any number. Only the first occurrence of an object counts.
  ///   - index: The relationship's to-many index.
  /// - Complexity: O(*n*) in the number of members.
  package final func replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    let relationship = compiledEntity.toManyRelationships[index]
    for bound in [positions.lowerBound, positions.upperBound] where !hasPosition(bound, upTo: old.count, relationship) { return }
    let new =
      old[..<positions.lowerBound].filter { !moved.contains($0) } + Self.removingDuplicates(members)
      + old[positions.upperBound...].filter { !moved.contains($0) }
    if new != old { setToMany(new, at: index) }
  }

  private static func removingDuplicates(_ members: [ManagedObject]) -> [ManagedObject] {
    var seen: Set<ManagedObject> = []
    return members.filter { seen.insert($0).inserted }
  }
}
