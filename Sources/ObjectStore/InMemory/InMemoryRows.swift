import Foundation
import ObjectModel
import ObjectQuery
import Synchronization

/// A version of the entire content of an in-memory store. A copy of the value is a snapshot.
struct InMemoryRows: Sendable {
  struct Link: Hashable, Sendable {
    let source: ObjectReference
    let destination: ObjectReference
  }

  let model: CompiledModel
  let entityNumbers: Set<Int>
  /// A cache of relationship members for this version. Replaced by every change.
  var cachedMembers = InMemoryMembers()
  /// The rows, by the number of their root entity and their key.
  var tables: [Int: [Int64: RowImage]] = [:]
  /// The links of to-many relationships without a to-one inverse, by relationship number. A relationship and its inverse share the entry of
  /// the lower number.
  var links: [Int: Set<Link>] = [:]
  /// The last order of ordered relationships, by relationship number and object. Does not determine membership.
  var orders: [Int: [ObjectReference: [ObjectReference]]] = [:]
  var history: InMemoryHistory?
  /// The stable IDs of the objects, or nil if they have none.
  var identity: InMemoryIdentity?

  init(model: CompiledModel, entityNumbers: [Int]) {
    self.model = model
    self.entityNumbers = Set(entityNumbers)
  }

  func row(of reference: ObjectReference) -> RowImage? {
    guard model.entities.indices.contains(reference.entity) else { return nil }
    return tables[model.entities[reference.entity].root]?[reference.key]
  }

  /// Returns the rows of an entity, ordered by key.
  func rows(of entity: CompiledEntity, includesSubentities: Bool) -> [RowImage] {
    let numbers = includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    let found = (tables[entity.root] ?? [:]).values.filter { numbers.contains($0.entityNumber) }
    return found.sorted { $0.key < $1.key }
  }

  /// Returns the members of a relationship for all objects that have any. Unordered members are sorted by key. The first call for a version
  /// takes time linear in the number of rows.
  func members(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    if let known = cachedMembers.lists.withLock({ $0[relationship.id] }) { return known }
    let found = findMembers(of: relationship)
    cachedMembers.lists.withLock { $0[relationship.id] = found }
    return found
  }

  private func findMembers(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    var members: [ObjectReference: [ObjectReference]] = [:]
    if let inverse = model.inverse(of: relationship), !inverse.isToMany {
      for row in rows(of: model.entities[inverse.sourceEntity], includesSubentities: true) where !row.isNull(inverse.index) {
        members[row.reference(inverse.index), default: []].append(row.reference)
      }
    } else {
      let leading = model.leading(relationship)
      for link in links[leading.relationship.id] ?? [] {
        if leading.isReversed {
          members[link.destination, default: []].append(link.source)
        } else {
          members[link.source, default: []].append(link.destination)
        }
      }
      for source in members.keys { members[source]?.sort { ($0.key, $0.entity) < ($1.key, $1.entity) } }
    }
    guard relationship.isOrdered, let orders = orders[relationship.id] else { return members }
    for (source, order) in orders {
      if let current = members[source] { members[source] = current.arranged(by: order) }
    }
    return members
  }
}

/// The members of relationships, computed once for a version of the rows and shared by its readers.
final class InMemoryMembers: Sendable {
  let lists = Mutex<[Int: [ObjectReference: [ObjectReference]]]>([:])
}

// MARK: - Reading rows

/// Reads objects from one version of the rows.
struct InMemoryReader: ObjectResolver {
  private let rows: InMemoryRows
  private let space: ObjectIDSpace

  init(rows: InMemoryRows, objectIDSpace: ObjectIDSpace) {
    self.rows = rows
    space = objectIDSpace
  }

  func answer(_ specification: FetchSpecification) throws -> PersistentStoreResult {
    let evaluation = try FetchEvaluation(specification, model: rows.model)
    let candidates = rows.rows(of: evaluation.entity, includesSubentities: specification.includesSubentities)
    return try evaluation.answer(among: candidates.map(\.reference), resolver: self, row: rows.row(of:))
  }

  /// Returns a save that is equivalent to a batch request.
  func save(for request: PersistentStoreRequest) throws -> SaveChangesRequest {
    try BatchEvaluation(request, model: rows.model, objectIDSpace: space).save(
      among: { rows.rows(of: $0, includesSubentities: true).map(\.reference) }, resolver: self, row: rows.row(of:))
  }

  func entity(of object: ObjectReference) -> CompiledEntity { rows.model.entities[object.entity] }

  func objectID(of object: ObjectReference) -> ManagedObjectID {
    space.objectID(of: object)
  }

  func value(of object: ObjectReference, slot: Int) throws -> Slot {
    guard let row = rows.row(of: object), slot < row.slotCount else { return .null }
    let entity = rows.model.entities[row.entityNumber]
    return try row.value(slot, of: entity, objectID(of: object))
  }

  func destination(of object: ObjectReference, slot: Int) -> ObjectReference? {
    guard let row = rows.row(of: object), slot < row.slotCount, !row.isNull(slot) else { return nil }
    return row.reference(slot)
  }

  func members(of object: ObjectReference, toMany index: Int) -> [ObjectReference] {
    let relationships = entity(of: object).toManyRelationships
    return index < relationships.count ? members(of: object, relationship: relationships[index]) : []
  }

  func members(of object: ObjectReference, relationship: CompiledRelationship) -> [ObjectReference] {
    rows.members(of: relationship)[object] ?? []
  }
}

// MARK: - Applying saves

extension InMemoryRows {
  /// Applies a save with its local derived values, and computes the other derived attributes. If it throws, the caller must discard the
  /// rows.
  mutating func save(_ request: SaveChangesRequest, objectIDSpace space: ObjectIDSpace) throws -> SaveOutcome {
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
      let leading = model.leading(relationship)
      var pairs = links[leading.relationship.id] ?? []
      for member in change.removed {
        pairs.remove(link(change.source, member, isReversed: leading.isReversed))
        if relationship.isItsOwnInverse { pairs.remove(link(member, change.source, isReversed: false)) }
      }
      for member in change.added {
        pairs.insert(link(change.source, member, isReversed: leading.isReversed))
        if relationship.isItsOwnInverse { pairs.insert(link(member, change.source, isReversed: false)) }
      }
      links[leading.relationship.id] = pairs
    }
    if let order = change.order { orders[relationship.id, default: [:]][change.source] = order }
  }

  func link(_ source: ObjectReference, _ destination: ObjectReference, isReversed: Bool) -> Link {
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
        objectID: space.objectID(of: item.reference), oldVersion: item.version, newVersion: stored?.version ?? 0, persistedRow: stored)
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
}
