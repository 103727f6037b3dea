public import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

extension SQLCipherStoreFile {
  /// Copies the store as one snapshot, even while it is in use; the copy opens with the same keys. Nothing is overwritten.
  ///
  /// - Throws: ``StoreError``, with the code `alreadyExists` where something is at the new place, `cancelled` when `progress` ends the
  ///   work; `CancellationError` when the task is cancelled.
  public func backUp(to url: URL, progress: Progress? = nil) async throws {
    try await Self.longWork(progress) { phases in
      try await StoreError.mapping { try await keyring.backUp(to: url.path, largeValues: ExternalTable.ids, progress: phases) }
    }
  }

  /// Copies the store for another key, which is then the only one that opens the copy. The key work limit is the one that this file was unlocked with.
  ///
  /// - Parameters:
  ///   - url: The copy's place.
  ///   - key: The key of the copy.
  ///   - label: The name of that key in the copy's key file.
  ///   - progress: Called with how much is done; answers whether to go on.
  /// - Throws: ``StoreError``, with the code `alreadyExists` where something is at the new place, `cancelled` when `progress` ends the
  ///   work; `CancellationError` when the task is cancelled.
  public func backUp(to url: URL, key: StoreKey, label: String = "", progress: Progress? = nil) async throws {
    try await Self.longWork(progress) { phases in
      try await StoreError.mapping {
        try await keyring.backUp(
          to: url.path, key: key, label: label, largeValues: ExternalTable.ids, onOpen: { try FoldedIndexes.register(on: $0) },
          progress: phases
        ).close()
      }
    }
  }

  /// Writes everything in the store, NOT ENCRYPTED, into a new plain SQLite file. Everybody who can read that file can read all of it.
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - includesHistory: Whether the history goes along, if the store keeps one. By default it does not: it may hold what was deleted long ago.
  /// - Throws: ``StoreError``, with the code `alreadyExists` where something is at the new place.
  public func exportPlaintext(to url: URL, includesHistory: Bool = false) async throws {
    let keyring = keyring
    try await Self.offActor {
      try keyring.withDatabaseKey(options: Self.readingOptions) { key in
        let folder = try ExternalFolder(storePath: keyring.storePath, key: key)
        // The files of the snapshot must be there until they are read. The store is open when the lock is taken, so that it is this store's folder.
        var lock: ExternalFolder.Lock?
        defer { withExtendedLifetime(lock) {} }
        try PlaintextExchange.exportPlaintext(
          from: keyring.storePath, key: key, to: url.path,
          onOpen: { connection in
            lock = try folder.lockForReading()
            try FoldedIndexes.register(on: connection)
            try ExternalFunctions.register(on: connection, folder: folder)
            return try FoldedIndexes.removal(from: connection, schema: "target")
              + ExternalSchema.inlining(from: connection, schema: "target")
              + (includesHistory ? [] : HistoryTables.removal(from: connection, schema: "target"))
          })
      }
    }
  }

  /// Makes a new encrypted store out of a plain copy that ``exportPlaintext(to:includesHistory:)`` wrote. The plain file stays; deleting it safely is left to the caller. Large
  /// values of attributes with external storage, those of 128 KiB and more, go into files again.
  ///
  /// - Parameters:
  ///   - plain: The plain copy.
  ///   - url: The new store's place.
  ///   - key: The key of the new store.
  ///   - label: The name of that key in the key file.
  ///   - format: How the new file is encrypted.
  ///   - keyWorkLimit: How much work a key derivation may cost; nil for the usual limit.
  /// - Throws: ``StoreError``; with the code `notAStore` where the plain database holds no CipherData store. Nothing is left then.
  public static func importPlaintext(
    from plain: URL, to url: URL, key: StoreKey, label: String = "", format: SQLCipherFormat = .portable,
    keyWorkLimit: Int? = nil
  ) async throws -> SQLCipherStoreFile {
    let keyring = try await StoreError.mapping {
      try await PlaintextExchange.importPlaintext(
        from: plain.path, to: url.path, key: key, label: label, format: format, workLimit: KeyWorkLimit(keyWorkLimit),
        finish: { connection, folder in
          do {
            // What is no store leaves no file.
            try connection.readTransaction { _ = try readModel(connection) }
          } catch var error as StoreError {
            error.path = url.path
            throw error
          }
          return try putLargeValuesIntoFiles(connection, folder)
        })
    }
    return SQLCipherStoreFile(url: url, keyring: keyring)
  }

  /// Puts the large values of a store whose rows hold all bytes into files, and tells their numbers.
  @Sendable private static func putLargeValuesIntoFiles(_ connection: Connection, _ folder: ExternalFolder) throws -> [Int64] {
    guard try connection.readTransaction({ try ExternalTable.exists(connection) }) else { return [] }
    try FoldedIndexes.register(on: connection)
    try ExternalFunctions.register(on: connection, folder: folder)
    guard let externals = ExternalStorage(joining: connection, threshold: ExternalStorage.standardThreshold) else { return [] }
    var count = 0
    try WriteTransaction.run(on: connection, [LargeValues(storage: externals)]) { transaction in
      try ExternalPlacement(transaction, try StoredSchema.read(connection, path: connection.path)).moveIntoFiles { count = $0 }
    }
    return count > 0 ? try connection.readTransaction { try ExternalTable.ids(connection) } : []
  }
}
