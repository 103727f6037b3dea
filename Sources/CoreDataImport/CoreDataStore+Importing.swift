// CoreDataStore+Importing: all objects of a store into an encrypted one, or none.
import Foundation
public import ObjectContext
import ObjectModel
public import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreFiles
import StoreKeys
import Synchronization

extension CoreDataStore {
  /// Creates an encrypted store and imports all objects into it. The store gets its name when it is complete: where the import fails or the process dies,
  /// there is none.
  ///
  /// The store is closed afterwards; open it as any other.
  ///
  /// - Parameters:
  ///   - description: The store to be created: its URL, its key and so on.
  ///   - progress: Called with how much is done.
  /// - Throws: ``CoreDataImportError``, `StoreError`; with the code `alreadyExists` where there is a store at the URL, `cancelled` when `progress` or the
  ///   task says so.
  public func importAll(
    creating description: PersistentStoreDescription, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    guard let target = description.url else {
      throw StoreError(.misuse(.storeWithoutFile), operation: .import)
    }
    try Self.checkIsFree(target)
    return try await RisingProgress.telling(progress) { try await create(description, at: target, progress: $0) }
  }

  private func create(
    _ description: PersistentStoreDescription, at target: URL, progress: Progress?
  ) async throws -> CoreDataImportReport {
    let report = Mutex<CoreDataImportReport?>(nil)
    try await StoreError.mapping {
      try await StoreReplacement.replace(target.path, needsFreePlace: true) { [model] staged in
        var here = description
        here.url = URL(fileURLWithPath: staged)
        here.key = description.key?.asked(for: target)
        let coordinator = PersistentStoreCoordinator(compiledModel: model)
        let store = try await coordinator.addPersistentStore(with: here)
        do {
          let done = try await importRows(into: coordinator, store: store, progress: progress)
          report.withLock { $0 = done }
        } catch {
          try? coordinator.remove(store)
          throw error
        }
        try coordinator.remove(store)
        // The last connection has brought all of the log into the database, or the copy is none.
        guard !FileManager.default.fileExists(atPath: staged + "-wal") else {
          throw StoreError(.openedBeforeComplete, operation: .import, path: staged)
        }
        try Self.checkIsFree(target)
      }
    }
    guard let result = report.withLock({ $0 }) else {
      throw StoreError(.internalInconsistency(.importWithoutResult), operation: .import, path: target.path)
    }
    return result
  }

  private static func checkIsFree(_ target: URL) throws {
    for path in [target.path, target.path + ".keys"] where try StoreError.mapping({ try StoreFile.isThere(path, operation: .import) }) {
      throw StoreError(.newPlaceTaken, operation: .import, path: path)
    }
  }

  /// Imports all objects into the first open store of a container, beside what is there.
  ///
  /// All of it becomes visible at once. Contexts are not told: refresh what they hold, or import before there are any.
  ///
  /// - Throws: ``CoreDataImportError``, with the code `differingModel` where the container has another model than the source: import under the old model,
  ///   then migrate; `StoreError`. Nothing was imported then.
  public func importAll(into container: PersistentContainer, progress: Progress? = nil) async throws -> CoreDataImportReport {
    guard let store = container.persistentStoreCoordinator.persistentStores.first else {
      throw StoreError(.misuse(.containerWithoutStore), operation: .import)
    }
    return try await importAll(into: container.persistentStoreCoordinator, store: store, progress: progress)
  }

  /// Imports all objects into an open store, beside what is there. See ``importAll(into:progress:)``.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator that has the store.
  ///   - store: The store that takes the objects.
  ///   - progress: Called with how much is done.
  /// - Throws: ``CoreDataImportError``, `StoreError`, with the code `cancelled` when `progress` says so; `CancellationError` where the task was canceled.
  public func importAll(
    into coordinator: PersistentStoreCoordinator, store: PersistentStore, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    try await RisingProgress.telling(progress) { try await importRows(into: coordinator, store: store, progress: $0) }
  }

  private func importRows(
    into coordinator: PersistentStoreCoordinator, store: PersistentStore, progress: Progress?
  ) async throws -> CoreDataImportReport {
    let target = coordinator.compiledModel
    let differing = Set(target.versionHashes.keys).union(model.versionHashes.keys)
      .filter { target.versionHashes[$0] != model.versionHashes[$0] }.sorted()
    guard differing.isEmpty else {
      throw CoreDataImportError(.differingModel(entities: differing), path: url.path)
    }
    let cancellation = RequestCancellation()
    return try await withTaskCancellationHandler {
      try await StoreError.inTask {
        try await SourceFile.offActor { [self] in
          try Importer(source: self, store: store, model: target, cancellation: cancellation, progress: progress).run()
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}

extension StoreKey {
  /// The same key; a provider is asked for it in the name of the place where the store will be.
  fileprivate func asked(for url: URL) -> StoreKey {
    guard case .provider(let provider) = self else { return self }
    return .provider(RelocatedKeyProvider(provider: provider, url: url))
  }
}

/// Asks a provider for the key of a store that is not at its place yet.
private struct RelocatedKeyProvider: StoreKeyProvider {
  let provider: any StoreKeyProvider
  let url: URL

  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    try await provider.key(
      for: StoreKeyRequest(
        url: url, storeID: request.storeID, slots: request.slots, attempt: request.attempt, reason: request.reason))
  }
}
