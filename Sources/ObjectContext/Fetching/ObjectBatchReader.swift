public import ObjectModel
public import ObjectQuery
import ObjectStore

/// Reads the objects of a fetch in batches. The set of objects is fixed at the start. Rows are read batch by batch and are not cached.
final class ObjectBatchReader {
  private enum Rest {
    case keys(FetchedKeys, space: UInt32)
    case ids(ArraySlice<ManagedObjectID>)
  }

  private var rest: Rest
  private let batchSize: Int
  private let specification: FetchSpecification
  private let context: ManagedObjectContext
  /// The objects that were inserted when the walk began, by their temporary IDs. A save replaces these IDs.
  private let newObjects: [ManagedObjectID: ManagedObject]
  /// The objects that hold what was prefetched with the current batch.
  private var companions: [ManagedObject] = []

  init(_ request: FetchSpecification, batchSize: Int, context: ManagedObjectContext) throws {
    var specification = request
    specification.resultType = .objectIDs
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification, context: context)
    rest = try Self.found(plan, context)
    self.batchSize = batchSize
    self.specification = specification
    self.context = context
    if case .ids(let ids) = rest { newObjects = context.newObjects(among: ids) } else { newObjects = [:] }
  }

  /// Returns the objects to visit. Without a sort order, they are sorted by key, so that the rows of a batch are adjacent in the store.
  private static func found(_ plan: FetchMergePlan, _ context: ManagedObjectContext) throws -> Rest {
    let specification = plan.specification
    let isOrdered = !specification.sortDescriptors.isEmpty || specification.fetchLimit > 0 || specification.fetchOffset > 0
    guard plan.split == nil, !plan.needsMerging, !isOrdered else { return .ids(try context.objectIDs(of: plan)[...]) }
    let store = plan.stores[0]
    switch try context.rowSource.fetchedIDs(plan.storeSpecification, in: store) {
    case .keys(let keys): return .keys(keys, space: store.space.number)
    case .ids(let ids): return .ids(ids.sorted { $0.key < $1.key }[...])
    }
  }

  /// Returns the objects of the next batch that still exist; nil at the end.
  func next() throws -> [ManagedObject]? {
    companions = []
    let ids = takeBatch()
    guard !ids.isEmpty else { return nil }
    let batch = try context.readBatch(ids, specification, isPassing: true)
    companions = batch.companions
    context.rowSource.rowsTouched?(ids.count)
    return batch.objects.compactMap { $0 }
  }

  /// Returns the IDs of the next batch; an empty array at the end.
  private func takeBatch() -> [ManagedObjectID] {
    switch rest {
    case .keys(let keys, let space):
      let entity = UInt32(keys.entity ?? 0)
      return keys.removeFirst(batchSize).map { ManagedObjectID(space: space, entityNumber: entity, key: $0) }
    case .ids(let ids):
      rest = .ids(ids.dropFirst(batchSize))
      return ids.prefix(batchSize).map { $0.isTemporaryID ? newObjects[$0]?.objectID ?? $0 : $0 }
    }
  }
}

extension ManagedObjectContext {
  /// Returns the inserted objects among the given IDs, by their temporary IDs.
  func newObjects(among ids: some Sequence<ManagedObjectID>) -> [ManagedObjectID: ManagedObject] {
    guard !unitOfWork.inserted.isEmpty else { return [:] }
    return Dictionary(ids.filter(\.isTemporaryID).map { ($0, object(with: $0)) }, uniquingKeysWith: { first, _ in first })
  }

  /// Reads a batch of objects and prefetches their relationships.
  ///
  /// - Parameter isPassing: Whether this is one batch of many, whose rows need not be cached.
  /// - Returns: The objects, nil for rows that no longer exist, and the intermediate objects of prefetched paths.
  func readBatch(
    _ ids: some Collection<ManagedObjectID>, _ specification: FetchSpecification?, isPassing: Bool = false
  ) throws -> (objects: [ManagedObject?], companions: [ManagedObject]) {
    let objects = try objects(with: ids, refresh: specification?.shouldRefreshRefetchedObjects ?? false, isPassing: isPassing)
    guard let specification else { return (objects, []) }
    var companions: [ManagedObject] = []
    let there = objects.compactMap { $0 }
    if !specification.relationshipKeyPathsForPrefetching.isEmpty { companions = try prefetch(specification, for: there) }
    if !specification.returnsObjectsAsFaults { for object in there { object.willAccess() } }
    try deferredErrors.throwRecorded()
    return (objects, companions)
  }
}

