import ObjectModel
import ObjectStore

extension UndoApplication {
  /// Removes a link whose destination does not exist, and updates the inverse of a link whose destination exists.
  ///
  /// Usually there is nothing to do, since both ends were recorded. Changes that other contexts made below unsaved changes can move ends
  /// without a record.
  func repairLink(_ link: Link) {
    let (object, relationship, destination) = (link.object, link.relationship, link.destination)
    if !destination.isNull, !context.exists(destination, near: object) {
      if relationship.isToMany {
        // The member returns when its earlier deletion is undone, too.
        if destination.key > 0,
          context.registeredObject(destination, near: object)?.flags.isDisjoint(with: [.isRemoved, .isInaccessible]) ?? false
        {
          return
        }
        object.undoAddition(of: destination, at: relationship.index, .isSaved)
      } else if object.referenceValue(relationship.index) == destination {
        object.setReference(ObjectReference(rawValue: 0), at: relationship.index)
      }
      return
    }
    guard !relationship.isToMany, object.flags.isDisjoint(with: [.isDeleted, .isRemoved]),
      let inverse = context.model.inverse(of: relationship),
      object.referenceValue(relationship.index) == destination
    else { return }
    let stored = object.image?.reference(relationship.index) ?? ObjectReference(rawValue: 0)
    if !link.former.isNull, link.former != destination, let former = registered(link.former, near: object) {
      leave(former, inverse, object, isStored: stored == link.former)
    }
    if !destination.isNull { reach(destination, inverse, object, isStored: stored == destination) }
  }

  /// Removes an object from the loaded member lists of other objects, as its deletion did originally. The removal records the member's
  /// position for a later redo.
  func unlink(_ object: ManagedObject) {
    let entity = object.compiledEntity
    for slot in entity.referenceSlots {
      guard let relationship = entity.slots[slot].relationship, relationship.deleteEffect.removesLinks,
        let inverse = context.model.inverse(of: relationship), inverse.isToMany,
        let owner = object.loadedReference(slot), !owner.isNull, let known = registered(owner, near: object)
      else { continue }
      if let state = known.toManyStates[inverse.index], state.isLoaded, state.contains(object.ownReference) {
        known.removeMember(object, from: inverse)
      }
    }
    for state in object.toManyStates where state.isLoaded && state.relationship.deleteEffect == .removesReferences {
      guard let inverse = context.model.inverse(of: state.relationship), inverse.isToMany else { continue }
      for member in state.members {
        guard let known = registered(member, near: object), let other = known.toManyStates[inverse.index], other.isLoaded,
          other.contains(object.ownReference)
        else { continue }
        known.removeMember(object, from: inverse)
      }
    }
  }

  private func registered(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    guard let found = context.registeredObject(reference, near: object),
      found.flags.isDisjoint(with: [.isDeleted, .isRemoved, .isInaccessible])
    else { return nil }
    return found
  }

  /// Removes the object from the inverse of its former destination.
  private func leave(_ former: ManagedObject, _ inverse: CompiledRelationship, _ object: ManagedObject, isStored: Bool) {
    let reference = object.ownReference
    if !inverse.isToMany {
      if former.referenceValue(inverse.index) == reference { former.setReference(ObjectReference(rawValue: 0), at: inverse.index) }
    } else if let state = former.toManyStates[inverse.index], state.isLoaded ? state.contains(reference) : state.added.contains(reference) {
      former.removeMember(object, from: inverse)
    } else if isStored, !(former.toManyStates[inverse.index]?.isLoaded ?? false) {
      former.removeMember(object, from: inverse)
    }
  }

  /// Adds the object to the inverse of its destination.
  private func reach(_ destination: ObjectReference, _ inverse: CompiledRelationship, _ object: ManagedObject, isStored: Bool) {
    let reference = object.ownReference
    if let known = registered(destination, near: object) {
      if !inverse.isToMany {
        if known.referenceValue(inverse.index).isNull { known.setReference(reference, at: inverse.index) }
      } else if let state = known.toManyStates[inverse.index] {
        if state.isLoaded ? !state.contains(reference) : state.removed.contains(reference) {
          known.undoRemoval(of: reference, at: inverse.index, [])
        } else if !state.isLoaded, !isStored {
          known.addMember(reference, at: inverse.index)
        }
      } else if !isStored {
        known.addMember(reference, at: inverse.index)
      }
    } else if !isStored, let made = context.object(destination, near: object) {
      if inverse.isToMany {
        made.addMember(reference, at: inverse.index)
      } else if made.referenceValue(inverse.index).isNull {
        made.setReference(reference, at: inverse.index)
      }
    }
  }
}
