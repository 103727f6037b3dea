import ObjectModel
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
    }.result
  }

  private func entityName(of request: BatchInsertRequest) throws -> String {
    if let name = request.entityName { return name }
    guard let type = request.objectType as? ManagedObject.Type else {
      throw StoreError(.rowsOfNoEntity, operation: .batchInsert)
    }
    return try knownEntity(ofClass: type, operation: .batchInsert).name
  }

  /// Executes a request and merges the changes that were written, even if it fails later.
  private func finish(_ body: ((BatchOutcome) -> Void) throws -> Void) throws -> BatchResult {
    var outcome: BatchOutcome?
    defer { for changes in outcome?.changes ?? [] { mergeChanges(from: changes) } }
    try body { outcome = $0 }
    guard let outcome else { throw unexpectedResult() }
    return outcome.result
  }
}

extension StoreError.Reason {
  static var rowsOfNoEntity: Self { Self(.invalidRequest, "The rows have neither a class nor an entity name.") }
}
