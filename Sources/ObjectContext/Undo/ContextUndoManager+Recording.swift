import ObjectModel
import ObjectStore

extension ContextUndoManager {
  /// Returns the open group if it must record the value of a slot before the slot is set, and does not have a record of it yet.
  ///
  /// - Parameter isChanged: Whether the slot was set in the current event.
  @inline(__always) private func groupMissing(valueOf object: ManagedObject, at slot: Int, isChanged: Bool) -> UndoGroup? {
    guard let group = recordingGroup() else { return nil }
    // A group of the event cannot have a record of a slot that was not set in the event.
    if !isChanged, isOfEvent(group) { return group }
    return group.has(object.ownReference, object.ownSpace, slot, isOrder: false) ? nil : group
  }

  /// Returns whether the value of a slot must be recorded before the slot is set.
  ///
  /// - Parameter isChanged: Whether the slot was set in the current event.
  @inline(__always) func records(valueOf object: ManagedObject, at slot: Int, isChanged: Bool) -> Bool {
    groupMissing(valueOf: object, at: slot, isChanged: isChanged) != nil
  }

  /// Records the number in a slot, if necessary.
  @inline(__always) func recordNumber(_ former: Slot, of object: ManagedObject, at slot: Int, isChanged: Bool) {
    guard let group = groupMissing(valueOf: object, at: slot, isChanged: isChanged) else { return }
    group.append(object.ownReference, object.ownSpace, slot, .value, former)
    count(UndoRecord.byteCount, in: group)
  }

  @inline(__always) func record(_ former: Slot, of object: ManagedObject, at slot: Int, _ marks: UndoMarks = []) {
    guard let group = recordingGroup() else { return }
    group.append(object.ownReference, object.ownSpace, slot, .value, former, marks)
    count(UndoRecord.byteCount + former.bytesOutsideRecord, in: group)
  }

  /// Records the large value of a slot. Its bytes are loaded only when a save is about to replace them.
  func record(_ former: ExternalData, of object: ManagedObject, at slot: Int) {
    guard let group = recordingGroup() else { return }
    group.append(object.ownReference, object.ownSpace, slot, .external, group.add(former))
    count(UndoRecord.byteCount + MemoryLayout<ExternalData>.stride, in: group)
  }

  /// Records that a member was added or removed.
  ///
  /// - Parameter marks: The member's state before the change.
  func record(_ kind: UndoRecord.Kind, _ member: ObjectReference, of object: ManagedObject, at index: Int, _ marks: UndoMarks) {
    guard let group = recordingGroup() else { return }
    group.append(
      UndoRecord(
        reference: object.ownReference, space: object.ownSpace, property: UInt16(truncatingIfNeeded: index), kind: kind, marks: marks,
        former: .int(member.rawValue)))
    count(UndoRecord.byteCount, in: group)
  }

  /// Records the order of the members before it changes.
  func recordOrder(of object: ManagedObject, _ state: ToManyState) {
    guard state.relationship.isOrdered, state.isLoaded, let group = recordingGroup() else { return }
    let index = state.relationship.index
    if group.has(object.ownReference, object.ownSpace, index, isOrder: true) { return }
    let members = state.members
    group.append(object.ownReference, object.ownSpace, index, .order, group.add(members))
    count(UndoRecord.byteCount + 32 + members.count * MemoryLayout<ObjectReference>.stride, in: group)
  }

  func recordInsertion(of object: ManagedObject) { record(object, .inserted) }

  /// Records the deletion of an object, and retains the object.
  func recordDeletion(of object: ManagedObject) { record(object, .deleted) }

  private func record(_ object: ManagedObject, _ kind: UndoRecord.Kind) {
    guard let group = recordingGroup() else { return }
    let former = kind == .deleted ? group.add(object) : Slot.null
    group.append(
      UndoRecord(reference: object.ownReference, space: object.ownSpace, property: 0, kind: kind, marks: [], former: former))
    count(UndoRecord.byteCount + (kind == .deleted ? 8 : 0), in: group)
  }

  func record(_ action: UndoGroup.Action) {
    guard let group = recordingGroup() else { return }
    group.append(
      UndoRecord(reference: ObjectReference(rawValue: 0), space: 0, property: 0, kind: .action, marks: [], former: group.add(action)))
    count(UndoRecord.byteCount + MemoryLayout<UndoGroup.Action>.stride, in: group)
  }

  // MARK: Internal groups

  /// Opens a group for changes that belong together, such as those of a nested context's save.
  func openOwnGroup() {
    closeEventGroup()
    openGroup()
  }

  /// Closes the group that ``openOwnGroup()`` opened.
  func closeOwnGroup() { closeGroup() }
}

// MARK: - Recording writes

extension ManagedObject {
  /// Whether the context records each write before it happens. Objects then do not write in place.
  @inline(__always) final var recordsWrites: Bool {
    // The context clears this reference before it is deallocated.
    contextReference?._withUnsafeGuaranteedRef(\.recordsWrites) ?? false
  }

  /// Records the value of a slot for undo, before a change sets the slot.
  @inline(__always) final func recordWrite(at slot: Int) {
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    contextReference?._withUnsafeGuaranteedRef { context in
      if context.recordsWrites { recordUndo(context, ofWriteAt: slot) }
    }
  }

  @inline(never) private final func recordUndo(_ context: ManagedObjectContext, ofWriteAt slot: Int) {
    guard let undo = context.recorder, undo.records(valueOf: self, at: slot, isChanged: overlay?.isChangedInEvent(slot) ?? false)
    else { return }
    if let external = unreadExternal(slot) { return undo.record(external, of: self, at: slot) }
    // An unreadable value cannot be restored: after undo, the slot is null.
    let isCleanTransient =
      withEntity(\.hasTransientSlots) && compiledEntity.slots[slot].isTransient && !flags.contains(.isInserted)
      && !(overlay?.isDirty(slot) ?? false)
    undo.record((try? loadedSlotValue(slot)) ?? .null, of: self, at: slot, isCleanTransient ? .wasClean : [])
  }

  /// Returns the large value of a slot without reading its bytes; nil if it has none.
  private final func unreadExternal(_ slot: Int) -> ExternalData? {
    if let overlay, overlay.has(slot) { return overlay.external(slot) }
    guard let row, RowImage.mayHaveExternals(row, at: withEntity(\.largeSlots)) else { return nil }
    return RowImage(heldRow: row).external(slot)
  }

  /// Records and sets a number if the overlay stores it as a word. Returns false if the general path is needed.
  final func setRecordedWord(of value: Slot, _ word: Int64, at slot: Int) -> Bool {
    guard let overlay, let row = directRow, slot >= 0, slot < RowImage.slotCount(row), overlay.acceptsWords,
      flags.isDisjoint(with: [.isFault, .isInaccessible, .isRemoved, .isAwakening, .isPartial, .isBatchRow]), let contextReference
    else { return false }
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let undo = context.recorder else { return false }
      undo.recordNumber(overlay.number(at: slot, as: value), of: self, at: slot, isChanged: overlay.isChangedInEvent(slot))
      writeWord(word, at: slot)
      recordChange()
      return true
    }
  }
}

// MARK: - Recording members

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
  final func undoAddition(of reference: ObjectReference, at index: Int, _ marks: UndoMarks) -> Bool {
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
  final func undoRemoval(of reference: ObjectReference, at index: Int, _ marks: UndoMarks) -> Bool {
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
