// ManagedObjectContext+Batch: batch requests, and what a context does with their changes.
import ObjectModel
public import ObjectQuery
public import ObjectStore
import Synchronization

extension ManagedObjectContext {
  /// Inserts the rows of a batch: all of them or none. No objects are made.
  ///
  /// - Throws: ``BatchError`` for a row or value that cannot be written, ``StoreError`` from the store; nothing is written then.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    let entityName = try entityName(of: request)
    return try finish { done in try rowSource.execute(request, entityName: entityName, done: done) }
  }

  /// Sets properties of all objects that meet a predicate, in each store that holds the entity. Each store does its part whole or not at
  /// all.
  ///
  /// - Throws: ``BatchError`` for a property or value that cannot be written, ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    try finish { done in try rowSource.execute(request, done: done) }
  }

  /// Deletes many objects by their delete rules, in each store that holds some of them. Each store does its part whole or not at all.
  ///
  /// - Throws: ``BatchError`` where a rule forbids it, ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    try finish { done in try rowSource.execute(request, done: done) }
  }

  /// Deletes all objects of a class that meet a predicate, as ``BatchDeleteRequest`` does: in the stores, by the delete rules, and without making objects. Unsaved changes of the context do not count, and what is deleted leaves
  /// the context at once.
  ///
  /// - Parameters:
  ///   - type: The class.
  ///   - predicate: Which objects; nil for all.
  ///   - includesSubentities: Whether those of entities below count.
  /// - Returns: How many were deleted, with those that cascades have reached.
  /// - Throws: What a ``BatchDeleteRequest`` throws.
  @discardableResult
  public func delete<Object: ManagedObject>(
    _ type: Object.Type, where predicate: FetchPredicate? = nil, includesSubentities: Bool = true
  ) throws -> Int {
    let entity = try knownEntity(ofClass: type, operation: .batchDelete)
    var fetch = FetchRequest<Object>(entityName: entity.name, predicate: predicate)
    fetch.specification.includesSubentities = includesSubentities
    return try execute(BatchDeleteRequest(fetchRequest: fetch)).count
  }

  /// Inserts rows that come one after the other, for example from a file or the network, in bounded memory and without holding up the context's isolation.
  ///
  /// - Parameters:
  ///   - rows: The rows: values by property name, as in ``BatchInsertRequest``.
  ///   - entityName: The name of the entity.
  ///   - onConflict: What happens to rows whose unique values are taken.
  ///   - committing: When the rows take effect. By default all of them do together, or none; other saves to the store then wait until the sequence has ended.
  ///     Let the rows of a slow source take effect every few thousand.
  ///   - resultType: What is returned.
  ///   - isolation: The context's isolation.
  /// - Throws: ``BatchError`` for a row or value that cannot be written, ``StoreError`` from the store, and what the sequence throws.
  @discardableResult
  public func insert<Rows: AsyncSequence & Sendable>(
    rows: Rows, into entityName: String, onConflict: BatchConflictPolicy = .error, committing: BatchCommit = .once,
    resultType: BatchResultType = .statusOnly, isolation: isolated (any Actor)? = #isolation
  ) async throws -> BatchResult where Rows.Element == [String: any Sendable] {
    let (entity, store) = try rowSource.storeForInsertion(of: entityName)
    // What was committed is merged here also when a later portion fails.
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
      throw StoreError(.misuse(.rowsOfNoEntity), operation: .batchInsert)
    }
    return try knownEntity(ofClass: type, operation: .batchInsert).name
  }

  /// Runs a request; what it wrote, also before it failed, is merged here.
  private func finish(_ body: ((BatchOutcome) -> Void) throws -> Void) throws -> BatchResult {
    var outcome: BatchOutcome?
    defer { for changes in outcome?.changes ?? [] { mergeChanges(from: changes) } }
    try body { outcome = $0 }
    guard let outcome else { throw unexpectedResult() }
    return outcome.result
  }
}
