import Foundation
import ObjectModel
public import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

/// Migrates a store on an open connection.
///
/// The whole migration is one write transaction, begun before anything is read. If two processes migrate a store, the second one finds it
/// migrated.
struct StoreMigrator {
  let connection: Connection
  let path: String
  /// The model to migrate to, and the numbers of the entities that the store contains.
  let model: CompiledModel
  let entityNumbers: [Int]
  let request: StoreMigrationRequest
  let trace: StatementTrace
  var batchSize = MigrationRunner.standardBatchSize
  /// The application's observers.
  var observers: ObservedTransactions?
  /// The components with side tables.
  var owners: [any SideTableOwner] = []
  /// The components whose tables are damaged.
  var excludedComponents: Set<String> = []
  /// The minimum size in bytes of values that are moved to files, if their attribute allows it.
  var externalStorageThreshold = ExternalStorage.standardThreshold

  /// Migrates the store, unless it is already migrated.
  ///
  /// - Returns: The progress to report when the store is open, or `nil` if there was nothing to do.
  func run() throws -> MigrationProgress? {
    var last: MigrationProgress?
    do {
      // The file's indexes can call functions that the newer model does not use.
      try StoredFunctionIndexes.register(on: connection)
      try ValueConversion.register(on: connection)
      // Tables are dropped and recreated while references to them remain, so foreign keys must not be checked meanwhile.
      try connection.withoutForeignKeys {
        try connection.cancelling(when: { [cancellation = request.cancellation] in cancellation?.isCancelled ?? false }) {
          let externals = ExternalStorage(joining: connection, threshold: externalStorageThreshold)
          var participants: [any TransactionParticipant] = []
          if let observers { participants.append(observers) }
          if let externals { participants.append(LargeValues(storage: externals)) }
          try WriteTransaction.run(on: connection, participants, excluding: excludedComponents) { last = try migrate($0) }
        }
      }
    } catch {
      connection.discardStatements()
      throw failure(error)
    }
    connection.discardStatements()
    return last
  }

  // MARK: The transaction

  private func migrate(_ transaction: WriteTransaction) throws -> MigrationProgress? {
    guard let record = try MetadataTable.read(connection, path: path) else {
      throw StoreError(.notAStore(.empty), operation: .migrate, path: path)
    }
    try MetadataTable.upgrade(connection, path: path)
    let hashes = try MetadataTable.readHashes(connection, path: path)
    if model.fits(hashes, entityNumbers: entityNumbers) { return nil }
    var past = try MetadataTable.readPastModels(connection, path: path)
    try Self.checkNotNewer(record, past, model, path: path)
    var schema = try StoredSchema.read(connection, path: path)
    let history = try MigrationHistory(transaction, author: request.author, trace: trace, path: path)
    let observation = observers?.beginMigration(of: record.identifier, author: request.author, in: transaction)
    let isObserved = observation != nil || !owners.isEmpty
    // The layout with the IDs by which the changes are reported. The layouts of the steps do not contain them.
    var layout = schema.layout
    if history == nil, isObserved { layout.assignHistoryIDs(of: schema.model) }
    let runner = MigrationRunner(transaction, request: request, trace: trace, batchSize: batchSize)
    let steps: [StoreMigrationStep?] = request.steps.isEmpty ? [nil] : request.steps
    let sideTables = SideTableRegistry(owners, trace: trace, path: path)
    sideTables.adopt(try MetadataTable.readSideTables(connection, path: path))
    try sideTables.checkComponents()
    let newest = isObserved ? try newestIDs(after: steps, from: schema, layout) : nil
    let report = MigrationReport(
      transaction, history, sideTables, observers, newest.map { MigrationConversion($0, storeIdentifier: record.identifier) },
      author: request.author)
    if runner.reportsProgress {
      runner.share(
        request.steps.isEmpty
          ? [.alone] : try StageWeights.of(request.steps, from: schema, to: model, entityNumbers: entityNumbers, connection))
    }
    var tasks = record.deferredTasks
    var present = record.modelName
    if request.steps.contains(where: { !$0.infersRows }) {
      try report.reportWhole(from: record.checksum, to: model.checksum, schema, layout)
    }
    if let willMigrate = request.willMigrate {
      var reading = StoreMigrationStep(name: "before the migration", model: schema.model)
      reading.preparation = willMigrate
      try MigrationHandlers.prepare(
        reading, context(transaction, schema, schema, record, runner, report.stage(HistoryIDs(layout, of: schema.model))))
    }
    for (position, step) in steps.enumerated() {
      runner.begin(stage: position)
      let target = step?.model ?? model
      let numbers = model.entityNumbers(entityNumbers, in: target)
      report.begin()
      let olderIDs = HistoryIDs(layout, of: schema.model)
      if let step, step.preparation != nil {
        try MigrationHandlers.prepare(step, context(transaction, schema, schema, record, runner, report.stage(olderIDs)))
        report.begin()
      }
      try ExternalSchema.makeTable(for: [schema.model, target], transaction)
      let planner = MigrationPlanner(
        from: schema, to: target, entityNumbers: numbers, step: step, defersCleanUp: request.defersCleanUp)
      if !planner.obstacles.isEmpty { throw Self.notInferred(planner.obstacles, path: path) }
      let plan = try planner.plan()
      try SchemaLimits.check(plan.schema, path: path, operation: .migrate)
      var newer = plan.schema.layout
      if !report.isEmpty { newer.takeHistoryIDs(from: layout, plan.map) }
      let newerIDs = HistoryIDs(newer, of: target)
      var changes = report.isEmpty ? [] : MigrationChanges(plan: plan, older: olderIDs, newer: newerIDs).all()
      let hasHandler = step?.handler != nil
      // The handler changes the objects that result from the changes.
      if hasHandler { try report.report(changes, from: schema.model.checksum, to: plan.schema, newerIDs) }
      do {
        try runner.run(plan) { step in
          try MigrationHandlers.run(
            step, context(transaction, schema, plan.workingSchema, record, runner, report.stage(newerIDs)))
        }
      } catch let error as StoreAccessError where error.kind == .constraint {
        throw try ConstraintViolation.error(error, in: plan.schema, transaction.reading, path: path)
      }
      connection.discardStatements()
      let computed = MigrationChanges.computed(runner.computedSlots, newerIDs)
      if hasHandler { changes = computed } else { changes += computed }
      if !hasHandler || !changes.isEmpty { try report.report(changes, from: schema.model.checksum, to: plan.schema, newerIDs) }
      schema = plan.schema
      layout = newer
      tasks = plan.deferredTasks
      let name = StoreRecord.modelName(target.checksum, target.model.versionIdentifiers)
      past.removeAll { $0 == present || $0 == name }
      past.append(present)
      present = name
    }
    try LargeValueMigration(transaction, schema).moveIntoFiles { count in
      try runner.check()
      if count % 100 == 1 { runner.report("put large values into files") }
    }
    try write(record, schema, history == nil ? schema.layout : layout, past, tasks)
    return runner.last
  }

