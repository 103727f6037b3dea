import ObjectModel
import ObjectQuery
public import ObjectStore
import Synchronization

extension ManagedObjectContext {
  /// Inserts the rows of a batch, either all of them or none, without creating objects.
  ///
  /// - Throws: ``BatchError`` for a row or value that cannot be written, or ``StoreError`` from the store. Nothing is written then.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    let entityName = try entityName(of: request)
    return try finish { done in try rowSource.execute(request, entityName: entityName, done: done) }
  }

  /// Sets properties of all objects that match a predicate, in each store that contains the entity. The update is atomic in each store.
  ///
  /// - Throws: ``BatchError`` for a property or value that cannot be written, ``FetchPredicateError`` for an unsupported predicate, or
  ///   ``StoreError`` from the store.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    try finish { done in try rowSource.execute(request, done: done) }
  }

  /// Deletes objects and applies their delete rules, in each store that contains some of them. The deletion is atomic in each store.
  ///
  /// - Throws: ``BatchError`` if a delete rule denies the deletion, ``FetchPredicateError`` for an unsupported predicate, or ``StoreError``
  ///   from the store.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    try finish { done in try rowSource.execute(request, done: done) }
  }

  /// Inserts the rows of an asynchronous sequence, for example from a file or the network. It uses bounded memory and does not block the
  /// context's isolation.
  ///
  /// - Parameters:
  ///   - rows: The rows, as values by property name; see ``BatchInsertRequest``.
  ///   - entityName: The name of the entity.
  ///   - onConflict: The policy for rows whose unique values are already taken.
  ///   - committing: When rows are committed. By default all rows are committed together or not at all, and other saves to the store wait
  ///     until the sequence ends. For a slow sequence, commit every few thousand rows.
  ///   - resultType: The kind of result to return.
  ///   - isolation: The context's isolation.
  /// - Throws: ``BatchError`` for a row or value that cannot be written, ``StoreError`` from the store, or an error of the sequence.
  @discardableResult
  public func insert<Rows: AsyncSequence & Sendable>(
    rows: Rows, into entityName: String, onConflict: BatchConflictPolicy = .error, committing: BatchCommit = .once,
    resultType: BatchResultType = .statusOnly, isolation: isolated (any Actor)? = #isolation
  ) async throws -> BatchResult where Rows.Element == [String: any Sendable] {
    let (entity, store) = try rowSource.storeForInsertion(of: entityName)
    // Committed changes are merged even if a later batch fails.
    let committed = Mutex<[ChangeSet]>([])
    defer { for changes in committed.withLock({ $0 }) { mergeChanges(from: changes) } }
    let target = rowSource.detached(forWritingTo: store)
    return try await target.insert(rows, of: entity, onConflict: onConflict, committing: committing, resultType: resultType) { changes in
      committed.withLock { $0.append(changes) }
    }
  }

  private func entityName(of request: BatchInsertRequest) throws -> String {
    if let name = request.entityName { return name }
    guard let type = request.objectType as? ManagedObject.Type else {
      throw StoreError(.rowsOfNoEntity, operation: .batchInsert)
    }
    return try knownEntity(ofClass: type, operation: .batchInsert).name
  }

  /// Executes a request and merges the changes that were written, even if it fails later.
  private func finish(_ body: ((BatchResult, [ChangeSet]) -> Void) throws -> Void) throws -> BatchResult {
    var outcome: (result: BatchResult, changes: [ChangeSet])?
    defer { for changes in outcome?.changes ?? [] { mergeChanges(from: changes) } }
    try body { outcome = ($0, $1) }
    guard let outcome else { throw unexpectedResult() }
    return outcome.result
  }
}

extension StoreError.Reason {
  static var rowsOfNoEntity: Self { Self(.invalidRequest, "The rows have neither a class nor an entity name.") }
}

// MARK: - Inserting by closures

extension BatchInsertRequest {
  /// Creates a request whose rows a closure fills one by one through the typed properties of a class.
  ///
  /// ```swift
  /// var lines = file.lines.makeIterator()
  /// let request = BatchInsertRequest(Book.self) { book in
  ///   guard let line = lines.next() else { return true }
  ///   book.title = line.title
  ///   book.author = ada
  ///   return false
  /// }
  /// ```
  ///
  /// The object only carries values: it does not belong to a context, and fetches do not return it. Properties that the closure does not
  /// set have their default values. To-one relationships accept saved objects only; to-many relationships cannot be set.
  /// - Parameters:
  ///   - type: The class, which must be in the context's class table.
  ///   - onConflict: The policy for rows whose unique values are already taken.
  ///   - managedObjectHandler: Fills an object and returns `false`, or returns `true`, without adding a row, when there are no more rows.
  public init<Object: ManagedObject>(
    _ type: Object.Type, onConflict: BatchConflictPolicy = .error, managedObjectHandler: @escaping (Object) throws -> Bool
  ) {
    self.init(entityName: nil, onConflict: onConflict) {
      { builder in
        let objectID = ManagedObjectID(space: builder.space.number, entityNumber: UInt32(builder.entity.number), key: -1)
        let row = Object(ManagedObjectSeed(objectID: objectID, context: nil, image: nil, flags: [.isInserted, .isBatchRow]))
        row.setDefaults(of: builder.entity)
        if try managedObjectHandler(row) { return false }
        if let state = row.toManyStates.first { try builder.reject(state.relationship) }
        guard let overlay = row.overlay else { return true }
        for slot in builder.entity.slots where overlay.isDirty(slot.index) && slot.kind != .none {
          try builder.set(checking: row.slotValue(slot.index), at: slot.index)
        }
        return true
      }
    }
    objectType = type
  }
}

