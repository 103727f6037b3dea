// PersistentStoreCoordinator+Migration: brings stores in step with the model when they are added, and finishes what was put off.
import Foundation
import ObjectModel

extension PersistentStoreCoordinator {
  /// Migrates a store that another model wrote, after a copy of it was made where the description asks for one.
  ///
  /// - Parameter differing: The names of the entities that differ.
  /// - Returns: The store's metadata, and where the copy lies.
  func migrate(
    _ store: any IncrementalStore, _ metadata: StoreMetadata, differing: [String], description: PersistentStoreDescription
  ) async throws -> (metadata: StoreMetadata, backupURL: URL?) {
    let request = try request(for: store, metadata, differing: differing, description: description)
    var copy = try begins(request, in: store, description) ? try await backUp(store, metadata, description, before: request) : nil
    do {
      if let made = copy, try !store.beginsMigration(request) {
        // Another process has migrated the store meanwhile: what was copied may be the newer store already.
        if made.isNew { try? await destroyPersistentStore(with: made.description) }
        copy = nil
      }
      let migrated = try run(copy == nil ? request : request.afterBackup, in: store, differing: differing, description: description)
      return (migrated, copy?.description.url)
    } catch {
      // The store is as it was: the copy is not needed. One that was there before stays.
      if let copy, copy.isNew { try? await destroyPersistentStore(with: copy.description) }
      throw error
    }
  }

  /// Whether a copy is to be made now. What cannot be inferred begins no migration: the store says what stands in its way.
  private func begins(
    _ request: StoreMigrationRequest, in store: any IncrementalStore, _ description: PersistentStoreDescription
  ) throws -> Bool {
    guard description.migrationBackupURL != nil, try store.beginsMigration(request) else { return false }
    guard request.steps.isEmpty, let older = try store.storedModel() else { return true }
    return ModelDifference(from: older, to: compiledModel).canBeInferred
  }

  /// What is asked of a store that another model wrote.
  private func request(
    for store: any IncrementalStore, _ metadata: StoreMetadata, differing: [String], description: PersistentStoreDescription
  ) throws -> StoreMigrationRequest {
    func refusal(_ why: StoreError.NotMigrated) -> StoreError {
      return StoreError(.writtenWithAnotherModel(entities: differing, why), operation: .open, path: description.url?.path)
    }
    if description.isReadOnly {
      throw refusal(.readOnly)
    }
    guard description.shouldMigrateStoreAutomatically else {
      throw refusal(.notAllowed)
    }
    var request = StoreMigrationRequest(description)
    if let steps = description.migrationSteps {
      request.steps = try steps(StoreMigrationOrigin(metadata, in: store, description: description), compiledModel)
    }
    guard request.infersChanges || !request.steps.isEmpty else {
      throw refusal(.nothingInferred)
    }
    return request
  }

  private func run(
    _ request: StoreMigrationRequest, in store: any IncrementalStore, differing: [String], description: PersistentStoreDescription
  ) throws -> StoreMetadata {
    let migrated: StoreMetadata
    do {
      migrated = try store.migrate(request)
    } catch var error as StoreError {
      if error.differingEntities.isEmpty { error.differingEntities = differing }
      throw error
    }
    let numbers = compiledModel.entityNumbers(inConfiguration: description.configuration) ?? []
    let rest = differingEntities(migrated, entityNumbers: numbers)
    guard rest.isEmpty else {
      throw StoreError(.stillDiffers(entities: rest), operation: .migrate, path: description.url?.path)
    }
    return migrated
  }

  /// The names of the entities that a store's metadata and the model do not agree on, in order.
  func differingEntities(_ metadata: StoreMetadata, entityNumbers: [Int]) -> [String] {
    let hashes = compiledModel.versionHashes
    let names = Set(entityNumbers.map { compiledModel.entities[$0].name })
    return names.union(metadata.modelHashes.keys).filter { name in
      metadata.modelHashes[name] != (names.contains(name) ? hashes[name] : nil)
    }.sorted()
  }

  /// Finishes what deferred migrations of all stores have put off, one task after the other. Each is a transaction of its own.
  ///
  /// - Throws: ``StoreError``; tasks that are done stay done.
  public func finishDeferredLightweightMigration() throws {
    while try finishDeferredLightweightMigrationTask() {}
  }

  /// Does one task that a deferred migration has put off: the first of the first store that has any.
  ///
  /// - Returns: Whether there was one to do.
  /// - Throws: ``StoreError``; the task is then to be done as before.
  @discardableResult
  public func finishDeferredLightweightMigrationTask() throws -> Bool {
    for store in persistentStores where !store.isReadOnly {
      if let metadata = try store.incrementalStore.finishDeferredMigrationTask() {
        store.update(metadata)
        return true
      }
    }
    return false
  }
}
