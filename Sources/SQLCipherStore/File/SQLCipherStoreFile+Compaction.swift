import ObjectStore
import SQLCipherConnection
import StoreFiles

extension SQLCipherStoreFile {
  /// Gives the pages that deleted objects have left, and the log, back to the disk: the database is written anew under the same key, checked, and put in the
  /// old one's place. Keys, large values, the history, the owner and the modes of the files stay as they are.
  ///
  /// Nobody may have the store open, not even this process. It takes the time of a backup with a full verification, and room on the disk for the pages that are in
  /// use, which is looked at first. If it fails, is cancelled or killed at any point, the store is the old or the new one; what a killed process leaves beside it the
  /// next opening removes.
  ///
  /// - Parameters:
  ///   - updatesStatistics: Whether to do what ``updateStatistics()`` does afterwards.
  ///   - progress: Called with how much is done; answers whether to go on.
  /// - Returns: The sizes before and after.
  /// - Throws: ``StoreError``; with the code `busy` where anybody has the store open, `diskFull` with ``StoreError/requiredSpace`` where there is not enough room,
  ///   `storeCorrupt` where a page fails its check, `cancelled`; `CancellationError` when the task is cancelled. The store is as it was then.
  @discardableResult
  public func compact(updatesStatistics: Bool = false, progress: Progress? = nil) async throws -> StoreCompaction {
    let sizes = try await Self.longWork(progress) { phases in
      let sizes = try await StoreError.mapping {
        try await keyring.compact(onOpen: { try FoldedIndexes.register(on: $0) }, progress: phases)
      }
      if updatesStatistics { try await updateStatistics() }
      return sizes
    }
    return StoreCompaction(bytesBefore: sizes.before, bytesAfter: updatesStatistics ? StoreFile.size(path) ?? sizes.after : sizes.after)
  }

  /// Counts how many rows the values of each index lead to, for SQLite's query planner, which goes by the indexes alone otherwise. What a fetch gives is never
  /// changed by it. It may be of use to stores with several indexes over one entity, some of which find few rows and some many; ``PersistentStoreCoordinator``'s
  /// explanations of a fetch say which index is used.
  ///
  /// The store may be in use: who has it open goes by the figures once he opens it again. They are kept in the store and do not follow later changes. All indexes
  /// are read.
  ///
  /// - Throws: ``StoreError``, with the code `busy` where somebody else writes for longer than a few seconds.
  public func updateStatistics() async throws {
    try await write { try $0.execute("ANALYZE main") }
  }

  /// Takes away what ``updateStatistics()`` has counted.
  ///
  /// - Throws: ``StoreError``, as ``updateStatistics()`` does.
  public func removeStatistics() async throws {
    try await write { connection in
      for table in try connection.objects(.statistics) { try connection.execute(BookkeepingTables.droppingLeftover(table.name)) }
    }
  }

  /// Runs `body` with a connection of its own in one write transaction that changes nothing which the store's users go by.
  private func write(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
    let keyring = keyring
    try await Self.offActor {
      let connection = try keyring.withDatabaseKey { try Connection(opening: keyring.storePath, key: $0) }
      defer { connection.close() }
      try FoldedIndexes.register(on: connection)
      try connection.writeTransaction { try body(connection) }
    }
  }
}
