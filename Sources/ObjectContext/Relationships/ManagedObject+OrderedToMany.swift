import ObjectModel

extension ManagedObject {
  /// Inserts objects consecutively into an ordered relationship, and moves those that are already members.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - members: The objects. Only the first occurrence of an object counts.
  ///   - position: The position of the first object among the members that are not moved. The number of members is a valid position.
  ///   - index: The relationship's to-many index.
  /// - Complexity: O(*n*) in the number of members.
  package final func insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    guard hasPosition(position, upTo: old.count, compiledEntity.toManyRelationships[index]) else { return }
    var new = old.filter { !moved.contains($0) }
    new.insert(contentsOf: Self.removingDuplicates(members), at: min(max(position, 0), new.count))
    if new != old { setToMany(new, at: index) }
  }

  /// Removes the members at positions of an ordered relationship.
  ///
  /// If any position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  package final func removeFromToMany(positions: some Sequence<Int>, at index: Int) {
    let positions = Set(positions)
    let members = toManyArray(index, as: ManagedObject.self)
    let relationship = compiledEntity.toManyRelationships[index]
    for position in positions where !hasPosition(position, upTo: members.count - 1, relationship) { return }
    for (position, member) in members.enumerated() where positions.contains(position) { removeFromToMany(member, at: index) }
  }

  /// Replaces the member at a position of an ordered relationship.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - position: The position of the member to replace.
  ///   - member: The new member.
  ///   - index: The relationship's to-many index.
  package final func replaceInToMany(position: Int, with member: ManagedObject, at index: Int) {
    guard hasPosition(position, upTo: toManyCount(index) - 1, compiledEntity.toManyRelationships[index]) else { return }
    replaceInToMany(position..<position + 1, with: [member], at: index)
  }

  /// Replaces a range of members of an ordered relationship, and moves objects that are already members.
  ///
  /// If the range is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// - Parameters:
  ///   - positions: The positions of the members to replace.
  ///   - members: The new members, in any number. Only the first occurrence of an object counts.
  ///   - index: The relationship's to-many index.
  /// - Complexity: O(*n*) in the number of members.
  package final func replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    let relationship = compiledEntity.toManyRelationships[index]
    for bound in [positions.lowerBound, positions.upperBound] where !hasPosition(bound, upTo: old.count, relationship) { return }
    let new =
      old[..<positions.lowerBound].filter { !moved.contains($0) } + Self.removingDuplicates(members)
      + old[positions.upperBound...].filter { !moved.contains($0) }
    if new != old { setToMany(new, at: index) }
  }

  private static func removingDuplicates(_ members: [ManagedObject]) -> [ManagedObject] {
    var seen: Set<ManagedObject> = []
    return members.filter { seen.insert($0).inserted }
  }
}
