public import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

extension SQLCipherIncrementalStore {
  /// Migrates the store in place, in one transaction, and opens it.
  ///
  /// Memory is bounded; the write-ahead log grows by what is written. Where anything fails, or the migration is called off, the store is as it was.
  ///
  /// - Throws: ``StoreError``; the store is then as it was.
  public func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .migrate, path: path)
    }
    let configuration = configuration
    var request = request
    request.progress = EnvironmentLog.current.progress(of: path, request.progress)
    return try StoreError.mapping {
      let (pool, _) = try makePool(keyring, marks: DerivationMarks())
      let last: MigrationProgress?
      do {
        last = try pool.withWriter { connection in
          try StoreMigrator(
            connection: connection, path: path, model: configuration.model, entityNumbers: configuration.entityNumbers, request: request,
            trace: StatementTrace(observer: configuration.description.sqlObserver),
            portionSize: configuration.description.migrationPortionSize,
            externalStorageThreshold: configuration.description.externalStorageThreshold
          ).run()
        }
        pool.close()
      } catch {
        pool.close()
        throw error
      }
      let metadata = try open(keyring)
      // Only now nothing can fail any more.
      if let last { request.progress?(last) }
      return metadata
    }
  }

  /// Whether the store is still of another model, and of none that came after this one.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNewerThanModel`` where the store has been through the model already.
  public func beginsMigration(_ request: StoreMigrationRequest) throws -> Bool {
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

  /// Clears away one thing that a migration has left: unused columns of a table, or an unused table. Saves wait meanwhile.
  ///
  /// - Throws: ``StoreError``; the task is then to be done as before.
  public func finishDeferredMigrationTask() throws -> StoreMetadata? {
    let engine = try engine(.finishMigration)
    guard !configuration.description.isReadOnly else { return nil }
    return try StoreError.mapping {
      try engine.pool.withWriter { connection in
        let clearing = DeferredClearing(
          connection: connection, path: path, model: configuration.model, entityNumbers: configuration.entityNumbers, trace: engine.trace,
          participants: engine.participants)
        guard try clearing.runOne() else { return nil }
        guard let record = try MetadataTable.read(connection, path: path) else { return nil }
        return record.metadata(hashes: try MetadataTable.readHashes(connection, path: path))
      }
    }
  }
}
