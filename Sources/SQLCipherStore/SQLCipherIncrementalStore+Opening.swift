import Foundation
public import ObjectModel
public import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys
import Synchronization

extension SQLCipherIncrementalStore {
  /// Unlocks the store's keys, or creates a new store with its keys.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/wrongKey`` if the key does not open the store.
  public func unlock() async throws {
    let description = configuration.description
    let path = path
    let keyring = try await StoreError.mapping { () async throws -> StoreKeyring in
      try StoreReplacement.finish(path)
      if try StoreFile.exists(path, operation: .open) {
        if let keyring = description.key?.unlockedKeyring(for: path) { return keyring }
        return try await StoreKeyring.unlock(storePath: path, key: description.key, workLimit: description.keyWork, isFinished: true)
      }
      guard description.createsStore, !description.isReadOnly else {
        throw StoreError(.noStoreHere, operation: .open, path: path)
      }
      guard let key = description.key else {
        throw StoreError(.newStoreWithoutKey, operation: .create, path: path)
      }
      // Check the limits before any file exists.
      try SchemaLimits.check(newSchema(), path: path, operation: .create)
      do {
        return try await StoreKeyring.create(
          storePath: path, key: key, label: description.keyLabel, format: description.format, workLimit: description.keyWork,
          options: description.connectionOptions, contents: .made { [self] in try fill($0, $1) }, isRemovable: true)
      } catch let error as StoreAccessError where error.kind == .fileExists && StoreFile.exists(path) {
        // Another process created the store first.
        return try await StoreKeyring.unlock(storePath: path, key: key, workLimit: description.keyWork)
      }
    }
    state.withLock { state in
      state.keyring = keyring
      state.newStore = keyring.newStore
    }
  }

