// ManagedObject+HeardMembers: members that come and go in contexts that are to hear of it.
import ObjectModel

extension ManagedObject {
  /// Adds to the state alone, and tells of it.
  final func addMemberHeard(_ reference: ObjectReference, at index: Int, isStored: Bool?) {
    let state = state(index)
    let marks = state.marks(of: reference)
    guard state.add(reference, isStored: isStored) else { return }
    if !flags.contains(.isAwaking) { managedObjectContext?.recorder?.record(.added, reference, of: self, at: index, marks) }
    noteChange()
  }

  /// Removes from the state alone, and tells of it.
  final func removeMemberHeard(_ reference: ObjectReference, from state: ToManyState, isStored: Bool?) {
    readOrder(of: state)
    let marks = state.marks(of: reference)
    let undo = flags.contains(.isAwaking) ? nil : managedObjectContext?.recorder
    // Where it stood is not known afterwards.
    if let undo, state.relationship.isOrdered, state.isLoaded, state.contains(reference) { undo.recordOrder(of: self, state) }
    guard state.remove(reference, isStored: isStored) else { return }
    undo?.record(.removed, reference, of: self, at: state.relationship.index, marks)
    noteChange()
  }

  /// In which place a member stands that is to go is known by the members only.
  private final func readOrder(of state: ToManyState) {
    if state.relationship.isOrdered, !state.isLoaded { managedObjectContext?.loadMembers(of: self, state: state) }
  }

  /// Takes an addition back, if it is still there.
  ///
  /// - Parameter marks: What was known of the member before it was added.
  /// - Returns: Whether anything was changed.
  @discardableResult
  final func takeBackAddition(of reference: ObjectReference, at index: Int, _ marks: UndoRecord.Marks) -> Bool {
    let state = state(index)
    readOrder(of: state)
    let now = state.marks(of: reference)
    let undo = managedObjectContext?.recorder
    if state.relationship.isOrdered, state.isLoaded, state.contains(reference) { undo?.recordOrder(of: self, state) }
    guard state.takeBackAddition(of: reference, marks) else { return false }
    settle(reference, state)
    undo?.record(.removed, reference, of: self, at: index, now)
    noteChange()
    return true
  }

  /// Takes a removal back.
  ///
  /// - Parameter marks: What was known of the member before it was removed.
  /// - Returns: Whether anything was changed.
  @discardableResult
  final func takeBackRemoval(of reference: ObjectReference, at index: Int, _ marks: UndoRecord.Marks) -> Bool {
    let state = state(index)
    let now = state.marks(of: reference)
    guard state.takeBackRemoval(of: reference, marks) else { return false }
    settle(reference, state)
    managedObjectContext?.recorder?.record(.added, reference, of: self, at: index, now)
    noteChange()
    return true
  }

  /// What is pending for an unread member is dropped if the other end shows that it changes nothing.
  private final func settle(_ reference: ObjectReference, _ state: ToManyState) {
    guard !state.isLoaded, let context = managedObjectContext, let inverse = context.tables.inverse(of: state.relationship),
      inverse.isToMany
    else { return }
    let other = context.registeredObject(reference, near: self)?.toManyStates[inverse.index]
    state.settle(reference, isStored: other?.isStored(ownReference))
  }
}
