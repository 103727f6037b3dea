import SyncCore

extension SimulatedModel {
  /// Gives some relationships maximum counts. They follow from what was drawn already, so that seeds keep their models.
  static func addCapacities(to entities: inout [Entity], _ linkRelationships: inout [LinkRelationship]) {
    for number in entities.indices {
      let count = entities[number].attributes.count
      for index in entities[number].references.indices where !entities[number].references[index].isExclusive && count % 2 == 0 {
        entities[number].references[index].capacity = 1 + (count / 2 + index) % 3
      }
    }
    for index in linkRelationships.indices {
      let relationship = linkRelationships[index]
      let counts = [relationship.source, relationship.destination].map { entities[$0].attributes.count }
      if counts[0] % 2 == 1 { linkRelationships[index].capacities[.linkSource] = (counts[0] + 1) / 2 }
      if relationship.isSymmetric {
        linkRelationships[index].capacities[.linkDestination] = linkRelationships[index].capacities[.linkSource]
      } else if counts[1] > 2 {
        linkRelationships[index].capacities[.linkDestination] = counts[1] - 1
      }
    }
  }

  /// Returns a version of the model that lacks some maximum counts.
  func withoutCapacities(_ version: SyncModel) -> SyncModel {
    var earlier = version
    for id in version.entities.keys where id.value % 2 == 0 { earlier.entities[id]?.capacities = [:] }
    return earlier
  }
}

extension SimulatedModel.Entity {
  var capacities: [PropertyID: Int] { references.reduce(into: [:]) { $0[$1.property] = $1.capacity } }
}
