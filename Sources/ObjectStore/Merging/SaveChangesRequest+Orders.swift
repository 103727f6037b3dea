public import ObjectModel

extension SaveChangesRequest.RelationshipChange {
  /// Returns the new order of all members, or nil if the order does not change: ``order``, merged with the insertions, moves and removals
  /// of others since the context read the members. Both sides' insertions keep their neighbors. If both sides have moved a member, the
  /// save's place of it counts.
  ///
  /// A store calls this in the transaction of the save.
  ///
  /// - Parameter stored: The members in the store's order, before or after the save has added and removed members.
  public func order(over stored: [ObjectReference]) -> [ObjectReference]? {
    guard let order, let previousOrder else { return order }
    return ThreeWayMerge.order(base: previousOrder, mine: order, theirs: stored)
  }

  /// Returns the change with its order merged with the stored one.
  package func merged(with stored: [ObjectReference]) -> Self {
    Self(source: source, relationshipID: relationshipID, added: added, removed: removed, order: order(over: stored))
  }
}