extension BatchInsertRequest {
  /// Returns the request for rows of a named entity, which need not be the entity of the class.
  package func named(_ entityName: String) -> BatchInsertRequest {
    BatchInsertRequest(entityName: entityName, onConflict: onConflict, makeSource: makeSource)
  }
}

extension ManagedObject {
  /// Sets the destination of a to-one relationship in a row of a batch insertion. A destination that is not saved in the row's store is set
  /// as an invalid reference.
  final func setDestinationOfRow(_ destination: ManagedObject?, at slot: Int) {
    guard let destination else { return setReference(ObjectReference(rawValue: 0), at: slot) }
    let isSaved = destination.currentID.space == currentID.space && !destination.currentID.isTemporaryID
    setReference(isSaved ? destination.currentID.reference : ObjectReference(entity: 0, key: -1), at: slot)
  }
}

// MARK: - Updating objects in memory

extension ManagedObjectContext {
  /// Applies the assignments of a batch update to objects as unsaved changes. Each object's computed values use its previous values.
  ///
  /// Values are checked as for a batch update of rows. Validation rules of the model and of classes apply when the context is saved.
  ///
  /// - Parameters:
  ///   - objects: Objects of this context, of the request's entity or its subentities.
  ///   - request: The assignments. Its predicate is ignored.
  /// - Throws: ``BatchError`` for a property or value that cannot be written; ``FetchPredicateError`` for an invalid expression; an error
  ///   of the store. Objects before the failing one have been changed.
  package func update(_ objects: some Sequence<ManagedObject>, by request: BatchUpdateRequest) throws {
    var updates: [UInt32: ObjectUpdate] = [:]
    // As in a store, invalid assignments are an error even if there are no objects to update.
    if let entity = model.entity(named: request.entityName), let store = rowSource.firstStore(holding: entity) {
      _ = try BatchUpdatePlan(request, model: model, objectIDSpace: store.space)
    }
    for object in objects {
      let space = space(of: object)
      let update: ObjectUpdate
      if let known = updates[space] {
        update = known
      } else {
        guard let store = rowSource.store(numbered: space) else { continue }
        let plan = try BatchUpdatePlan(request, model: model, objectIDSpace: store.space)
        try checkDestinations(of: plan, space: space)
        update = ObjectUpdate(plan: plan)
        updates[space] = update
      }
      try update.apply(to: object, in: self)
    }
  }

  /// Throws if the destination of an assigned relationship does not exist.
  private func checkDestinations(of plan: BatchUpdatePlan, space: UInt32) throws {
    for assignment in plan.assignments where assignment.slot.relationship != nil {
      guard case .constant(.int(let word)) = assignment.value else { continue }
      let reference = ObjectReference(rawValue: word)
      let id = ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key)
      do { _ = try existingObject(with: id) } catch let error as StoreError where error.code == .objectNotFound {
        throw BatchUpdatePlan.missingDestination(of: assignment.slot, plan.entity)
      }
    }
  }
}

/// The assignments of a batch update for the objects of one store.
private struct ObjectUpdate {
  let plan: BatchUpdatePlan
  private let evaluator: PredicateEvaluator<ManagedObjectResolver>

  init(plan: BatchUpdatePlan) {
    self.plan = plan
    evaluator = PredicateEvaluator(plan.fetch, resolver: ManagedObjectResolver())
  }

  func apply(to object: ManagedObject, in context: ManagedObjectContext) throws {
    // Compute all values before setting any of them.
    let values = try plan.assignments.map { assignment in
      switch assignment.value {
      case .constant(let value): value
      case .computed(let expression):
        try BatchUpdatePlan.assigned(evaluator.value(of: expression, for: object), to: assignment.slot, of: plan.entity)
      }
    }
    for (assignment, value) in zip(plan.assignments, values) {
      let slot = assignment.slot.index
      if assignment.slot.relationship == nil {
        object.setAttributeValue(value, at: slot)
      } else if case .int(let word) = value {
        object.setToOne(context.object(ObjectReference(rawValue: word), near: object), at: slot)
      } else {
        object.setToOne(nil, at: slot)
      }
    }
  }
}
