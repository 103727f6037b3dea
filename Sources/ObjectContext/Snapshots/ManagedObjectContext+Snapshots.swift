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

// MARK: - Asynchronous snapshots

extension ManagedObjectContext {
  /// Starts a fetch of typed snapshots without blocking the context's isolation, and returns immediately.
  ///
  /// ```swift
  /// let books = try await context.asynchronousFetch(Book.all, as: Book.Snapshot.self).value()
  /// ```
  ///
  /// Stores are read on a queue. Parts of the request that no store can evaluate, and to-many members, are processed at the end in the
  /// context's isolation, as objects are in ``asynchronousFetch(_:)``.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: The errors of `fetch(_:as:including:)` for unsupported requests; ``StoreError`` with ``StoreError/Code/noOpenStore`` if no
  ///   store is open.
  public func asynchronousFetch<Result: ManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<Snapshot> {
    try checkClass(Snapshot.Object.self, for: request.specification)
    return try asynchronousFetch(request.specification, including: relationships) { $0.map { Snapshot(storage: SnapshotStorage($0)) } }
  }

  /// Starts a fetch of snapshots without blocking the context's isolation, and returns immediately.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: The errors of the method for typed snapshots.
  public func asynchronousFetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<ObjectSnapshot> {
    try asynchronousFetch(request.specification, including: relationships) { $0 }
  }

  /// Starts a fetch of typed snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
  @_disfavoredOverload
  public func asynchronousFetch<Result: TypedManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> AsynchronousFetch<Snapshot> {
    try asynchronousFetch(request, as: type, including: Result.names(of: relationships))
  }

  /// Starts a fetch of snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
  @_disfavoredOverload
  public func asynchronousFetch<Result: TypedManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> AsynchronousFetch<ObjectSnapshot> {
    try asynchronousFetch(request, as: type, including: Result.names(of: relationships))
  }

  private func asynchronousFetch<Snapshot>(
    _ request: FetchSpecification, including names: [String], _ transform: @escaping ([ObjectSnapshot]) -> [Snapshot]
  ) throws -> AsynchronousFetch<Snapshot> {
    let specification = try request.ofSnapshots
    let relationships = try toMany(named: names, of: specification)
    return try AsynchronousFetch(specification, context: self) { readResult in
      transform(try self.snapshots(of: specification, relationships, readBefore: readResult))
    }
  }
}

// MARK: - Snapshots of objects

extension ManagedObject {
  /// Returns a sendable snapshot of the object's current values, including unsaved changes. Fires a fault.
  ///
  /// The snapshot of an object without unsaved changes shares the object's row and copies nothing. Generated classes have a method of the
  /// same name that returns a typed snapshot.
  ///
  /// - Parameter relationships: The to-many relationships whose members to include, as IDs. Members that are not loaded are read from the
  ///   store.
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if the object's row or context does not exist anymore; errors from
  ///   reading the row or the members; ``KeyValueError`` for a name that is not a stored to-many relationship.
  @_disfavoredOverload public final func snapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    try untypedSnapshot(including: relationships)
  }

  /// Returns a snapshot of the object's values. Called by generated classes.
  ///
  /// - Throws: The errors of ``snapshot(including:)``.
  @_spi(Generated) public final func untypedSnapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    guard let context = managedObjectContext else { throw StoreError(.noObject(objectID), operation: .takeSnapshot) }
    context.recordInPlaceMutations()
    if flags.contains(.isFault), !fireFault(trigger: nil), !flags.contains(.isInaccessible) {
      throw context.pendingError ?? StoreError(.noRow(objectID), operation: .takeSnapshot)
    }
    if flags.contains(.isInaccessible) { throw StoreError(.noRow(objectID), operation: .takeSnapshot) }
    var snapshot = context.snapshot(of: self)
    for name in relationships {
      let relationship = try compiledEntity.toMany(named: name)
      snapshot.members[relationship.index] = try context.memberIDs(of: self, relationship)
    }
    return snapshot
  }
}

extension CompiledEntity {
  /// Returns the stored to-many relationship with a name.
  func toMany(named name: String) throws(KeyValueError) -> CompiledRelationship {
    guard case .toMany(let relationship) = property(named: name), !relationship.isTransient else {
      throw KeyValueError(
        .unknownRelationship, key: name, entityName: self.name, detail: "a snapshot includes to-many relationships by name")
    }
    return relationship
  }
}

extension ManagedObjectContext {
  /// Returns a snapshot of an object that is not a fault.
  func snapshot(of object: ManagedObject) -> ObjectSnapshot {
    // The most frequent case.
    if object.overlay == nil, let row = object.row {
      return ObjectSnapshot(RowImage(heldRow: row), of: object.compiledEntity, space: object.currentID.space)
    }
    let isNew = object.flags.contains(.isInserted)
    let row = object.presentRow(
      key: isNew ? 0 : object.currentID.key, version: isNew ? 0 : object.row.map { RowImage.version($0) } ?? 0,
      known: { registry.savedReference($0) })
    return ObjectSnapshot(row, of: object.compiledEntity, space: space(of: object))
  }

  func memberIDs(of object: ManagedObject, _ relationship: CompiledRelationship) throws -> [ManagedObjectID] {
    guard let state = object.loadedState(relationship.index), state.isLoaded else {
      throw pendingError ?? StoreError(.noRow(object.objectID), operation: .takeSnapshot)
    }
    let ids = state.visibleMembers.lazy.filter { self.exists($0, near: object) }.compactMap { self.objectID($0, near: object) }
    return ObjectSnapshot.ordered(ids, of: relationship)
  }
}
