import ObjectModel
import ObjectStore

/// The state of one to-many relationship of one object: the stored members and the changes since. The stored members are never copied, and
/// changes can be recorded before the members are loaded.
final class ToManyState {
  /// Rarely needed data, allocated on demand.
  private final class Rearrangement {
    var removed: Set<ObjectReference> = []
    var moved: Set<ObjectReference> = []
    var explicitOrder: [ObjectReference]?
    var baseSet: Set<ObjectReference>?
    var unloadedBase: ArraySlice<ObjectReference>?
  }

  let relationship: CompiledRelationship
  // A context's isolation admits one access at a time, and no code here calls back. Exclusivity checks would cost as much as adding a
  // member.
  /// The state of the object's next relationship that has one: see ``ToManyStates``.
  @exclusivity(unchecked) fileprivate(set) var next: ToManyState?
  /// The stored members, a slice of the array into which the members of several objects were read; `nil` while they are not loaded.
  @exclusivity(unchecked) private(set) var base: ArraySlice<ObjectReference>?
  /// The members added since, in order. While the stored members are not loaded, some of these may be among them.
  @exclusivity(unchecked) private(set) var added = OrderedReferenceSet()
  /// Removals and changes of the order; `nil` if there are none.
  @exclusivity(unchecked) private var rearrangement: Rearrangement?
  fileprivate let index: Int32
  /// The members' fetch group and the position of the first member in it, for batch faulting.
  @exclusivity(unchecked) var memberGroup: UInt32 = 0
  @exclusivity(unchecked) var memberGroupStart: UInt32 = 0
  /// Whether members were added, removed or moved in the current event.
  @exclusivity(unchecked) var isChangedInEvent = false
  /// Whether the stored members were read together with another object's, and have not been used yet.
  @exclusivity(unchecked) var isReadAhead = false
  #if CIPHERDATA_CHECKS
    private var throttle = CheckThrottle()
  #endif

  init(relationship: CompiledRelationship, base: [ObjectReference]?) {
    self.relationship = relationship
    index = Int32(truncatingIfNeeded: relationship.index)
    self.base = base?[...]
  }

  private func rearrangementForWriting() -> Rearrangement {
    if let rearrangement { return rearrangement }
    let made = Rearrangement()
    rearrangement = made
    return made
  }

  /// The members removed since.
  private(set) var removed: Set<ObjectReference> {
    get { rearrangement?.removed ?? [] }
    _modify { yield &rearrangementForWriting().removed }
  }
  /// Members removed and added again before the stored members were loaded. In an ordered relationship they have moved to the end.
  private var moved: Set<ObjectReference> {
    get { rearrangement?.moved ?? [] }
    _modify { yield &rearrangementForWriting().moved }
  }
  /// All members in order, if an ordered relationship was reordered.
  private(set) var explicitOrder: [ObjectReference]? {
    get { rearrangement?.explicitOrder }
    _modify { yield &rearrangementForWriting().explicitOrder }
  }
  /// The stored members as a set, created when a long list is searched.
  private var baseSet: Set<ObjectReference>? {
    get { rearrangement?.baseSet }
    _modify { yield &rearrangementForWriting().baseSet }
  }

  /// The stored members of a changed ordered relationship from before they were unloaded; nil while members are loaded.
  private var unloadedBase: ArraySlice<ObjectReference>? {
    get { rearrangement?.unloadedBase }
    _modify { yield &rearrangementForWriting().unloadedBase }
  }

  var isLoaded: Bool { base != nil }
  /// Whether the stored members are loaded and in use, so that reading them needs no preparation.
  var isInUse: Bool { isLoaded && !isReadAhead }
  var isChanged: Bool { !added.isEmpty || rearrangement != nil && (!removed.isEmpty || explicitOrder != nil) }

