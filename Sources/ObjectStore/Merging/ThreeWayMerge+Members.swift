package import ObjectModel

/// The members that were added to a to-many relationship and removed from it.
package struct MemberDifference<Member: Hashable> {
  /// The added members, in the order in which they were added.
  package var added: [Member] = []
  /// The removed members.
  package var removed: [Member] = []

  @inlinable package init(added: [Member] = [], removed: [Member] = []) { (self.added, self.removed) = (added, removed) }

  /// Creates the difference between two lists of members.
  @inlinable package init(from base: [Member], to members: [Member]) {
    let (former, present) = (Set(base), Set(members))
    added = members.filter { !former.contains($0) }
    removed = base.filter { !present.contains($0) }
  }

  /// Returns members with the difference applied. Members that were added come last.
  @inlinable package func applied(to members: [Member]) -> [Member] {
    let gone = Set(removed)
    return members.filter { !gone.contains($0) }.followed(by: added)
  }
}

extension MemberDifference: Sendable where Member: Sendable {}

extension ThreeWayMerge {
  /// Merges the differences of a to-many relationship, each relative to what its side knew.
  ///
  /// Differences from the same base never conflict: both sides add only what was no member, and remove only what was one. A member that one
  /// side has added and the other has removed is a member.
  ///
  /// - Returns: The merged difference, first with the members that their side added.
  package static func members<Member: Hashable>(mine: MemberDifference<Member>, theirs: MemberDifference<Member>)
    -> MemberDifference<Member>
  {
    let added = theirs.added.followed(by: mine.added)
    let isAdded = Set(added)
    return MemberDifference(added: added, removed: theirs.removed.followed(by: mine.removed).filter { !isAdded.contains($0) })
  }
}

// MARK: - Orders

extension Array where Element: Hashable {
  /// Returns the members in the order of another list. Members that are not in it follow at the end.
  @inlinable package func arranged(by order: [Element]) -> [Element] {
    let (present, named) = (Set(self), Set(order))
    return order.filter(present.contains) + filter { !named.contains($0) }
  }

  /// Returns the members and, at the end, those of another list that are not among them.
  @inlinable package func followed(by others: [Element]) -> [Element] {
    if isEmpty || others.isEmpty { return isEmpty ? others : self }
    let known = Set(self)
    return self + others.filter { !known.contains($0) }
  }
}

extension ThreeWayMerge {
  /// Merges the orders of an ordered relationship. None of the lists contains a member twice.
  ///
  /// The result contains the members of the base that neither side has removed, and those that either side has added. A member that only one
  /// side has moved or added follows the member that it follows there, so that members that were moved or added together stay together:
  /// see ``OrderChange``. If both sides have moved a member, my place of it counts; if both have added members at the same place, mine come
  /// first. With the sides swapped, theirs win.
  ///
  /// If one side has the order of the base, the result is that of the other.
  package static func order(base: [ObjectReference], mine: [ObjectReference], theirs: [ObjectReference]) -> [ObjectReference] {
    if theirs == base { return mine }
    if mine == base { return theirs }
    let (own, others) = (Set(mine), Set(theirs))
    let removed = Set(base.filter { !own.contains($0) || !others.contains($0) })
    // Without removed members, each moved one follows a member that is left.
    let lists = removed.isEmpty ? [base, mine, theirs] : [base, mine, theirs].map { $0.filter { !removed.contains($0) } }
    return OrderChange(from: lists[0], to: lists[1]).applied(to: lists[2])
  }
}