  /// Returns the IDs of the model that steps lead to, or `nil` if a step cannot be planned, so that the migration fails.
  ///
  /// - Parameter layout: The layout before the steps, with IDs.
  private func newestIDs(after steps: [StoreMigrationStep?], from schema: StoreSchema, _ layout: TableLayout) throws -> HistoryIDs? {
    var (schema, layout) = (schema, layout)
    for step in steps {
      let target = step?.model ?? model
      let planner = MigrationPlanner(
        from: schema, to: target, entityNumbers: model.entityNumbers(entityNumbers, in: target), step: step,
        defersCleanUp: request.defersCleanUp)
      guard planner.obstacles.isEmpty, let plan = try? planner.plan() else { return nil }
      var newer = plan.schema.layout
      newer.takeHistoryIDs(from: layout, plan.map)
      (schema, layout) = (plan.schema, newer)
    }
    return HistoryIDs(layout, of: model)
  }

  private func write(
    _ record: StoreRecord, _ schema: StoreSchema, _ layout: TableLayout, _ past: [String], _ tasks: [String]
  ) throws {
    let isFresh = layout == TableLayout(model: schema.model, entityNumbers: entityNumbers)
    let basis = MetadataTable.layoutBasis(model: schema.model, entityNumbers: entityNumbers)
    var record = record
    record.checksum = schema.model.checksum
    record.versionIdentifiers = schema.model.model.versionIdentifiers
    record.layoutBasis = isFresh ? basis : MetadataTable.indexesOnly + basis
    record.deferredTasks = tasks
    try MetadataTable.update(
      record, hashes: schema.model.versionHashes(ofEntities: model.entityNumbers(entityNumbers, in: schema.model)), layout: layout,
      model: String(decoding: try schema.model.model.xmlData(), as: UTF8.self), pastModels: past, connection)
    // The changed number informs connections that have the store open with the older model, even if no table changes.
    try connection.setUserVersion(Int32(truncatingIfNeeded: try connection.userVersion()) &+ 1)
  }

  private func context(
    _ transaction: WriteTransaction, _ older: StoreSchema, _ newer: StoreSchema, _ record: StoreRecord, _ runner: MigrationRunner,
    _ changes: StageRecording
  ) -> MigrationHandlers.Context {
    MigrationHandlers.Context(
      transaction: transaction, path: path, older: older, newer: newer, record: record, runner: runner, trace: trace,
      changes: changes)
  }

  // MARK: Errors

  /// Throws if the store has already been migrated from the model to a newer one.
  static func checkNotNewer(_ record: StoreRecord, _ past: [String], _ model: CompiledModel, path: String) throws {
    let name = StoreRecord.modelName(model.checksum, model.model.versionIdentifiers)
    guard name != record.modelName, past.contains(name) else { return }
    throw StoreError(.newerModel(versions: Array(record.versionIdentifiers)), operation: .open, path: path)
  }

  static func notInferred(_ obstacles: [ModelChange], path: String) -> StoreError {
    return StoreError(.mappingNotInferred(obstacles), operation: .migrate, path: path)
  }

