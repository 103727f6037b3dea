import Foundation
public import ObjectModel
public import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys
import Synchronization

extension SQLCipherIncrementalStore: FileStore {
  /// Returns the metadata of a store. It is encrypted, so the description must have a key.
  ///
  /// - Throws: ``StoreError``, as opening the store does.
  public static func metadata(ofStoreWith description: PersistentStoreDescription) async throws -> StoreMetadata {
    let file = try await unlock(description, .readMetadata)
    return try await file.metadata()
  }

  /// Replaces the application's metadata in a store.
  ///
  /// - Throws: ``StoreError``, as opening the store does.
  public static func setUserMetadata(
    _ metadata: [String: String], ofStoreWith description: PersistentStoreDescription
  ) async throws {
    let file = try await unlock(description, .setMetadata)
    try await file.setUserMetadata(metadata)
  }

  /// Returns the model that a store was written with.
  ///
  /// - Throws: ``StoreError``, as opening the store does.
  public static func cachedModel(ofStoreWith description: PersistentStoreDescription) async throws -> ManagedObjectModel {
    try await unlock(description, .readModel).readModel()
  }

  /// Removes a store with all its files. The key file is overwritten and removed first.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/busy`` if the store is open anywhere.
  public static func destroyStore(with description: PersistentStoreDescription) async throws {
    let path = try url(of: description, .destroy).path
    try await SQLCipherStoreFile.runInBackground { try StoreRemoval.destroy(path) }
  }

  /// Replaces a store with a copy of another one.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/busy`` if the destination is open anywhere.
  public static func replaceStore(
    with destination: PersistentStoreDescription, byStoreWith source: PersistentStoreDescription
  ) async throws {
    let path = try url(of: destination, .replace).path
    let file = try await unlock(source, .replace)
    try await StoreError.mapping {
      try await StoreReplacement.replace(path) { staged in
        try await file.copy(
          to: URL(fileURLWithPath: staged), key: destination.key, label: destination.keyLabel, keyWorkLimit: destination.keyWorkLimit)
      }
    }
  }

  /// Copies the open store to a new location. The copy opens with the description's key, or with the store's keys if it has none.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/alreadyExists`` if the destination exists; `CancellationError` if the task is
  ///   canceled.
  public func copy(
    to description: PersistentStoreDescription, progress: SQLCipherStoreFile.Progress?
  ) async throws -> PersistentStoreDescription? {
    guard description.type == .sqlcipher, let keyring = state.withLock({ $0.keyring }) else { return nil }
    let file = SQLCipherStoreFile(url: configuration.description.url ?? URL(fileURLWithPath: path), keyring: keyring)
    try await file.copy(
      to: try Self.url(of: description, .copyStore), key: description.key, label: description.keyLabel,
      keyWorkLimit: description.keyWorkLimit, modelHashes: description.copiedModelHashes, progress: progress)
    var result = description
    result.createsStore = false
    result.key = description.key ?? configuration.description.key
    return result
  }

  private static func unlock(_ description: PersistentStoreDescription, _ operation: StoreOperation) async throws -> SQLCipherStoreFile {
    try await SQLCipherStoreFile.unlock(
      at: try url(of: description, operation), key: description.key, keyWorkLimit: description.keyWorkLimit)
  }

  private static func url(of description: PersistentStoreDescription, _ operation: StoreOperation) throws -> URL {
    guard let url = description.url, url.isFileURL else {
      throw StoreError(.storeWithoutFile, operation: operation)
    }
    return url
  }
}

extension SQLCipherIncrementalStore: CopyCheckingStore {
  package func isCopied(
    to description: PersistentStoreDescription, progress: SQLCipherStoreFile.Progress?
  ) async throws -> Bool {
    guard description.type == .sqlcipher, let keyring = state.withLock({ $0.keyring }) else { return false }
    let path = try Self.url(of: description, .copyStore).path
    return try await SQLCipherStoreFile.withProgress(progress) { phases in
      try await StoreError.mapping {
        try await keyring.isCopied(at: path, largeValues: ExternalTable.ids, ownPages: LineageTable.pages, progress: phases)
      }
    }
  }
}

extension SQLCipherIncrementalStore: FileCreatingStore {
  package var hasCreatedFiles: Bool { state.withLock { $0.newStore != nil } }

  package func keepFiles() {
    let newStore = state.withLock { state in
      defer { state.newStore = nil }
      return state.newStore
    }
    newStore?.end()
  }

