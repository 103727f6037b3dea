public import ObjectModel
@_spi(Generated) public import ObjectQuery
import ObjectStore

extension ManagedObject: FetchResult {}

extension ManagedObjectContext {
  /// Returns the objects that match a request.
  ///
  /// The context has exactly one object for each row. An object that is already registered keeps its values and its unsaved changes.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store, with ``StoreError/Code/noOpenStore`` if no
  ///   store is open.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try typed(Result.self, for: request.specification) { try fetchObjects(request.specification) }
  }

  /// Returns the IDs of the objects that match a request. Inserted objects have temporary IDs.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    var specification = request.specification
    specification.resultType = .objectIDs
    try prepareFetch()
    let ids = try objectIDs(of: FetchMergePlan(specification, context: self))
    try deferredErrors.throwRecorded()
    return ids
  }

  /// Returns the number of results of a request. The count of objects includes unsaved changes; the count of dictionaries covers saved
  /// values only.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
    if request.resultType == .dictionaries { return try countDictionaries(request.specification) }
    var specification = request.specification
    specification.resultType = .count
    // Remove the settings that apply to dictionary results only.
    specification.propertiesToFetch = []
    specification.propertiesToGroupBy = []
    specification.havingPredicate = nil
    specification.returnsDistinctResults = false
    try prepareFetch()
    let count = try count(of: FetchMergePlan(specification, context: self))
    try deferredErrors.throwRecorded()
    return count
  }

  func count(of plan: FetchMergePlan) throws -> Int {
    var total = 0
    if let split = plan.split {
      try forEachFiltered(plan, split) { _ in total += 1 }
    } else {
      for store in plan.stores {
        let result = try rowSource.fetch(plan.storeSpecification, from: store)
        guard case .count(let count) = result else { throw unexpectedResult() }
        total += count
      }
      if !plan.needsMerging { return total }
    }
    return plan.window(of: total + (try plan.changedMatches().count)).count
  }

  // MARK: Executing

  /// Returns the objects of a request as instances of a class, after checking the classes of all entities in scope.
  func typed<Result: ManagedObject>(
    _ type: Result.Type, for specification: FetchSpecification, _ objects: () throws -> [ManagedObject]
  ) throws -> [Result] {
    try checkClass(type, for: specification)
    // `checkClass` has verified the class of every possible result.
    return unsafeBitCast(try objects(), to: [Result].self)
  }

  /// Throws unless every object that a request can return is of a class.
  func checkClass<Result: ManagedObject>(_ type: Result.Type, for specification: FetchSpecification) throws {
    guard try returnsOnly(type, for: specification) else {
      let name = try entity(of: specification).name
      if classes.type(of: name) == nil { throw StoreError(unknownEntityReason(type), operation: .fetch) }
      throw StoreError(.otherClass(entity: name, className: "\(type)"), operation: .fetch)
    }
  }

  /// Returns whether every object that a request can return is of a class.
  package func returnsOnly<Result: ManagedObject>(_ type: Result.Type, for specification: FetchSpecification) throws -> Bool {
    let entity = try entity(of: specification)
    return type == ManagedObject.self || entity.subtree.allSatisfy { entityClasses.type(ofEntity: $0) is Result.Type }
  }

  func prepareFetch() throws {
    settleChanges()
    try deferredErrors.throwRecorded()
  }

  func entity(of specification: FetchSpecification) throws -> CompiledEntity {
    guard let entity = model.entity(named: specification.entityName) else {
      throw unknownEntity(specification.entityName, operation: .fetch)
    }
    return entity
  }

  func unexpectedResult() -> StoreError {
    StoreError(.resultTypeMismatch, operation: .fetch)
  }

  private func fetchObjects(_ request: FetchSpecification) throws -> [ManagedObject] {
    try prepareFetch()
    return try settledObjects(of: request)
  }

  /// Returns the objects of a request. Pending changes must have been processed.
  func settledObjects(of request: FetchSpecification) throws -> [ManagedObject] {
    var specification = request
    // With a batch size, rows are read on access.
    let readsRows = specification.includesPropertyValues && specification.fetchBatchSize <= 0
    specification.resultType = readsRows ? .objects : .objectIDs
    let plan = try FetchMergePlan(specification, context: self)
    let objects: [ManagedObject]
    if let split = plan.split {
      objects = try filtered(plan, split)
    } else if plan.needsMerging {
      objects = try merged(plan)
    } else {
      let store = plan.stores[0]
      let result = try rowSource.fetch(try readSpecification(specification), from: store)
      objects = try materialize(result, from: store, specification)
    }
    return try finish(objects, specification)
  }

  /// Prefetches relationships and fires faults as the request specifies.
  func finish(_ objects: [ManagedObject], _ specification: FetchSpecification) throws -> [ManagedObject] {
    if !specification.relationshipKeyPathsForPrefetching.isEmpty {
      let companions = try prefetch(specification, for: objects)
      _ = faultGroups.hold(companions)
    }
    if !specification.returnsObjectsAsFaults { for object in objects { object.willAccess() } }
    // An error while objects were filtered, sorted, or fired makes the result wrong.
    try deferredErrors.throwRecorded()
    return objects
  }

  /// Returns the results of all stores merged with unsaved changes, sorted and limited in memory.
  func merged(_ plan: FetchMergePlan) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    for store in plan.stores {
      let result = try rowSource.fetch(try readSpecification(plan.storeSpecification), from: store)
      objects.append(contentsOf: try materialize(result, from: store, plan.specification))
    }
    objects.removeAll(where: plan.isSuperseded)
    return try assembled(plan, stored: objects)
  }

  /// Merges stored objects, which are sorted store by store, with changed objects, and applies the offset and the limit.
  func assembled(_ plan: FetchMergePlan, stored: [ManagedObject]) throws -> [ManagedObject] {
    let changed = try plan.changedMatches()
    if plan.sortsInMemory { return plan.windowed(try plan.sorted(stored + changed)) }
    return plan.windowed(try plan.merge(stored, changed, element: { $0 }, object: { stored[$0] }))
  }
}
