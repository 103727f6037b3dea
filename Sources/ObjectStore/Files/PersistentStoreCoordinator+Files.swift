// PersistentStoreCoordinator+Files: stores as files: metadata without opening, destroying, replacing.
import Foundation
public import ObjectModel

extension PersistentStoreCoordinator {
  /// What a store knows of itself, without opening it here; nothing is changed. An encrypted store needs its key, since nothing in it is clear text.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for types of stores without files.
  public static func metadataForPersistentStore(with description: PersistentStoreDescription) async throws -> StoreMetadata {
    try await fileStoreClass(description, .readMetadata).metadata(ofStoreWith: description)
  }

  /// Changes what the application keeps in the metadata of a store that is not open here, at once.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for types of stores without files.
  public static func setUserMetadata(
    _ metadata: [String: String], forPersistentStoreWith description: PersistentStoreDescription
  ) async throws {
    try await fileStoreClass(description, .setMetadata).setUserMetadata(metadata, ofStoreWith: description)
  }

  /// The model that a store was written with; the store keeps it.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/unsupported`` for types of stores without files.
  public static func cachedModelForPersistentStore(with description: PersistentStoreDescription) async throws -> ManagedObjectModel {
    try await fileStoreClass(description, .readModel).cachedModel(ofStoreWith: description)
  }

  /// Removes a store with all its files: database, log, key file, files of large values. No key is needed. Another removal removes what an
  /// interrupted one has left.
  ///
  /// What was encrypted is unreadable once the key file is gone. Copies of the key file, and backups, stay where they are.
  /// - Throws: ``StoreError``: ``StoreError/Code/busy`` where anybody has the store open, and nothing is touched;
  ///   ``StoreError/Code/storeNotFound`` where nothing of a store is there.
  public func destroyPersistentStore(with description: PersistentStoreDescription) async throws {
    try checkNotOpen(description, .destroy)
    try await Self.fileStoreClass(description, .destroy).destroyStore(with: description)
  }

  /// Puts a copy of one store in the place of another, or where there is none: with its log, keys and files of large values.
  ///
  /// The source may be in use; the copy is one snapshot of it, has its UUID, and opens with its keys, or only with the destination's key where that
  /// description has one. Whatever happens, one of the two stores stands whole at the destination.
  /// - Throws: ``StoreError``: ``StoreError/Code/busy`` where anybody has the destination open.
  public func replacePersistentStore(
    with destination: PersistentStoreDescription, withPersistentStoreFrom source: PersistentStoreDescription
  ) async throws {
    try checkNotOpen(destination, .replace)
    guard destination.type == source.type else {
      throw StoreError(.misuse(.replacedByOtherType), operation: .replace, path: destination.url?.path)
    }
    guard destination.url?.standardizedFileURL != source.url?.standardizedFileURL else {
      throw StoreError(.misuse(.replacedByItself), operation: .replace, path: destination.url?.path)
    }
    try await Self.fileStoreClass(destination, .replace).replaceStore(with: destination, byStoreWith: source)
  }

  /// Moves an open store to another place or type: copies it, opens the copy in its place, and closes the old one, whose files stay.
  ///
  /// Between encrypted stores the copy is one snapshot with the same UUID, so object IDs and objects of open contexts still mean the same objects; where its
  /// description has a key the copy opens with that one only, otherwise with the keys of the old store. Between types every object gets a new ID: objects of
  /// the old store that contexts hold are then gone. Nobody may save through this coordinator meanwhile.
  ///
  /// - Parameters:
  ///   - store: An open store of this coordinator.
  ///   - description: Where to; nothing may be there.
  ///   - progress: Called with how much is done; answers whether to go on. `done / total` is one fraction, which only rises, and is 1 once, when the new store has
  ///     taken the old one's place.
  /// - Returns: The store that was opened.
  /// - Throws: ``StoreError``, with ``StoreError/Code/cancelled`` when `progress` ends the work; `CancellationError` when the task is cancelled. The old store is open
  ///   and whole then, and nothing is left at the new place.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to description: PersistentStoreDescription,
    progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws -> PersistentStore {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw StoreError(.notInCoordinator, operation: .copyStore, path: store.url?.path)
    }
    if let url = description.url, FileManager.default.fileExists(atPath: url.path) {
      throw StoreError(.newPlaceTaken, operation: .copyStore, path: url.path)
    }
    var target = description
    target.configuration = store.configurationName
    target.isReadOnly = false
    let told = StoreMoveProgress(progress)
    if let files = store.incrementalStore as? any FileStore, let copy = try await files.copy(to: target, progress: told.ofCopy) {
      let opened: PersistentStore
      do { opened = try await open(copy) } catch {
        try? await destroyPersistentStore(with: copy)
        throw error
      }
      exchange(store, for: opened)
      try store.incrementalStore.close()
      told.finish()
      return opened
    }
    target.createsStore = true
    let opened = try await open(target)
    do {
      let maker = opened.incrementalStore as? any FileMakingStore
      // Another process may have made a store there meanwhile.
      guard maker?.hasMadeFiles ?? true else { throw StoreError(.newPlaceTaken, operation: .copyStore, path: description.url?.path) }
      try copyRows(of: store, to: opened, told)
      maker?.keepFiles()
    } catch {
      Self.abandon(opened.incrementalStore, withContents: true)
      if !(opened.incrementalStore is any FileMakingStore), description.url != nil {
        try? await destroyPersistentStore(with: description)
      }
      throw error
    }
    exchange(store, for: opened)
    try store.incrementalStore.close()
    told.finish()
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
    guard let storeClass = registeredStoreTypes[description.type] else { throw unknownType(description) }
    guard let fileStoreClass = storeClass as? any FileStore.Type else {
      throw StoreError(.noFiles(type: description.type.rawValue), operation: operation, path: description.url?.path)
    }
    return fileStoreClass
  }
}
