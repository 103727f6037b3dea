import Foundation
import ObjectModel

extension PersistentStoreCoordinator {
  /// Migrates a store that was written with another model, after making a backup if its description requests one.
  ///
  /// - Parameter differing: The names of the entities that differ.
  /// - Returns: The metadata after the migration, and the location of the backup.
  func migrate(
    _ store: any IncrementalStore, _ metadata: StoreMetadata, differing: [String], description: PersistentStoreDescription
  ) async throws -> (metadata: StoreMetadata, backupURL: URL?) {
    let request = try request(for: store, metadata, differing: differing, description: description)
    var copy = try begins(request, in: store, description) ? try await backUp(store, metadata, description, before: request) : nil
    do {
      if let made = copy, try !store.needsMigration(request) {
        // Another process has migrated the store, and the backup may already contain the new version.
        if made.isNew { try? await destroyPersistentStore(with: made.description) }
        copy = nil
      }
      let migrated = try run(copy == nil ? request : request.afterBackup, in: store, differing: differing, description: description)
      return (migrated, copy?.description.url)
    } catch {
      // The store is unchanged, so the backup is not needed. A backup of an earlier migration is kept.
      if let copy, copy.isNew { try? await destroyPersistentStore(with: copy.description) }
      throw error
    }
  }

  /// Returns whether to make a backup. None is made if the changes cannot be inferred, because the store then refuses the migration.
  private func begins(
    _ request: StoreMigrationRequest, in store: any IncrementalStore, _ description: PersistentStoreDescription
  ) throws -> Bool {
    guard description.migrationBackupURL != nil, try store.needsMigration(request) else { return false }
    guard request.steps.isEmpty, let older = try store.storedModel() else { return true }
    return ModelDifference(from: older, to: compiledModel).canBeInferred
  }

  /// Returns the migration request for a store, or throws if a migration is not allowed.
  private func request(
    for store: any IncrementalStore, _ metadata: StoreMetadata, differing: [String], description: PersistentStoreDescription
  ) throws -> StoreMigrationRequest {
    func migrationError(_ why: StoreError.Reason.NotMigrated) -> StoreError {
      return StoreError(.writtenWithAnotherModel(entities: differing, why), operation: .open, path: description.url?.path)
    }
    if description.isReadOnly {
      throw migrationError(.readOnly)
    }
    guard description.shouldMigrateStoreAutomatically else {
      throw migrationError(.notAllowed)
    }
    var request = StoreMigrationRequest(description)
    if let steps = description.migrationSteps {
      request.steps = try steps(StoreMigrationOrigin(metadata, in: store, description: description), compiledModel)
    }
    guard request.infersChanges || !request.steps.isEmpty else {
      throw migrationError(.nothingInferred)
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

  /// Returns the sorted names of the entities whose version hashes differ between a store and the model.
  func differingEntities(_ metadata: StoreMetadata, entityNumbers: [Int]) -> [String] {
    let hashes = compiledModel.versionHashes
    let names = Set(entityNumbers.map { compiledModel.entities[$0].name })
    return names.union(metadata.modelHashes.keys).filter { name in
      metadata.modelHashes[name] != (names.contains(name) ? hashes[name] : nil)
    }.sorted()
  }

  /// Runs all tasks that migrations of the open stores have deferred, each in its own transaction.
  ///
  /// - Throws: ``StoreError``. Tasks that were completed before remain completed.
  public func finishDeferredLightweightMigration() throws {
    while try finishDeferredLightweightMigrationTask() {}
  }

  /// Runs one deferred migration task: the first task of the first store that has any.
  ///
  /// - Returns: Whether there was a task.
  /// - Throws: ``StoreError``. The task remains pending then.
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
