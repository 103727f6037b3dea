// ToManyState: what an object knows of one to-many relationship: the stored members and what was changed since.
import ObjectModel

/// One to-many relationship of one object. The stored members are never copied: changes are kept beside them, also while the members are not loaded.
final class ToManyState {
  /// What few states have.
  private final class Rearrangement {
    var removed: Set<ObjectReference> = []
    var moved: Set<ObjectReference> = []
    var explicitOrder: [ObjectReference]?
    var baseSet: Set<ObjectReference>?
  }

  let relationship: CompiledRelationship
  /// The state of the object's next relationship that has one: see ``ToManyStates``.
  // Exclusivity is unchecked for the reason below.
  @exclusivity(unchecked) fileprivate(set) var next: ToManyState?
  /// The stored members; nil while they are not loaded.
  // A range of the array that they were read into with other objects' members. Touched in its context's isolation alone.
  @exclusivity(unchecked) private(set) var base: ArraySlice<ObjectReference>?
  /// Members added since, in order. While the base is not loaded some of them may be in it.
  // A context's isolation admits one access at a time, and nothing here calls back: the checks cost as much as adding a member.
  @exclusivity(unchecked) private(set) var added = ReferenceList()
  /// What was removed or put into another order; nil as long as nothing was.
  @exclusivity(unchecked) private var rearrangement: Rearrangement?
  /// The relationship's to-many index.
  fileprivate let index: Int32
  /// Where the members stand in their fetch group, for batch faulting.
  @exclusivity(unchecked) var memberGroup: UInt32 = 0
  @exclusivity(unchecked) var memberGroupStart: UInt32 = 0
  /// Whether members came, went or moved in the event under way.
  @exclusivity(unchecked) var isChangedInEvent = false
  /// Whether the base was read with another object's, and was not asked for yet.
  @exclusivity(unchecked) var isReadAhead = false
  #if CIPHERDATA_CHECKS
    private var pacer = CheckPacer()
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

  /// Members removed since.
  private(set) var removed: Set<ObjectReference> {
    get { rearrangement?.removed ?? [] }
    _modify { yield &rearrangementForWriting().removed }
  }
  /// Members taken out and added again before the stored ones were read: in an ordered relationship they have moved to the end.
  private var moved: Set<ObjectReference> {
    get { rearrangement?.moved ?? [] }
    _modify { yield &rearrangementForWriting().moved }
  }
  /// All members in their order, once an ordered relationship was rearranged.
  private(set) var explicitOrder: [ObjectReference]? {
    get { rearrangement?.explicitOrder }
    _modify { yield &rearrangementForWriting().explicitOrder }
  }
  /// The base as a set, made when a large one is searched.
  private var baseSet: Set<ObjectReference>? {
    get { rearrangement?.baseSet }
    _modify { yield &rearrangementForWriting().baseSet }
  }

  var isLoaded: Bool { base != nil }
  /// Whether the stored members are loaded and somebody has asked for them: nothing is to be done before they are looked at.
  var isInUse: Bool { isLoaded && !isReadAhead }
  var isChanged: Bool { !added.isEmpty || rearrangement != nil && (!removed.isEmpty || explicitOrder != nil) }

  /// Takes the stored members.
  ///
  /// - Returns: Members whose addition or removal turned out to be no change.
  @discardableResult
  func load(_ members: ArraySlice<ObjectReference>) -> [ObjectReference] {
    base = members
    // As nearly always.
    if rearrangement == nil, added.isEmpty {
      noteChange()
      return []
    }
    if baseSet != nil { baseSet = nil }
    let arriving = added.elements
    let unchanged = arriving.filter { baseContains($0) } + removed.filter { !baseContains($0) }
    if !added.isEmpty { added.removeAll { baseContains($0) } }
    if !removed.isEmpty { removed = removed.filter { baseContains($0) } }
    if let order = explicitOrder { rearrange(by: order) }
    if !moved.isEmpty, explicitOrder == nil {
      let current = self.members
      let last = arriving.filter { moved.contains($0) || !baseContains($0) }
      let isLast = Set(last)
      keep(current.filter { !isLast.contains($0) } + last)
    }
    if !moved.isEmpty { moved = [] }
    noteChange()
    return unchanged
  }

  /// Whether a reference is a stored member; nil while the stored members are not loaded.
  func isStored(_ reference: ObjectReference) -> Bool? { isLoaded ? baseContains(reference) : nil }

  /// Drops a pending change of an unread member if it changes nothing, as the other end of the link shows.
  ///
  /// - Parameter isStored: Whether the member is a stored one; nil where the other end is unread too.
  func settle(_ reference: ObjectReference, isStored: Bool?) {
    guard !isLoaded, let isStored else { return }
    if isStored {
      if !moved.contains(reference) { added.remove(reference) }
    } else if rearrangement != nil {
      removed.remove(reference)
    }
    noteChange()
  }