  /// Sets the stored members.
  ///
  /// - Returns: The members whose addition or removal turned out not to be a change.
  @discardableResult
  func load(_ members: ArraySlice<ObjectReference>) -> [ObjectReference] {
    base = members
    // The usual case.
    if rearrangement == nil, added.isEmpty {
      recordChange()
      return []
    }
    if baseSet != nil { baseSet = nil }
    let arriving = added.elements
    let own = unloadedBase.map { former in
      (former, explicitOrder ?? former.filter { !removed.contains($0) && !added.contains($0) } + arriving)
    }
    let unchanged = arriving.filter { baseContains($0) } + removed.filter { !baseContains($0) }
    if !added.isEmpty { added.removeAll { baseContains($0) } }
    if !removed.isEmpty { removed = removed.filter { baseContains($0) } }
    if let (former, order) = own {
      (explicitOrder, unloadedBase) = (nil, nil)
      let current = self.members
      let merged = current.arranged(by: ThreeWayMerge.order(base: Array(former), mine: order, theirs: Array(members)))
      if merged != current { keep(merged) }
    } else if !moved.isEmpty {
      let current = self.members
      let last = arriving.filter { moved.contains($0) || !baseContains($0) }
      let isLast = Set(last)
      keep(current.filter { !isLast.contains($0) } + last)
    }
    if !moved.isEmpty { moved = [] }
    recordChange()
    return unchanged
  }

  /// Returns whether a reference is a stored member; `nil` while the stored members are not loaded.
  func isStored(_ reference: ObjectReference) -> Bool? { isLoaded ? baseContains(reference) : nil }

  /// Removes a pending change of a member that is not loaded if the inverse relationship shows that it changes nothing.
  ///
  /// - Parameter isStored: Whether the member is a stored one; `nil` if the inverse is not loaded either.
  func settle(_ reference: ObjectReference, isStored: Bool?) {
    guard !isLoaded, let isStored else { return }
    if isStored {
      if !moved.contains(reference) { added.remove(reference) }
    } else if rearrangement != nil {
      removed.remove(reference)
    }
    recordChange()
  }

  private func baseContains(_ reference: ObjectReference) -> Bool {
    guard let base else { return false }
    if base.count <= 8 { return base.contains(reference) }
    if let baseSet { return baseSet.contains(reference) }
    let made = Set(base)
    baseSet = made
    return made.contains(reference)
  }

  /// The current members. The stored members must be loaded.
  var members: [ObjectReference] {
    if let explicitOrder { return explicitOrder }
    guard let base else { return added.elements }
    if added.isEmpty && removed.isEmpty { return Array(base) }
    var result = removed.isEmpty ? Array(base) : base.filter { !removed.contains($0) }
    result.append(contentsOf: added.elements)
    return result
  }

  /// The current members, without a copy if nothing was changed. The stored members must be loaded.
  var visibleMembers: ArraySlice<ObjectReference> {
    if let base, !isChanged { return base }
    return members[...]
  }

  /// The number of current members. The stored members must be loaded.
  var count: Int { explicitOrder?.count ?? (base?.count ?? 0) - removed.count + added.count }

  /// Returns whether a reference is a current member. The stored members must be loaded.
  func contains(_ reference: ObjectReference) -> Bool {
    added.contains(reference) || (baseContains(reference) && !removed.contains(reference))
  }

  /// Appends a member; returns `false` if it is known to be a member already.
  ///
  /// - Parameter isStored: If the members are not loaded, whether the reference is a stored member; `nil` if the inverse is not loaded
  ///   either.
  @discardableResult
  func add(_ reference: ObjectReference, isStored: Bool? = nil) -> Bool {
    let wasRemoved = rearrangement != nil && removed.contains(reference)
    if wasRemoved, relationship.isOrdered {
      if isLoaded { explicitOrder = self.members } else { moved.insert(reference) }
    }
    if wasRemoved { removed.remove(reference) }
    if isStored == true, !isLoaded, !wasRemoved || !relationship.isOrdered {
      if !wasRemoved { return false }
    } else if !isLoaded || !wasRemoved {
      // If the members are not loaded, the reference may already be one of them. It is recorded as added, and loading the members corrects
      // that.
      if baseContains(reference) || !added.append(reference) { return false }
    }
    if rearrangement != nil { explicitOrder?.append(reference) }
    isChangedInEvent = true
    recordChange()
    return true
  }

