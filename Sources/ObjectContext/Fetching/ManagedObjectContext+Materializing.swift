import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Returns the objects of a store's result, in its order.
  func materialize(
    _ result: PersistentStoreResult, from store: PersistentStore, _ specification: FetchSpecification
  ) throws -> [ManagedObject] {
    let space = store.space.number
    var objects: [ManagedObject] = []
    switch result {
    case .rows(let rows): objects = materialize(rows, space: space, refresh: specification.shouldRefreshRefetchedObjects)
    case .objectIDs(let ids):
      let group = ids.count > 1 ? faultGroups.add(ids.map(\.reference), space: space, batch: specification.fetchBatchSize) : 0
      objects.reserveCapacity(ids.count)
      for (position, id) in ids.enumerated() {
        let object = registeredObject(id.reference, space: space) ?? makeObject(id)
        object.join(group, at: position)
        objects.append(object)
      }
    case .dictionaries(let dictionaries): return try materialize(dictionaries, from: store)
    default: throw unexpectedResult()
    }
    return objects
  }

  /// Returns the objects of rows, in their order. Creates row images only for objects that take them.
  private func materialize(_ rows: RowList, space: UInt32, refresh: Bool) -> [ManagedObject] {
    let group = rows.count > 1 ? faultGroups.reserve() : 0
    var references = CompactReferenceArray()
    // Initialize the elements in place: appending would retain each object once more.
    let objects = [ManagedObject](unsafeUninitializedCapacity: rows.count) { buffer, count in
      for position in rows.indices {
        let row = rows.base(position)
        let reference = RowImage.reference(row)
        references.append(reference)
        if let known = registeredObject(reference, space: space) {
          if refresh || known.flags.contains(.isFault) { take(rows[position], for: known, refresh: refresh) }
          known.join(group, at: position)
          buffer.initializeElement(at: position, to: known)
        } else {
          let id = ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
          let made = makeObject(id, row: row)
          made.join(group, at: position)
          buffer.initializeElement(at: position, to: made)
        }
        count = position + 1
      }
    }
    if group != 0 { faultGroups.enter(references, space: space, as: group) }
    return objects
  }

  /// Returns the object of a row: the registered object, or a new one.
  ///
  /// A registered object takes the row only if it is a fault, or if `refresh` is true.
  func object(of row: RowImage, space: UInt32, refresh: Bool) -> ManagedObject {
    guard let known = registeredObject(row.reference, space: space) else {
      let id = ManagedObjectID(space: space, entityNumber: UInt32(row.entityNumber), key: row.key)
      return withExtendedLifetime(row) { makeObject(id, row: row.base) }
    }
    take(row, for: known, refresh: refresh)
    return known
  }

  /// Assigns a row to a registered object if the object is a fault, or if `refresh` is true. Unsaved changes are kept.
  private func take(_ row: RowImage, for object: ManagedObject, refresh: Bool) {
    if object.flags.contains(.isFault) {
      // A row that was read earlier, as in an asynchronous fetch, may be older than the object's.
      if let image = object.image, image.version > row.version, row.version != UnsavedRow.version { return }
      object.image = row
    } else if refresh, !object.flags.contains(.isDeleted), object.image?.version != row.version || row.version == UnsavedRow.version {
      object.setRefreshedRow(row)
    }
  }

  /// Returns the objects with the given IDs and loads their rows, with one request for each store; nil for a row that no longer exists.
  ///
  /// - Parameters:
  ///   - refresh: Whether to read the current rows of all objects. Unsaved changes are kept.
  ///   - isPassing: Whether the objects are one batch of many, whose rows need not be cached.
  func objects(
    with ids: some Collection<ManagedObjectID>, refresh: Bool = false, isPassing: Bool = false
  ) throws -> [ManagedObject?] {
    var missing: [UInt32: [ManagedObjectID]] = [:]
    var objects: [ManagedObject] = []
    objects.reserveCapacity(ids.count)
    var group: UInt32 = 0
    if let first = ids.first, ids.count > 1, !first.isTemporaryID {
      group = faultGroups.add(ids.map(\.reference), space: first.space)
    }
    for (position, id) in ids.enumerated() {
      let object = self.object(with: id)
      objects.append(object)
      guard !id.isTemporaryID, object.managedObjectContext === self else { continue }
      if id.space == ids.first?.space {
        object.join(group, at: position)
      }
      if refresh ? !object.flags.contains(.isDeleted) : object.flags.contains(.isFault) && object.row == nil {
        if !refresh, let store = rowSource.store(numbered: id.space), let row = rowSource.cachedRow(id.reference, in: store) {
          object.image = row
        } else {
          missing[id.space, default: []].append(id)
        }
      }
    }
    for (space, ids) in missing {
      let store = try rowSource.openStore(of: ids[0], .fetch)
      for row in try rowSource.rows(of: ids, in: store, isPassing: isPassing) {
        if let object = registeredObject(row.reference, space: space) { take(row, for: object, refresh: refresh) }
      }
    }
    return objects.map { object in
      let isRemoved = !object.flags.isDisjoint(with: [.isRemoved, .isInaccessible]) || object.flags.contains(.isFault) && object.row == nil
      return isRemoved ? nil : object
    }
  }

  /// Returns the IDs of the objects that a store finds.
  ///
  /// - Parameter known: The IDs that the stores have already returned, by ID space.
  func storedIDs(
    _ specification: FetchSpecification, in store: PersistentStore, known: [UInt32: [ManagedObjectID]]?
  ) throws -> [ManagedObjectID] {
    if let known { return known[store.space.number] ?? [] }
    let result = try rowSource.fetch(specification, from: store)
    guard case .objectIDs(let ids) = result else { throw unexpectedResult() }
    return ids
  }

  /// Returns the IDs of a plan's results: merged, sorted, and limited. Creates only the stored objects that the merge compares with changed
  /// objects.
  ///
  /// - Parameter storedIDs: The IDs that the stores have already returned, by ID space.
  func objectIDs(of plan: FetchMergePlan, storedIDs: [UInt32: [ManagedObjectID]]? = nil) throws -> [ManagedObjectID] {
    if let split = plan.split {
      guard !plan.needsMerging, !plan.sortsInMemory else { return try filtered(plan, split, storedIDs: storedIDs).map(\.objectID) }
      let upperBound = plan.window(of: .max).upperBound
      var ids: [ManagedObjectID] = []
      try forEachFiltered(plan, split, limit: upperBound, storedIDs: storedIDs) { ids.append($0.currentID) }
      return plan.windowed(ids)
    }
    var stored: [ManagedObjectID] = []
    for store in plan.stores {
      let ids = try self.storedIDs(plan.storeSpecification, in: store, known: storedIDs)
      if stored.isEmpty { stored = ids } else { stored += ids }
    }
    guard plan.needsMerging else { return stored }
    if plan.hasRelevantChanges {
      stored.removeAll { id in registeredObject(id.reference, space: id.space).map(plan.isSuperseded) ?? false }
    }
    if plan.sortsInMemory { return try assembled(plan, stored: try objects(with: stored).compactMap { $0 }).map(\.objectID) }
    let pages = PagedObjects(stored, pageSize: FaultGroups.faultBatch, context: self)
    return plan.windowed(
      try plan.merge(stored, try plan.changedMatches(), element: \.objectID, object: { try pages.existingObject(at: $0) }))
  }
}

