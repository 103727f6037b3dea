public import Foundation
public import ObjectContext
public import ObjectModel
public import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreFiles
public import StoreKeys
import Synchronization

extension CoreDataStore {
  /// Opens a store read-only, and compares it with the model that it was written with.
  ///
  /// - Parameters:
  ///   - url: The URL of the store's file.
  ///   - model: The exact version of the model that the store was written with.
  ///   - configuration: The configuration of the model that the store contains; nil for all entities.
  ///   - key: The key of an encrypted store. A `passphrase` is used with SQLCipher's own key derivation, in the page format that fits.
  ///   - options: Options for missing and unknown parts.
  /// - Throws: ``CoreDataImportError``; `StoreError`, with the code `keyRequired` if the file is encrypted and no key is given, or
  ///   `unreadableStore` for a wrong key; `ModelValidationError`.
  public static func open(
    at url: URL, model: ManagedObjectModel, configuration: String? = nil, key: StoreKey? = nil,
    options: CoreDataImportOptions = CoreDataImportOptions()
  ) async throws -> CoreDataStore {
    let compiled = try CompiledModel.compiling(model)
    guard let numbers = compiled.entityNumbers(inConfiguration: configuration) else {
      throw StoreError(.unknownConfiguration(configuration), operation: .import, path: url.path)
    }
    let databaseKey = try await SourceFile.databaseKey(path: url.path, key: key)
    return try await SourceFile.runInBackground {
      try SourceFile.read(url.path, key: databaseKey) { connection in
        let schema = try SourceSchema(connection)
        let layout = try SourceRecognition.layout(of: schema, path: url.path)
        let metadata = try SourceMetadata(connection, layout: layout)
        let source = try SourceLayout.make(
          layout, schema: schema, connection: connection, model: compiled, entityNumbers: numbers, options: options,
          versionIdentifiers: metadata.versionIdentifiers)
        return CoreDataStore(
          url: url, layout: layout, storeIdentifier: metadata.identifier, versionIdentifiers: metadata.versionIdentifiers,
          warnings: source.warnings, model: compiled, entityNumbers: numbers, key: databaseKey, options: options)
      }
    }
  }

  /// Returns the number of objects of each entity, excluding subentities. Reads all rows.
  ///
  /// - Throws: ``CoreDataImportError``, or `StoreError` if the store cannot be read.
  public func objectCounts() async throws -> [String: Int] {
    try await SourceFile.runInBackground { [self] in
      try read(model: model, entityNumbers: entityNumbers) { connection, layout in
        var counts: [String: Int] = [:]
        for table in layout.tables {
          for (number, count) in try SourceRows.counts(table, layout: layout, connection: connection) {
            counts[model.entities[number].name] = count
          }
        }
        return counts
      }
    }
  }

  /// Runs `body` with one snapshot of the file, and its layout under a model.
  func read<Result>(model: CompiledModel, entityNumbers: [Int], _ body: (Connection, SourceLayout) throws -> Result) throws -> Result {
    try SourceFile.read(url.path, key: key) { connection in
      let schema = try SourceSchema(connection)
      return try body(
        connection,
        try SourceLayout.make(
          layout, schema: schema, connection: connection, model: model, entityNumbers: entityNumbers, options: options,
          versionIdentifiers: versionIdentifiers))
    }
  }
}

// MARK: - Importing whole stores

extension CoreDataStore {
  /// Creates an encrypted store and imports all objects into it.
  ///
  /// The store gets its final name when it is complete. If the import fails or the process is terminated, no store exists. The store is
  /// closed afterward.
  ///
  /// - Parameters:
  ///   - description: The store to create, with its URL and key.
  ///   - progress: Called with the progress of the import.
  /// - Throws: ``CoreDataImportError``; `StoreError`, with the code `alreadyExists` if a store exists at the URL, or `cancelled` if
  ///   `progress` or the task cancels.
  public func importAll(
    creating description: PersistentStoreDescription, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    guard let target = description.url else {
      throw StoreError(.storeWithoutFile, operation: .import)
    }
    try Self.checkIsFree(target)
    return try await MonotonicProgress.run(progress) { try await create(description, at: target, progress: $0) }
  }