// MARK: - Enumerating in batches

extension ManagedObjectContext {
  /// Calls a closure for each batch of the objects that match a request, in bounded memory. Rows are read batch by batch, and each batch is
  /// released before the next.
  ///
  /// ```swift
  /// try context.enumerateBatches(of: Book.all, size: 500) { books, stop in
  ///   for book in books { book.price *= 1.1 }
  ///   try context.save()
  /// }
  /// ```
  ///
  /// The set of objects is fixed at the start and includes unsaved changes. Objects inserted or saved during the enumeration, in this
  /// context or another, are neither added nor visited twice. Objects deleted before their batch is read are skipped. Values are read with
  /// their batch, whose rows do not stay in the row cache. The request's relationship key paths are prefetched batch by batch.
  ///
  /// The enumeration holds the IDs: 16 bytes for each object. If the request has no order, no offset, and no limit, and its results belong
  /// to one entity, it usually needs at most two bits for each object, and close to nothing if the keys are contiguous.
  ///
  /// The context retains objects that `body` changes until they are saved. It releases the others unless `body` retains them or
  /// ``retainsRegisteredObjects`` is true.
  ///
  /// - Parameters:
  ///   - request: The objects to visit.
  ///   - size: The maximum number of objects in a batch.
  ///   - allowsEscapingMutations: Whether unsaved changes may remain when a batch is released. If false, remaining changes end the
  ///     enumeration with an error, which keeps memory bounded: save at the end of `body`.
  ///   - body: A closure called for each batch. Set its second parameter to true to stop. An error that it throws also ends the
  ///     enumeration.
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store, or with ``StoreError/Code/invalidRequest``
  ///   for escaping changes; the errors of `body`. After each call of `body`, also throws an error that could not be thrown where it
  ///   occurred (``pendingError``), such as a property that could not be read.
  public func enumerateBatches<Result: ManagedObject>(
    of request: FetchRequest<Result>, size: Int = 500, allowsEscapingMutations: Bool = true,
    _ body: (_ objects: [Result], _ stop: inout Bool) throws -> Void
  ) throws {
    func checkChanges() throws {
      if allowsEscapingMutations || !hasChanges { return }
      throw StoreError(.changesEscapeBatch(entity: request.specification.entityName), operation: .fetch)
    }
    let reader = try reader(over: request, batchSize: size)
    try checkChanges()
    var stop = false
    while !stop {
      // The changes made by one call of `body` form one event.
      defer { processPendingChanges() }
      guard let batch = try reader.next() else { return }
      let objects = batch.compactMap { $0 as? Result }.filter { !$0.isDeleted }
      if !objects.isEmpty { try body(objects, &stop) }
      // Report values that `body` could not read.
      try deferredErrors.throwRecorded()
      try checkChanges()
    }
  }

  /// Returns the IDs of the objects that match a request, in order. Inserted objects have temporary IDs.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func fetchIdentifiers<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [ManagedObjectID] {
    var ids = FetchRequest<ManagedObjectID>(entityName: request.specification.entityName)
    ids.specification = request.specification
    return try fetch(ids)
  }

  /// Returns a batch reader for a request. Reads the IDs but no rows.
  func reader<Result: ManagedObject>(over request: FetchRequest<Result>, batchSize: Int) throws -> ObjectBatchReader {
    guard batchSize > 0 else {
      throw StoreError(.emptyBatch(size: batchSize), operation: .fetch)
    }
    try checkClass(Result.self, for: request.specification)
    return try ObjectBatchReader(request.specification, batchSize: batchSize, context: self)
  }
}

extension StoreError.Reason {
  static func changesEscapeBatch(entity: String) -> Self {
    Self(
      .invalidRequest,
      "The iteration found unsaved changes. Save them in the closure or before the iteration, or set allowsEscapingMutations.",
      entity: entity)
  }
}
