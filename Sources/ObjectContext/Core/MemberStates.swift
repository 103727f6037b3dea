// MemberStates: what a context knows of the members of to-many relationships that were read or changed.
package import ObjectModel

/// What a context knows of the members that its objects have read: which relationships some object has a state of, and which members are gone.
///
/// The states themselves lie in the objects. Asked before the objects are walked, so that a relationship that nobody has looked at costs nothing.
package struct MemberStates: ~Copyable {
  private let model: CompiledModel
  /// The relationships, by their numbers, of which some object has a state.
  private var isTouched: [Bool]
  /// Rows that were deleted while objects may still name them as members.
  private var gone: Set<ObjectReference> = []
  /// Whether an inverse is set that does not lead back.
  private var isFollowing = false
  /// How many of them are remembered before they are taken out of the members.
  private static var goneLimit: Int { 4_096 }

  package init(model: CompiledModel) {
    self.model = model
    isTouched = Array(repeating: false, count: model.relationships.count)
  }

  // MARK: Relationships

  /// Some object has a state of a relationship from now on.
  @inline(__always) package mutating func noteState(of relationship: CompiledRelationship) { isTouched[relationship.id] = true }

  /// Whether some object may have a state of a relationship.
  @inline(__always) package func mayHaveState(of relationship: CompiledRelationship) -> Bool { isTouched[relationship.id] }

  /// Whether some object's members may name an object of an entity.
  package func mayNameObject(ofEntity number: Int) -> Bool {
    model.relationships.contains {
      isTouched[$0.id] && $0.isToMany && model.entities[$0.destinationEntity].subtree.contains(number)
    }
  }

  /// The to-many relationships, by their numbers, that some object has a state of and that lead to objects of some entities; nil when there is none.
  package func relationships(toEntities entities: Set<Int>) -> [Bool]? {
    let leading = model.relationships.map { relationship in
      relationship.isToMany && isTouched[relationship.id]
        && entities.contains { model.entities[relationship.destinationEntity].subtree.contains($0) }
    }
    return leading.contains(true) ? leading : nil
  }

  // MARK: Inverses that do not lead back

  /// Begins to set an inverse that does not lead back. False where one is set already: no further one is followed then.
  package mutating func beginFollowing() -> Bool {
    if isFollowing { return false }
    isFollowing = true
    return true
  }

  /// Ends what ``beginFollowing()`` began.
  package mutating func endFollowing() { isFollowing = false }

  // MARK: Members that are gone

  /// Whether some row is known to be gone.
  @inline(__always) package var hasGone: Bool { !gone.isEmpty }

  /// Whether a member's row is known to be gone.
  @inline(__always) package func isGone(_ reference: ObjectReference) -> Bool { !gone.isEmpty && gone.contains(reference) }

  /// Members without those whose rows are known to be gone.
  package func living(_ members: ArraySlice<ObjectReference>) -> [ObjectReference] {
    gone.isEmpty ? Array(members) : members.filter { !gone.contains($0) }
  }

  /// A row was deleted.
  package mutating func noteGone(_ object: ManagedObjectID) {
    if mayNameObject(ofEntity: Int(object.entityNumber)) { gone.insert(object.reference) }
  }

  /// Rows that were deleted are about to be there again, one after the other: until then none is, whoever names it.
  package mutating func noteGone(until objects: [ManagedObjectID]) { gone.formUnion(objects.lazy.map(\.reference)) }

  /// A row that was deleted is to be there again.
  package mutating func noteBack(_ reference: ObjectReference) { gone.remove(reference) }

  /// Rows that were deleted are there again, brought back by others.
  ///
  /// - Returns: Those of them that were known to be gone: members that name them do so from before.
  package mutating func takeBack(_ objects: [ManagedObjectID]) -> Set<ObjectReference> {
    if gone.isEmpty { return [] }
    var back: Set<ObjectReference> = []
    for object in objects { if let reference = gone.remove(object.reference) { back.insert(reference) } }
    return back
  }

  /// Rows were deleted, by others. Only members that stand in join tables are remembered: a change set says which owners the others have left.
  ///
  /// - Parameter unlisted: The relationships, by their numbers, that are read anew anyway.
  package mutating func noteGoneFromJoins(_ objects: [ManagedObjectID], butNotOf unlisted: Set<Int>) {
    var (last, isNamed): (UInt32?, Bool) = (nil, false)
    for object in objects {
      if object.entityNumber != last {
        last = object.entityNumber
        isNamed = model.relationships.contains { relationship in
          isTouched[relationship.id] && relationship.isToMany && !unlisted.contains(relationship.id)
            && model.entities[relationship.destinationEntity].subtree.contains(Int(object.entityNumber))
            && model.inverse(of: relationship)?.isToMany ?? true
        }
      }
      if isNamed { gone.insert(object.reference) }
    }
  }

  /// The rows that are gone, once there are so many that they are to be taken out of the members that name them: a long-lived context must not remember
  /// all that it ever deleted. They are forgotten here.
  package mutating func takeGoneBeyondLimit() -> Set<ObjectReference>? {
    guard gone.count > Self.goneLimit else { return nil }
    defer { gone = [] }
    return gone
  }

  /// All objects have left the context.
  mutating func forgetGone() { gone = [] }
}