  private func create(
    _ description: PersistentStoreDescription, at target: URL, progress: Progress?
  ) async throws -> CoreDataImportReport {
    let report = Mutex<CoreDataImportReport?>(nil)
    try await StoreError.mapping {
      try await StoreReplacement.replace(target.path, requiresUnusedPath: true) { [model] staged in
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
        // Closing the last connection copies the log into the database. Without that, the copy is incomplete.
        guard !FileManager.default.fileExists(atPath: staged + "-wal") else {
          throw StoreError(.openedBeforeComplete, operation: .import, path: staged)
        }
        try Self.checkIsFree(target)
      }
    }
    guard let result = report.withLock({ $0 }) else {
      throw StoreError(.importWithoutResult, operation: .import, path: target.path)
    }
    return result
  }

  private static func checkIsFree(_ target: URL) throws {
    for path in [target.path, target.path + ".keys"] where try StoreError.mapping({ try StoreFile.exists(path, operation: .import) }) {
      throw StoreError(.destinationExists, operation: .import, path: path)
    }
  }

  /// Imports all objects into the first open store of a container, in addition to existing objects.
  ///
  /// All imported objects become visible at the same time. Contexts are not notified: refresh their objects, or import before creating
  /// contexts.
  ///
  /// - Throws: ``CoreDataImportError``, with the code `differingModel` if the model of the container differs from that of the source:
  ///   import with the old model, then migrate; `StoreError`. Nothing is then imported.
  public func importAll(into container: PersistentContainer, progress: Progress? = nil) async throws -> CoreDataImportReport {
    guard let store = container.persistentStoreCoordinator.persistentStores.first else {
      throw StoreError(.containerWithoutStore, operation: .import)
    }
    return try await importAll(into: container.persistentStoreCoordinator, store: store, progress: progress)
  }

  /// Imports all objects into an open store, in addition to existing objects. See ``importAll(into:progress:)``.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator of the store.
  ///   - store: The store to import into.
  ///   - progress: Called with the progress of the import.
  /// - Throws: ``CoreDataImportError``; `StoreError`, with the code `cancelled` if `progress` cancels; `CancellationError` if the task was
  ///   canceled.
  public func importAll(
    into coordinator: PersistentStoreCoordinator, store: PersistentStore, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    try await MonotonicProgress.run(progress) { try await importRows(into: coordinator, store: store, progress: $0) }
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
        try await SourceFile.runInBackground { [self] in
          try Importer(source: self, store: store, model: target, cancellation: cancellation, progress: progress).run()
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}

extension StoreKey {
  /// Returns the same key. A provider receives the URL at which the store will be.
  fileprivate func asked(for url: URL) -> StoreKey {
    guard case .provider(let provider) = self else { return self }
    return .provider(RelocatedKeyProvider(provider: provider, url: url))
  }
}

/// Requests the key of a store from a provider, with the store's final URL.
private struct RelocatedKeyProvider: StoreKeyProvider {
  let provider: any StoreKeyProvider
  let url: URL

  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    try await provider.key(
      for: StoreKeyRequest(
        url: url, storeID: request.storeID, slots: request.slots, attempt: request.attempt, reason: request.reason))
  }
}

extension StoreError.Reason {
  static var openedBeforeComplete: Self { Self(.busy, "The new store was opened before it was complete.") }
  static var importCancelled: Self { Self(.cancelled, "The import was canceled; nothing was imported.") }
  static var containerWithoutStore: Self { Self(.invalidRequest, "The container has no open store.") }
  static var importWithoutResult: Self { Self(.internalInconsistency, "The import has no result.") }
}
