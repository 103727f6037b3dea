import Dispatch
import Foundation
package import ObjectModel
import Synchronization

/// The transactions in which the rows of an asynchronous sequence are committed.
public enum BatchCommit: Sendable, Hashable {
  /// One transaction for the whole sequence. Other saves to the store wait from the first chunk to the end of the sequence.
  case once
  /// A transaction for each batch of the given number of rows. Batches committed before an error are kept.
  case every(rows: Int)

  func isReached(by count: Int) -> Bool {
    if case .every(let rows) = self { count >= max(rows, 1) } else { false }
  }
}

/// Passes the chunks of a batch insert from a task to a dedicated queue that writes them, so that blocking I/O does not occupy a thread of
/// the cooperative pool.
final class BatchInsertQueue: Sendable {
  private enum Message: Sendable {
    case chunk(BatchInsertion)
    case end
    case cancel
  }
  private struct State {
    var message: Message?
    /// The continuation of the task, resumed when its message is received.
    var sender: CheckedContinuation<Void, Never>?
    var hasStarted = false
    var result: Result<Void, any Error>?
    var waiter: CheckedContinuation<Void, any Error>?
  }
  private struct Cancelled: Error {}

  private let store: PersistentStore
  private let writer: BatchChunkWriter
  private let committing: BatchCommit
  private let committed: @Sendable (ChangeSet) -> Void
  private let queue = DispatchQueue(label: "CipherData.BatchInsertion")
  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)

  init(
    store: PersistentStore, writer: BatchChunkWriter, committing: BatchCommit, committed: @escaping @Sendable (ChangeSet) -> Void
  ) {
    self.store = store
    self.writer = writer
    self.committing = committing
    self.committed = committed
  }

  /// Sends a chunk and waits until the queue receives it, which is after the previous chunk was written. With ``BatchCommit/every(rows:)``,
  /// waits until the chunk was committed.
  func send(_ chunk: BatchInsertion) async throws {
    if case .every = committing { return try await writeSeparately(chunk) }
    let hasStarted = state.withLock { state in
      defer { state.hasStarted = true }
      return state.hasStarted
    }
    if !hasStarted { queue.async { self.run() } }
    await put(.chunk(chunk))
    // The error of an earlier chunk ends the sequence.
    if case .failure(let error)? = state.withLock({ $0.result }) { throw error }
  }

  /// Ends the sequence and waits until it was committed.
  func finish() async throws {
    guard state.withLock({ $0.hasStarted }) else { return }
    await put(.end)
    try await result()
  }

  /// Cancels the insert and waits until the transaction was rolled back.
  func cancel() async {
    guard state.withLock({ $0.hasStarted }) else { return }
    await put(.cancel)
    try? await result()
  }

  // MARK: Task

  private func put(_ message: Message) async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.result != nil { return true }
        state.message = message
        state.sender = continuation
        return false
      }
      if isOver { continuation.resume() } else { arrived.signal() }
    }
  }

  private func result() async throws {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let result { continuation.resume(with: result) }
    }
  }

  private func writeSeparately(_ chunk: BatchInsertion) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      queue.async {
        continuation.resume(
          with: Result {
            self.store.saving.lock()
            defer { self.store.saving.unlock() }
            try self.writer.write(chunk)
            if let changes = self.writer.finish() { self.committed(changes) }
          })
      }
    }
  }

  // MARK: Queue

  private func run() {
    let result = Result {
      var changes: ChangeSet?
      try store.performTransaction {
        while let chunk = try next() { try writer.write(chunk) }
        changes = writer.finish()
      }
      if let changes { committed(changes) }
    }
    let (sender, waiter) = state.withLock { state in
      state.result = result
      defer { (state.sender, state.waiter) = (nil, nil) }
      return (state.sender, state.waiter)
    }
    sender?.resume()
    waiter?.resume(with: result)
  }

  /// Blocks until the next chunk is received. Returns nil at the end.
  private func next() throws -> BatchInsertion? {
    arrived.wait()
    let (message, sender) = state.withLock { state in
      defer { (state.message, state.sender) = (nil, nil) }
      return (state.message, state.sender)
    }
    sender?.resume()
    switch message {
    case .chunk(let chunk): return chunk
    case .end, nil: return nil
    case .cancel: throw Cancelled()
    }
  }
}

/// Writes the chunks of a batch insert in sequence, after checking the objects that they refer to, and publishes the changes of each
/// transaction. Safe to use from any thread.
final class BatchChunkWriter: Sendable {
  private let entity: CompiledEntity
  private let model: CompiledModel
  private let store: PersistentStore
  private let scope: RequestScope
  private let publishes: Bool
  private let merges: Bool
  private let operation: PublishedChanges.Operation
  /// The consumer of the changes, or nil if nothing needs them.
  private let consumer: PublishedChanges?