  /// Returns the error of a failed migration. Errors of the file or the process keep their code; all others become `migrationFailed`. A
  /// wrong key is not possible here, since the metadata was readable.
  private func failure(_ error: any Error) -> any Error {
    let cause: StoreError
    switch error {
    case let rejection as RejectedMigration: return rejection.error
    // The migration is repeated.
    case is SideTableFailure: return error
    case let error as StoreError: cause = error
    case let error as StoreAccessError: cause = StoreError(error)
    // Requests of a handler throw it in a canceled task.
    case is CancellationError: return error
    default:
      return StoreError(.migrationFailed(cause: "\(error)"), operation: .migrate, path: path, underlying: error)
    }
    switch cause.code {
    case .busy, .readOnly, .permissionDenied, .diskFull, .io, .outOfMemory, .storeCorrupt, .unsupportedFormat, .cancelled,
      .mappingNotInferred,
      .migrationConstraintViolation, .migrationFailed, .storeNewerThanModel, .requiredValueMissing,
      .mappingModelInvalid, .constraintConflict, .mergeConflict:
      // The message of this error describes the store's state after the cancellation.
      if cause.code == .cancelled { return StoreError(.migrationCancelled, operation: .migrate, path: cause.path ?? path) }
      var result = cause
      if cause.code != .storeNewerThanModel { result.operation = .migrate }
      result.path = result.path ?? path
      return result
    default:
      var result = StoreError(.migrationFailed(cause: cause.message), operation: .migrate, path: path, underlying: error)
      result.sqliteCode = cause.sqliteCode
      result.sqliteExtendedCode = cause.sqliteExtendedCode
      result.systemErrorNumber = cause.systemErrorNumber
      result.entityName = cause.entityName
      result.propertyName = cause.propertyName
      return result
    }
  }
}

extension CompiledModel {
  /// Returns whether a store with the given hashes and entities can be opened with the model. This is the only place that decides it.
  func fits(_ hashes: [String: Data], entityNumbers: [Int]) -> Bool { hashes == versionHashes(ofEntities: entityNumbers) }

  /// Returns the version hashes of entities, by name.
  func versionHashes(ofEntities numbers: [Int]) -> [String: Data] {
    if numbers.count == entities.count { return versionHashes }
    let names = Set(numbers.map { entities[$0].name })
    return versionHashes.filter { names.contains($0.key) }
  }

  /// Returns the entities that the store contains with an intermediate model: those with the same names as in this model, or all if the
  /// store contains all.
  func entityNumbers(_ storedEntities: [Int], in model: CompiledModel) -> [Int] {
    if model === self { return storedEntities }
    if storedEntities.count == entities.count { return model.entities.map(\.number) }
    let names = Set(storedEntities.map { entities[$0].name })
    return model.entities.filter { names.contains($0.name) }.map(\.number)
  }
}

/// Determines which uniqueness constraint a migration violated.
enum ConstraintViolation {
  /// Returns the error for SQLite's error. It must be called while the migration's transaction is open.
  static func error(_ error: StoreAccessError, in schema: StoreSchema, _ transaction: ReadTransaction, path: String) throws -> StoreError {
    let indexes = try SchemaGenerator(schema: schema).indexes().filter { $0.meaning.origin == .uniqueness }
    let subject = error.uniqueSubject
    let found =
      indexes.first { $0.sql == error.sql }
      ?? indexes.first { index in
        let table = Identifier.unquoted(index.table)
        return subject == .index(index.name) || subject == .index(Identifier.unquoted(index.name))
          || subject == .columns(index.elements.map { "\(table).\(Identifier.unquoted($0))" })
      }
    guard let found else {
      return StoreError(.violatedUnknownConstraint, operation: .migrate, path: path, underlying: error)
    }
    var result = violation(found, count: try? count(found, transaction), path: path)
    result.underlying = error
    result.sqliteCode = error.code
    result.sqliteExtendedCode = error.extendedCode
    return result
  }

  static func violation(_ index: StoreIndex, count: Int?, path: String) -> StoreError {
    let (entity, properties) = (index.meaning.entityName, index.meaning.properties)
    var result = StoreError(.violatedConstraint(entity: entity, properties: properties, count: count), operation: .migrate, path: path)
    result.constraintConflicts = [
      ConstraintConflict(entityName: entity, constraint: properties, objectIDs: [], databaseObjectID: nil)
    ]
    return result
  }

  private static func count(_ index: StoreIndex, _ transaction: ReadTransaction) throws -> Int {
    let statement = try transaction.statement(sql: index.duplicateCount)
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }
}

// MARK: - Migrating a store

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
        last = try SideTableFailure.retrying { excluded in
          try pool.withWriter { connection in
            try StoreMigrator(
              connection: connection, path: path, model: configuration.model, entityNumbers: configuration.entityNumbers, request: request,
              trace: StatementTrace(observer: configuration.description.sqlObserver),
              batchSize: configuration.description.migrationBatchSize,
              observers: observers.map { ObservedTransactions($0, storeIdentifier: nil, model: configuration.model) },
              owners: configuration.description.sideTableOwners, excludedComponents: excluded,
              externalStorageThreshold: configuration.description.externalStorageThreshold
            ).run()
          }
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