  /// Removes a member; returns `false` if it is not a member.
  ///
  /// - Parameter isStored: See ``add(_:isStored:)``.
  @discardableResult
  func remove(_ reference: ObjectReference, isStored: Bool? = nil) -> Bool {
    let wasAdded = added.remove(reference)
    if isLoaded {
      guard wasAdded || (baseContains(reference) && removed.insert(reference).inserted) else { return false }
    } else if reference.key > 0, isStored ?? true {
      guard removed.insert(reference).inserted || wasAdded else { return false }
    } else if !wasAdded {
      // A new object, or one that is not stored, is a member only if it was added here.
      return false
    }
    if let explicitOrder { keep(explicitOrder.filter { $0 != reference }) }
    isChangedInEvent = true
    recordChange()
    return true
  }

  // MARK: Undo

  /// Returns the state of a reference, to be recorded for undo.
  func marks(of reference: ObjectReference) -> UndoMarks {
    var marks: UndoMarks = isLoaded ? [] : [.isUnread]
    if added.contains(reference) { marks.insert(.wasAdded) }
    if rearrangement != nil, removed.contains(reference) { marks.insert(.wasRemoved) }
    return marks
  }

  /// Returns whether a change that was made before the members were loaded turned out to change nothing. The members must be loaded and not
  /// saved since.
  func isIneffective(isAddition: Bool, of reference: ObjectReference, _ marks: UndoMarks) -> Bool {
    isAddition ? !marks.contains(.wasRemoved) && baseContains(reference) : !marks.contains(.wasAdded) && !baseContains(reference)
  }

  /// Undoes an addition; returns `false` if there is nothing to undo. A stored member that was added before the members were loaded
  /// remains.
  ///
  /// - Parameter marks: The state of the reference before it was added.
  func undoAddition(of reference: ObjectReference, _ marks: UndoMarks) -> Bool {
    if marks.contains(.isIneffective) { return false }
    if added.remove(reference) {
      if marks.contains(.wasRemoved), reference.key > 0, isLoaded ? baseContains(reference) : true { removed.insert(reference) }
    } else if isLoaded {
      if marks.contains(.isUnread), !marks.contains(.isSaved), isIneffective(isAddition: true, of: reference, marks) { return false }
      guard baseContains(reference), removed.insert(reference).inserted else { return false }
    } else {
      guard reference.key > 0, !marks.isDisjoint(with: [.isSaved, .wasRemoved]), removed.insert(reference).inserted else { return false }
    }
    if rearrangement != nil {
      explicitOrder?.removeAll { $0 == reference }
      if !moved.isEmpty { moved.remove(reference) }
    }
    isChangedInEvent = true
    recordChange()
    return true
  }

  /// Undoes a removal; returns `false` if there is nothing to undo. A reference that was removed before the members were loaded, and was
  /// not a member, does not become one.
  ///
  /// - Parameter marks: The state of the reference before it was removed.
  func undoRemoval(of reference: ObjectReference, _ marks: UndoMarks) -> Bool {
    if marks.contains(.isIneffective) { return false }
    if rearrangement != nil, removed.remove(reference) != nil {
      if !isLoaded, marks.contains(.wasAdded) { added.append(reference) }
    } else if isLoaded {
      if contains(reference)
        || marks.contains(.isUnread) && !marks.contains(.isSaved) && isIneffective(isAddition: false, of: reference, marks)
      {
        return false
      }
      added.append(reference)
    } else {
      guard added.append(reference) else { return false }
    }
    if rearrangement != nil { explicitOrder?.append(reference) }
    isChangedInEvent = true
    recordChange()
    return true
  }

  /// Sets the order of the members. It must contain exactly the current members.
  func setOrder(_ order: [ObjectReference]) {
    isChangedInEvent = true
    keep(order)
  }

  private func keep(_ order: [ObjectReference]) {
    explicitOrder = order
    if let base, removed.isEmpty, added.isEmpty, base.elementsEqual(order) { explicitOrder = nil }
    recordChange()
  }

  /// Removes an explicit order that equals the stored one.
  func forgetStoredOrder() {
    if rearrangement != nil, let explicitOrder { keep(explicitOrder) }
  }