  private struct State {
    var result: BatchResult
    var historyPosition: HistoryPosition?
    var changeSets: [ChangeSet] = []
    /// Relationship destinations that are known to exist.
    var known: Set<ObjectReference> = []
  }
  private let state: Mutex<State>
  /// The maximum number of destinations that are remembered.
  private static let maximumKnownCount = 100_000

  /// - Parameters:
  ///   - publishes: Whether the coordinator publishes the changes.
  ///   - merges: Whether the caller merges the changes into its objects.
  init(
    entity: CompiledEntity, model: CompiledModel, store: PersistentStore, scope: RequestScope, onConflict: BatchConflictPolicy,
    resultType: BatchResultType, publishes: Bool, merges: Bool
  ) {
    self.entity = entity
    self.model = model
    self.store = store
    self.publishes = publishes
    self.merges = merges
    operation = .insertion(merges: onConflict.merges)
    consumer = store.makeConsumer(operation, resultType, publishes: publishes, merges: merges)
    var consumed = scope
    consumed.consumers = consumer.map { [$0] } ?? []
    self.scope = consumed
    state = Mutex(State(result: BatchResult(.insertion, resultType)))
  }

  /// Assigns keys to the rows of a chunk and writes them. The caller must hold the store's lock until it has called ``finish()``.
  func write(_ chunk: BatchInsertion) throws {
    if chunk.rows.isEmpty { return }
    try scope.cancellation?.check(.batchInsert)
    try state.withLock { state in
      try checkDestinations(of: chunk, known: &state.known)
      let placeholder = ManagedObjectID(space: store.space.number, entityNumber: UInt32(entity.number), key: -1)
      let placeholders = Array(repeating: placeholder, count: chunk.rows.count)
      let ids = try store.incrementalStore.obtainPermanentIDs(for: placeholders, in: scope)
      guard ids.count == chunk.rows.count else {
        throw StoreError(.wrongNumberOfIDs(given: ids.count, asked: chunk.rows.count), operation: .batchInsert)
      }
      chunk.rows.setKeys(ids.map(\.key))
      do {
        var chunk = chunk
        if entity.hasDerivedSlots {
          var request = SaveChangesRequest()
          request.inserted = chunk.rows
          chunk.rows = try request.withLocalValues(model, now: Date().timeIntervalSinceReferenceDate).inserted
        }
        let written = try store.executeObserved(batch: .batchInsert(chunk), in: scope)
        state.result.add(written)
        state.historyPosition = written.historyPosition ?? state.historyPosition
      } catch let error as StoreError where error.code == .constraintConflict {
        throw Self.naming(error, chunk)
      }
    }
  }

  /// Publishes the changes since the last call. Must be called at the end of each transaction, with the store's lock held.
  ///
  /// - Returns: The changes that the caller merges, or nil if there are none or the caller does not merge.
  @discardableResult
  func finish() -> ChangeSet? {
    state.withLock { state in
      if let consumer { state.result.addObjects(of: consumer.takeResults(), in: store) }
      let changes = store.finishBatch(
        operation, consumer, publishes: publishes, merges: merges, scope: scope, historyPosition: state.historyPosition)
      if let changes { state.changeSets.append(changes) }
      return changes
    }
  }

  /// The result, and the changes that the caller merges.
  var outcome: (BatchResult, [ChangeSet]) {
    state.withLock { state in
      var result = state.result
      // A row that was updated by several chunks counts once.
      if let consumer, operation.mergesRows { result.updatedCount = consumer.updatedCount }
      return (result, state.changeSets)
    }
  }

  /// Checks that all relationship destinations of a chunk exist.
  private func checkDestinations(of chunk: BatchInsertion, known: inout Set<ObjectReference>) throws {
    let slots = entity.slots.filter { $0.relationship != nil }.map(\.index)
    if known.count > Self.maximumKnownCount { known.removeAll(keepingCapacity: true) }
    var asked: [ObjectReference] = []
    for (row, given) in zip(chunk.rows, chunk.given) {
      for slot in slots where given.contains(slot) && !row.isNull(slot) {
        if known.insert(row.reference(slot)).inserted { asked.append(row.reference(slot)) }
      }
    }
    guard !asked.isEmpty else { return }
    let found = try store.incrementalStore.newValuesForObjects(with: store.objectIDs(of: asked), in: scope)
    let missing = Set(asked).subtracting(found.references)
    guard !missing.isEmpty else { return }
    for (position, row) in chunk.rows.enumerated() {
      for slot in slots where chunk.given[position].contains(slot) && missing.contains(row.reference(slot)) {
        throw BatchError(
          .objectNotFound, entityName: entity.name, key: entity.slots[slot].name, row: chunk.firstRow + position,
          reason: "was given an object that is not in the store.")
      }
    }
  }

