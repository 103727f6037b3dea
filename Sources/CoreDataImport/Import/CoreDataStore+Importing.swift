// CoreDataStore+Importing: all objects of a store into an encrypted one, or none.
import Foundation
public import ObjectContext
import ObjectModel
public import ObjectStore
import SQLCipherConnection
import SQLCipherStore

extension CoreDataStore {
  /// Told how much of an import is done, in objects and links; answers whether to go on.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Bool

  /// Creates an encrypted store and imports all objects into it. Where that fails, no store is left.
  ///
  /// The store is closed afterwards; open it as any other.
  ///
  /// - Parameters:
  ///   - description: The store to be created: its URL, its key and so on.
  ///   - progress: Told how much is done.
  /// - Throws: ``CoreDataImportError``, `StoreError`; with the code `alreadyExists` where there is a store at the URL, `cancelled` when `progress` or the
  ///   task says so.
  public func importAll(
    creating description: PersistentStoreDescription, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    guard let target = description.url else {
      throw StoreError(.invalidRequest, "An encrypted store needs a file: set the description's url to one.", operation: "import")
    }
    let keys = URL(fileURLWithPath: target.path + ".keys")
    for url in [target, keys] where FileManager.default.fileExists(atPath: url.path) {
      throw StoreError(.alreadyExists, "There is something at the new store's place already.", operation: "import", path: url.path)
    }
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    do {
      let store = try await coordinator.addPersistentStore(with: description)
      let report = try await importAll(into: coordinator, store: store, progress: progress)
      try coordinator.remove(store)
      return report
    } catch {
      for store in coordinator.persistentStores { try? coordinator.remove(store) }
      for path in [target.path, target.path + "-wal", target.path + "-shm", keys.path] { try? FileManager.default.removeItem(atPath: path) }
      throw error
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
      throw StoreError(.invalidRequest, "The container has no open store.", operation: "import")
    }
    return try await importAll(into: container.persistentStoreCoordinator, store: store, progress: progress)
  }

  /// Imports all objects into an open store, beside what is there. See ``importAll(into:progress:)``.
  public func importAll(
    into coordinator: PersistentStoreCoordinator, store: PersistentStore, progress: Progress? = nil
  ) async throws -> CoreDataImportReport {
    let target = coordinator.compiledModel
    let differing = Set(target.versionHashes.keys).union(model.versionHashes.keys)
      .filter { target.versionHashes[$0] != model.versionHashes[$0] }.sorted()
    guard differing.isEmpty else {
      throw CoreDataImportError(
        .differingModel,
        "The store to be filled has another model; these entities differ: \(differing.joined(separator: ", ")). Import into a store of the old model, "
          + "then migrate that.", path: url.path)
    }
    let cancellation = RequestCancellation()
    return try await withTaskCancellationHandler {
      try await SourceFile.offActor { [self] in
        try Importer(source: self, store: store, model: target, cancellation: cancellation, progress: progress).run()
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}
