public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Calls a closure for each object that matches a request, in bounded memory. Rows are read in batches, and each batch is released before
  /// the next.
  ///
  /// ```swift
  /// try context.enumerate(Book.fetchRequest()) { book, stop in
  ///   stop = try !write(book)
  /// }
  /// ```
  ///
  /// The set of objects is fixed at the start and includes unsaved changes. Objects inserted or saved during the enumeration, in this
  /// context or another, are neither added nor visited twice. Objects deleted during the enumeration are skipped. Values are read with
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
  ///   - batchSize: The number of rows in a batch.
  ///   - allowsEscapingMutations: Whether unsaved changes may remain when a batch is released. If false, remaining changes end the
  ///     enumeration with an error, which keeps memory bounded: save in `body`, at the latest for the last object of each batch.
  ///   - body: A closure called for each object. Set its second parameter to true to stop. An error that it throws also ends the
  ///     enumeration.
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store, or with ``StoreError/Code/invalidRequest``
  ///   for escaping changes; the errors of `body`. After each call of `body`, also throws an error that could not be thrown where it
  ///   occurred (``pendingError``), such as a property that could not be read.
  public func enumerate<Result: ManagedObject>(
    _ request: FetchRequest<Result>, batchSize: Int = 500, allowsEscapingMutations: Bool = true,
    _ body: (Result, inout Bool) throws -> Void
  ) throws {
    try enumerateBatches(request, batchSize: batchSize, allowsEscapingMutations: allowsEscapingMutations) { objects, stop in
      for object in objects where !object.isDeleted {
        try body(object, &stop)
        // Report values that `body` could not read.
        try deferredErrors.throwRecorded()
        if stop { return }
      }
    }
  }

  /// Calls a closure for each batch of the objects that match a request. See ``enumerate(_:batchSize:allowsEscapingMutations:_:)``.
  ///
  /// - Parameters:
  ///   - request: The objects to visit.
  ///   - batchSize: The maximum number of objects in a batch. Deleted objects are omitted.
  ///   - allowsEscapingMutations: Whether unsaved changes may remain when a batch is released.
  ///   - body: A closure called for each batch. Set its second parameter to true to stop.
  /// - Throws: The errors of ``enumerate(_:batchSize:allowsEscapingMutations:_:)``.
  public func enumerateBatches<Result: ManagedObject>(
    _ request: FetchRequest<Result>, batchSize: Int = 500, allowsEscapingMutations: Bool = true,
    _ body: ([Result], inout Bool) throws -> Void
  ) throws {
    func checkChanges() throws {
      if allowsEscapingMutations || !hasChanges { return }
      throw StoreError(.misuse(.changesEscapeBatch, entity: request.specification.entityName), operation: .enumerate)
    }
    let reader = try reader(over: request, batchSize: batchSize)
    try checkChanges()
    var stop = false
    while !stop {
      // The changes made by one call of `body` form one event.
      defer { processPendingChanges() }
      guard let batch = try reader.next() else { return }
      let objects = batch.compactMap { $0 as? Result }.filter { !$0.isDeleted }
      if !objects.isEmpty { try body(objects, &stop) }
      try deferredErrors.throwRecorded()
      try checkChanges()
    }
  }

  /// Returns the IDs of the objects that match a request, in batches, without creating the objects.
  ///
  /// The set of objects is fixed by this call and includes unsaved changes. Inserted objects have temporary IDs. Pass the batches to tasks
  /// that fetch or change the objects.
  ///
  /// The sequence holds the IDs: 16 bytes each. If the request has no order, no offset, and no limit, and its results belong to one entity,
  /// it usually needs at most two bits for each ID.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - batchSize: The maximum number of IDs in a batch.
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func fetchIdentifiers<Result: ManagedObject>(_ request: FetchRequest<Result>, batchSize: Int) throws -> FetchedIdentifierBatches {
    FetchedIdentifierBatches(try reader(over: request, batchSize: batchSize))
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
      throw StoreError(.emptyBatch(size: batchSize), operation: .enumerate)
    }
    try checkClass(Result.self, for: request.specification)
    return try ObjectBatchReader(request.specification, batchSize: batchSize, context: self)
  }
}
