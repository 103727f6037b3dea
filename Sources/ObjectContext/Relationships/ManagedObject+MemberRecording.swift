import ObjectModel

extension ManagedObject {
  /// Adds a member without updating the inverse, and records the change for undo.
  final func addRecordedMember(_ reference: ObjectReference, at index: Int, isStored: Bool?) {
    let state = state(index)
    let marks = state.marks(of: reference)
    guard state.add(reference, isStored: isStored) else { return }
    if !flags.contains(.isAwakening) { managedObjectContext?.recorder?.record(.added, reference, of: self, at: index, marks) }
    recordChange()
  }

  /// Removes a member without updating the inverse, and records the change for undo.
  final func removeRecordedMember(_ reference: ObjectReference, from state: ToManyState, isStored: Bool?) {
    readOrder(of: state)
    let marks = state.marks(of: reference)
    let undo = flags.contains(.isAwakening) ? nil : managedObjectContext?.recorder
    // Record the order before the removal, which loses the member's position.
    if let undo, state.relationship.isOrdered, state.isLoaded, state.contains(reference) { undo.recordOrder(of: self, state) }
    guard state.remove(reference, isStored: isStored) else { return }
    undo?.record(.removed, reference, of: self, at: state.relationship.index, marks)
    recordChange()
  }

  /// Loads the members of an ordered relationship, because a member's position is known only after loading.
  private final func readOrder(of state: ToManyState) {
    if state.relationship.isOrdered, !state.isLoaded { managedObjectContext?.loadMembers(of: self, state: state) }
  }

  /// Undoes an addition, if the member is still present.
  ///
  /// - Parameter marks: The member's state before it was added.
  /// - Returns: Whether anything changed.
  @discardableResult
  final func undoAddition(of reference: ObjectReference, at index: Int, _ marks: UndoRecord.Marks) -> Bool {
    let state = state(index)
    readOrder(of: state)
    let now = state.marks(of: reference)
    let undo = managedObjectContext?.recorder
    if state.relationship.isOrdered, state.isLoaded, state.contains(reference) { undo?.recordOrder(of: self, state) }
    guard state.undoAddition(of: reference, marks) else { return false }
    settle(reference, state)
    undo?.record(.removed, reference, of: self, at: index, now)
    recordChange()
    return true
  }

  /// Undoes a removal.
  ///
  /// - Parameter marks: The member's state before it was removed.
  /// - Returns: Whether anything changed.
  @discardableResult
  final func undoRemoval(of reference: ObjectReference, at index: Int, _ marks: UndoRecord.Marks) -> Bool {
    let state = state(index)
    let now = state.marks(of: reference)
    guard state.undoRemoval(of: reference, marks) else { return false }
    settle(reference, state)
    managedObjectContext?.recorder?.record(.added, reference, of: self, at: index, now)
    recordChange()
    return true
  }

  /// Drops a pending change of a member that is not loaded if the other end shows that the change has no effect.
  private final func settle(_ reference: ObjectReference, _ state: ToManyState) {
    guard !state.isLoaded, let context = managedObjectContext, let inverse = context.tables.inverse(of: state.relationship),
      inverse.isToMany
    else { return }
    let other = context.registeredObject(reference, near: self)?.toManyStates[inverse.index]
    state.settle(reference, isStored: other?.isStored(ownReference))
  }
}
