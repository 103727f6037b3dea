public import ObjectModel
@_spi(Generated) public import ObjectQuery
public import ObjectStore

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

// MARK: - First results

extension ManagedObjectContext {
  /// Returns the first object that matches a request, in the request's order; nil if there is none. Reads one row.
  ///
  /// - Throws: The errors of a fetch.
  public func fetchFirst<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result? {
    // Check the limit here: the next line replaces it, which would hide a negative one.
    try request.specification.checkNumbers()
    return try fetch(request.limit(1)).first
  }

  /// Returns the first row of a selection; nil if there is none.
  ///
  /// - Throws: The errors of a fetch of the selection.
  public func fetchFirst<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> Row? {
    try selection.specification.checkNumbers()
    return try fetch(selection.limit(1)).first
  }

  /// Returns the only object that matches a request. Reads at most two rows.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if no object matches, and with ``StoreError/Code/notUnique`` if
  ///   several match; the errors of a fetch.
  public func fetchExactlyOne<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result {
    try request.specification.checkNumbers()
    let results = try fetch(request.limit(2))
    guard let only = results.first else { throw StoreError(.noneFound(entity: request.entityName), operation: .fetch) }
    guard results.count == 1 else { throw StoreError(.severalFound(entity: request.entityName), operation: .fetch) }
    return only
  }

  /// Returns the object with an ID as an instance of a class: `try context.object(Book.self, id)`. Reads its row from the store unless the
  /// row is in memory.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if the object does not exist, and with
  ///   ``StoreError/Code/invalidRequest`` if it is of another class; the errors of the store.
  public func object<Object: ManagedObject>(_ type: Object.Type, _ objectID: ManagedObjectID) throws -> Object {
    let object = try existingObject(with: objectID)
    if let object = object as? Object { return object }
    throw StoreError(
      .objectOfOtherClass(objectID, expected: "\(type)", found: "\(Swift.type(of: object))"), operation: .findObject)
  }
}

extension StoreError.Reason {
  static func noneFound(entity: String) -> Self {
    Self(.objectNotFound, "Expected exactly one “\(entity)”, found none. fetchFirst(_:) returns nil in this case.", entity: entity)
  }

  static func severalFound(entity: String) -> Self {
    Self(.notUnique, "Expected exactly one “\(entity)”, found several. fetchFirst(_:) returns the first one.", entity: entity)
  }

  static func objectOfOtherClass(_ id: ManagedObjectID, expected: String, found: String) -> Self {
    Self(.invalidRequest, "The object \(id.uriString) is of the class \(found), not of \(expected).", object: id)
  }
}

// MARK: - Fetching selections

extension ManagedObjectContext {
  /// Returns the rows of a typed selection. The stores create the rows, so they contain saved values only.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid selection; ``FetchSelectionError`` for a value that does not fit its type;
  ///   ``StoreError`` from the store.
  public func fetch<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> [Row] {
    let results = try dictionaryResults(of: selection.specification)
    return try results.rows.map { row in try selection.row(of: results.columns.indices.map { try results.value(of: row, $0) }) }
  }

  /// Returns the number of rows of a typed selection.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid selection; ``StoreError`` from the store.
  public func count<FetchedClass, Row>(for selection: FetchSelection<FetchedClass, Row>) throws -> Int {
    try countDictionaries(selection.specification)
  }
}

// MARK: - Explaining requests

extension ManagedObjectContext {
  /// Returns an explanation of how a request would be executed, without executing it.
  ///
  /// The explanation contains the statements of the stores with their query plans and indexes, the steps performed in memory, and warnings
  /// about steps whose duration grows with the number of objects. It contains none of the request's constants.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func explain<Result>(_ request: FetchRequest<Result>) throws -> FetchExplanation {
    settleChanges()
    try deferredErrors.throwRecorded()
    var specification = request.specification
    let readsRows = specification.includesPropertyValues && specification.fetchBatchSize <= 0
    if specification.resultType == .objects && !readsRows { specification.resultType = .objectIDs }
    // Finding the objects affected by related changes would need a fetch.
    let plan = try FetchMergePlan(specification, context: self, countsRelatedChanges: false)
    var inMemory: [String] = []
    var explained = specification
    if specification.resultType == .dictionaries {
      if plan.stores.count > 1 {
        explained = try mergeableDictionaries(specification)
        inMemory.append("the rows of \(plan.stores.count) stores are combined")
      }
    } else {
      explained = try readSpecification(plan.storeSpecification)
      let name = specification.entityName
      if plan.changedCount > 0 {
        inMemory.append("unsaved changes of \(plan.changedCount) objects of \(name) are compared, and merged into the stores' results")
      }
      if plan.deletedCount > 0 {
        inMemory.append("\(plan.deletedCount) objects of \(name) with unsaved deletions are removed from the stores' results")
      }
      if try RelatedChanges(of: specification, entity(of: specification), nil, self) != nil {
        inMemory.append("objects of \(name) that unsaved changes of related objects affect are found, read, and compared")
      }
      if plan.stores.count > 1, !specification.sortDescriptors.isEmpty {
        inMemory.append("the results of \(plan.stores.count) stores are merged by the sort order")
      }
      if plan.split?.remaining != nil {
        inMemory.append("every object that the stores find is read and compared with the part of the predicate that they cannot evaluate")
      }
      if plan.split?.sortsInMemory ?? false { inMemory.append("all results are sorted, because a sort key is transient") }
      for path in specification.relationshipKeyPathsForPrefetching {
        inMemory.append("the objects of “\(path)” are prefetched: one more statement for each relationship of the path")
      }
    }
    let parts = try plan.stores.map { try rowSource.explain(explained, from: $0) }
    return FetchExplanation(stores: parts, inMemory: inMemory)
  }
}

// MARK: - Evaluating fetches for custom stores

extension ManagedObjectContext {
  /// Evaluates a fetch over objects of the context.
  ///
  /// - Throws: The errors of reading the objects.
  package func answer(_ evaluation: FetchEvaluation, among candidates: [ManagedObjectID]) throws -> PersistentStoreResult {
    let objects = try objects(with: candidates).compactMap { $0 }
    let result = try evaluation.answer(among: objects, resolver: ManagedObjectResolver()) { object in
      object.fireIfFault()
      return object.image
    }
    try deferredErrors.settle()
    return result
  }
}