  package func removeCreatedFiles(withContents: Bool) {
    let newStore = state.withLock { state in
      defer { state.newStore = nil }
      return state.newStore
    }
    newStore?.remove(withContents: withContents)
  }
}

extension SQLCipherStoreFile {
  func metadata() async throws -> StoreMetadata {
    let mark = LineageMark(nextTo: path)
    return try await read { connection in
      let record = try Self.record(connection, operation: .readMetadata)
      var metadata = StoreMetadata(
        storeIdentifier: record.identifier, storeType: record.type,
        modelHashes: try MetadataTable.readHashes(connection, path: connection.path))
      metadata.versionIdentifiers = record.versionIdentifiers
      metadata.userMetadata = record.userMetadata
      metadata.lineageIdentifier = try LineageTable.identifier(connection, mark)
      return metadata
    }
  }

  func setUserMetadata(_ metadata: [String: String]) async throws {
    let keyring = keyring
    try await Self.runInBackground {
      let options = ConnectionOptions()
      let connection = try keyring.withDatabaseKey(options: options) {
        try Connection(opening: keyring.storePath, key: $0, options: options)
      }
      defer { connection.close() }
      try WriteTransaction.run(on: connection, []) { transaction in
        _ = try Self.record(transaction.connection, operation: .setMetadata)
        try MetadataTable.writeUserMetadata(metadata, transaction.connection)
      }
    }
  }

  /// Reads the row of the metadata table.
  static func record(_ connection: Connection, operation: StoreOperation) throws -> StoreRecord {
    guard let record = try MetadataTable.read(connection, path: connection.path) else {
      throw StoreError(.notAStore(.never), operation: operation, path: connection.path)
    }
    return record
  }

  /// Copies the store, with a new key or with its own keys.
  ///
  /// - Parameter modelHashes: The version hashes that the copy must have, or `nil` for any. If they differ, the copy is discarded.
  func copy(
    to url: URL, key: StoreKey?, label: String, keyWorkLimit: Int?, modelHashes: [String: Data]? = nil, progress: Progress? = nil
  ) async throws {
    let path = path
    // Called for the finished copy, before it is renamed to its final name.
    let largeValues: LargeValueList = { connection in
      if let modelHashes, try MetadataTable.readHashes(connection, path: path) != modelHashes {
        throw StoreError(.writtenWithAnotherModel(entities: [], .notAllowed), operation: .copyStore, path: path)
      }
      return try ExternalTable.ids(connection)
    }
    let workLimit = keyWorkLimit.map { KeyWorkLimit($0) }
    try await Self.withProgress(progress) { phases in
      try await StoreError.mapping {
        guard let key else {
          return try await keyring.backUp(to: url.path, largeValues: largeValues, completion: LineageTable.begin, progress: phases)
        }
        try await keyring.backUp(
          to: url.path, key: key, label: label, largeValues: largeValues, completion: LineageTable.begin, workLimit: workLimit,
          onOpen: { try StoredFunctionIndexes.register(on: $0) }, progress: phases
        ).close()
      }
    }
  }
}

// MARK: - Unlocked file

extension PersistentStore {
  /// Returns the file of this open store, unlocked with the store's own keys.
  ///
  /// No key provider is called, and no key is derived from a passphrase again.
  ///
  /// ```swift
  /// let file = try container.persistentStoreCoordinator.persistentStores[0].unlockedFile()
  /// try await file.changeKey(from: .passphrase(old), to: .passphrase(new))
  /// ```
  ///
  /// You can add, change and remove keys while the store is in use; open connections stay valid. Only
  /// ``SQLCipherStoreFile/rotateDataKey(progress:)`` requires that the store is closed.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` if the store is of another type, or with ``StoreError/Code/noOpenStore``
  ///   after it was closed.
  public func unlockedFile() throws -> SQLCipherStoreFile {
    guard let store = incrementalStore as? SQLCipherIncrementalStore else {
      throw StoreError(.noFiles(type: type.rawValue), operation: .changeKeys)
    }
    guard let keyring = store.state.withLock({ $0.engine == nil ? nil : $0.keyring }) else {
      throw StoreError(.storeClosed, operation: .changeKeys, path: url?.path)
    }
    return SQLCipherStoreFile(url: url ?? URL(fileURLWithPath: keyring.storePath), keyring: keyring)
  }
}
