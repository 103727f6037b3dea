import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Updates the inverse that a relationship names but that does not name it back. Updates this side only, as Core Data does.
  ///
  /// The update maintains the inverse's own inverse, but follows no further ones, so that cycles terminate.
  func follow(_ relationship: CompiledRelationship, adding destination: ManagedObject, to owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { membershipTracker.endFollowing() }
    if inverse.isToMany { destination.addToToMany(owner, at: inverse.index) } else { destination.setToOne(owner, at: inverse.index) }
  }

  /// Removes an owner from the named inverse of an object that is removed from the owner's relationship.
  func follow(_ relationship: CompiledRelationship, removing destination: ManagedObject, from owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { membershipTracker.endFollowing() }
    if inverse.isToMany {
      destination.removeFromToMany(owner, at: inverse.index)
    } else if destination.referenceValue(inverse.index) == owner.currentID.reference {
      destination.setToOne(nil, at: inverse.index)
    }
  }

  /// Returns the inverse to update. Balance each result with ``MembershipTracker/endFollowing()``.
  private func followed(by relationship: CompiledRelationship, from destination: ManagedObject) -> CompiledRelationship? {
    guard let inverse = model.followedInverse(of: relationship), destination.flags.isDisjoint(with: [.isDeleted, .isRemoved]),
      membershipTracker.beginFollowing()
    else { return nil }
    return inverse
  }
}