// MARK: - Filtering in memory

extension ManagedObjectContext {
  /// Returns the objects of a plan after applying in memory the conditions that stores cannot evaluate, sorted and limited.
  ///
  /// - Parameter storedIDs: The IDs that the stores have already returned, by ID space.
  func filtered(_ plan: FetchMergePlan, _ split: FetchSplit, storedIDs: [UInt32: [ManagedObjectID]]? = nil) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    let limit = plan.needsMerging || plan.sortsInMemory ? .max : plan.window(of: .max).upperBound
    try forEachFiltered(plan, split, limit: limit, storedIDs: storedIDs) { objects.append($0) }
    return try assembled(plan, stored: objects)
  }

  /// Visits the stored objects that satisfy the remaining conditions, in the order of the stores. Skips changed objects.
  ///
  /// Reads rows in pages and releases those of objects that do not match.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of visits.
  ///   - storedIDs: The IDs that the stores have already returned, by ID space.
  func forEachFiltered(
    _ plan: FetchMergePlan, _ split: FetchSplit, limit: Int = .max, storedIDs: [UInt32: [ManagedObjectID]]? = nil,
    _ body: (ManagedObject) -> Void
  ) throws {
    let entity = try entity(of: plan.specification)
    let resolver = FetchResolver(model: model, transientKeys: .allowed)
    let evaluator = PredicateEvaluator(try resolver.resolve(split.remaining, entity: entity), resolver: ManagedObjectResolver())
    let specification = plan.storeSpecification
    var found = 0
    for store in plan.stores where found < limit {
      var rest = try self.storedIDs(specification, in: store, known: storedIDs)[...]
      while !rest.isEmpty, found < limit {
        let page = rest.prefix(FaultGroups.faultBatch)
        rest = rest.dropFirst(page.count)
        for case let object? in try objects(with: page, refresh: specification.shouldRefreshRefetchedObjects) where found < limit {
          if plan.isSuperseded(object) { continue }
          if try evaluator.matches(object) {
            found += 1
            body(object)
          }
        }
      }
    }
  }
}
