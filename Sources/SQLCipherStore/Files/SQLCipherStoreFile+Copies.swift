public import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

extension SQLCipherStoreFile {
  /// Copies a snapshot of the store, which can be in use. The copy opens with the same keys. Existing files are not overwritten.
  ///
  /// The copy has the same UUID and another lineage (``StoreMetadata/lineageIdentifier``).
  ///
  /// - Throws: ``StoreError`` with the code `alreadyExists` if the destination exists, or `cancelled` if `progress` cancels the copy;
  ///   `CancellationError` if the task is canceled.
  public func backUp(to url: URL, progress: Progress? = nil) async throws {
    try await Self.withProgress(progress) { phases in
      try await StoreError.mapping {
        try await keyring.backUp(to: url.path, largeValues: ExternalTable.ids, completion: LineageTable.begin, progress: phases)
      }
    }
  }

  /// Copies a snapshot of the store with a new key, the only one that opens the copy. The key work limit is the one that this file was
  /// unlocked with. The copy has the same UUID and another lineage.
  ///
  /// - Parameters:
  ///   - url: The location of the copy.
  ///   - key: The key of the copy.
  ///   - label: The label of the key in the copy's key file.
  ///   - progress: Called with the completed fraction; returns whether to continue.
  /// - Throws: ``StoreError`` with the code `alreadyExists` if the destination exists, or `cancelled` if `progress` cancels the copy;
  ///   `CancellationError` if the task is canceled.
  public func backUp(to url: URL, key: StoreKey, label: String = "", progress: Progress? = nil) async throws {
    try await Self.withProgress(progress) { phases in
      try await StoreError.mapping {
        try await keyring.backUp(
          to: url.path, key: key, label: label, largeValues: ExternalTable.ids, completion: LineageTable.begin,
          onOpen: { try StoredFunctionIndexes.register(on: $0) },
          progress: phases
        ).close()
      }
    }
  }

  /// Writes the whole content of the store, NOT ENCRYPTED, to a new SQLite file. Anyone who can read that file can read all data.
  ///
  /// - Parameters:
  ///   - url: The location of the file.
  ///   - includesHistory: Whether to include the history, if the store keeps one, and other data that the library keeps about past changes.
  ///     By default they are left out, since they can contain data that was deleted long ago.
  /// - Throws: ``StoreError`` with the code `alreadyExists` if the destination exists.
  public func exportPlaintext(to url: URL, includesHistory: Bool = false) async throws {
    let keyring = keyring
    try await Self.runInBackground {
      try keyring.withDatabaseKey(options: Self.readingOptions) { key in
        let folder = try ExternalFolder(storePath: keyring.storePath, key: key)
        // The files of the snapshot must exist until they are read. The lock is taken after the store is open, so that the folder belongs
        // to this store.
        var lock: ExternalFolder.Lock?
        defer { withExtendedLifetime(lock) {} }
        try PlaintextExchange.exportPlaintext(
          from: keyring.storePath, key: key, to: url.path,
          onOpen: { connection in
            lock = try folder.lockForReading()
            try StoredFunctionIndexes.register(on: connection)
            try ExternalFunctions.register(on: connection, folder: folder)
            return try StoredFunctionIndexes.removal(from: connection, schema: "target")
              + ExternalSchema.inlining(from: connection, schema: "target")
              + (includesHistory ? [] : SideTableList.removal(from: connection, schema: "target", keeping: [IdentityTables.all.name]))
          })
      }
    }
  }

  /// Creates an encrypted store from a plaintext copy that ``exportPlaintext(to:includesHistory:)`` wrote.
  ///
  /// The plaintext file is kept; the caller is responsible for deleting it safely. Values of 128 KiB and more are written to files again,
  /// if their attributes allow external storage. Each new store has the UUID of the exported one and a lineage of its own.
  ///
  /// - Parameters:
  ///   - plain: The location of the plaintext copy.
  ///   - url: The location of the new store.
  ///   - key: The key of the new store.
  ///   - label: The label of the key in the key file.
  ///   - format: The encryption format of the new file.
  ///   - keyWorkLimit: The maximum cost of key derivations, or `nil` for the default.
  /// - Throws: ``StoreError`` with the code `notAStore` if the plaintext database does not contain a CipherData store. No files remain
  ///   then.
  public static func importPlaintext(
    from plain: URL, to url: URL, key: StoreKey, label: String = "", format: SQLCipherFormat = .portable,
    keyWorkLimit: Int? = nil
  ) async throws -> SQLCipherStoreFile {
    let keyring = try await StoreError.mapping {
      try await PlaintextExchange.importPlaintext(
        from: plain.path, to: url.path, key: key, label: label, format: format, workLimit: KeyWorkLimit(keyWorkLimit),
        finish: { connection, folder in
          do {
            // If the database is not a store, no file remains.
            try connection.readTransaction { _ = try readModel(connection) }
          } catch var error as StoreError {
            error.path = url.path
            throw error
          }
          return try putLargeValuesIntoFiles(connection, folder)
        }, completion: LineageTable.begin)
    }
    return SQLCipherStoreFile(url: url, keyring: keyring)
  }

  /// Moves the large values of a store from its rows to files, and returns their numbers.
  @Sendable private static func putLargeValuesIntoFiles(_ connection: Connection, _ folder: ExternalFolder) throws -> [Int64] {
    guard try connection.readTransaction({ try ExternalTable.exists(connection) }) else { return [] }
    try StoredFunctionIndexes.register(on: connection)
    try ExternalFunctions.register(on: connection, folder: folder)
    guard let externals = ExternalStorage(joining: connection, threshold: ExternalStorage.standardThreshold) else { return [] }
    var count = 0
    try WriteTransaction.run(on: connection, [LargeValues(storage: externals)]) { transaction in
      try LargeValueMigration(transaction, try StoredSchema.read(connection, path: connection.path)).moveIntoFiles { count = $0 }
    }
    return count > 0 ? try connection.readTransaction { try ExternalTable.ids(connection) } : []
  }
}