  /// Returns a uniqueness error that names the row, by its index in the whole request.
  private static func naming(_ error: StoreError, _ chunk: BatchInsertion) -> StoreError {
    let objectIDs = Set(error.constraintConflicts.flatMap(\.objectIDs).map(\.reference))
    guard let conflict = error.constraintConflicts.first, let position = chunk.rows.lastIndex(where: { objectIDs.contains($0.reference) })
    else { return error }
    var named = StoreError(
      .rowConflict(row: chunk.firstRow + position, entity: conflict.entityName, properties: conflict.constraint),
      operation: .batchInsert, path: error.path, underlying: error.underlying)
    (named.sqliteCode, named.sqliteExtendedCode) = (error.sqliteCode, error.sqliteExtendedCode)
    named.constraintConflicts = error.constraintConflicts
    return named
  }
}

// MARK: - Executing batch inserts

extension PersistentStoreCoordinator {
  /// Returns the store for new rows of an entity, and the entity.
  package func storeForInsertion(
    of entityName: String, affectedStores: [String]?
  ) throws -> (entity: CompiledEntity, store: PersistentStore) {
    let entity = try entity(named: entityName, operation: .batchInsert)
    guard !entity.isAbstract else {
      throw StoreError(.abstractEntity(entity.name), operation: .batchInsert)
    }
    let holding = try openStores(holding: entity, includesSubentities: false, affectedStores: affectedStores, .batchInsert)
    guard let store = holding.first else { throw entityNotInStore(entity, .batchInsert) }
    try checkWritable([store], .batchInsert)
    return (entity, store)
  }

  /// Runs a batch insert in the first store that contains the entity. Several chunks are written in one transaction.
  package func execute(
    _ request: BatchInsertRequest, entityName: String, scope: (PersistentStore) -> RequestScope,
    done: (BatchResult, [ChangeSet]) -> Void
  ) throws {
    let (entity, store) = try storeForInsertion(of: entityName, affectedStores: request.affectedStores)
    let writer = BatchChunkWriter(
      entity: entity, model: compiledModel, store: store, scope: scope(store), onConflict: request.onConflict,
      resultType: request.resultType, publishes: request.publishesChanges, merges: request.mergesChanges)
    let builder = BatchRowBuilder(entity: entity, model: compiledModel, space: store.space)
    let source = request.makeSource()
    /// Reads rows until the chunk is full. Returns false if there are no more rows.
    func fill() throws -> Bool {
      while !builder.isFull {
        guard try source(builder) else { return false }
        builder.endRow()
      }
      return true
    }
    func write() throws { try writer.write(builder.takeChunk(onConflict: request.onConflict)) }
    if try fill() {
      try store.performTransaction {
        repeat { try write() } while try fill()
        try write()
        writer.finish()
      }
    } else {
      store.saving.lock()
      defer { store.saving.unlock() }
      try write()
      writer.finish()
    }
    let (result, changes) = writer.outcome
    done(result, changes)
  }

  /// Inserts the rows of an asynchronous sequence into a store, outside the caller's isolation.
  ///
  /// - Parameter committed: Receives the changes of each transaction after its commit.
  package func insert<Rows: AsyncSequence & Sendable>(
    _ rows: Rows, of entity: CompiledEntity, into store: PersistentStore, scope: RequestScope, onConflict: BatchConflictPolicy,
    committing: BatchCommit, resultType: BatchResultType, committed: @escaping @Sendable (ChangeSet) -> Void
  ) async throws -> BatchResult where Rows.Element == [String: any Sendable] {
    let writer = BatchChunkWriter(
      entity: entity, model: compiledModel, store: store, scope: scope, onConflict: onConflict, resultType: resultType, publishes: true,
      merges: true)
    let builder = BatchRowBuilder(entity: entity, model: compiledModel, space: store.space)
    let insertQueue = BatchInsertQueue(store: store, writer: writer, committing: committing, committed: committed)
    do {
      for try await row in rows {
        try Task.checkCancellation()
        try builder.set(row)
        builder.endRow()
        if builder.isFull || committing.isReached(by: builder.count) {
          try await insertQueue.send(builder.takeChunk(onConflict: onConflict))
        }
      }
      try Task.checkCancellation()
      try await insertQueue.send(builder.takeChunk(onConflict: onConflict))
    } catch {
      await insertQueue.cancel()
      if (error as? StoreError)?.code == .cancelled, Task.isCancelled { throw CancellationError() }
      throw error
    }
    try await StoreError.inTask { try await insertQueue.finish() }
    return writer.outcome.0
  }
}
