// ManagedObject+ToMany: to-many relationships and the upkeep of their inverses.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The members of an unordered to-many relationship. Reads them from the store at the first call, without firing their faults.
  ///
  /// - Parameter index: The relationship's to-many index in the compiled model. Complexity: linear in the number of members.
  @inlinable public final func _toManySet<Member: ManagedObject>(_ index: Int, as type: Member.Type = Member.self) -> Set<Member> {
    // Inlined, so that the set is one of the member's class at compile time.
    var result = Set<Member>()
    visitMembers(index) { count in
      result = Set(minimumCapacity: count)
    } body: { visited in
      // Alive while it is visited, and retained by the set.
      let object = visited.takeUnretainedValue()
      if Swift.type(of: object) == type {
        // Just compared. Members differ, so that none is replaced; `insert` would retain what it gives back.
        result.update(with: unsafeDowncast(object, to: type))
      } else if let member = object as? Member {
        result.update(with: member)
      }
    }
    return result
  }

  /// The members of a to-many relationship as an array, in their order if it has one.
  @inlinable public final func _toManyArray<Member: ManagedObject>(_ index: Int, as type: Member.Type = Member.self) -> [Member] {
    var result: [Member] = []
    visitMembers(index) { count in
      result.reserveCapacity(count)
    } body: { visited in
      // Alive while it is visited, and retained by the array.
      let object = visited.takeUnretainedValue()
      if Swift.type(of: object) == type {
        // Just compared.
        result.append(unsafeDowncast(object, to: type))
      } else if let member = object as? Member {
        result.append(member)
      }
    }
    return result
  }

  /// The number of members of a to-many relationship. Fires no member's fault.
  public final func _toManyCount(_ index: Int) -> Int {
    noteRead(toMany: index)
    guard let context = managedObjectContext, let state = loadedState(index) else { return 0 }
    if context.unitOfWork.deleted.isEmpty && !context.memberStates.hasGone { return state.count }
    return state.members.count { context.isLiving($0, near: self) }
  }

  /// Replaces the members of a to-many relationship, in the order given if it has one. An object given twice counts once.
  ///
  /// With an object among them that cannot be a member nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  public final func _setToMany(_ members: some Collection<ManagedObject>, at index: Int) {
    if flags.contains(.isBatchRow) { _ = state(index) }
    do { try replaceMembers(members, at: index) } catch { tell(error) }
  }

  /// Replaces the members of a to-many relationship.
  ///
  /// - Throws: Where an object cannot be a member, or this object's row or context is gone; nothing is changed then.
  final func replaceMembers(_ members: some Collection<ManagedObject>, at index: Int) throws {
    guard let context = managedObjectContext else {
      if !members.isEmpty || !flags.contains(.isInserted) { refuseRelationship() }
      return
    }
    try checkWritable(nil)
    let state = state(index)
    let relationship = state.relationship
    var wanted: [ObjectReference] = []
    var seen = Set<ObjectReference>()
    let assigned = context.registry.assignments()
    for member in members {
      if let refusal = context.refusal(of: member, for: relationship, of: self) {
        context.registry.restore(assignments: assigned)
        throw refusal
      }
      if seen.insert(member.currentID.reference).inserted { wanted.append(member.currentID.reference) }
    }
    if !state.isLoaded { context.loadMembers(of: self, state: state) }
    // Which members are to go is not known then; the context knows why.
    guard state.isLoaded else { return }
    let former = state.members
    for reference in former where !seen.contains(reference) {
      if let member = context.object(reference, near: self) {
        _removeFromToMany(member, at: index)
      } else {
        // A new object that has left the context: of a relationship without inverse it was still a member.
        removeMember(reference, from: state)
      }
    }
    for member in members where seen.contains(member.currentID.reference) { _addToToMany(member, at: index) }
    if relationship.isOrdered { setOrder(keepingPlaces(of: former, in: wanted, state), of: state) }
  }

  /// An order of all members, those included that are deleted and do not show: each of these follows the member that it followed before.
  private final func keepingPlaces(of former: [ObjectReference], in wanted: [ObjectReference], _ state: ToManyState) -> [ObjectReference] {
    if state.count == wanted.count { return wanted }
    let isWanted = Set(wanted)
    var order = wanted
    for (place, reference) in former.enumerated() where !isWanted.contains(reference) && state.contains(reference) {
      let previous = former[..<place].last(where: order.contains).flatMap(order.firstIndex)
      order.insert(reference, at: previous.map { $0 + 1 } ?? 0)
    }
    return order
  }

  /// Adds an object to a to-many relationship and keeps the inverse in step. Does not read the members.
  public final func _addToToMany(_ member: ManagedObject, at index: Int) {
    if addsPlainly(member, at: index) { return }
    guard let context = managedObjectContext else { return refuseRelationship() }
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
    // One to many: the member's to-one decides, and leaves its old owner.
    if member.referenceValue(inverse.index) != currentID.reference {
      member._setToOne(self, at: inverse.index)
    } else if !hearsWrites || toManyStates[index]?.isLoaded ?? false {
      // Unread members have it, or it is among the additions: nothing is to be recorded of it.
      addMember(member, to: relationship)
    }
  }

  /// Adds a member where both ends are to-many and nothing stands against it. False where more is to be looked at; nothing was done then.
  private final func addsPlainly(_ member: ManagedObject, at index: Int) -> Bool {
    guard let contextReference, flags.isDisjoint(with: [.isInaccessible, .isGone]) else { return false }
    // The context takes this back before it goes, and nothing here calls out.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let way = context.tables.toMany(index, ofEntity: entityNumber), let inverse = context.tables.inverse(of: way),
        inverse.isToMany, context.isPlainlyAccepted(member, for: way, of: self)
      else { return false }
      addMember(member.ownReference, at: index, isStored: storedLink(to: member, at: index, inverse.index))
      member.addMember(ownReference, at: inverse.index, isStored: member.storedLink(to: self, at: inverse.index, index))
      return true
    }
  }

  /// Whether a link with both ends to-many is stored, as its other end shows; nil where this end has read its members and needs no other, or neither has.
  ///
  /// A change that changes nothing at one end must not be pending at the other: a save would undo there what others have done since.
  private final func storedLink(to member: ManagedObject, at index: Int, _ inverse: Int) -> Bool? {
    if hasMembers(at: index) || flags.contains(.isInserted) { return nil }
    // The member holds its states.
    guard let state = member.toManyStates.unretained(inverse) else { return nil }
    return state._withUnsafeGuaranteedRef { $0.isStored(ownReference) }
  }

  /// Takes an object out of a to-many relationship and keeps the inverse in step. Does not read the members.
  public final func _removeFromToMany(_ member: ManagedObject, at index: Int) {
    guard canTakeMembers else { return }
    guard let context = managedObjectContext, member.managedObjectContext === context else { return }
    let relationship = compiledEntity.toManyRelationships[index]
    let inverse = context.model.inverse(of: relationship)
    if member.flags.contains(.isDeleted), inverse?.endsLinksOfDeleted ?? true { return }
    guard let inverse else {
      removeMember(member, from: relationship)
      return context.follow(relationship, removing: member, from: self)
    }
    if inverse.isToMany {
      removeMember(member.ownReference, from: state(index), isStored: storedLink(to: member, at: index, inverse.index))
      let isStored = member.storedLink(to: self, at: inverse.index, index)
      member.removeMember(ownReference, from: member.state(inverse.index), isStored: isStored)
    } else if member.referenceValue(inverse.index) == currentID.reference {
      member._setToOne(nil, at: inverse.index)
      // The owner was found by its reference; make sure that this object, which is held, knows.
      removeMember(member, from: relationship)
    }
  }

  /// Inserts an object into an ordered relationship at a position, moving it if it is a member already. The number of members is the end.
  ///
  /// At a position that is not there nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  ///
  /// - Parameters:
  ///   - member: The object.
  ///   - position: Where it is to stand.
  ///   - index: The relationship's number.
  public final func _insertIntoToMany(_ member: ManagedObject, position: Int, at index: Int) {
    guard let state = loadedState(index), state.relationship.isOrdered else { return _addToToMany(member, at: index) }
    // Places are not known then; the context knows why.
    guard state.isLoaded else { return }
    let (former, shown) = (state.members, shownMembers(of: state))
    guard hasPosition(position, upTo: shown.count, state.relationship) else { return }
    _addToToMany(member, at: index)
    guard state.contains(member.currentID.reference) else { return }
    var order = shown.filter { $0 != member.currentID.reference }
    order.insert(member.currentID.reference, at: min(max(position, 0), order.count))
    setOrder(keepingPlaces(of: former, in: order, state), of: state)
  }

  /// Takes the member at a position out of an ordered relationship. Where there is none nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  public final func _removeFromToMany(position: Int, at index: Int) {
    guard canTakeMembers, let state = loadedState(index), state.isLoaded else { return }
    let shown = shownMembers(of: state)
    guard hasPosition(position, upTo: shown.count - 1, state.relationship) else { return }
    if let member = managedObjectContext?.object(shown[position], near: self) { _removeFromToMany(member, at: index) }
  }

  /// The members without those that are deleted, which an application does not see.
  private final func shownMembers(of state: ToManyState) -> [ObjectReference] {
    guard let context = managedObjectContext, !context.unitOfWork.deleted.isEmpty || context.memberStates.hasGone else {
      return state.members
    }
    return state.members.filter { context.isLiving($0, near: self) }
  }

  /// Whether members can be added and removed; where not, the context is told.
  private final var canTakeMembers: Bool {
    if contextReference != nil, flags.isDisjoint(with: [.isInaccessible, .isGone]) { return true }
    return prepareToWrite(nil)
  }

  /// Whether a position is one of an ordered relationship; where not, the context is told.
  final func hasPosition(_ position: Int, upTo last: Int, _ relationship: CompiledRelationship) -> Bool {
    if position >= 0, position <= last { return true }
    tell(
      StoreError(
        .noSuchPosition(entity: compiledEntity.name, property: relationship.name, position: position, last: last),
        operation: .setRelationship))
    return false
  }

  final func objectIDs(forRelationshipNamed name: String) throws -> [ManagedObjectID] {
    switch compiledEntity.property(named: name) {
    case .toOne(let relationship):
      noteRead(relationship.index)
      let reference = referenceValue(relationship.index)
      return reference.isNull ? [] : [managedObjectContext?.objectID(reference, near: self)].compactMap { $0 }
    case .toMany(let relationship):
      noteRead(toMany: relationship.index)
      guard let context = managedObjectContext, let state = loadedState(relationship.index) else { return [] }
      return state.members.filter { context.isLiving($0, near: self) }.compactMap { context.objectID($0, near: self) }
    default: throw KeyValueError(unknown: name, of: compiledEntity, isRelationship: true)
    }
  }

  /// Whether a relationship's objects have not been read yet. Fires no fault.
  public final func hasFault(forRelationshipNamed name: String) -> Bool {
    guard case .toMany(let relationship) = compiledEntity.property(named: name) else { return isFault }
    return !hasMembers(at: relationship.index)
  }

  // MARK: States

  /// Whether the stored members of a to-many relationship are at hand.
  final func hasMembers(at index: Int) -> Bool {
    // The object holds its states.
    toManyStates.unretained(index)?._withUnsafeGuaranteedRef { $0.isLoaded } ?? false
  }

  /// The state of a to-many relationship, loaded or not.
  final func state(_ index: Int) -> ToManyState {
    if let state = toManyStates[index] { return state }
    return makeState(compiledEntity.toManyRelationships[index])
  }

  /// The state of a to-many relationship of the object's entity, loaded or not; not retained, for those who look at many objects and call nobody.
  // The object holds its states.
  @inline(__always) final func stateUnretained(_ relationship: CompiledRelationship) -> Unmanaged<ToManyState> {
    // Held, the new one too.
    toManyStates.unretained(relationship.index) ?? .passUnretained(makeState(relationship))
  }

  private final func makeState(_ relationship: CompiledRelationship) -> ToManyState {
    // A new object has no stored members; of transient relationships nothing is stored.
    let isNew = flags.contains(.isInserted) || relationship.isTransient
    let made = ToManyState(relationship: relationship, base: isNew ? [] : nil)
    toManyStates.insert(made)
    contextReference?._withUnsafeGuaranteedRef { $0.memberStates.noteState(of: relationship) }
    return made
  }

  /// The state with the stored members loaded; nil when the object has no context.
  final func loadedState(_ index: Int) -> ToManyState? {
    if contextReference == nil { return toManyStates[index] }
    let state = state(index)
    // As nearly always.
    if state.isInUse { return state }
    guard let context = managedObjectContext else { return nil }
    if state.isLoaded { context.noteUse(of: state, of: self) } else { context.loadMembers(of: self, state: state) }
    return state
  }

  /// The state with the stored members loaded as ``loadedState(_:)`` gives it; not retained, for the same reason.
  // The object holds its states.
  @inline(__always) final func loadedStateUnretained(_ index: Int) -> Unmanaged<ToManyState>? {
    if let state = toManyStates.unretained(index), state._withUnsafeGuaranteedRef(\.isInUse) { return state }
    // Held as above.
    return loadedState(index).map(Unmanaged.passUnretained)
  }

  /// Adds to the state alone, without the inverse.
  final func addMember(_ member: ManagedObject, to relationship: CompiledRelationship) {
    addMember(member.ownReference, at: relationship.index)
  }

  /// Adds a reference to the state alone, without the inverse.
  ///
  /// - Parameter isStored: For unread members, whether it is a stored one; nil where that is unknown.
  final func addMember(_ reference: ObjectReference, at index: Int, isStored: Bool? = nil) {
    if hearsWrites { return addMemberHeard(reference, at: index, isStored: isStored) }
    if let state = toManyStates.unretained(index) {
      // The object holds its states, and adding calls nobody.
      if state._withUnsafeGuaranteedRef({ $0.add(reference, isStored: isStored) }) { noteChange() }
    } else if makeState(compiledEntity.toManyRelationships[index]).add(reference, isStored: isStored) {
      noteChange()
    }
  }

  /// Removes from the state alone, without the inverse.
  final func removeMember(_ member: ManagedObject, from relationship: CompiledRelationship) {
    removeMember(member.currentID.reference, from: state(relationship.index))
  }

  /// Removes a reference from the state alone, without the inverse.
  private final func removeMember(_ reference: ObjectReference, from state: ToManyState, isStored: Bool? = nil) {
    if hearsWrites { return removeMemberHeard(reference, from: state, isStored: isStored) }
    if state.remove(reference, isStored: isStored) { noteChange() }
  }

  /// Gives members an order. They must be those that there are.
  final func setOrder(_ order: [ObjectReference], of state: ToManyState) {
    if hearsWrites { managedObjectContext?.recorder?.recordOrder(of: self, state) }
    state.setOrder(order)
    noteChange()
  }

  /// Visits the members of a to-many relationship that an application has asked for. They are not retained: the visitor holds those that it wants to keep.
  // Each lives during its visit, since the context gives nothing back then; the visitor calls nobody.
  @usableFromInline final func visitMembers(_ index: Int, reserve: (Int) -> Void, body: (Unmanaged<ManagedObject>) -> Void) {
    noteRead(toMany: index)
    forEachMember(index, reserve: reserve, body: body)
  }

  /// Visits the members of a to-many relationship, not retained as above.
  ///
  /// - Parameter isHeld: Whether the context holds new ones for a while, as those that an application has asked for.
  // Each lives during its visit, as above.
  final func forEachMember(_ index: Int, isHeld: Bool = true, reserve: (Int) -> Void, body: (Unmanaged<ManagedObject>) -> Void) {
    guard let context = managedObjectContext, let state = loadedState(index) else { return }
    let members = state.visibleMembers
    reserve(members.count)
    let space = context.space(of: self)
    for (offset, reference) in members.enumerated() {
      if let living = context.livingMember(reference, space: space) {
        body(living)
      } else if let member = context.member(reference, of: self, state: state, offset: offset, isHeld: isHeld) {
        // A new one lives as long as it is visited, and a little longer if the context holds it.
        withExtendedLifetime(member) { body(.passUnretained(member)) }
      }
    }
  }
}

extension CompiledRelationship {
  /// Whether the deletion of an object ends its links of this relationship, which do not show any more. They belong to the deletion: another change that removed
  /// them would leave nothing to undo the deletion with.
  fileprivate var endsLinksOfDeleted: Bool { deleteRule == .nullify || deleteRule == .cascade }
}
