import Foundation
import ObjectModel
import ObjectQuery

extension PersistentStore {
  func objectIDs(of references: [ObjectReference]) -> [ManagedObjectID] {
    references.map(space.objectID)
  }
}

extension PersistentStoreCoordinator {
  /// Runs a batch update in each store that contains the entity, in a transaction for each store.
  ///
  /// - Parameter done: Receives the result and the changes that the caller merges, for the stores that succeeded, even if a later store
  ///   fails.
  package func execute(
    _ request: BatchUpdateRequest, scope: (PersistentStore) -> RequestScope, done: (BatchResult, [ChangeSet]) -> Void
  ) throws {
    let stores = try stores(holding: request.entityName, affectedStores: request.affectedStores, operation: .batchUpdate)
    let operation = PublishedChanges.Operation.update(setsRelationships: request.setsRelationships(in: compiledModel))
    var result = BatchResult(.update, request.resultType)
    var changes: [ChangeSet] = []
    defer { done(result, changes) }
    try forEach(stores, &result, &changes) { store, result, changes in
      try execute(
        .batchUpdate(request), operation, in: store, scope: scope(store), publishes: request.publishesChanges,
        merges: request.mergesChanges, &result, &changes)
    }
  }

  /// Runs a batch delete in each store concerned, in a transaction for each store.
  ///
  /// - Parameter done: Receives the result and the changes that the caller merges, for the stores that succeeded, even if a later store
  ///   fails.
  package func execute(
    _ request: BatchDeleteRequest, scope: (PersistentStore) -> RequestScope, done: (BatchResult, [ChangeSet]) -> Void
  ) throws {
    let stores: [PersistentStore]
    if let fetch = request.fetch {
      try fetch.checkNumbers()
      stores = try self.stores(holding: fetch.entityName, affectedStores: request.affectedStores, operation: .batchDelete)
      guard stores.count == 1 || (fetch.fetchLimit == 0 && fetch.fetchOffset == 0) else {
        throw StoreError(.limitWithSeveralStores, operation: .batchDelete)
      }
    } else {
      stores = try self.stores(of: request)
    }
    var result = BatchResult(.deletion, request.resultType)
    var changes: [ChangeSet] = []
    defer { done(result, changes) }
    try forEach(stores, &result, &changes) { store, result, changes in
      try execute(
        .batchDelete(request), .deletion, in: store, scope: scope(store), publishes: request.publishesChanges,
        merges: request.mergesChanges, &result, &changes)
    }
  }

  /// Runs a batch request in each store, together if possible: see ``performTogether(in:committed:_:)``.
  private func forEach(
    _ stores: [PersistentStore], _ result: inout BatchResult, _ changes: inout [ChangeSet],
    _ body: (PersistentStore, inout BatchResult, inout [ChangeSet]) throws -> Void
  ) throws {
    var together = (result: result, changes: changes)
    if try performTogether(in: stores, { for store in stores { try body(store, &together.result, &together.changes) } }) {
      (result, changes) = together
    } else {
      for store in stores { try body(store, &result, &changes) }
    }
  }

  private func stores(of request: BatchDeleteRequest) throws -> [PersistentStore] {
    try checkOpen(.batchDelete)
    var found: [PersistentStore] = []
    var spaces: Set<UInt32> = []
    for objectID in request.objectIDs where spaces.insert(objectID.space).inserted {
      guard !objectID.isTemporaryID else {
        throw StoreError(.unsavedObjectInBatch(entity: objectID.entityName), operation: .batchDelete)
      }
      let store = try openStore(of: objectID, .batchDelete)
      if request.affectedStores?.contains(store.identifier) ?? true { found.append(store) }
    }
    try checkWritable(found, .batchDelete)
    return found
  }

  /// Returns the stores that contain an entity. Throws if one of them is read-only.
  private func stores(holding entityName: String, affectedStores: [String]?, operation: StoreOperation) throws -> [PersistentStore] {
    let stores = try openStores(holding: try entity(named: entityName, operation: operation), affectedStores: affectedStores, operation)
    try checkWritable(stores, operation)
    return stores
  }

  func checkWritable(_ stores: [PersistentStore], _ operation: StoreOperation) throws {
    guard let store = stores.first(where: \.isReadOnly) else { return }
    throw StoreError(.readOnlyStore, operation: operation, path: store.url?.path)
  }

  func entity(named name: String, operation: StoreOperation) throws -> CompiledEntity {
    guard let entity = compiledModel.entity(named: name) else {
      throw StoreError(.unknownEntity(name, known: compiledModel.entities.map(\.name)), operation: operation)
    }
    return entity
  }

  /// Runs a batch request in one store, updates the row cache, and publishes the changes.
  private func execute(
    _ request: PersistentStoreRequest, _ operation: PublishedChanges.Operation, in store: PersistentStore, scope: RequestScope,
    publishes: Bool, merges: Bool, _ result: inout BatchResult, _ changes: inout [ChangeSet]
  ) throws {
    try checkNotObserving(.batchRequest)
    store.saving.lock()
    defer { store.saving.unlock() }
    try scope.cancellation?.check(.batchRequest)
    let consumer = store.makeConsumer(operation, result.resultType, publishes: publishes, merges: merges)
    var consumed = scope
    consumed.consumers = consumer.map { [$0] } ?? []
    let written = try store.executeObserved(batch: request, in: consumed)
    result.add(written)
    if let consumer { result.addObjects(of: consumer.takeResults(), in: store) }
    let published = store.finishBatch(
      operation, consumer, publishes: publishes, merges: merges, scope: scope, historyPosition: written.historyPosition)
    if let published { changes.append(published) }
  }
}
