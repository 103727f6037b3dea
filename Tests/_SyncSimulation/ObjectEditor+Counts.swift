import SyncCore

/// What an application validates before it saves.
extension ObjectEditor {
  /// Returns whether an object admits a further referrer.
  func hasRoom(_ destination: RecordID, _ reference: SimulatedModel.Reference) -> Bool {
    guard validatesCounts, let capacity = reference.capacity else { return true }
    return objects.values.count { $0.values[reference.property]?.reference == destination } < capacity
  }

  /// Returns whether both ends admit a further link.
  func hasRoom(for link: Link, _ relationship: SimulatedModel.LinkRelationship) -> Bool {
    if !validatesCounts { return true }
    return [(PropertyID.linkSource, link.source), (.linkDestination, link.destination)].allSatisfy { end, owner in
      guard let capacity = relationship.capacities[end] else { return true }
      let others = objects.values.count { other in
        if other.entity != relationship.id { return false }
        if !relationship.isSymmetric { return other.values[end]?.reference == owner }
        return other.values[.linkSource]?.reference == owner || other.values[.linkDestination]?.reference == owner
      }
      return others < capacity
    }
  }
}