  /// Opens the database or creates its tables, and returns the metadata. Usually one row is read.
  ///
  /// - Throws: ``StoreError`` with the reason why the store cannot be opened.
  public func loadMetadata() throws -> StoreMetadata {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .open, path: path)
    }
    return try StoreError.mapping { try open(keyring) }
  }

  /// Creates the connection pool of the store, and the folder of its large values.
  ///
  /// - Parameters:
  ///   - marks: Receives the marks of the connections' triggers.
  ///   - watch: Checks each new snapshot of a reader.
  func makePool(
    _ keyring: StoreKeyring, marks: OutdatedDerivations, watch: ModelChangeDetector? = nil
  ) throws -> (ConnectionPool, ExternalFolder) {
    let description = configuration.description
    let options = description.connectionOptions
    let profiler = EnvironmentLog.current.profiler(of: path, observer: description.sqlObserver)
    return try keyring.withDatabaseKey(options: options) { key in
      let folder = try ExternalFolder(storePath: path, key: key)
      let pool = try ConnectionPool(
        path: path, key: key, options: options, maximumReaders: description.maximumReaderCount, log: description.logLimits(path: path),
        onOpen: { [model = configuration.model] connection in
          try Self.registerFunctions(of: model, on: connection, folder, marks)
          if let profiler { connection.setProfiler(profiler) }
        },
        onSnapshot: { connection in try watch?.check(ReadTransaction(connection: connection)) })
      return (pool, folder)
    }
  }

  /// Registers the functions that the store's SQL calls on a connection.
  private static func registerFunctions(
    of model: CompiledModel, on connection: Connection, _ folder: ExternalFolder, _ marks: OutdatedDerivations
  ) throws {
    try ExternalFunctions.register(on: connection, folder: folder)
    try SQLFunctions.register(on: connection, for: model)
    try BatchFunctions.register(on: connection, model: model)
    if !model.derivations.isEmpty { try marks.register(on: connection) }
  }

  func open(_ keyring: StoreKeyring) throws -> StoreMetadata {
    let description = configuration.description
    let options = description.connectionOptions
    let marks = OutdatedDerivations()
    let watch = ModelChangeDetector(path: path)
    let (pool, folder) = try makePool(keyring, marks: marks, watch: watch)
    do {
      let (generation, (record, hashes, layout)) = try SideTableFailure.retrying { excluded in
        try pool.withWriter { connection in
          if !options.isReadOnly { StoreFile.removeAbandonedCopy(of: connection.databasePath) }
          // Read before the metadata, so that the first transaction detects any later migration.
          var generation = try connection.userVersion()
          let stored = try readOrCreate(connection, &generation, excluding: excluded)
          return (generation, stored)
        }
      }
      let metadata = record.metadata(hashes: hashes)
      // If the model differs, the coordinator reports it and closes the store; no engine is needed.
      if let schema = try schema(hashes: hashes, layout: layout, record: record) {
        let externals =
          record.hasExternalTable
          ? ExternalStorage(
            folder: folder, pool: pool, schema: schema, threshold: description.externalStorageThreshold, isReadOnly: options.isReadOnly)
          : nil
        // Another process crashed while writing large values, or is writing some.
        if let externals, !options.isReadOnly, folder.isPending { try externals.sweep() }
        let engine = StoreEngine(
          path: path, pool: pool, statements: StoreStatements(schema), trace: StatementTrace(observer: description.sqlObserver),
          marks: marks,
          watch: watch, externals: externals, retention: options.isReadOnly ? .unlimited : description.historyRetention,
          observers: observers.map { ObservedTransactions($0, storeIdentifier: record.identifier, model: schema.model) },
          owners: description.sideTableOwners)
        let adopt = {
          @Sendable [history = engine.history, sideTables = engine.sideTables, path] (transaction: ReadTransaction, format: Int?) in
          let records = try MetadataTable.readSideTables(transaction.connection, format: format, path: path)
          sideTables.adopt(records)
          try history.adopt(records[HistoryTables.all.name], transaction, model: schema.model, path: path)
        }
        if MetadataTable.hasHistory(format: record.format) || !engine.sideTables.components.isEmpty {
          try pool.withWriter { connection in
            try connection.readTransaction { try adopt(ReadTransaction(connection: connection), record.format) }
          }
          if !options.isReadOnly { try engine.sideTables.checkComponents() }
        }
        watch.begin(generation: generation, hashes: hashes, layout: schema.layout, onHistoryChange: { try adopt($0, nil) })
        try switchHistory(engine)
        try switchIdentity(engine)
        state.withLock { state in
          state.engine = engine
          state.holder = StoreHolder(description, path: path)
          state.record = record
        }
      } else {
        pool.close()
      }
      return metadata
    } catch {
      pool.close()
      throw error
    }
  }

  private var storedHashes: [String: Data] {
    configuration.model.versionHashes(ofEntities: configuration.entityNumbers)
  }

  private var layoutBasis: String {
    MetadataTable.layoutBasis(model: configuration.model, entityNumbers: configuration.entityNumbers)
  }

  private func newSchema() throws -> StoreSchema {
    try SchemaCache.schema(model: configuration.model, entityNumbers: configuration.entityNumbers, basis: layoutBasis)
  }

  private typealias Stored = (StoreRecord, hashes: [String: Data], layout: TableLayout?)

  /// - Parameters:
  ///   - generation: The database's `user_version`, which an upgrade of the format increments.
  ///   - excluded: The components whose tables are damaged.
  private func readOrCreate(_ connection: Connection, _ generation: inout Int, excluding excluded: Set<String>) throws -> Stored {
    if var record = try MetadataTable.read(connection, path: path) {
      if MetadataTable.isOutdated(format: record.format), !configuration.description.isReadOnly {
        (record, generation) = try upgrade(connection) ?? (record, generation)
      }
      // Usually nothing more is read: a layout from the same model equals the computed one.
      let renewsModel = configuration.description.renewsModel && !configuration.description.isReadOnly
      if record.layoutBasis == layoutBasis, !renewsModel { return (record, storedHashes, nil) }
      let hashes = try MetadataTable.readHashes(connection, path: path)
      let layout = try MetadataTable.readLayout(connection, path: path)
      let isUpToDate = record.layoutBasis == MetadataTable.indexesOnly + layoutBasis
      if configuration.model.fits(hashes, entityNumbers: configuration.entityNumbers), !configuration.description.isReadOnly,
        renewsModel || !isUpToDate
      {
        let observers = observers.map { ObservedTransactions($0, storeIdentifier: record.identifier, model: configuration.model) }
        return try WriteTransaction.run(on: connection, observers.map { [$0] } ?? [], excluding: excluded) { transaction -> Stored in
          // Another process has just migrated the store. Its new tables must not be changed for this model.
          if try connection.userVersion() != generation, let stored = try readStored(connection) { return stored }
          try updateAuxiliaries(record.identifier, layout, transaction)
          var record = record
          record.hasExternalTable = record.hasExternalTable || configuration.model.hasExternalAttributes
          return (record, hashes, layout)
        }
      }
      return (record, hashes, layout)
    }
    if configuration.description.isReadOnly {
      throw StoreError(.notAStore(.emptyAndReadOnly), operation: .open, path: path)
    }
    return try WriteTransaction.run(on: connection, []) { transaction in
      // Another process may have created the tables first.
      if let stored = try readStored(connection) { return stored }
      return (try create(transaction), storedHashes, nil)
    }
  }

  private func upgrade(_ connection: Connection) throws -> (StoreRecord, generation: Int)? {
    try WriteTransaction.run(on: connection, []) { transaction in
      try MetadataTable.upgrade(connection, path: path)
      return try MetadataTable.read(connection, path: path).map { ($0, try connection.userVersion()) }
    }
  }

  private func readStored(_ connection: Connection) throws -> Stored? {
    guard let record = try MetadataTable.read(connection, path: path) else { return nil }
    return (record, try MetadataTable.readHashes(connection, path: path), try MetadataTable.readLayout(connection, path: path))
  }

  /// Updates the indexes, triggers and full-text tables for the model, and records that together with the model, so that code that uses the
  /// stored model does not revert it.
  private func updateAuxiliaries(_ identifier: String, _ layout: TableLayout, _ transaction: WriteTransaction) throws {
    let model = configuration.model
    let schema = try StoreSchema(model: model, layout: layout)
    let computed = try SchemaAuxiliaries(schema: schema).update(transaction)
    if !computed.isEmpty {
      let author = configuration.description.migrationAuthor
      let trace = StatementTrace(observer: configuration.description.sqlObserver)
      let history = try MigrationHistory(transaction, author: author, trace: trace, path: path)
      var identified = layout
      if history == nil { identified.assignHistoryIDs(of: model) }
      let ids = HistoryIDs(identified, of: model)
      transaction.observation?.begin(TransactionOrigin(.migration, author: author))
      let sideTables = SideTableRegistry(configuration.description.sideTableOwners, trace: trace, path: path)
      sideTables.adopt(try MetadataTable.readSideTables(transaction.connection, path: path))
      let report = MigrationReport(
        transaction, history, sideTables, nil, MigrationConversion(ids, storeIdentifier: identifier), author: author)
      try report.report(MigrationChanges.computed(computed, ids), from: model.checksum, to: schema, ids)
    }
    let isSameLayout = layout == TableLayout(model: model, entityNumbers: configuration.entityNumbers)
    try MetadataTable.write(
      layoutBasis: (isSameLayout ? "" : MetadataTable.indexesOnly) + layoutBasis,
      model: String(decoding: model.model.xmlData(), as: UTF8.self),
      transaction.connection)
  }

  /// Writes the tables and metadata of a new store, whose file does not have its final name yet. If the model is rejected, no file remains.
  private func fill(_ connection: Connection, _ folder: ExternalFolder) throws {
    try Self.registerFunctions(of: configuration.model, on: connection, folder, OutdatedDerivations())
    try WriteTransaction.run(on: connection, []) { transaction in
      let record = try create(transaction)
      let description = configuration.description
      guard description.historyTracking == true else { return }
      let schema = try SchemaCache.schema(
        model: configuration.model, entityNumbers: configuration.entityNumbers, basis: layoutBasis,
        hasExternalTable: record.hasExternalTable)
      let trace = StatementTrace(observer: description.sqlObserver)
      try StoreHistory.begin(
        HistorySettings(level: description.historyLevel ?? .properties), record, schema.layout,
        StoreRows(statements: StoreStatements(schema), trace: trace, path: path), transaction)
    }
  }

  private func create(_ transaction: WriteTransaction) throws -> StoreRecord {
    let connection = transaction.connection
    let model = configuration.model
    let schema = try newSchema()
    for statement in BookkeepingTables.creation { try connection.execute(statement) }
    for statement in try SchemaGenerator(schema: schema).tables() { try connection.execute(statement) }
    try SchemaAuxiliaries(schema: schema).makeAll(transaction)
    let record = StoreRecord(
      identifier: UUID().uuidString, type: StoreType.sqlcipher.rawValue, checksum: model.checksum, layoutBasis: layoutBasis,
      versionIdentifiers: model.model.versionIdentifiers, userMetadata: [:], hasExternalTable: model.hasExternalAttributes)
    try LineageTable.assign(connection)
    try MetadataTable.insert(
      record, hashes: storedHashes, layout: schema.layout, model: String(decoding: try model.model.xmlData(), as: UTF8.self),
      into: connection)
    return record
  }

  private func schema(hashes: [String: Data], layout: TableLayout?, record: StoreRecord) throws -> StoreSchema? {
    guard configuration.model.fits(hashes, entityNumbers: configuration.entityNumbers) else { return nil }
    if let layout {
      let isUpToDate = !configuration.description.isReadOnly || record.layoutBasis == MetadataTable.indexesOnly + layoutBasis
      return try StoreSchema(
        model: configuration.model, layout: layout, hasFullText: isUpToDate, hasExternalTable: record.hasExternalTable)
    }
    return try SchemaCache.schema(
      model: configuration.model, entityNumbers: configuration.entityNumbers, basis: layoutBasis, hasExternalTable: record.hasExternalTable)
  }
}

