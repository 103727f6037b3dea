// ManagedObject+OrderedToMany: several members of an ordered relationship at once: what generated helpers call.

extension ManagedObject {
  /// Inserts objects into an ordered relationship one behind the other, moving those that are members already.
  ///
  /// - Parameters:
  ///   - members: The objects; one that comes twice stands where it comes first.
  ///   - position: The place of the first among the members that are not moved; a place beyond the ends is the end.
  ///   - index: The relationship's to-many index. Linear in the number of members.
  public final func insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    var new = old.filter { !moved.contains($0) }
    new.insert(contentsOf: Self.once(members), at: min(max(position, 0), new.count))
    if new != old { setToMany(new, at: index) }
  }

  /// Takes the members at positions out of an ordered relationship; positions where there is none are passed over.
  public final func removeFromToMany(positions: some Sequence<Int>, at index: Int) {
    let positions = Set(positions)
    let members = toManyArray(index, as: ManagedObject.self)
    for (position, member) in members.enumerated() where positions.contains(position) { removeFromToMany(member, at: index) }
  }

  /// Puts an object in the place of the member at a position of an ordered relationship; nothing happens when there is none.
  public final func replaceInToMany(position: Int, with member: ManagedObject, at index: Int) {
    let count = toManyCount(index)
    if (0..<count).contains(position) { replaceInToMany(position..<position + 1, with: [member], at: index) }
  }

  /// Puts objects in the places of the members at positions of an ordered relationship, moving those that are members already.
  ///
  /// - Parameters:
  ///   - positions: The places; those beyond the ends are passed over.
  ///   - members: The objects, as many as are wanted; one that comes twice stands where it comes first.
  ///   - index: The relationship's to-many index. Linear in the number of members.
  public final func replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int) {
    let (old, moved) = (toManyArray(index, as: ManagedObject.self), Set(members))
    let range = positions.clamped(to: 0..<old.count)
    let new =
      old[..<range.lowerBound].filter { !moved.contains($0) } + Self.once(members)
      + old[range.upperBound...].filter { !moved.contains($0) }
    if new != old { setToMany(new, at: index) }
  }

  private static func once(_ members: [ManagedObject]) -> [ManagedObject] {
    var seen: Set<ManagedObject> = []
    return members.filter { seen.insert($0).inserted }
  }
}