  func discardChanges() {
    isChangedInEvent = false
    added = OrderedReferenceSet()
    guard rearrangement != nil else { return }
    if let baseSet {
      rearrangement = Rearrangement()
      self.baseSet = baseSet
    } else {
      rearrangement = nil
    }
  }

  /// Unloads the stored members, and keeps the changes. When the members are loaded again, their order is merged with the changes of it.
  func unload(keepingOrder: Bool = true) {
    if keepingOrder, relationship.isOrdered, isChanged, let base { unloadedBase = base }
    base = nil
    guard rearrangement != nil else { return }
    baseSet = nil
    if !keepingOrder { (explicitOrder, unloadedBase) = (nil, nil) }
  }

  /// Removes a stored member whose row was deleted.
  ///
  /// - Returns: For an ordered relationship, the order that includes the member; `nil` if it was not a stored member.
  func forgetStored(_ reference: ObjectReference) -> [ObjectReference]? {
    guard isLoaded, baseContains(reference) else { return nil }
    let order = contains(reference) && relationship.isOrdered ? members : nil
    forget([reference])
    return order
  }

  /// Removes members whose rows were deleted.
  func forget(_ references: Set<ObjectReference>) {
    if base?.contains(where: references.contains) ?? false { base?.removeAll(where: references.contains) }
    if rearrangement != nil {
      if explicitOrder?.contains(where: references.contains) ?? false { explicitOrder?.removeAll(where: references.contains) }
      // `removed` must be a subset of the stored members, or `count` would be wrong.
      if base != nil, !removed.isEmpty { removed.subtract(references) }
      baseSet = nil
    }
    recordChange()
  }

  /// Makes the current members the stored ones after a save, and replaces the references of new objects.
  func commit(replacing saved: (ObjectReference) -> ObjectReference) {
    if let order = explicitOrder, isLoaded {
      base = order.map(saved)[...]
      baseSet = nil
    } else if isLoaded {
      // Few additions and removals in a long list must not take time proportional to its length: saves may follow each other quickly.
      removeFromBase()
      let arrived = added.take(replacing: saved)
      if baseSet != nil { baseSet?.formUnion(arrived) }
      if base?.isEmpty ?? true { base = arrived[...] } else { base?.append(contentsOf: arrived) }
    }
    discardChanges()
    recordChange()
  }

  private func removeFromBase() {
    if rearrangement == nil || removed.isEmpty { return }
    if removed.count <= 4 {
      for reference in removed {
        if let position = base?.firstIndex(of: reference) { base?.remove(at: position) }
      }
    } else {
      base?.removeAll(where: removed.contains)
    }
    if baseSet != nil { baseSet?.subtract(removed) }
  }

  /// Returns the members added since, as they are saved.
  ///
  /// - Parameter saved: Returns the permanent reference of a new object, which also replaces the temporary one here.
  func savedAdditions(_ saved: (ObjectReference) -> ObjectReference) -> [ObjectReference] {
    added.replaceNewObjects(saved)
    if rearrangement != nil { explicitOrder = explicitOrder?.map(saved) }
    return added.elements
  }

  /// Replaces the references of new objects by permanent ones.
  func replace(_ saved: (ObjectReference) -> ObjectReference) {
    if base?.contains(where: { $0.key < 0 }) ?? false { base = base?.map(saved)[...] }
    added.replaceNewObjects(saved)
    if rearrangement != nil {
      if removed.contains(where: { $0.key < 0 }) { removed = Set(removed.map(saved)) }
      explicitOrder = explicitOrder?.map(saved)
      unloadedBase = unloadedBase?.map(saved)[...]
      baseSet = nil
    }
    recordChange()
  }

  @inline(__always) private func recordChange() {
    #if CIPHERDATA_CHECKS
      if throttle.isDue((base?.count ?? 0) + added.count + removed.count) { _checkInvariants() }
    #endif
  }
}

