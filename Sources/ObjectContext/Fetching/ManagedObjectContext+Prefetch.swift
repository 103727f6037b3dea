// ManagedObjectContext+Prefetch: relationships read with a fetch, one query a step for all its objects.
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Reads the objects at the ends of the request's relationship key paths.
  ///
  /// - Returns: Objects on the way that nobody else may hold, which know the members that were read for them.
  func prefetch(_ specification: FetchSpecification, for objects: [ManagedObject]) throws -> [ManagedObject] {
    let entity = try entity(of: specification)
    var held: [ManagedObject] = []
    for keyPath in specification.relationshipKeyPathsForPrefetching {
      var sources = objects
      var current = entity
      for key in keyPath.split(separator: ".").map(String.init) {
        switch current.property(named: key) {
        case .toOne(let relationship):
          sources = try prefetchToOne(relationship, of: sources)
          current = model.entities[relationship.destinationEntity]
        case .toMany(let relationship):
          held.append(contentsOf: sources)
          sources = try prefetchToMany(relationship, of: sources)
          current = model.entities[relationship.destinationEntity]
        default:
          throw StoreError(
            .invalidRequest, "“\(keyPath)” cannot be prefetched: “\(key)” is no relationship of the entity “\(current.name)”.",
            operation: "fetch")
        }
      }
    }
    return held
  }

  private func prefetchToOne(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    var destinations: [ManagedObject] = []
    var seen = Set<ManagedObject>()
    for source in sources {
      if let destination = source.destination(relationship.index), seen.insert(destination).inserted { destinations.append(destination) }
    }
    try readRows(of: destinations)
    return destinations
  }

  private func prefetchToMany(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    var bySpace: [UInt32: [ManagedObject]] = [:]
    for source in sources where !source.flags.contains(.isInserted) && !source.currentID.isTemporaryID {
      if !source.state(relationship.index).isLoaded { bySpace[source.currentID.space, default: []].append(source) }
    }
    for (space, objects) in bySpace {
      guard let store = coordinator.store(numbered: space) else { continue }
      try readMembers(of: objects, relationship, from: store)
    }
    var members: [ManagedObject] = []
    var seen = Set<ManagedObject>()
    for source in sources {
      source.forEachMember(relationship.index) { _ in
      } body: {
        if seen.insert($0).inserted { members.append($0) }
      }
    }
    try readRows(of: members)
    return members
  }

  /// Reads the rows of faults that have none at hand.
  private func readRows(of objects: [ManagedObject]) throws {
    var bySpace: [UInt32: [ManagedObject]] = [:]
    for object in objects where object.flags.contains(.isFault) && object.image == nil && !object.currentID.isTemporaryID {
      guard let store = coordinator.store(numbered: object.currentID.space) else { continue }
      if let row = cachedRow(object.currentID.reference, of: store) {
        object.image = row
      } else {
        bySpace[store.space.number, default: []].append(object)
      }
    }
    for (space, objects) in bySpace {
      guard let store = coordinator.store(numbered: space) else { continue }
      let rows = try coordinator.readRows(of: objects.map(\.currentID), from: store, scope: scope(for: store))
      for row in rows { registeredObject(row.reference, space: space)?.image = row }
    }
  }
}
