public import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

extension SQLCipherIncrementalStore {
  /// Migrates the store in place, in one transaction, and opens it.
  ///
  /// Memory use is bounded; the write-ahead log grows by the amount of data written. If the migration fails or is canceled, the store is
  /// unchanged.
  ///
  /// - Throws: ``StoreError``; the store is unchanged then.
  public func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .migrate, path: path)
    }
    let configuration = configuration
    var request = request
    request.progress = EnvironmentLog.current.progress(of: path, request.progress)
    return try StoreError.mapping {
      let (pool, _) = try makePool(keyring, marks: OutdatedDerivations())
      let last: MigrationProgress?
      do {
        last = try pool.withWriter { connection in
          try StoreMigrator(
            connection: connection, path: path, model: configuration.model, entityNumbers: configuration.entityNumbers, request: request,
            trace: StatementTrace(observer: configuration.description.sqlObserver),
            batchSize: configuration.description.migrationBatchSize,
            externalStorageThreshold: configuration.description.externalStorageThreshold
          ).run()
        }
        pool.close()
      } catch {
        pool.close()
        throw error
      }
      let metadata = try open(keyring)
      // Report completion only when nothing can fail anymore.
      if let last { request.progress?(last) }
      return metadata
    }
  }

  /// Returns whether the store still needs the migration, and checks that it was not written by a newer model.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/storeNewerThanModel`` if the store has already been migrated from the model.
  public func needsMigration(_ request: StoreMigrationRequest) throws -> Bool {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .migrate, path: path)
    }
    return try StoreError.mapping {
      var options = configuration.description.connectionOptions
      options.isReadOnly = true
      let connection = try Connection(opening: path, key: try keyring.databaseKey(options: options), options: options)
      defer { connection.close() }
      return try connection.readTransaction {
        let record = try SQLCipherStoreFile.record(connection, operation: .migrate)
        let past = try MetadataTable.readPastModels(connection, path: path)
        try StoreMigrator.checkNotNewer(record, past, configuration.model, path: path)
        return !configuration.model.fits(
          try MetadataTable.readHashes(connection, path: path), entityNumbers: configuration.entityNumbers)
      }
    }
  }

  /// Performs one deferred cleanup of a migration: clears the unused columns of a table, or drops an unused table. Saves wait until it is
  /// done.
  ///
  /// - Throws: ``StoreError``; the task remains to be done then.
  public func finishDeferredMigrationTask() throws -> StoreMetadata? {
    let engine = try engine(.migrate)
    guard !configuration.description.isReadOnly else { return nil }
    return try StoreError.mapping {
      try engine.pool.withWriter { connection in
        let clearing = DeferredCleanup(
          connection: connection, path: path, model: configuration.model, entityNumbers: configuration.entityNumbers, trace: engine.trace,
          participants: engine.participants)
        guard try clearing.runOne() else { return nil }
        guard let record = try MetadataTable.read(connection, path: path) else { return nil }
        return record.metadata(hashes: try MetadataTable.readHashes(connection, path: path))
      }
    }
  }
}
