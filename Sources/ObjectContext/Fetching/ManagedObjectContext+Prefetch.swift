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
      var places = [(entity: entity, objects: objects)]
      for key in keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
        var next: [(entity: CompiledEntity, objects: [ManagedObject])] = []
        for place in places {
          for owner in owners(of: key, below: place.entity) {
            let isWhole = owner.number == place.entity.number
            let sources = isWhole ? place.objects : place.objects.filter { $0.compiledEntity.isKind(of: owner) }
            switch owner.property(named: key) {
            case .toOne(let relationship):
              next.append((model.entities[relationship.destinationEntity], try prefetchToOne(relationship, of: sources)))
            case .toMany(let relationship):
              held.append(contentsOf: sources)
              next.append((model.entities[relationship.destinationEntity], try prefetchToMany(relationship, of: sources)))
            default: throw notPrefetched(key, keyPath, place.entity)
            }
          }
        }
        guard !next.isEmpty else { throw notPrefetched(key, keyPath, places[0].entity) }
        places = next
      }
    }
    return held
  }

  /// The entities that a key of an entity's objects belongs to: the entity itself, or those below it that declare the property.
  private func owners(of key: String, below entity: CompiledEntity) -> [CompiledEntity] {
    if entity.property(named: key) != nil { return [entity] }
    return model.entities[entity.subtree].filter { candidate in
      guard candidate.property(named: key) != nil, let parent = candidate.parent else { return false }
      return model.entities[parent].property(named: key) == nil
    }
  }

  private func notPrefetched(_ key: String, _ keyPath: String, _ entity: CompiledEntity) -> StoreError {
    StoreError(.notPrefetchable(keyPath: keyPath, key: key, entity: entity.name), operation: .fetch)
  }

  private func prefetchToOne(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    var destinations: [ManagedObject] = []
    var seen = Set<ManagedObject>()
    for source in sources {
      if let destination = source.destination(relationship.index, isHeld: false), seen.insert(destination).inserted { destinations.append(destination) }
    }
    try readRows(of: destinations)
    return destinations
  }

  private func prefetchToMany(_ relationship: CompiledRelationship, of sources: [ManagedObject]) throws -> [ManagedObject] {
    var bySpace: [UInt32: [ManagedObject]] = [:]
    for source in sources where !source.flags.contains(.isInserted) && !source.currentID.isTemporaryID {
      if !source.state(relationship.index).isLoaded { bySpace[source.currentID.space, default: []].append(source) }
    }
    for objects in bySpace.values {
      let store = try rowSource.openStore(of: objects[0].currentID, .fetch)
      try readMembers(of: objects, relationship, from: store)
    }
    var members: [ManagedObject] = []
    var seen = Set<ManagedObject>()
    for source in sources {
      source.forEachMember(relationship.index, isHeld: false) { _ in
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
      let store = try rowSource.openStore(of: object.currentID, .fetch)
      if let row = rowSource.rowAtHand(object.currentID.reference, in: store) {
        object.image = row
      } else {
        bySpace[store.space.number, default: []].append(object)
      }
    }
    for (space, objects) in bySpace {
      let store = try rowSource.openStore(of: objects[0].currentID, .fetch)
      for row in try rowSource.rows(of: objects.map(\.currentID), in: store) { registeredObject(row.reference, space: space)?.image = row }
    }
  }
}
