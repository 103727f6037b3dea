// ManagedObjectContext+Fetch: fetching objects, IDs, counts and dictionaries, unsaved changes merged in.
public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObject: FetchResult {
  /// What a fetch of this type returns.
  public static var fetchResultType: FetchResultType { .objects }
}

extension ManagedObjectContext {
  /// The objects that a request asks for. The context has one object for each row: a registered one keeps its values and unsaved changes.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    let objects = try fetchObjects(request.specification)
    let entity = try entity(of: request.specification)
    guard Result.self == ManagedObject.self || entity.subtree.allSatisfy({ type(ofEntity: $0) is Result.Type }) else {
      throw StoreError(
        .invalidRequest, "Objects of the entity “\(entity.name)” are not of the class \(Result.self) in this context's class table.",
        operation: "fetch")
    }
    // Every class was checked above.
    return unsafeBitCast(objects, to: [Result].self)
  }

  /// The IDs that a request asks for; new objects have temporary ones.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    var specification = request.specification
    specification.resultType = .objectIDs
    try prepareFetch()
    let plan = try FetchPlan(specification, context: self)
    if !plan.needsMerging {
      guard let store = plan.stores.first else { return [] }
      let result = try coordinator.fetch(specification, from: store, scope: scope(for: store))
      if case .objectIDs(let ids) = result { return ids }
      throw unexpectedResult()
    }
    return try merged(plan).map(\.objectID)
  }

  /// The dictionaries that a request asks for: attribute values, and IDs for to-one relationships, by name or dotted path. Missing values have no key.
  ///
  /// Dictionaries show saved values only, as aggregates do.
  public func fetch(_ request: FetchRequest<[String: Any]>) throws -> [[String: Any]] {
    var specification = request.specification
    specification.resultType = .dictionaries
    try prepareFetch()
    let entity = try entity(of: specification)
    var dictionaries: [[String: Any]] = []
    for store in coordinator.stores(holding: entity, affectedStores: specification.affectedStores) {
      guard case .dictionaries(let rows) = try coordinator.fetch(specification, from: store, scope: scope(for: store)) else {
        throw unexpectedResult()
      }
      for row in rows.rows {
        var dictionary: [String: Any] = [:]
        for (column, value) in zip(rows.columns, row) {
          if let attribute = column.attribute {
            if let value = try ManagedObject.swiftValue(value, attribute, entityName: entity.name) { dictionary[column.name] = value }
          } else if case .int(let word) = value {
            let reference = ObjectReference(rawValue: word)
            dictionary[column.name] = ManagedObjectID(
              space: store.space.number, entityNumber: UInt32(reference.entity), key: reference.key)
          }
        }
        dictionaries.append(dictionary)
      }
    }
    return dictionaries
  }

  /// How many results a request has.
  public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
    try prepareFetch()
    var specification = request.specification
    let plan = try FetchPlan(specification, context: self)
    if plan.hasRelevantChanges { return try merged(plan).count }
    specification.resultType = .count
    var total = 0
    let window = plan.stores.count > 1
    if window { (specification.fetchLimit, specification.fetchOffset) = (0, 0) }
    for store in plan.stores {
      guard case .count(let count) = try coordinator.fetch(specification, from: store, scope: scope(for: store)) else {
        throw unexpectedResult()
      }
      total += count
    }
    return window ? plan.windowed(Array(repeating: (), count: total)).count : total
  }

  // MARK: Steps

  private func prepareFetch() throws {
    processPendingChanges()
    try throwNotedError()
  }

  func entity(of specification: FetchSpecification) throws -> CompiledEntity {
    guard let entity = model.entity(named: specification.entityName) else {
      throw unknownEntity(specification.entityName, operation: "fetch")
    }
    return entity
  }

  func unexpectedResult() -> StoreError {
    StoreError(.internalInconsistency, "The store answered a fetch with a result of another kind.", operation: "fetch")
  }

  private func fetchObjects(_ request: FetchSpecification) throws -> [ManagedObject] {
    var specification = request
    specification.resultType = specification.includesPropertyValues ? .objects : .objectIDs
    try prepareFetch()
    let plan = try FetchPlan(specification, context: self)
    let objects: [ManagedObject]
    if plan.needsMerging {
      objects = try merged(plan)
    } else if let store = plan.stores.first {
      objects = try materialize(try coordinator.fetch(specification, from: store, scope: scope(for: store)), from: store, specification)
    } else {
      objects = []
    }
    if !specification.relationshipKeyPathsForPrefetching.isEmpty { try prefetch(specification, for: objects) }
    if !specification.returnsObjectsAsFaults { for object in objects { object.willAccess() } }
    return objects
  }

  /// The objects of a store's answer, in its order.
  private func materialize(
    _ result: PersistentStoreResult, from store: PersistentStore, _ specification: FetchSpecification
  ) throws -> [ManagedObject] {
    let space = store.space.number
    var objects: [ManagedObject] = []
    switch result {
    case .rows(let rows):
      let group = rows.count > 1 ? makeGroup(space: space, references: rows.references).number : 0
      objects.reserveCapacity(rows.count)
      for (position, row) in rows.enumerated() {
        objects.append(
          materialize(row, space: space, group: group, position: position, refresh: specification.shouldRefreshRefetchedObjects))
      }
    case .objectIDs(let ids):
      let group = ids.count > 1 ? makeGroup(space: space, references: ids.map(\.reference)).number : 0
      objects.reserveCapacity(ids.count)
      for (position, id) in ids.enumerated() {
        let object = registeredObject(id.reference, space: space) ?? makeObject(id, image: nil)
        object.group = group
        object.groupPosition = UInt32(truncatingIfNeeded: position)
        objects.append(object)
      }
    default: throw unexpectedResult()
    }
    return objects
  }

  /// The object of a row: the registered one, which takes the row only if it is a fault (or is to be refreshed), or a new one.
  private func materialize(_ row: RowImage, space: UInt32, group: UInt32, position: Int, refresh: Bool) -> ManagedObject {
    let object: ManagedObject
    if let known = registeredObject(row.reference, space: space) {
      object = known
      if known.flags.contains(.isFault) {
        known.image = row
      } else if refresh, !known.hasChanges, known.image?.version != row.version {
        known.image = row
        known.updatePlainRow()
        for state in known.toManyStates ?? [] { state?.unload() }
        known.awake(fromSnapshotEvents: .refresh)
      }
    } else {
      object = makeObject(ManagedObjectID(space: space, entityNumber: UInt32(row.entityNumber), key: row.key), image: row)
    }
    object.group = group
    object.groupPosition = UInt32(truncatingIfNeeded: position)
    return object
  }

  /// The answer of all stores with the context's unsaved changes merged in, sorted and windowed in memory.
  private func merged(_ plan: FetchPlan) throws -> [ManagedObject] {
    let specification = plan.storeSpecification
    var objects: [ManagedObject] = []
    for store in plan.stores {
      let result = try coordinator.fetch(specification, from: store, scope: scope(for: store))
      objects.append(contentsOf: try materialize(result, from: store, specification))
    }
    if plan.specification.includesPendingChanges { objects.removeAll(where: plan.isSuperseded) }
    let matching = try plan.changedMatches()
    objects = try plan.sort(stored: objects, changed: matching)
    return plan.windowed(objects)
  }
}
