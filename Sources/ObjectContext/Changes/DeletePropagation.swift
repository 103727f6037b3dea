import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Applies the delete rules of all objects that were deleted since the last call. Uses a work list instead of recursion.
  func propagateDeletes() {
    while let object = unitOfWork.takeUnpropagated() { propagateDelete(of: object) }
  }

  private func propagateDelete(of object: ManagedObject) {
    let entity = object.compiledEntity
    for slot in entity.slots {
      guard let relationship = slot.relationship else { continue }
      propagate(relationship, ofToOneIn: object)
    }
    for relationship in entity.toManyRelationships { propagate(relationship, ofToManyIn: object) }
  }

  private func propagate(_ relationship: CompiledRelationship, ofToOneIn object: ManagedObject) {
    guard relationship.deleteEffect.removesLinks else { return }
    let reference = object.referenceValue(relationship.index)
    if reference.isNull { return }
    if relationship.deleteEffect == .deletesMembers {
      if let destination = destination(reference, of: object, slot: relationship.index) { cascade(to: destination) }
    }
    // Also after a cascade: the destination may be deleted while its members are still read.
    if let inverse = model.inverse(of: relationship) {
      if inverse.isToMany {
        // An unregistered owner needs no update: the foreign key is deleted with the row.
        if let owner = registeredObject(reference, near: object), !owner.flags.contains(.isDeleted) {
          owner.removeMember(object, from: inverse)
        }
      } else if let destination = destination(reference, of: object, slot: relationship.index), !destination.flags.contains(.isDeleted),
        destination.referenceValue(inverse.index) == object.currentID.reference
      {
        destination.setReference(ObjectReference(rawValue: 0), at: inverse.index)
      }
    } else if relationship.followedInverseID != nil,
      let destination = destination(reference, of: object, slot: relationship.index)
    {
      follow(relationship, removing: destination, from: object)
    }
  }

  private func propagate(_ relationship: CompiledRelationship, ofToManyIn object: ManagedObject) {
    switch relationship.deleteEffect {
    case .forbidsDeletion, .leavesMembers: return
    case .deletesMembers:
      guard let state = object.loadedState(relationship.index) else { return }
      for (offset, reference) in state.members.enumerated() {
        if let member = member(reference, of: object, state: state, offset: offset) { cascade(to: member) }
      }
    case .removesReferences:
      guard let inverse = model.inverse(of: relationship) else {
        guard relationship.followedInverseID != nil, let state = object.loadedState(relationship.index) else { return }
        for (offset, reference) in state.members.enumerated() {
          if let member = member(reference, of: object, state: state, offset: offset) {
            follow(relationship, removing: member, from: object)
          }
        }
        return
      }
      // Join-table rows are deleted with the row. Members need an update only if some have loaded their side.
      if inverse.isToMany, !membershipTracker.mayHaveState(of: inverse) { return }
      guard let state = object.loadedState(relationship.index) else { return }
      for (offset, reference) in state.members.enumerated() {
        if inverse.isToMany {
          if let member = registeredObject(reference, near: object), !member.flags.contains(.isDeleted),
            member.toManyStates[inverse.index] != nil
          {
            member.removeMember(object, from: inverse)
          }
        } else if let member = member(reference, of: object, state: state, offset: offset), !member.flags.contains(.isDeleted),
          member.referenceValue(inverse.index) == object.currentID.reference
        {
          member.setReference(ObjectReference(rawValue: 0), at: inverse.index)
        }
      }
    }
  }

  private func cascade(to object: ManagedObject) {
    if object.flags.contains(.isDeleted) { return }
    object.prepareForDeletion()
    recorder?.recordDeletion(of: object)
    unitOfWork.recordDeletion(object)
  }
}
