package import ObjectModel

/// Tracking data about the members of to-many relationships in a context: the relationships for which some object has a state, and the
/// deleted rows that members may still include.
///
/// The states themselves are stored in the objects. This type is consulted before objects are visited, so that unused relationships cost
/// nothing.
package struct MembershipTracker: ~Copyable {
  private let model: CompiledModel
  /// Whether some object has a state for a relationship, by relationship number.
  private var mayBeTracked: [Bool]
  /// Deleted rows that objects may still list as members.
  private var removed: Set<ObjectReference> = []
  /// Whether an asymmetric inverse is being set: one whose own inverse is another relationship.
  private var isFollowing = false
  /// The number of deleted rows above which they are removed from the members.
  private static var removedLimit: Int { 4_096 }

  package init(model: CompiledModel) {
    self.model = model
    mayBeTracked = Array(repeating: false, count: model.relationships.count)
  }

  // MARK: Relationships

  /// Records that some object has a state for a relationship.
  @inline(__always) package mutating func recordState(of relationship: CompiledRelationship) { mayBeTracked[relationship.id] = true }

  /// Returns whether some object may have a state for a relationship.
  @inline(__always) package func mayHaveState(of relationship: CompiledRelationship) -> Bool { mayBeTracked[relationship.id] }

  /// Returns whether the members of some object may include an object of an entity.
  package func mayReferenceObject(ofEntity number: Int) -> Bool {
    model.relationships.contains {
      mayBeTracked[$0.id] && $0.isToMany && model.entities[$0.destinationEntity].subtree.contains(number)
    }
  }

  /// Returns, by relationship number, whether a to-many relationship has states and leads to one of some entities; `nil` if there is no
  /// such relationship.
  package func relationships(toEntities entities: Set<Int>) -> [Bool]? {
    let leading = model.relationships.map { relationship in
      relationship.isToMany && mayBeTracked[relationship.id]
        && entities.contains { model.entities[relationship.destinationEntity].subtree.contains($0) }
    }
    return leading.contains(true) ? leading : nil
  }

  // MARK: Asymmetric inverses

  /// Starts setting an asymmetric inverse, whose own inverse is another relationship. Returns `false` if one is already being set: further
  /// ones are not followed then.
  package mutating func beginFollowing() -> Bool {
    if isFollowing { return false }
    isFollowing = true
    return true
  }

  /// Ends the operation that ``beginFollowing()`` started.
  package mutating func endFollowing() { isFollowing = false }

  // MARK: Deleted members

  /// Whether some row is known to be deleted.
  @inline(__always) package var hasRemovedRows: Bool { !removed.isEmpty }

  /// Returns whether a member's row is known to be deleted.
  @inline(__always) package func isRemoved(_ reference: ObjectReference) -> Bool { !removed.isEmpty && removed.contains(reference) }

  /// Returns the members whose rows are not known to be deleted.
  package func existing(_ members: ArraySlice<ObjectReference>) -> [ObjectReference] {
    removed.isEmpty ? Array(members) : members.filter { !removed.contains($0) }
  }

  /// Records the deletion of a row.
  package mutating func markRemoved(_ object: ManagedObjectID) {
    if mayReferenceObject(ofEntity: Int(object.entityNumber)) { removed.insert(object.reference) }
  }

  /// Records rows as deleted that are about to be restored one by one. Until then each counts as deleted in all members.
  package mutating func markRemoved(until objects: [ManagedObjectID]) { removed.formUnion(objects.lazy.map(\.reference)) }

  /// Records that a deleted row is being restored.
  package mutating func markRestored(_ reference: ObjectReference) { removed.remove(reference) }

  /// Records that deleted rows were inserted again by another context or process.
  ///
  /// - Returns: The rows among them that were known to be deleted. Members that list them are outdated.
  package mutating func takeRestored(_ objects: [ManagedObjectID]) -> Set<ObjectReference> {
    if removed.isEmpty { return [] }
    var restored: Set<ObjectReference> = []
    for object in objects { if let reference = removed.remove(object.reference) { restored.insert(reference) } }
    return restored
  }

  /// Records rows that were deleted elsewhere. Only members stored in join tables are affected: for other relationships, a change set lists
  /// the owners whose members have changed.
  ///
  /// - Parameter unlisted: The numbers of the relationships whose members are read again in any case.
  package mutating func markRemovedFromJoins(_ objects: [ManagedObjectID], excluding unlisted: Set<Int>) {
    var (last, isNamed): (UInt32?, Bool) = (nil, false)
    for object in objects {
      if object.entityNumber != last {
        last = object.entityNumber
        isNamed = model.relationships.contains { relationship in
          mayBeTracked[relationship.id] && relationship.isToMany && !unlisted.contains(relationship.id)
            && model.entities[relationship.destinationEntity].subtree.contains(Int(object.entityNumber))
            && model.inverse(of: relationship)?.isToMany ?? true
        }
      }
      if isNamed { removed.insert(object.reference) }
    }
  }

  /// Returns and forgets the deleted rows once there are too many of them, so that the caller removes them from all members. A long-lived
  /// context must not record all rows that were ever deleted.
  package mutating func takeRemovedBeyondLimit() -> Set<ObjectReference>? {
    guard removed.count > Self.removedLimit else { return nil }
    defer { removed = [] }
    return removed
  }

  /// Forgets the deleted rows, after all objects have left the context.
  mutating func discardRemoved() { removed = [] }
}
