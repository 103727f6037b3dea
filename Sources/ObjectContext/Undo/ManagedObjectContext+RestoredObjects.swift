import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Restores an object that was deleted in this context. If the deletion was not saved, the object returns to its earlier state. If the
  /// deletion was saved, or the object was never saved, it becomes a new object.
  ///
  /// - Returns: False if the object is not deleted, or if the context has another object with its ID.
  func restoreObject(_ object: ManagedObject) -> Bool {
    if object.contextReference != nil {
      guard object.managedObjectContext === self, object.flags.contains(.isDeleted), !object.flags.contains(.isInaccessible) else {
        return false
      }
      recorder?.recordInsertion(of: object)
      unitOfWork.revertDeletion(of: object)
      return true
    }
    guard object.flags.contains(.isRemoved), !object.flags.contains(.isFault), object.previousContextNumber == number,
      registeredObject(for: object.currentID) == nil
    else { return false }
    enter(object)
    return true
  }

  /// Registers an object that has left the context as a new object.
  private func enter(_ object: ManagedObject) {
    let wasStored = object.row != nil
    object.previousContextNumber = 0
    object.contextReference = Unmanaged.passUnretained(self)  // cleared in `deinit`
    object.flags.subtract([
      .isRemoved, .isUpdated, .isDeleted, .deletePropagated, .defersDeleteRules, .isAnnounced, .isRestored, .hasPendingChange,
    ])
    object.flags.subtract([
      .isListedAsUpdated, .isListedAsDeleted, .isLocked, .willSaveCalled, .writesInPlace, .isRecent, .isInaccessible, .wasReset,
    ])
    object.flags.insert(.isInserted)
    if wasStored { object.becomeInserted() }
    register(object)
    registry.hold(object)
    membershipTracker.markRestored(object.currentID.reference)
    recorder?.recordInsertion(of: object)
    unitOfWork.recordInsertion(object)
    if wasStored { relink(object) }
  }

  /// Restores the relationships of an object whose deletion was saved: its former members and the inverse ends.
  private func relink(_ object: ManagedObject) {
    let former = object.toManyStates
    object.toManyStates = ToManyStates()
    let (entity, reference) = (object.compiledEntity, object.currentID.reference)
    for slot in entity.referenceSlots {
      let other = object.referenceValue(slot)
      guard !other.isNull, let relationship = entity.slots[slot].relationship, let inverse = model.inverse(of: relationship) else {
        continue
      }
      guard exists(other, near: object), let destination = self.object(other, near: object) else { continue }
      if inverse.isToMany {
        destination.addMember(reference, at: inverse.index)
      } else if destination !== object, destination.referenceValue(inverse.index).isNull {
        destination.setReference(reference, at: inverse.index)
      }
    }
    for relationship in entity.toManyRelationships {
      let inverse = model.inverse(of: relationship)
      // With a to-one inverse that keeps its reference, the store may still hold members.
      let isKept = inverse.map { !$0.isToMany } ?? false && !relationship.deleteEffect.leavesNoReferences
      let state = ToManyState(relationship: relationship, base: isKept ? nil : [])
      var members: [ObjectReference] = []
      if let former = former[relationship.index] { members = former.isLoaded ? former.members : former.added.elements }
      for member in members where exists(member, near: object) {
        if let inverse, !inverse.isToMany {
          guard self.object(member, near: object)?.referenceValue(inverse.index) == reference else { continue }
        }
        state.add(member)
      }
      // Members that were added through the inverse above.
      for member in object.toManyStates[relationship.index]?.added.elements ?? [] { state.add(member) }
      object.replaceState(state)
      membershipTracker.recordState(of: relationship)
      guard let inverse, inverse.isToMany else { continue }
      for member in state.added.elements where member != reference {
        guard let other = self.object(member, near: object) else { continue }
        // The deletion removed the stored links, so members that were read earlier are not stored anymore.
        let others = other.toManyStates[inverse.index]
        let order = others?.forgetStored(reference)
        other.addMember(reference, at: inverse.index)
        if let others, let order { other.setOrder(order, of: others) }
      }
    }
  }
}

extension ManagedObject {
  /// Moves all values into the object's overlay, because no store has a row for it anymore.
  fileprivate final func becomeInserted() {
    let entity = compiledEntity
    let values = entity.slots.map { slot in (try? loadedSlotValue(slot.index)) ?? .null }
    setOverlay(nil)
    image = nil
    let overlay = Overlay(of: entity, isWhole: true)
    setOverlay(overlay)
    for slot in entity.slots where !slot.isDerived { overlay.keep(values[slot.index], at: slot.index) }
    readOverlay()
  }

  fileprivate final func replaceState(_ state: ToManyState) {
    toManyStates.filter { $0.relationship.index != state.relationship.index }
    toManyStates.insert(state)
  }

  /// Removes pending changes that equal the stored values. An object without other changes becomes unchanged.
  final func discardUnchangedValues() {
    guard let context = managedObjectContext, flags.isDisjoint(with: [.isInserted, .isRemoved, .isInaccessible]) else { return }
    if let overlay, let image {
      let entity = compiledEntity
      for slot in entity.slots
      where slot.kind != .none && !slot.isTransient && overlay.isDirty(slot.index)
        && !overlay.differs(slot, from: image, in: context)
      {
        overlay.forget(slot.index)
      }
      if overlay.dirty.isEmpty, overlay.isEmpty {
        setOverlay(nil)
        updateDirectRow()
      } else {
        readOverlay()
      }
    }
    for state in toManyStates { state.forgetStoredOrder() }
    if overlay?.dirty.isEmpty ?? true, !toManyStates.contains(where: \.isChanged) { flags.remove(.isUpdated) }
  }
}
