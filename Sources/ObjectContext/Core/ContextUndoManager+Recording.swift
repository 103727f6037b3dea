// ContextUndoManager+Recording: what there was before a change, as a record of the open group.
import ObjectModel
import ObjectStore

extension ContextUndoManager {
  /// The open group, where the value that a slot has is to be recorded before it is set: it has no record of it.
  ///
  /// - Parameter isChanged: Whether the slot was set in the event under way.
  @inline(__always) private func groupLacking(valueOf object: ManagedObject, at slot: Int, isChanged: Bool) -> UndoGroup? {
    guard let group = recordingGroup() else { return nil }
    // What was not set in this event is in no group of it.
    if !isChanged, isOfEvent(group) { return group }
    return group.has(object.ownReference, object.ownSpace, slot, isOrder: false) ? nil : group
  }

  /// Whether the value that a slot has is to be recorded before it is set.
  ///
  /// - Parameter isChanged: Whether the slot was set in the event under way.
  @inline(__always) func records(valueOf object: ManagedObject, at slot: Int, isChanged: Bool) -> Bool {
    groupLacking(valueOf: object, at: slot, isChanged: isChanged) != nil
  }

  /// Records the number of a slot, if it is to be.
  @inline(__always) func recordNumber(_ former: Slot, of object: ManagedObject, at slot: Int, isChanged: Bool) {
    guard let group = groupLacking(valueOf: object, at: slot, isChanged: isChanged) else { return }
    group.append(object.ownReference, object.ownSpace, slot, .value, former)
    count(UndoRecord.byteCount, in: group)
  }

  /// Records the value of a slot.
  @inline(__always) func record(_ former: Slot, of object: ManagedObject, at slot: Int, _ marks: UndoRecord.Marks = []) {
    guard let group = recordingGroup() else { return }
    group.append(object.ownReference, object.ownSpace, slot, .value, former, marks)
    count(UndoRecord.byteCount + former.bytesBesideRecord, in: group)
  }

  /// Records the large value of a slot, whose bytes are read when a save is about to replace them.
  func record(_ former: ExternalData, of object: ManagedObject, at slot: Int) {
    guard let group = recordingGroup() else { return }
    group.append(object.ownReference, object.ownSpace, slot, .external, group.add(former))
    count(UndoRecord.byteCount + MemoryLayout<ExternalData>.stride, in: group)
  }

  /// Records that a member came or went.
  ///
  /// - Parameter marks: What was known of it before.
  func record(_ kind: UndoRecord.Kind, _ member: ObjectReference, of object: ManagedObject, at index: Int, _ marks: UndoRecord.Marks) {
    guard let group = recordingGroup() else { return }
    group.append(
      UndoRecord(
        reference: object.ownReference, space: object.ownSpace, property: UInt16(truncatingIfNeeded: index), kind: kind, marks: marks,
        former: .int(member.rawValue)))
    count(UndoRecord.byteCount, in: group)
  }

  /// Records the order of the members before it is changed.
  func recordOrder(of object: ManagedObject, _ state: ToManyState) {
    guard state.relationship.isOrdered, state.isLoaded, let group = recordingGroup() else { return }
    let index = state.relationship.index
    if group.has(object.ownReference, object.ownSpace, index, isOrder: true) { return }
    let members = state.members
    group.append(object.ownReference, object.ownSpace, index, .order, group.add(members))
    count(UndoRecord.byteCount + 32 + members.count * MemoryLayout<ObjectReference>.stride, in: group)
  }

  /// Records that an object came.
  func recordInsertion(of object: ManagedObject) { record(object, .inserted) }

  /// Records that an object goes. It is held.
  func recordDeletion(of object: ManagedObject) { record(object, .deleted) }

  private func record(_ object: ManagedObject, _ kind: UndoRecord.Kind) {
    guard let group = recordingGroup() else { return }
    let former = kind == .deleted ? group.add(object) : Slot.null
    group.append(
      UndoRecord(reference: object.ownReference, space: object.ownSpace, property: 0, kind: kind, marks: [], former: former))
    count(UndoRecord.byteCount + (kind == .deleted ? 8 : 0), in: group)
  }

  /// Records an action of the application.
  func record(_ action: UndoGroup.Action) {
    guard let group = recordingGroup() else { return }
    group.append(
      UndoRecord(reference: ObjectReference(rawValue: 0), space: 0, property: 0, kind: .action, marks: [], former: group.add(action)))
    count(UndoRecord.byteCount + MemoryLayout<UndoGroup.Action>.stride, in: group)
  }

  // MARK: Groups of the library's own

  /// Opens a group for what belongs together, such as what a nested context saves.
  func openOwnGroup() {
    closeEventGroup()
    openGroup()
  }

  /// Closes it.
  func closeOwnGroup() { closeGroup() }
}
