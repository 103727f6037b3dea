// ManagedObjectContext+Fetch: fetching objects, IDs, counts and dictionaries, unsaved changes merged in.
public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObject: FetchResult {
  /// What a fetch of this type returns.
  public static var _fetchResultType: FetchResultType { .objects }
}

extension ManagedObjectContext {
  /// The objects that a request asks for. The context has one object for each row: a registered one keeps its values and unsaved changes.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store; with ``StoreError/Code/noOpenStore`` when none is open.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try typed(Result.self, for: request.specification) { try fetchObjects(request.specification) }
  }

  /// The IDs that a request asks for; new objects have temporary ones.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    var specification = request.specification
    specification.resultType = .objectIDs
    try prepareFetch()
    let ids = try objectIDs(of: FetchMergePlan(specification, context: self))
    try notedErrors.tell()
    return ids
  }

  /// How many results a request has: objects with unsaved changes, or dictionaries, which show saved values.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
    if request.resultType == .dictionaries { return try countDictionaries(request.specification) }
    var specification = request.specification
    specification.resultType = .count
    // What only dictionaries have.
    specification.propertiesToFetch = []
    specification.propertiesToGroupBy = []
    specification.havingPredicate = nil
    specification.returnsDistinctResults = false
    try prepareFetch()
    let count = try count(of: FetchMergePlan(specification, context: self))
    try notedErrors.tell()
    return count
  }

  /// How many results a plan for a count has.
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

  // MARK: Steps

  /// The objects of a request as objects of a class, which every entity's is checked to be first.
  func typed<Result: ManagedObject>(
    _ type: Result.Type, for specification: FetchSpecification, _ objects: () throws -> [ManagedObject]
  ) throws -> [Result] {
    try checkClass(type, for: specification)
    // Every class was checked above.
    return unsafeBitCast(try objects(), to: [Result].self)
  }

  /// Throws unless every object that a request may return is of a class.
  func checkClass<Result: ManagedObject>(_ type: Result.Type, for specification: FetchSpecification) throws {
    guard try returnsOnly(type, for: specification) else {
      let name = try entity(of: specification).name
      if classes.type(of: name) == nil { throw StoreError(whyUnknown(type), operation: .fetch) }
      throw StoreError(.otherClass(entity: name, className: "\(type)"), operation: .fetch)
    }
  }

  /// Whether every object that a request may return is of a class.
  package func returnsOnly<Result: ManagedObject>(_ type: Result.Type, for specification: FetchSpecification) throws -> Bool {
    let entity = try entity(of: specification)
    return type == ManagedObject.self || entity.subtree.allSatisfy { entityClasses.type(ofEntity: $0) is Result.Type }
  }

  func prepareFetch() throws {
    settleChanges()
    try notedErrors.tell()
  }

  func entity(of specification: FetchSpecification) throws -> CompiledEntity {
    guard let entity = model.entity(named: specification.entityName) else {
      throw unknownEntity(specification.entityName, operation: .fetch)
    }
    return entity
  }

  func unexpectedResult() -> StoreError {
    StoreError(.internalInconsistency(.otherResult), operation: .fetch)
  }

  private func fetchObjects(_ request: FetchSpecification) throws -> [ManagedObject] {
    try prepareFetch()
    return try settledObjects(of: request)
  }

  /// The objects of a request, once the event has ended.
  func settledObjects(of request: FetchSpecification) throws -> [ManagedObject] {
    var specification = request
    // Rows that come in batches are read when they are asked for.
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

  /// Does with a fetch's results what the request asks for beside.
  func finish(_ objects: [ManagedObject], _ specification: FetchSpecification) throws -> [ManagedObject] {
    if !specification.relationshipKeyPathsForPrefetching.isEmpty {
      let companions = try prefetch(specification, for: objects)
      _ = faultGroups.hold(companions)
    }
    if !specification.returnsObjectsAsFaults { for object in objects { object.willAccess() } }
    // What could not be read while objects were filtered, sorted and fired makes the answer wrong.
    try notedErrors.tell()
    return objects
  }

  /// The answer of all stores with the context's unsaved changes merged in, sorted and windowed in memory.
  func merged(_ plan: FetchMergePlan) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    for store in plan.stores {
      let result = try rowSource.fetch(try readSpecification(plan.storeSpecification), from: store)
      objects.append(contentsOf: try materialize(result, from: store, plan.specification))
    }
    objects.removeAll(where: plan.isSuperseded)
    return try assembled(plan, stored: objects)
  }

  /// Stored objects, which are in order store by store, with the changed ones among them, sorted and windowed.
  func assembled(_ plan: FetchMergePlan, stored: [ManagedObject]) throws -> [ManagedObject] {
    let changed = try plan.changedMatches()
    if plan.sortsAnew { return plan.windowed(try plan.sorted(stored + changed)) }
    return plan.windowed(try plan.merge(stored, changed, element: { $0 }, object: { stored[$0] }))
  }
}
