public import ObjectModel
public import ObjectQuery
import ObjectStore

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
