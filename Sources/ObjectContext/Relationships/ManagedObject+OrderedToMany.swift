// ManagedObject+OrderedToMany: several members of an ordered relationship at once: what generated helpers call.
import ObjectModel

extension ManagedObject {
  /// Inserts objects into an ordered relationship one behind the other, moving those that are members already.
  ///
  /// - Parameters:
  ///   - members: The objects; one that comes twice stands where it comes first.
  ///   - position: The place of the first among the members that are not moved; the number of members, too, is the end. At a place that is not there
  ///     nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  ///   - index: The relationship's to-many index. Linear in the number of members.
  public final func _insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int) {
    let (old, moved) = (_toManyArray(index, as: ManagedObject.self), Set(members))
    guard hasPosition(position, upTo: old.count, compiledEntity.toManyRelationships[index]) else { return }
    var new = old.filter { !moved.contains($0) }
    new.insert(contentsOf: Self.once(members), at: min(max(position, 0), new.count))
    if new != old { _setToMany(new, at: index) }
  }

  /// Takes the members at positions out of an ordered relationship. Where there is none at one of them nothing is changed, and
  /// ``ManagedObjectContext/pendingError`` tells.
  public final func _removeFromToMany(positions: some Sequence<Int>, at index: Int) {
    let positions = Set(positions)
    let members = _toManyArray(index, as: ManagedObject.self)
    let relationship = compiledEntity.toManyRelationships[index]
    for position in positions where !hasPosition(position, upTo: members.count - 1, relationship) { return }
    for (position, member) in members.enumerated() where positions.contains(position) { _removeFromToMany(member, at: index) }
  }

  /// Puts an object in the place of the member at a position of an ordered relationship. Where there is none nothing is changed, and
  /// ``ManagedObjectContext/pendingError`` tells.
  ///
  /// - Parameters:
  ///   - position: The place of the member that goes.
  ///   - member: The object that comes.
  ///   - index: The relationship's number.
  public final func _replaceInToMany(position: Int, with member: ManagedObject, at index: Int) {
    guard hasPosition(position, upTo: _toManyCount(index) - 1, compiledEntity.toManyRelationships[index]) else { return }
    _replaceInToMany(position..<position + 1, with: [member], at: index)
  }

  /// Puts objects in the places of the members at positions of an ordered relationship, moving those that are members already.
  ///
  /// - Parameters:
  ///   - positions: The places. With one that is not there nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  ///   - members: The objects, as many as are wanted; one that comes twice stands where it comes first.
  ///   - index: The relationship's to-many index. Linear in the number of members.
  public final func _replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int) {
    let (old, moved) = (_toManyArray(index, as: ManagedObject.self), Set(members))
    let relationship = compiledEntity.toManyRelationships[index]
    for bound in [positions.lowerBound, positions.upperBound] where !hasPosition(bound, upTo: old.count, relationship) { return }
    let new =
      old[..<positions.lowerBound].filter { !moved.contains($0) } + Self.once(members)
      + old[positions.upperBound...].filter { !moved.contains($0) }
    if new != old { _setToMany(new, at: index) }
  }

  private static func once(_ members: [ManagedObject]) -> [ManagedObject] {
    var seen: Set<ManagedObject> = []
    return members.filter { seen.insert($0).inserted }
  }
}
