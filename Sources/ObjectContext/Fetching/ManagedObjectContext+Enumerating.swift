// ManagedObjectContext+Enumerating: walks over any number of objects in bounded memory.
public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Visits the objects that a request asks for one after the other, in bounded memory: rows are read in batches, and a batch is let go before the next.
  ///
  /// ```swift
  /// try context.enumerate(Book.fetchRequest()) { book, stop in
  ///   stop = try !write(book)
  /// }
  /// ```
  ///
  /// Which objects are visited is decided at the beginning, unsaved changes included; what is inserted or saved meanwhile, here or elsewhere, is neither
  /// visited nor visited twice, and what is deleted meanwhile is passed over. Their IDs are held: 16 bytes each; where the request has no order and
  /// no limit, and all are of one entity, usually two bits each, and none where it finds all neighbours. Values are those of when a batch is read; its rows do not stay at hand. Objects that `body` changes are held until they are saved, others unless it holds them (or the context does, by
  /// ``retainsRegisteredObjects``). The request's prefetching is done batch by batch.
  ///
  /// - Parameters:
  ///   - request: What to visit.
  ///   - batchSize: How many rows are read together.
  ///   - allowsEscapingMutations: Whether unsaved changes may be left behind when a batch is let go. With false the walk ends with an error where there are some, so that memory stays bounded: save within
  ///     `body`, at the latest with the last object of each batch.
  ///   - body: Called for each object; set its second parameter to end the walk. What it throws ends the walk too.
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store, or with ``StoreError/Code/invalidRequest`` for changes that escape, what `body` throws; and, as soon as
  ///   `body` is done with the object, what went wrong where it could not throw (``pendingError``), such as a property that could not be read.
  public func enumerate<Result: ManagedObject>(
    _ request: FetchRequest<Result>, batchSize: Int = 500, allowsEscapingMutations: Bool = true,
    _ body: (Result, inout Bool) throws -> Void
  ) throws {
    try enumerateBatches(request, batchSize: batchSize, allowsEscapingMutations: allowsEscapingMutations) { objects, stop in
      for object in objects where !object.isDeleted {
        try body(object, &stop)
        // What the body has read of the object was not all there.
        try notedErrors.tell()
        if stop { return }
      }
    }
  }

  /// Visits the objects that a request asks for a batch at a time, as ``enumerate(_:batchSize:allowsEscapingMutations:_:)`` does one by one.
  ///
  /// - Parameters:
  ///   - request: What to visit.
  ///   - batchSize: How many objects a batch has, at most: those that are deleted are missing.
  ///   - allowsEscapingMutations: Whether a batch may be let go with unsaved changes left behind.
  ///   - body: Called for each batch; set its second parameter to end the walk.
  /// - Throws: As ``enumerate(_:batchSize:allowsEscapingMutations:_:)``.
  public func enumerateBatches<Result: ManagedObject>(
    _ request: FetchRequest<Result>, batchSize: Int = 500, allowsEscapingMutations: Bool = true,
    _ body: ([Result], inout Bool) throws -> Void
  ) throws {
    func checkChanges() throws {
      if allowsEscapingMutations || !hasChanges { return }
      throw StoreError(.misuse(.changesEscapeBatch, entity: request.specification.entityName), operation: .enumerate)
    }
    let walk = try walk(over: request, batchSize: batchSize)
    try checkChanges()
    var stop = false
    while !stop {
      // What a body changes counts as an event of its own.
      defer { processPendingChanges() }
      guard let batch = try walk.next() else { return }
      let objects = batch.compactMap { $0 as? Result }.filter { !$0.isDeleted }
      if !objects.isEmpty { try body(objects, &stop) }
      try notedErrors.tell()
      try checkChanges()
    }
  }

  /// The IDs of a request's results, a batch at a time, of which no object is made. Which they are is decided at once, unsaved changes included; new objects have temporary IDs.
  ///
  /// They are held as those of a walk are: usually at most two bits each where the request has no order and no limit, and all are of one entity, else 16 bytes. Pass the batches to tasks that fetch or change their objects.
  ///
  /// - Parameters:
  ///   - request: Whose IDs are wanted.
  ///   - batchSize: How many IDs a batch has, at most.
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func fetchIdentifiers<Result: ManagedObject>(_ request: FetchRequest<Result>, batchSize: Int) throws -> FetchedIdentifierBatches {
    FetchedIdentifierBatches(try walk(over: request, batchSize: batchSize))
  }

  /// The IDs of a request's results, in order; new objects have temporary ones.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func fetchIdentifiers<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [ManagedObjectID] {
    var ids = FetchRequest<ManagedObjectID>(entityName: request.specification.entityName)
    ids.specification = request.specification
    return try fetch(ids)
  }

  /// A walk, of which no object was read.
  func walk<Result: ManagedObject>(over request: FetchRequest<Result>, batchSize: Int) throws -> ObjectWalk {
    guard batchSize > 0 else {
      throw StoreError(.emptyBatch(size: batchSize), operation: .enumerate)
    }
    try checkClass(Result.self, for: request.specification)
    return try ObjectWalk(request.specification, batchSize: batchSize, context: self)
  }
}
