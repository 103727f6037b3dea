import ObjectStore
import SQLCipherConnection
import StoreFiles

/// The result of ``SQLCipherStoreFile/compact(updatesStatistics:progress:)``.
///
/// ```swift
/// let compaction = try await SQLCipherStoreFile.unlock(at: url, key: key).compact()
/// print("\(compaction.bytesBefore - compaction.bytesAfter) bytes were given back")
/// ```
public struct StoreCompaction: Sendable, Hashable {
  /// The size of the database and its log before, in bytes.
  public var bytesBefore: Int
  /// The size of the database after, in bytes. Without unused pages, it can be the same as before.
  public var bytesAfter: Int
}

// MARK: - Compacting a store

extension SQLCipherStoreFile {
  /// Returns the unused pages of deleted objects, and the log, to the file system.
  ///
  /// The database is rewritten with the same key, verified, and moved into the place of the old one. Keys, large values, the history, the
  /// lineage, and the files' owner and permissions do not change.
  ///
  /// The store must not be open anywhere, including this process. Compaction takes as long as a backup with a full verification. It needs
  /// disk space for the pages in use, which is checked first. If it fails, is canceled, or is killed at any point, the store is either the
  /// old or the new one. The next opening removes files that a killed process left.
  ///
  /// - Parameters:
  ///   - updatesStatistics: Whether to call ``updateStatistics()`` afterward.
  ///   - progress: Called with the completed fraction; returns whether to continue.
  /// - Returns: The sizes before and after.
  /// - Throws: ``StoreError`` with the code `busy` if the store is open anywhere, `diskFull` with ``StoreError/requiredSpace`` if there is
  ///   not enough space, `storeCorrupt` if a page fails its check, or `cancelled`; `CancellationError` if the task is canceled. The store
  ///   is unchanged then.
  @discardableResult
  public func compact(updatesStatistics: Bool = false, progress: Progress? = nil) async throws -> StoreCompaction {
    let sizes = try await Self.withProgress(progress) { phases in
      let sizes = try await StoreError.mapping {
        try await keyring.compact(
          completion: LineageTable.continuing(path), onOpen: { try StoredFunctionIndexes.register(on: $0) }, progress: phases)
      }
      if updatesStatistics { try await updateStatistics() }
      return sizes
    }
    return StoreCompaction(bytesBefore: sizes.before, bytesAfter: updatesStatistics ? StoreFile.size(path) ?? sizes.after : sizes.after)
  }

  /// Collects statistics of all indexes for SQLite's query planner, which otherwise uses only the definitions of the indexes.
  ///
  /// Statistics never change the result of a fetch. They can help stores with several indexes on one entity, if some indexes match few rows
  /// and others many. The explanation of a fetch (see ``PersistentStoreCoordinator``) shows which index is used.
  ///
  /// The store can be in use. Its open connections use the statistics after the store is opened again. Statistics are stored in the file
  /// and are not updated by later changes. All indexes are read.
  ///
  /// - Throws: ``StoreError`` with the code `busy` if another connection writes for longer than a few seconds.
  public func updateStatistics() async throws {
    try await write { try $0.execute("ANALYZE main") }
  }

  /// Removes the statistics that ``updateStatistics()`` collected.
  ///
  /// - Throws: ``StoreError``, as ``updateStatistics()`` does.
  public func removeStatistics() async throws {
    try await write { connection in
      for table in try connection.objects(.statistics) { try connection.execute(BookkeepingTables.droppingTable(table.name)) }
    }
  }

  /// Runs `body` with a new connection in one write transaction. It must not change anything that users of the store depend on.
  private func write(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
    let keyring = keyring
    try await Self.runInBackground {
      let connection = try keyring.withDatabaseKey { try Connection(opening: keyring.storePath, key: $0) }
      defer { connection.close() }
      try StoredFunctionIndexes.register(on: connection)
      try connection.writeTransaction { try body(connection) }
    }
  }
}
