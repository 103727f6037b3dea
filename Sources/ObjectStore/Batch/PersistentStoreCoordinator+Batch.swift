import Foundation
import ObjectModel
import ObjectQuery

/// The outcome of a batch request for its caller.
package struct BatchOutcome: Sendable {
  package var result: BatchResult
  /// The changes that the caller merges into its objects, one change set a store.
  package var changes: [ChangeSet] = []

  /// Adds the changes in a store, and publishes them.
  ///
  /// - Parameters:
  ///   - merges: Whether the caller merges the changes.
  ///   - makeChangeSet: Called at most once, if the change set is needed.
  mutating func add(
    _ changes: BatchChanges, of store: PersistentStore, publishes: Bool, merges: Bool, _ makeChangeSet: () -> ChangeSet
  ) {
    result.add(changes, of: store)
    var made = merges ? makeChangeSet() : nil
    if publishes {
      store.publish {
        let changeSet = made ?? makeChangeSet()
        made = changeSet
        return changeSet
      }
    }
    if merges, let made, !made.isEmpty { self.changes.append(made) }
  }
}

extension PersistentStore {
  func objectIDs(of references: [ObjectReference]) -> [ManagedObjectID] {
    references.map(space.objectID)
  }
}

extension PersistentStoreCoordinator {
  /// Runs a batch update in each store that contains the entity, in a transaction for each store.
  ///
  /// - Parameter done: Receives the outcome for the stores that succeeded, even if a later store fails.
  package func execute(_ request: BatchUpdateRequest, scope: (PersistentStore) -> RequestScope, done: (BatchOutcome) -> Void) throws {
    let stores = try stores(holding: request.entityName, affectedStores: request.affectedStores, operation: .batchUpdate)
    var outcome = BatchOutcome(result: BatchResult(.update, request.resultType))
    defer { done(outcome) }
    let (slots, relationships) = assigned(by: request)
    for store in stores {
      let scope = scope(store)
      try execute(.batchUpdate(request), in: store, scope: scope) { changes in
        outcome.add(changes, of: store, publishes: request.publishesChanges, merges: request.mergesChanges) {
          ChangeSet(changes, updatedSlots: slots, setting: relationships, of: store, scope: scope)
        }
      }
    }
  }

  /// Runs a batch delete in each store concerned, in a transaction for each store.
  ///
  /// - Parameter done: Receives the outcome for the stores that succeeded, even if a later store fails.
  package func execute(_ request: BatchDeleteRequest, scope: (PersistentStore) -> RequestScope, done: (BatchOutcome) -> Void) throws {
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
    var outcome = BatchOutcome(result: BatchResult(.deletion, request.resultType))
    defer { done(outcome) }
    for store in stores {
      let scope = scope(store)
      try execute(.batchDelete(request), in: store, scope: scope) { changes in
        outcome.add(changes, of: store, publishes: request.publishesChanges, merges: request.mergesChanges) {
          ChangeSet(changes, updatedSlots: nil, of: store, scope: scope)
        }
      }
    }
  }

  /// Returns the slots and relationships that a batch update sets. The slots are nil if other slots change too: setting a one-to-one
  /// relationship nullifies it in the previous partners.
  private func assigned(by request: BatchUpdateRequest) -> (slots: SlotMask?, relationships: [CompiledRelationship]) {
    guard let entity = compiledModel.entity(named: request.entityName) else { return (nil, []) }
    var slots: SlotMask? = SlotMask()
    var relationships: [CompiledRelationship] = []
    for name in request.propertiesToUpdate.keys {
      switch entity.property(named: name) {
      case .attribute(let slot):
        slots?.insert(slot.index)
        // The first value of a composite also sets its default values.
        for composite in entity.composites where composite.slots.contains(slot.index) {
          for part in composite.slotsWithDefaults { slots?.insert(part) }
        }
      case .composite(let composite): for slot in composite.slots { slots?.insert(slot) }
      case .toOne(let relationship):
        relationships.append(relationship)
        slots?.insert(relationship.index)
        if let inverse = compiledModel.inverse(of: relationship), !inverse.isToMany { slots = nil }
      case .toMany, .fetched, nil: slots = nil
      }
    }
    return (slots, relationships)
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

  /// Runs a batch request in one store and removes the changed rows from the row cache.
  ///
  /// - Parameter done: Receives the changes while the store's lock is held.
  private func execute(
    _ request: PersistentStoreRequest, in store: PersistentStore, scope: RequestScope, done: (BatchChanges) -> Void
  ) throws {
    store.saving.lock()
    defer { store.saving.unlock() }
    try scope.cancellation?.check(.batchRequest)
    let changes = try store.executeObserved(batch: request, in: scope)
    store.cache.remove([changes.updated, changes.deleted, changes.refreshed].joined())
    done(changes)
  }
}
