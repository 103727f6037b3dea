import Foundation
package import ObjectModel

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
    _ request: BatchInsertRequest, entityName: String, scope: (PersistentStore) -> RequestScope, done: (BatchOutcome) -> Void
  ) throws {
    let (entity, store) = try storeForInsertion(of: entityName, affectedStores: request.affectedStores)
    let writer = BatchChunkWriter(
      entity: entity, model: compiledModel, store: store, scope: scope(store), resultType: request.resultType,
      publishes: request.publishesChanges, merges: request.mergesChanges)
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
    done(writer.outcome)
  }

  /// Inserts the rows of an asynchronous sequence into a store, outside the caller's isolation.
  ///
  /// - Parameter committed: Receives the changes of each transaction after its commit.
  package func insert<Rows: AsyncSequence & Sendable>(
    _ rows: Rows, of entity: CompiledEntity, into store: PersistentStore, scope: RequestScope, onConflict: BatchConflictPolicy,
    committing: BatchCommit, resultType: BatchResultType, committed: @escaping @Sendable (ChangeSet) -> Void
  ) async throws -> BatchOutcome where Rows.Element == [String: any Sendable] {
    let writer = BatchChunkWriter(
      entity: entity, model: compiledModel, store: store, scope: scope, resultType: resultType, publishes: true, merges: true)
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
    return writer.outcome
  }
}
