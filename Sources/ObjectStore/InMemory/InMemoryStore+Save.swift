import Foundation
import ObjectModel

extension InMemoryRows {
  /// Applies a save and computes derived attributes. If it throws, the caller must discard the rows.
  mutating func save(_ request: SaveChangesRequest, objectIDSpace space: ObjectIDSpace) throws -> SaveOutcome {
    // Derived values that depend on the row alone come first, because uniqueness constraints may include them.
    let request = model.derivations.isEmpty ? request : try request.withLocalValues(model, now: Date().timeIntervalSinceReferenceDate)
    try apply(request, objectIDSpace: space)
    var copy = self
    defer { self = copy }
    return try DerivationEvaluation(model: model).update(
      after: request, rows: { copy.rows(of: $0, includesSubentities: true) },
      resolver: { InMemoryReader(rows: copy, objectIDSpace: space) }, put: { copy.put($0) })
  }

  private mutating func apply(_ request: SaveChangesRequest, objectIDSpace space: ObjectIDSpace) throws {
    try checkEntities(of: request)
    try checkVersions(of: request, space: space)
    cachedMembers = InMemoryMembers()
    delete(Set(request.deleted.lazy.map(\.reference)))
    for update in request.updated { put(update.row) }
    for row in request.inserted {
      guard self.row(of: row.reference) == nil else {
        throw StoreError(.keyInUse, operation: .save)
      }
      put(row)
    }
    for change in request.relationshipChanges { apply(change) }
    try checkConstraints(of: request, space: space)
  }

  private mutating func put(_ row: RowImage) {
    tables[model.entities[row.entityNumber].root, default: [:]][row.key] = row
  }

  /// Removes rows with all their links. To-one relationships of other rows that refer to them are not changed.
  private mutating func delete(_ references: Set<ObjectReference>) {
    if references.isEmpty { return }
    for reference in references { tables[model.entities[reference.entity].root]?[reference.key] = nil }
    for (number, pairs) in links where pairs.contains(where: { references.contains($0.source) || references.contains($0.destination) }) {
      links[number] = pairs.filter { !references.contains($0.source) && !references.contains($0.destination) }
    }
    for (number, lists) in orders {
      for (source, order) in lists {
        if references.contains(source) {
          orders[number]?[source] = nil
        } else if order.contains(where: references.contains) {
          orders[number]?[source] = order.filter { !references.contains($0) }
        }
      }
    }
  }

  private mutating func apply(_ change: SaveChangesRequest.RelationshipChange) {
    let relationship = model.relationships[change.relationshipID]
    if model.inverse(of: relationship)?.isToMany ?? true {
      let owner = linkOwner(of: relationship)
      let isItsOwnInverse = relationship.inverseID == relationship.id
      var pairs = links[owner.number] ?? []
      for member in change.removed {
        pairs.remove(link(change.source, member, isReversed: owner.isReversed))
        if isItsOwnInverse { pairs.remove(link(member, change.source, isReversed: false)) }
      }
      for member in change.added {
        pairs.insert(link(change.source, member, isReversed: owner.isReversed))
        if isItsOwnInverse { pairs.insert(link(member, change.source, isReversed: false)) }
      }
      links[owner.number] = pairs
    }
    if let order = change.order { orders[relationship.id, default: [:]][change.source] = order }
  }

  private func link(_ source: ObjectReference, _ destination: ObjectReference, isReversed: Bool) -> Link {
    isReversed ? Link(source: destination, destination: source) : Link(source: source, destination: destination)
  }

  // MARK: Checks

  private func checkEntities(of request: SaveChangesRequest) throws {
    for row in request.inserted {
      let entity = model.entities[row.entityNumber]
      if entity.isAbstract {
        throw StoreError(.abstractEntity(entity.name), operation: .save)
      }
      guard entityNumbers.contains(entity.number) else {
        throw StoreError(.entityNotInStore(entity.name), operation: .save)
      }
    }
  }

  private func checkVersions(of request: SaveChangesRequest, space: ObjectIDSpace) throws {
    var expected = request.updated.map { SaveChangesRequest.VersionedReference(reference: $0.row.reference, version: $0.oldVersion) }
    expected += (request.deleted + request.locked).filter { $0.version != 0 }
    let conflicts: [MergeConflict] = expected.compactMap { item in
      let stored = row(of: item.reference)
      guard stored?.version != item.version else { return nil }
      return MergeConflict(
        objectID: objectID(of: item.reference, in: space), oldVersion: item.version, newVersion: stored?.version ?? 0, persistedRow: stored)
    }
    guard let first = conflicts.first else { return }
    var error = StoreError(.objectsChangedElsewhere(entity: first.objectID.entityName, count: conflicts.count), operation: .save)
    error.mergeConflicts = conflicts
    throw error
  }

  /// Checks that no two rows have the same values, all of them not null, under a uniqueness constraint.
  private func checkConstraints(of request: SaveChangesRequest, space: ObjectIDSpace) throws {
    var claims = try UniqueClaims(request, model: model)
    try claims.findHolders { rows(of: $0, includesSubentities: true) }
    if let error = StoreError(claims.conflicts(in: space), operation: .save) { throw error }
  }

  private func objectID(of reference: ObjectReference, in space: ObjectIDSpace) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}
