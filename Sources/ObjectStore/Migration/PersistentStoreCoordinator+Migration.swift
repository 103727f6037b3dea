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
      let migrated = try reportingMigration(of: store, metadata, author: request.author) {
        try run(copy == nil ? request : request.afterBackup, in: store, differing: differing, description: description)
      }
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

  /// Reports a migration of a store that does not report its changes itself: before it begins, because it cannot be rolled back by others.
  private func reportingMigration<Result>(
    of store: any IncrementalStore, _ metadata: StoreMetadata, author: String?, _ body: () throws -> Result
  ) throws -> Result {
    guard !(store is any ChangeReportingStore),
      let observation = transactionObservers.begin(storeIdentifier: metadata.storeIdentifier, model: compiledModel)
    else { return try body() }
    observation.begin(TransactionOrigin(.migration, author: author))
    observation.receive(.unspecified)
    do {
      try observation.willCommit()
      let result = try body()
      observation.didCommit()
      return result
    } catch {
      observation.didRollBack()
      throw error
    }
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

// MARK: - Backups

extension PersistentStoreCoordinator {
  /// A backup of a store, made before its migration.
  struct MigrationBackup {
    /// The description that opens the backup, with the store's keys.
    let description: PersistentStoreDescription
    /// Whether this migration has made the backup. If false, it is left from an earlier migration that was interrupted.
    let isNew: Bool
  }

  /// Makes a backup of a store before its migration, if its description requests one. Reuses the backup of an interrupted migration if the
  /// store is unchanged.
  ///
  /// - Parameter request: The migration, which receives the progress as a part of its own fraction and can be canceled.
  func backUp(
    _ store: any IncrementalStore, _ metadata: StoreMetadata, _ description: PersistentStoreDescription,
    before request: StoreMigrationRequest
  ) async throws -> MigrationBackup? {
    guard let requestedURL = description.migrationBackupURL else { return nil }
    var copy = PersistentStoreDescription(type: description.type, url: requestedURL)
    copy.configuration = description.configuration
    copy.copiedModelHashes = metadata.modelHashes
    do {
      let checker = store as? any CopyCheckingStore
      var attempts = 0
      while true {
        let names = description.namesMigrationBackupExactly ? nil : MigrationBackupName(requestedURL, metadata).names()
        for url in names?.taken ?? [requestedURL] {
          copy.url = url
          if try await checker?.isCopied(to: copy, progress: request.progressOfBackup) ?? false {
            return MigrationBackup(description: copy, isNew: false)
          }
        }
        copy.url = names?.free ?? requestedURL
        do {
          let isCopied = try await (store as? any FileStore)?.copy(to: copy, progress: request.progressOfBackup) != nil
          guard isCopied else {
            throw StoreError(.noBackup(type: description.type.rawValue), operation: .migrate, path: description.url?.path)
          }
          return MigrationBackup(description: copy, isNew: true)
        } catch let error as StoreError where error.code == .alreadyExists && attempts < 3 && names != nil {
          // Another process is migrating the store too and has created its backup.
          attempts += 1
        }
      }
    } catch let error as StoreError where error.code == .migrationNeeded {
      // Another process has migrated the store, so no backup of this state is needed.
      if try !store.needsMigration(request) { return nil }
      throw error
    } catch let error as StoreError where error.code == .cancelled {
      throw StoreError(.migrationCancelled, operation: .migrate, path: description.url?.path)
    }
  }
}

extension StoreMigrationRequest {
  /// The fraction of the progress for the backup: it writes every page once; a migration processes all rows several times.
  private static let backupShare = 0.25

  /// The progress handler for the backup, or nil if the migration is neither observed nor cancelable.
  fileprivate var progressOfBackup: (@Sendable (_ done: Int, _ total: Int) -> Bool)? {
    if progress == nil, cancellation == nil { return nil }
    return { [progress, cancellation] done, total in
      let share = total > 0 ? Double(done) / Double(total) : 0
      progress?(
        MigrationProgress(
          phase: "copying the store before its migration", completedUnitCount: done, totalUnitCount: total,
          fractionCompleted: share * Self.backupShare))
      return !(cancellation?.isCancelled ?? false)
    }
  }

  /// The request with its progress scaled to the fraction after the backup.
  var afterBackup: StoreMigrationRequest {
    guard let progress else { return self }
    var request = self
    request.progress = { report in
      // Avoids a rounding error at the end.
      let fraction = report.fractionCompleted == 1 ? 1 : Self.backupShare + (1 - Self.backupShare) * report.fractionCompleted
      progress(
        MigrationProgress(
          phase: report.phase, completedUnitCount: report.completedUnitCount, totalUnitCount: report.totalUnitCount,
          fractionCompleted: fraction))
    }
    return request
  }
}

/// The file name of a backup: the requested name with the version of the store. `before.store` becomes `before-library-1.store`, or
/// `before-library-1-2.store` if that is taken.
struct MigrationBackupName {
  private let folder: URL
  private let stem: String
  private let ending: String

  init(_ requestedURL: URL, _ metadata: StoreMetadata) {
    folder = requestedURL.deletingLastPathComponent()
    stem = "\(requestedURL.deletingPathExtension().lastPathComponent)-\(Self.version(metadata))"
    ending = requestedURL.pathExtension.isEmpty ? "" : "." + requestedURL.pathExtension
  }

  /// Returns the version identifiers, with characters that are unsuitable for file names replaced by underscores, or else a prefix of the
  /// model's checksum.
  private static func version(_ metadata: StoreMetadata) -> String {
    let identifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }.sorted()
    if identifiers.isEmpty { return metadata.modelChecksum.isEmpty ? "older" : String(metadata.modelChecksum.prefix(8)) }
    let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+")
    return String(identifiers.joined(separator: "+").prefix(64).map { allowed.contains($0) ? $0 : "_" })
  }

  /// Returns the first name that is not taken, and the taken names before it.
  func names() -> (taken: [URL], free: URL) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    var taken: [URL] = []
    while true {
      let name = taken.isEmpty ? stem + ending : "\(stem)-\(taken.count + 1)\(ending)"
      // A name is taken if the store or a companion file such as NAME.keys or NAME-wal exists. These two companions are left by a process
      // that was killed during a backup; the next backup reuses them.
      let left = [name + ".keys.new", name + ".keys.lock"]
      let url = folder.appendingPathComponent(name)
      if !names.contains(where: { $0 == name || ($0.hasPrefix(name + ".") || $0.hasPrefix(name + "-")) && !left.contains($0) }) {
        return (taken, url)
      }
      taken.append(url)
    }
  }
}
