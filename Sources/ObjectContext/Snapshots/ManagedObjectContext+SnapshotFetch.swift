// ManagedObjectContext+SnapshotFetch: fetches whose results are snapshots: no objects are made.
import Foundation
import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// The results of a request as typed snapshots: rows are shared, and no objects are made.
  ///
  /// Unsaved changes of the context count as in any fetch. What is not changed has the values of the store, also where an object of the context has older ones.
  /// Properties to fetch, batches and prefetching are for objects, and count for nothing here.
  ///
  /// ```swift
  /// let books = try context.fetch(Book.all.where { $0.pages > 500 }, as: Book.Snapshot.self)
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The type of the snapshots: of the request's class, or of one above.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs: one statement for each 500 results.
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store, ``KeyValueError`` for a name that is no to-many relationship's.
  public func fetch<Result: ManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [String] = []
  ) throws -> [Snapshot] {
    try checkClass(Snapshot.Object.self, for: request.specification)
    return try snapshots(of: request.specification, including: relationships).map(Snapshot.init(_snapshot:))
  }

  /// The results of a request as snapshots: rows are shared, and no objects are made.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs: one statement for each 500 results.
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store, ``KeyValueError`` for a name that is no to-many relationship's.
  public func fetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [String] = []
  ) throws -> [ObjectSnapshot] {
    try snapshots(of: request.specification, including: relationships)
  }

  /// The results of a request as typed snapshots with the members of the to-many relationships that key paths lead to.
  ///
  /// ```swift
  /// let books = try context.fetch(Book.all, as: Book.Snapshot.self, including: [\.tags])
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The type of the snapshots: of the request's class, or of one above.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs.
  /// - Throws: What the form with names throws; ``FetchPredicateError/unsupported(part:advice:)`` for a key path of no property of the model.
  @_disfavoredOverload
  public func fetch<Result: TypedManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> [Snapshot] {
    try fetch(request, as: type, including: Result.names(of: relationships))
  }

  /// The results of a request as snapshots with the members of the to-many relationships that key paths lead to.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs.
  /// - Throws: What the form with names throws; ``FetchPredicateError/unsupported(part:advice:)`` for a key path of no property of the model.
  @_disfavoredOverload
  public func fetch<Result: TypedManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> [ObjectSnapshot] {
    try fetch(request, as: type, including: Result.names(of: relationships))
  }

  // MARK: Making

  private func snapshots(of request: FetchSpecification, including names: [String]) throws -> [ObjectSnapshot] {
    let specification = try request.ofSnapshots
    let relationships = try toMany(named: names, of: specification)
    try prepareFetch()
    var snapshots = try snapshots(of: FetchMergePlan(specification, context: self), relationships)
    for relationship in relationships { try addMembers(of: relationship, to: &snapshots) }
    // What could not be read while results were filtered and sorted makes the answer wrong.
    try notedErrors.tell()
    return snapshots
  }

  func toMany(named names: [String], of specification: FetchSpecification) throws -> [CompiledRelationship] {
    let entity = try entity(of: specification)
    return try names.map { try entity.toMany(named: $0) }
  }

  /// The results of a request whose rows were read before.
  func snapshots(
    of specification: FetchSpecification, _ relationships: [CompiledRelationship], readBefore answers: FetchAnswers
  ) throws -> [ObjectSnapshot] {
    let ids = try objectIDs(of: FetchMergePlan(specification.forIDs, context: self), storedIDs: answers.ids)
    var read: [ManagedObjectID: ObjectSnapshot] = [:]
    for (space, rows) in answers.rows {
      for row in rows {
        let snapshot = ObjectSnapshot(row, of: tables.entity(numbered: row.entityNumber), space: space)
        read[snapshot.base.objectID] = snapshot
      }
    }
    var snapshots = try snapshots(with: ids, relationships, showsChanges: specification.includesPendingChanges, read: read)
    for relationship in relationships { try addMembers(of: relationship, to: &snapshots) }
    try notedErrors.tell()
    return snapshots
  }

  private func snapshots(of plan: FetchMergePlan, _ relationships: [CompiledRelationship]) throws -> [ObjectSnapshot] {
    if plan.split == nil, !plan.needsMerging {
      let store = plan.stores[0]
      switch try rowSource.fetch(plan.storeSpecification, from: store) {
      case .rows(let rows): return rows.map { snapshot(of: $0, in: store) }
      case .objectIDs(let ids): return try snapshots(with: ids, relationships, showsChanges: plan.specification.includesPendingChanges)
      default: throw unexpectedResult()
      }
    }
    let ids = try objectIDs(of: FetchMergePlan(plan.specification.forIDs, context: self))
    return try snapshots(with: ids, relationships, showsChanges: plan.specification.includesPendingChanges)
  }

  private func snapshot(of row: RowImage, in store: PersistentStore) -> ObjectSnapshot {
    ObjectSnapshot(row, of: tables.entity(numbered: row.entityNumber), space: store.space.number)
  }

  /// Snapshots by ID, in their order: of changed objects, of rows at hand, and of those that one request reads. Rows that are gone by now are left out.
  ///
  /// - Parameters:
  ///   - ids: The IDs.
  ///   - relationships: Those whose members new objects' snapshots get: nothing else finds these objects again.
  ///   - showsChanges: Whether unsaved changes count.
  ///   - read: Snapshots of rows that were read before.
  private func snapshots(
    with ids: [ManagedObjectID], _ relationships: [CompiledRelationship], showsChanges: Bool, read: [ManagedObjectID: ObjectSnapshot] = [:]
  ) throws -> [ObjectSnapshot] {
    var found: [ManagedObjectID: ObjectSnapshot] = [:]
    found.reserveCapacity(ids.count)
    var missing: [UInt32: [ManagedObjectID]] = [:]
    for id in ids {
      if showsChanges, let object = registeredObject(for: id), object.hasChanges {
        object.willAccess()
        guard object.flags.isDisjoint(with: [.isFault, .isInaccessible, .isDeleted]) else { continue }
        var snapshot = snapshot(of: object)
        if object.flags.contains(.isInserted) {
          for relationship in relationships { snapshot.members[relationship.index] = try memberIDs(of: object, relationship) }
        }
        found[id] = snapshot
      } else if let snapshot = read[id] {
        found[id] = snapshot
      } else if let store = rowSource.store(numbered: id.space), let row = rowSource.rowAtHand(id.reference, in: store) {
        found[id] = snapshot(of: row, in: store)
      } else if !id.isTemporaryID {
        missing[id.space, default: []].append(id)
      }
    }
    for ids in missing.values {
      let store = try rowSource.openStore(of: ids[0], .fetch)
      for row in try rowSource.rows(of: ids, in: store) {
        let snapshot = snapshot(of: row, in: store)
        found[snapshot.base.objectID] = snapshot
      }
    }
    return ids.compactMap { found[$0] }
  }

  /// Adds the members of a relationship: those that the context has changed, and those of one request to each store.
  private func addMembers(of relationship: CompiledRelationship, to snapshots: inout [ObjectSnapshot]) throws {
    var unread: [UInt32: [Int]] = [:]
    for (position, snapshot) in snapshots.enumerated() {
      guard let id = snapshot.objectID else { continue }
      if let object = registeredObject(for: id), object.toManyStates[relationship.index]?.isChanged ?? false {
        snapshots[position].members[relationship.index] = try memberIDs(of: object, relationship)
      } else {
        unread[id.space, default: []].append(position)
      }
    }
    for (space, positions) in unread {
      let ids = positions.map { snapshots[$0].base.objectID }
      let values = try rowSource.members(of: relationship, for: ids, in: try rowSource.openStore(of: ids[0], .fetch))
      for (place, position) in positions.enumerated() {
        let members = values[place].lazy.filter { self.isLiving($0, space: space) }.map { reference in
          ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
        }
        snapshots[position].members[relationship.index] = ObjectSnapshot.ordered(members, of: relationship)
      }
    }
  }

  /// Whether a stored member is there: not deleted, and its row not known to be gone.
  private func isLiving(_ reference: ObjectReference, space: UInt32) -> Bool {
    if let object = registeredObject(reference, space: space) { return !object.flags.contains(.isDeleted) }
    return !memberStates.isGone(reference)
  }
}

extension FetchSpecification {
  /// The request for whole rows: what is for objects, or for dictionaries, counts for nothing.
  ///
  /// - Throws: ``FetchPredicateError`` for a negative number.
  var ofSnapshots: FetchSpecification {
    get throws {
      try checkNumbers()
      var specification = self
      specification.resultType = .objects
      specification.propertiesToFetch = []
      specification.fetchBatchSize = 0
      specification.shouldRefreshRefetchedObjects = false
      return specification
    }
  }
}