/// A cache of recent schemas, so that opening a store again with the same model creates no new one.
enum SchemaCache {
  private static let capacity = 8
  private static let schemas = Mutex<[(basis: String, schema: StoreSchema)]>([])

  static func schema(
    model: CompiledModel, entityNumbers: [Int], basis: String, hasExternalTable: Bool = false
  ) throws -> StoreSchema {
    let basis = hasExternalTable ? basis + "/table" : basis
    let known = schemas.withLock { schemas in schemas.first { $0.schema.model === model && $0.basis == basis }?.schema }
    if let known { return known }
    let schema = try StoreSchema(
      model: model, layout: TableLayout(model: model, entityNumbers: entityNumbers), hasExternalTable: hasExternalTable)
    schemas.withLock { schemas in
      if schemas.count >= capacity { schemas.removeFirst() }
      schemas.append((basis, schema))
    }
    return schema
  }
}

// MARK: - Reading the stored model

extension SQLCipherIncrementalStore {
  /// Returns the model that wrote the store, from the store's metadata.
  ///
  /// - Throws: ``StoreError`` if the model cannot be read.
  public func storedModel() throws -> CompiledModel? {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .readModel, path: path)
    }
    return try StoreError.mapping {
      var options = configuration.description.connectionOptions
      options.isReadOnly = true
      let connection = try keyring.withDatabaseKey(options: options) { try Connection.reading(path, key: $0, options: options) }
      defer { connection.close() }
      let text = try connection.readTransaction { try MetadataTable.readModel(connection, path: path) }
      do {
        return try CompiledModel(try ManagedObjectModel(xmlData: Data(text.utf8)))
      } catch {
        throw StoreError(.unreadableModel, operation: .readModel, path: path)
      }
    }
  }
}
