import Foundation
import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Returns the results of a request as typed snapshots. Rows are shared, and no objects are created.
  ///
  /// Unsaved changes of the context are included as in any fetch. Unchanged objects have the stored values, even if a registered object has
  /// older ones. Properties to fetch, batch sizes and prefetching apply to objects only and are ignored.
  ///
  /// ```swift
  /// let books = try context.fetch(Book.all.where { $0.pages > 500 }, as: Book.Snapshot.self)
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: ``FetchPredicateError`` for an unsupported request; ``StoreError`` from the store; ``KeyValueError`` for a name that is not
  ///   a to-many relationship.
  public func fetch<Result: ManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [String] = []
  ) throws -> [Snapshot] {
    try checkClass(Snapshot.Object.self, for: request.specification)
    return try snapshots(of: request.specification, including: relationships).map { Snapshot(storage: SnapshotStorage($0)) }
  }

  /// Returns the results of a request as snapshots. Rows are shared, and no objects are created.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: ``FetchPredicateError`` for an unsupported request; ``StoreError`` from the store; ``KeyValueError`` for a name that is not
  ///   a to-many relationship.
  public func fetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [String] = []
  ) throws -> [ObjectSnapshot] {
    try snapshots(of: request.specification, including: relationships)
  }

  /// Returns the results of a request as typed snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// ```swift
  /// let books = try context.fetch(Book.all, as: Book.Snapshot.self, including: [\.tags])
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
  @_disfavoredOverload
  public func fetch<Result: TypedManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> [Snapshot] {
    try fetch(request, as: type, including: Result.names(of: relationships))
  }

  /// Returns the results of a request as snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
  @_disfavoredOverload
  public func fetch<Result: TypedManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> [ObjectSnapshot] {
    try fetch(request, as: type, including: Result.names(of: relationships))
  }

  // MARK: Creating snapshots

  private func snapshots(of request: FetchSpecification, including names: [String]) throws -> [ObjectSnapshot] {
    let specification = try request.ofSnapshots
    let relationships = try toMany(named: names, of: specification)
    try prepareFetch()
    var snapshots = try snapshots(of: FetchMergePlan(specification, context: self), relationships)
    for relationship in relationships { try addMembers(of: relationship, to: &snapshots) }
    // Read errors during filtering and sorting would make the result wrong.
    try deferredErrors.throwRecorded()
    return snapshots
  }

  func toMany(named names: [String], of specification: FetchSpecification) throws -> [CompiledRelationship] {
    let entity = try entity(of: specification)
    return try names.map { try entity.toMany(named: $0) }
  }

  /// Returns the results of a request whose rows were already read.
  func snapshots(
    of specification: FetchSpecification, _ relationships: [CompiledRelationship], readBefore readResult: StoreReadResult
  ) throws -> [ObjectSnapshot] {
    let ids = try objectIDs(of: FetchMergePlan(specification.forIDs, context: self), storedIDs: readResult.ids)
    var read: [ManagedObjectID: ObjectSnapshot] = [:]
    for (space, rows) in readResult.rows {
      for row in rows {
        let snapshot = ObjectSnapshot(row, of: tables.entity(numbered: row.entityNumber), space: space)
        read[snapshot.base.objectID] = snapshot
      }
    }
    var snapshots = try snapshots(with: ids, relationships, showsChanges: specification.includesPendingChanges, read: read)
    for relationship in relationships { try addMembers(of: relationship, to: &snapshots) }
    try deferredErrors.throwRecorded()
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

  /// Returns snapshots for IDs, in their order: from changed objects, cached rows, and one request per store for the rest. Omits rows that
  /// do not exist anymore.
  ///
  /// - Parameters:
  ///   - ids: The IDs.
  ///   - relationships: The relationships to include for new objects, whose snapshots have no ID to add members by later.
  ///   - showsChanges: Whether to include unsaved changes.
  ///   - read: Snapshots of rows that were already read.
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
      } else if let store = rowSource.store(numbered: id.space), let row = rowSource.cachedRow(id.reference, in: store) {
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

  /// Adds the members of a relationship: from the context where they have changes, and from one request per store for the rest.
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
      for (offset, position) in positions.enumerated() {
        let members = values[offset].lazy.filter { self.exists($0, space: space) }.map { reference in
          ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
        }
        snapshots[position].members[relationship.index] = ObjectSnapshot.ordered(members, of: relationship)
      }
    }
  }

  /// Returns whether a stored member is neither marked for deletion nor known to have no row.
  private func exists(_ reference: ObjectReference, space: UInt32) -> Bool {
    if let object = registeredObject(reference, space: space) { return !object.flags.contains(.isDeleted) }
    return !membershipTracker.isRemoved(reference)
  }
}

extension FetchSpecification {
  /// The request for whole rows, without the options for objects and dictionaries.
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
