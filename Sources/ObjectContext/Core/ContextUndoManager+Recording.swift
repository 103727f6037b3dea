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

  @inline(__always) func record(_ former: Slot, of object: ManagedObject, at slot: Int, _ marks: UndoRecord.Marks = []) {
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
  func record(_ kind: UndoRecord.Kind, _ member: ObjectReference, of object: ManagedObject, at index: Int, _ marks: UndoRecord.Marks) {
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
