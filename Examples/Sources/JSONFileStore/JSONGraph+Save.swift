import Foundation
import CipherDataEngine

extension JSONGraph {
  /// Applies a save and computes derived attributes. If it throws, the graph is invalid and the caller must discard it.
  ///
  /// - Returns: The rows that differ from the request.
  /// - Throws: ``StoreError`` with the conflicts, or for an entity that the store does not contain.
  mutating func apply(_ request: SaveChangesRequest, entityNumbers: Set<Int>, space: ObjectIDSpace) throws -> SaveOutcome {
    try checkEntities(request, entityNumbers)
    try checkVersions(request, space)
    for deleted in request.deleted { remove(deleted.reference) }
    for update in request.updated { try put(update.row) }
    for row in request.inserted { try put(row) }
    for change in request.relationshipChanges { apply(change) }
    let outcome = try updateDerivedAttributes(after: request, space)
    // Derived values can be subject to uniqueness constraints too.
    try checkConstraints(request, space)
    return outcome
  }

  private mutating func updateDerivedAttributes(after request: SaveChangesRequest, _ space: ObjectIDSpace) throws -> SaveOutcome {
    var graph = self
    defer { self = graph }
    return try DerivationEvaluation(model: model).update(
      after: request, rows: { entity in graph.objects(of: entity).compactMap { graph.row(of: $0) } },
      resolver: { JSONGraphReader(graph, space: space) }, put: { try graph.put($0) })
  }

  private mutating func put(_ image: RowImage) throws {
    let slots = model.entities[image.entityNumber].slots
    rows[image.reference] = Row(version: image.version, values: try slots.map { try image.slot($0.index, kind: $0.kind) })
  }

  private mutating func remove(_ reference: ObjectReference) {
    rows[reference] = nil
    for number in links.keys { links[number] = links[number]?.filter { $0.source != reference && $0.destination != reference } }
    for number in orders.keys {
      orders[number]?[reference] = nil
      orders[number] = orders[number]?.mapValues { $0.filter { $0 != reference } }
    }
  }

  private mutating func apply(_ change: SaveChangesRequest.RelationshipChange) {
    let relationship = model.relationships[change.relationshipID]
    if model.inverse(of: relationship)?.isToMany != false {
      let (number, isReversed) = linkOwner(of: relationship)
      func pair(_ member: ObjectReference) -> Link {
        isReversed ? Link(source: member, destination: change.source) : Link(source: change.source, destination: member)
      }
      links[number, default: []].subtract(change.removed.map(pair))
      links[number, default: []].formUnion(change.added.map(pair))
      if relationship.inverseID == relationship.id {
        // A relationship can be its own inverse, as with friends.
        links[number]?.subtract(change.removed.map { Link(source: $0, destination: change.source) })
        links[number]?.formUnion(change.added.map { Link(source: $0, destination: change.source) })
      }
    }
    // Others may have changed the order since the context read it.
    if let order = change.order(over: members(of: relationship)[change.source] ?? []) {
      orders[relationship.id, default: [:]][change.source] = order
    }
  }

  // MARK: Checks

  private func checkEntities(_ request: SaveChangesRequest, _ entityNumbers: Set<Int>) throws {
    for row in request.inserted {
      let entity = model.entities[row.entityNumber]
      if entity.isAbstract { throw StoreError(.invalidRequest, "“\(entity.name)” is abstract and has no objects.", operation: .save) }
      if !entityNumbers.contains(entity.number) {
        throw StoreError(.entityNotInStore, "The store does not contain “\(entity.name)”.", operation: .save)
      }
      if rows[row.reference] != nil { throw StoreError(.invalidRequest, "A new object's key is in use.", operation: .save) }
    }
  }

  private func checkVersions(_ request: SaveChangesRequest, _ space: ObjectIDSpace) throws {
    var read = request.updated.map { (reference: $0.row.reference, version: $0.oldVersion) }
    read += (request.deleted + request.locked).filter { $0.version != 0 }.map { ($0.reference, $0.version) }
    let conflicts = read.compactMap { reference, version -> MergeConflict? in
      let stored = rows[reference]?.version ?? 0
      guard stored != version else { return nil }
      let writer = RowWriter(rowCapacity: 1)
      write(reference, to: writer)
      return MergeConflict(
        objectID: objectID(reference, space), oldVersion: version, newVersion: stored, persistedRow: writer.finish().first)
    }
    guard !conflicts.isEmpty else { return }
    var error = StoreError(.mergeConflict, "Objects were changed elsewhere since they were read.", operation: .save)
    error.mergeConflicts = conflicts
    throw error
  }

  private func checkConstraints(_ request: SaveChangesRequest, _ space: ObjectIDSpace) throws {
    let saved = Set(request.inserted.map(\.reference) + request.updated.map(\.row.reference))
    var conflicts: [ConstraintConflict] = []
    for entity in model.entities {
      for names in entity.entityDescription.uniquenessConstraints {
        let slots = names.compactMap { name in entity.slots.first { $0.name == name }?.index }
        var owners: [[Slot]: [ObjectReference]] = [:]
        for (reference, row) in rows where entity.subtree.contains(reference.entity) {
          let values = slots.map { row.values[$0] }
          if !values.contains(.null) { owners[values, default: []].append(reference) }
        }
        for clash in owners.values where clash.count > 1 && !saved.isDisjoint(with: clash) {
          conflicts.append(
            ConstraintConflict(
              entityName: entity.name, constraint: names, objectIDs: clash.filter(saved.contains).map { objectID($0, space) },
              databaseObjectID: clash.first { !saved.contains($0) }.map { objectID($0, space) }))
        }
      }
    }
    if let error = StoreError(conflicts, operation: .save) { throw error }
  }

  private func objectID(_ reference: ObjectReference, _ space: ObjectIDSpace) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}
