import Foundation
public import ObjectModel

extension PersistentStoreCoordinator {
  /// Returns the metadata of a store without opening it in a coordinator and without changing it. An encrypted store requires its key,
  /// because metadata are encrypted too.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for store types without files.
  public static func metadataForPersistentStore(with description: PersistentStoreDescription) async throws -> StoreMetadata {
    try await fileStoreClass(description, .readMetadata).metadata(ofStoreWith: description)
  }

  /// Replaces the application's entries in the metadata of a store that is not open in a coordinator.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for store types without files.
  public static func setUserMetadata(
    _ metadata: [String: String], forPersistentStoreWith description: PersistentStoreDescription
  ) async throws {
    try await fileStoreClass(description, .setMetadata).setUserMetadata(metadata, ofStoreWith: description)
  }

  /// Returns the model that a store was written with, which is saved in the store.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for store types without files.
  public static func cachedModelForPersistentStore(with description: PersistentStoreDescription) async throws -> ManagedObjectModel {
    try await fileStoreClass(description, .readModel).cachedModel(ofStoreWith: description)
  }

  /// Removes a store with all its files: the database, the log, the key file, and the files of large values. No key is required. If a
  /// removal is interrupted, another call completes it.
  ///
  /// Without the key file, remaining encrypted data cannot be decrypted. Copies of the key file and backups are not removed.
  /// - Throws: ``StoreError``: ``StoreError/Code/busy`` if the store is open anywhere, in which case nothing is removed;
  ///   ``StoreError/Code/storeNotFound`` if no part of a store exists.
  public func destroyPersistentStore(with description: PersistentStoreDescription) async throws {
    try checkNotOpen(description, .destroy)
    try await Self.fileStoreClass(description, .destroy).destroyStore(with: description)
  }

  /// Replaces a store with a copy of another one, including its log, keys, and files of large values. Creates the copy if the destination
  /// does not exist.
  ///
  /// The source may be in use. The copy is a snapshot with the source's UUID and another lineage (``StoreMetadata/lineageIdentifier``). It
  /// opens with the source's keys or, if the destination's description has a key, only with that key. The replacement is atomic: after an
  /// error or a crash, either the old or the new store exists completely.
  /// - Throws: ``StoreError``, with ``StoreError/Code/busy`` if the destination is open anywhere.
  public func replacePersistentStore(
    with destination: PersistentStoreDescription, withPersistentStoreFrom source: PersistentStoreDescription
  ) async throws {
    try checkNotOpen(destination, .replace)
    guard destination.type == source.type else {
      throw StoreError(.replacedByOtherType, operation: .replace, path: destination.url?.path)
    }
    guard destination.url?.standardizedFileURL != source.url?.standardizedFileURL else {
      throw StoreError(.replacedByItself, operation: .replace, path: destination.url?.path)
    }
    try await Self.fileStoreClass(destination, .replace).replaceStore(with: destination, byStoreWith: source)
  }

  /// Moves an open store to another location or type: copies it, opens the copy in its place, and closes the original, whose files remain.
  ///
  /// Between encrypted stores, the copy is a snapshot with the same UUID, so object IDs and the objects of open contexts remain valid, and
  /// with another lineage, since the original's files remain. If its description has a key, the copy opens only with that key, otherwise
  /// with the keys of the original. Between types, every object gets a new ID, and existing objects in contexts no longer exist in the new
  /// store. Do not save through this coordinator during the call.
  ///
  /// - Parameters:
  ///   - store: An open store of this coordinator.
  ///   - description: The new location, which must not exist.
  ///   - progress: Receives the progress and returns whether to continue. `done / total` is the completed fraction of the whole operation.
  ///     It never decreases, and reaches 1 only when the new store has replaced the original.
  /// - Returns: The new open store.
  /// - Throws: ``StoreError``, with ``StoreError/Code/cancelled`` if `progress` returns false; `CancellationError` if the task is canceled.
  ///   The original is open and unchanged then, and nothing remains at the new location.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to description: PersistentStoreDescription,
    progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws -> PersistentStore {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw StoreError(.notInCoordinator, operation: .copyStore, path: store.url?.path)
    }
    if let url = description.url, FileManager.default.fileExists(atPath: url.path) {
      throw StoreError(.destinationExists, operation: .copyStore, path: url.path)
    }
    var target = description
    target.configuration = store.configurationName
    target.isReadOnly = false
    let reporter = StoreMoveProgress(progress)
    if let files = store.incrementalStore as? any FileStore, let copy = try await files.copy(to: target, progress: reporter.ofCopy) {
      let opened: PersistentStore
      do { opened = try await open(copy) } catch {
        try? await destroyPersistentStore(with: copy)
        throw error
      }
      exchange(store, for: opened)
      try store.incrementalStore.close()
      reporter.finish()
      return opened
    }
    target.createsStore = true
    let opened = try await open(target)
    do {
      let maker = opened.incrementalStore as? any FileCreatingStore
      // Another process may have created a store there in the meantime.
      guard maker?.hasCreatedFiles ?? true else { throw StoreError(.destinationExists, operation: .copyStore, path: description.url?.path) }
      try copyRows(of: store, to: opened, reporter)
      maker?.keepFiles()
    } catch {
      Self.abandon(opened.incrementalStore, withContents: true)
      if !(opened.incrementalStore is any FileCreatingStore), description.url != nil {
        try? await destroyPersistentStore(with: description)
      }
      throw error
    }
    exchange(store, for: opened)
    try store.incrementalStore.close()
    reporter.finish()
    return opened
  }

  private func copyRows(of store: PersistentStore, to target: PersistentStore, _ progress: StoreMoveProgress) throws {
    let copier = StoreCopier(model: compiledModel, from: store, to: target, progress: progress)
    try target.incrementalStore.performTransaction { try copier.run() }
    if !store.metadata.userMetadata.isEmpty { try target.setUserMetadata(store.metadata.userMetadata) }
  }

  private func checkNotOpen(_ description: PersistentStoreDescription, _ operation: StoreOperation) throws {
    guard let url = description.url, persistentStore(for: url) != nil else { return }
    throw StoreError(.stillOpen, operation: operation, path: url.path)
  }

  private static func fileStoreClass(_ description: PersistentStoreDescription, _ operation: StoreOperation) throws -> any FileStore.Type {
    guard let storeClass = storeClass(of: description.type) else { throw unknownType(description) }
    guard let fileStoreClass = storeClass as? any FileStore.Type else {
      throw StoreError(.noFiles(type: description.type.rawValue), operation: operation, path: description.url?.path)
    }
    return fileStoreClass
  }
}
