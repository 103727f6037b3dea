// ManagedObjectContext+FollowedInverses: named inverses that do not lead back.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Sets the named inverse of a relationship that has no inverse which leads back, as Core Data does: from this side only.
  ///
  /// The inverse keeps its own inverse in sync, but follows no further one, so that a circle of them ends.
  func follow(_ relationship: CompiledRelationship, adding destination: ManagedObject, to owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { memberStates.endFollowing() }
    if inverse.isToMany { destination._addToToMany(owner, at: inverse.index) } else { destination._setToOne(owner, at: inverse.index) }
  }

  /// Takes an owner out of the named inverse of an object that leaves its relationship.
  func follow(_ relationship: CompiledRelationship, removing destination: ManagedObject, from owner: ManagedObject) {
    guard let inverse = followed(by: relationship, from: destination) else { return }
    defer { memberStates.endFollowing() }
    if inverse.isToMany {
      destination._removeFromToMany(owner, at: inverse.index)
    } else if destination.referenceValue(inverse.index) == owner.currentID.reference {
      destination._setToOne(nil, at: inverse.index)
    }
  }

  /// The inverse to set, until ``MemberStates/endFollowing()``.
  private func followed(by relationship: CompiledRelationship, from destination: ManagedObject) -> CompiledRelationship? {
    guard let inverse = model.followedInverse(of: relationship), destination.flags.isDisjoint(with: [.isDeleted, .isGone]),
      memberStates.beginFollowing()
    else { return nil }
    return inverse
  }
}