/// What an undo record stores about a member or a transient value.
struct UndoMarks: OptionSet {
  let rawValue: UInt8
  /// The stored members were not loaded: it was unknown whether the reference was one of them.
  static let isUnread = UndoMarks(rawValue: 1)
  /// The reference was among the additions.
  static let wasAdded = UndoMarks(rawValue: 2)
  /// The reference was among the removals.
  static let wasRemoved = UndoMarks(rawValue: 4)
  /// The change was saved since.
  static let isSaved = UndoMarks(rawValue: 8)
  /// The change turned out to change nothing: an added reference was a stored member already, or a removed one was not.
  static let isIneffective = UndoMarks(rawValue: 16)
  /// A transient value was unchanged since the last save, which cannot be determined from a row later.
  static let wasClean = UndoMarks(rawValue: 32)
}

/// The states of an object's to-many relationships that were read or changed, in the order of their indexes. The states form a linked list,
/// so that an object with a single state needs no separate list.
struct ToManyStates: Sequence {
  private(set) var first: ToManyState?

  struct Iterator: IteratorProtocol {
    fileprivate var following: ToManyState?

    mutating func next() -> ToManyState? {
      let state = following
      following = state?.next
      return state
    }
  }

  func makeIterator() -> Iterator { Iterator(following: first) }

  @inline(__always) var isEmpty: Bool { first == nil }

  /// Returns the state of a to-many index; `nil` if it was neither read nor changed.
  @inline(__always) subscript(index: Int) -> ToManyState? {
    guard let first else { return nil }
    return Int(first.index) == index ? first : later(index)
  }

  /// Returns the state of a to-many index without retaining it. The object must not remove it while it is in use.
  // The object retains its states.
  @inline(__always) func unretained(_ index: Int) -> Unmanaged<ToManyState>? {
    guard let first else { return nil }
    // Retained by the object, as above.
    return Int(first.index) == index ? Unmanaged.passUnretained(first) : later(index).map { Unmanaged.passUnretained($0) }
  }

  private func later(_ index: Int) -> ToManyState? {
    var state = first?.next
    while let found = state {
      if Int(found.index) == index { return found }
      state = found.next
    }
    return nil
  }

  /// Inserts the state of a relationship that has none.
  mutating func insert(_ state: ToManyState) {
    #if CIPHERDATA_CHECKS
      checkInvariant(self[Int(state.index)] == nil, "the relationship has a state")
    #endif
    guard var previous = first, previous.index < state.index else {
      state.next = first
      first = state
      return
    }
    while let next = previous.next, next.index < state.index { previous = next }
    state.next = previous.next
    previous.next = state
  }

  /// Removes the states that do not meet a condition.
  mutating func filter(_ condition: (ToManyState) -> Bool) {
    var kept = ToManyStates()
    var state = first
    while let found = state {
      state = found.next
      if condition(found) { kept.insert(found) } else { found.next = nil }
    }
    self = kept
  }
}

#if CIPHERDATA_CHECKS
  extension ToManyState {
    /// Checks that, if the members are loaded, additions are not stored members, removals are, and an explicit order contains exactly the
    /// current members.
    func _checkInvariants() {
      let name = relationship.name
      added._checkInvariants()
      checkInvariant(!removed.contains(where: added.contains), "“\(name)”: a member is added and removed")
      if let explicitOrder { checkInvariant(Set(explicitOrder).count == explicitOrder.count, "“\(name)”: a member has two places") }
      guard let base else { return }
      let stored = Set(base)
      checkInvariant(stored.count == base.count && !base.contains { $0.isNull }, "“\(name)”: a member is stored twice")
      checkInvariant(baseSet == nil || baseSet == stored, "“\(name)”: the members are not those that are searched")
      checkInvariant(removed.isSubset(of: stored), "“\(name)”: what was removed was no member")
      checkInvariant(!added.elements.contains(where: stored.contains), "“\(name)”: what was added was a member")
      let left = stored.subtracting(removed).union(added.elements)
      checkInvariant(Set(members) == left && members.count == left.count, "“\(name)”: the members are others than the changes say")
      checkInvariant(count == left.count, "“\(name)”: \(left.count) members are counted as \(count)")
    }
  }
#endif