  /// Members in an order given before they were read anew; those that it does not name come last.
  private func rearrange(by order: [ObjectReference]) {
    explicitOrder = nil
    let current = members
    let (isMember, isNamed) = (Set(current), Set(order))
    keep(order.filter(isMember.contains) + current.filter { !isNamed.contains($0) })
  }

  private func baseContains(_ reference: ObjectReference) -> Bool {
    guard let base else { return false }
    if base.count <= 8 { return base.contains(reference) }
    if let baseSet { return baseSet.contains(reference) }
    let made = Set(base)
    baseSet = made
    return made.contains(reference)
  }

  /// The members as they are now. The base must be loaded.
  var members: [ObjectReference] {
    if let explicitOrder { return explicitOrder }
    guard let base else { return added.elements }
    if added.isEmpty && removed.isEmpty { return Array(base) }
    var result = removed.isEmpty ? Array(base) : base.filter { !removed.contains($0) }
    result.append(contentsOf: added.elements)
    return result
  }

  /// The members as they are now, without a copy where nothing was changed. The base must be loaded.
  var visibleMembers: ArraySlice<ObjectReference> {
    if let base, !isChanged { return base }
    return members[...]
  }

  /// How many members there are now. The base must be loaded.
  var count: Int { explicitOrder?.count ?? (base?.count ?? 0) - removed.count + added.count }

  /// Whether an object is a member now. The base must be loaded.
  func contains(_ reference: ObjectReference) -> Bool {
    added.contains(reference) || (baseContains(reference) && !removed.contains(reference))
  }

