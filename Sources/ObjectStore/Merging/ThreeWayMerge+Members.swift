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
  /// side has added and the other has removed is a conflict, and ``MergeRules/membership`` decides.
  ///
  /// - Returns: The merged difference, first with the members that their side added, and the members in conflict.
  package static func members<Member: Hashable>(
    mine: MemberDifference<Member>, theirs: MemberDifference<Member>, by rules: MergeRules
  ) -> (difference: MemberDifference<Member>, conflicts: Set<Member>) {
    let conflicts = Set(mine.added).intersection(theirs.removed).union(Set(theirs.added).intersection(mine.removed))
    func merged(_ own: [Member], _ others: [Member], isAddition: Bool) -> [Member] {
      if conflicts.isEmpty { return others.followed(by: own) }
      func without(_ members: [Member], unless isKept: Bool) -> [Member] { isKept ? members : members.filter { !conflicts.contains($0) } }
      let (keepsOwn, keepsOthers) =
        switch rules.membership {
        case .mine: (true, false)
        case .theirs, .neither: (false, true)
        case .adds: (isAddition, isAddition)
        }
      return without(others, unless: keepsOthers).followed(by: without(own, unless: keepsOwn))
    }
    let difference = MemberDifference(
      added: merged(mine.added, theirs.added, isAddition: true), removed: merged(mine.removed, theirs.removed, isAddition: false))
    return (difference, conflicts)
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
  /// see ``OrderChange``. ``MergeRules/order`` decides where both sides have moved a member to different places; if both have added members
  /// at the same place, the winner's come first.
  ///
  /// If one side has the order of the base, the result is that of the other.
  ///
  /// - Returns: The merged order, and whether both sides have moved a member to different places.
  package static func order(base: [ObjectReference], mine: [ObjectReference], theirs: [ObjectReference], by rules: MergeRules)
    -> (order: [ObjectReference], isConflict: Bool)
  {
    let (own, others) = (Set(mine), Set(theirs))
    let removed = Set(base.filter { !own.contains($0) || !others.contains($0) })
    // Without removed members, each moved one follows a member that is left.
    let lists = removed.isEmpty ? [base, mine, theirs] : [base, mine, theirs].map { $0.filter { !removed.contains($0) } }
    let (ownChange, change) = (OrderChange(from: lists[0], to: lists[1]), OrderChange(from: lists[0], to: lists[2]))
    let (places, otherPlaces) = (ownChange.places, change.places)
    let isConflict = places.contains { member, place in
      otherPlaces[member].map { $0 != place } ?? false && base.contains(member)
    }
    return (rules.order == .mine ? ownChange.applied(to: lists[2]) : change.applied(to: lists[1]), isConflict)
  }
}

extension OrderChange {
  /// The members that were moved or added, each with the member that it follows; null for the first one.
  fileprivate var places: [ObjectReference: ObjectReference] {
    var places: [ObjectReference: ObjectReference] = [:]
    for run in runs {
      var previous = run.after ?? ObjectReference(rawValue: 0)
      for member in run.members {
        places[member] = previous
        previous = member
      }
    }
    return places
  }
}