  /// Adds a member at the end; false when it was one already, as far as is known.
  ///
  /// - Parameter isStored: For unread members, whether it is a stored one; nil where the other end does not show that either.
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
      // Unread members may or may not have had it: it is added, and taken out of the additions again if it turns out to have been there.
      if baseContains(reference) || !added.append(reference) { return false }
    }
    if rearrangement != nil { explicitOrder?.append(reference) }
    isChangedInEvent = true
    noteChange()
    return true
  }

  /// Takes a member out; false when it was none.
  ///
  /// - Parameter isStored: As for ``add(_:isStored:)``.
  @discardableResult
  func remove(_ reference: ObjectReference, isStored: Bool? = nil) -> Bool {
    let wasAdded = added.remove(reference)
    if isLoaded {
      guard wasAdded || (baseContains(reference) && removed.insert(reference).inserted) else { return false }
    } else if reference.key > 0, isStored ?? true {
      guard removed.insert(reference).inserted || wasAdded else { return false }
    } else if !wasAdded {
      // A new object, and one that is not stored, can only have been added here.
      return false
    }
    if rearrangement != nil { explicitOrder?.removeAll { $0 == reference } }
    isChangedInEvent = true
    noteChange()
    return true
  }

  // MARK: Taking changes back

  /// What is known of a reference.
  func marks(of reference: ObjectReference) -> UndoRecord.Marks {
    var marks: UndoRecord.Marks = isLoaded ? [] : [.isUnread]
    if added.contains(reference) { marks.insert(.wasAdded) }
    if rearrangement != nil, removed.contains(reference) { marks.insert(.wasRemoved) }
    return marks
  }

  /// Whether a change that was made without a look at the members was none. They must have been read since, and not been saved.
  func isVoid(_ kind: UndoRecord.Kind, of reference: ObjectReference, _ marks: UndoRecord.Marks) -> Bool {
    switch kind {
    case .added: !marks.contains(.wasRemoved) && baseContains(reference)
    case .removed: !marks.contains(.wasAdded) && !baseContains(reference)
    default: false
    }
  }

  /// Takes an addition back; false where there is nothing to take back. A stored member that was added without a look at the members stays.
  ///
  /// - Parameter marks: What was known of the reference before it was added.
  func takeBackAddition(of reference: ObjectReference, _ marks: UndoRecord.Marks) -> Bool {
    if marks.contains(.isVoid) { return false }
    if added.remove(reference) {
      if marks.contains(.wasRemoved), reference.key > 0, isLoaded ? baseContains(reference) : true { removed.insert(reference) }
    } else if isLoaded {
      if marks.contains(.isUnread), !marks.contains(.isSaved), isVoid(.added, of: reference, marks) { return false }
      guard baseContains(reference), removed.insert(reference).inserted else { return false }
    } else {
      guard reference.key > 0, !marks.isDisjoint(with: [.isSaved, .wasRemoved]), removed.insert(reference).inserted else { return false }
    }
    if rearrangement != nil {
      explicitOrder?.removeAll { $0 == reference }
      if !moved.isEmpty { moved.remove(reference) }
    }
    isChangedInEvent = true
    noteChange()
    return true
  }

  /// Takes a removal back; false where there is nothing to take back. What was removed without a look at the members, and was none, becomes none.
  ///
  /// - Parameter marks: What was known of the reference before it was removed.
  func takeBackRemoval(of reference: ObjectReference, _ marks: UndoRecord.Marks) -> Bool {
    if marks.contains(.isVoid) { return false }
    if rearrangement != nil, removed.remove(reference) != nil {
      if !isLoaded, marks.contains(.wasAdded) { added.append(reference) }
    } else if isLoaded {
      if contains(reference) || marks.contains(.isUnread) && !marks.contains(.isSaved) && isVoid(.removed, of: reference, marks) {
        return false
      }
      added.append(reference)
    } else {
      guard added.append(reference) else { return false }
    }
    if rearrangement != nil { explicitOrder?.append(reference) }
    isChangedInEvent = true
    noteChange()
    return true
  }

  /// Gives the members an order. They must be the members that there are.
  func setOrder(_ order: [ObjectReference]) {
    isChangedInEvent = true
    keep(order)
  }

  private func keep(_ order: [ObjectReference]) {
    explicitOrder = order
    if let base, removed.isEmpty, added.isEmpty, base.elementsEqual(order) { explicitOrder = nil }
    noteChange()
  }

  /// Forgets an order that is the stored one.
  func forgetStoredOrder() {
    if rearrangement != nil, let explicitOrder { keep(explicitOrder) }
  }

  /// Forgets the changes.
  func discardChanges() {
    isChangedInEvent = false
    added = ReferenceList()
    guard rearrangement != nil else { return }
    if let baseSet {
      rearrangement = Rearrangement()
      self.baseSet = baseSet
    } else {
      rearrangement = nil
    }
  }

  /// Forgets the stored members but keeps the changes.
  func unload(keepingOrder: Bool = true) {
    base = nil
    guard rearrangement != nil else { return }
    baseSet = nil
    if !keepingOrder { explicitOrder = nil }
  }

  /// Forgets that a member is stored, since its row was deleted.
  ///
  /// - Returns: The order of an ordered relationship with the member in its place; nil if it was no stored member.
  func forgetStored(_ reference: ObjectReference) -> [ObjectReference]? {
    guard isLoaded, baseContains(reference) else { return nil }
    let order = contains(reference) && relationship.isOrdered ? members : nil
    forget([reference])
    return order
  }

  /// Forgets members whose rows are gone.
  func forget(_ gone: Set<ObjectReference>) {
    if base?.contains(where: gone.contains) ?? false { base?.removeAll(where: gone.contains) }
    if rearrangement != nil {
      if explicitOrder?.contains(where: gone.contains) ?? false { explicitOrder?.removeAll(where: gone.contains) }
      // What is no member any more cannot be taken out: it would be counted twice.
      if base != nil, !removed.isEmpty { removed.subtract(gone) }
      baseSet = nil
    }
    noteChange()
  }

  /// The changes were saved: the members as they are now become the base, with references of new objects replaced by their saved ones.
  func commit(replacing saved: (ObjectReference) -> ObjectReference) {
    if let order = explicitOrder, isLoaded {
      base = order.map(saved)[...]
      baseSet = nil
    } else if isLoaded {
      // One member more or less of many must not cost a walk through all: saves come one after the other.
      removeFromBase()
      let arrived = added.take(replacing: saved)
      if baseSet != nil { baseSet?.formUnion(arrived) }
      if base?.isEmpty ?? true { base = arrived[...] } else { base?.append(contentsOf: arrived) }
    }
    discardChanges()
    noteChange()
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

  /// The members added since, as they are saved.
  ///
  /// - Parameter saved: The reference that a new object is saved by, which it is known by here from now on.
  func savedAdditions(_ saved: (ObjectReference) -> ObjectReference) -> [ObjectReference] {
    added.replaceNewObjects(saved)
    if rearrangement != nil { explicitOrder = explicitOrder?.map(saved) }
    return added.elements
  }

  /// References of new objects were replaced by permanent ones.
  func replace(_ saved: (ObjectReference) -> ObjectReference) {
    if base?.contains(where: { $0.key < 0 }) ?? false { base = base?.map(saved)[...] }
    added.replaceNewObjects(saved)
    if rearrangement != nil {
      if removed.contains(where: { $0.key < 0 }) { removed = Set(removed.map(saved)) }
      explicitOrder = explicitOrder?.map(saved)
      baseSet = nil
    }
    noteChange()
  }

  @inline(__always) private func noteChange() {
    #if CIPHERDATA_CHECKS
      if pacer.isDue((base?.count ?? 0) + added.count + removed.count) { _checkInvariants() }
    #endif
  }
}

/// The states of an object's to-many relationships, of those that were touched, in the order of their indexes. Each has the next one: an object with one
/// state needs no list for it.
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

  /// The state of a to-many index; nil where nobody has touched it.
  @inline(__always) subscript(index: Int) -> ToManyState? {
    guard let first else { return nil }
    return Int(first.index) == index ? first : later(index)
  }

  /// The state of a to-many index, not retained: for the object's own use of it, during which nobody takes it out.
  // The object holds its states.
  @inline(__always) func unretained(_ index: Int) -> Unmanaged<ToManyState>? {
    guard let first else { return nil }
    // Held as above.
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

  /// Adds the state of a relationship that has none.
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

  /// Keeps the states that meet a condition.
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
    /// Of loaded members: the additions are none of them, the removals are, and an order is one of those that remain.
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
