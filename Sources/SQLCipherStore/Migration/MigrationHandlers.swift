import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Runs the application's part of a migration stage, with the older and the newer rows side by side.
enum MigrationHandlers {
  /// The context of a handler, inside the migration's transaction.
  struct Context {
    let transaction: WriteTransaction
    var connection: Connection { transaction.connection }
    let path: String
    let older: StoreSchema
    /// The schema of the newer rows, with the working names of their tables.
    let newer: StoreSchema
    let record: StoreRecord
    let runner: MigrationRunner
    let trace: StatementTrace
    /// How the changes of the handler are recorded.
    let changes: StageRecording
  }

  static func run(_ step: StoreMigrationStep, _ context: Context) throws {
    guard let handler = step.handler else { return }
    let connection = context.connection
    // Full-text indexes were dropped and are recreated at the end.
    let hasLargeValues = try ExternalTable.exists(connection)
    let older = try StoreSchema(
      model: context.older.model, layout: context.older.layout, hasFullText: false, hasExternalTable: hasLargeValues)
    let newer = try StoreSchema(
      model: context.newer.model, layout: context.newer.layout, hasFullText: false, hasExternalTable: hasLargeValues)
    let indexes = try relationshipIndexes(newer)
    for index in indexes { try connection.execute(index.sql) }
    try withEngines([(older, StageRecording()), (newer, context.changes)], context) { engines in
      try handler(
        MigrationSession(
          context, source: engines[0], destination: engines[1], sourceModel: older.model, destinationModel: newer.model))
    }
    for index in indexes { try connection.execute(SchemaAuxiliary.dropping(.index, index.name)) }
  }

  static func prepare(_ step: StoreMigrationStep, _ context: Context) throws {
    guard let preparation = step.preparation else { return }
    try withEngines([(context.older, context.changes)], context) { engines in
      try preparation(
        MigrationSession(
          context, source: engines[0], destination: engines[0], sourceModel: context.older.model, destinationModel: context.older.model))
    }
  }

  private static func withEngines(
    _ schemas: [(StoreSchema, StageRecording)], _ context: Context, _ body: ([StoreEngine]) throws -> Void
  ) throws {
    // Cached statements of other tables can have the same numbers, and open ones prevent tables from being dropped.
    context.connection.discardStatements()
    defer { context.connection.discardStatements() }
    // The engines share one connection, so their statement numbers must not overlap.
    var engines: [StoreEngine] = []
    for (schema, changes) in schemas {
      let statements = StoreStatements(schema, behind: engines.last?.statements)
      engines.append(
        StoreEngine(path: context.path, joining: context.transaction, statements: statements, trace: context.trace, stage: changes))
    }
    do { try join(engines[...], context.transaction) { try body(engines) } } catch { throw context.changes.failure ?? error }
    if let failure = context.changes.failure { throw failure }
  }

  private static func join(_ engines: ArraySlice<StoreEngine>, _ transaction: WriteTransaction, _ body: () throws -> Void) throws {
    guard let engine = engines.first else { return try body() }
    try engine.join(transaction) { try join(engines.dropFirst(), transaction, body) }
  }

  /// Returns temporary indexes of the newer tables for the handler. The indexes of the schema are created at the end.
  private static func relationshipIndexes(_ schema: StoreSchema) throws -> [StoreIndex] {
    try SchemaGenerator(schema: schema, prefix: "cipherdata_stage_").indexes().filter { $0.meaning.origin == .relationship }
  }
}

/// A running migration stage: two stores on two sets of tables in one transaction.
final class MigrationSession: StoreMigrationSession {
  let sourceModel: CompiledModel
  let destinationModel: CompiledModel
  let source: any IncrementalStore
  let destination: any IncrementalStore
  let metadata: StoreMetadata
  private let runner: MigrationRunner

  init(
    _ context: MigrationHandlers.Context, source: StoreEngine, destination: StoreEngine, sourceModel: CompiledModel,
    destinationModel: CompiledModel
  ) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    runner = context.runner
    var metadata = StoreMetadata(storeIdentifier: context.record.identifier, storeType: context.record.type, modelHashes: [:])
    metadata.versionIdentifiers = context.record.versionIdentifiers
    metadata.userMetadata = context.record.userMetadata
    self.metadata = metadata
    func store(_ engine: StoreEngine, isReadOnly: Bool) -> SQLCipherIncrementalStore {
      var description = PersistentStoreDescription(type: .sqlcipher)
      description.isReadOnly = isReadOnly
      let model = engine.schema.model
      return SQLCipherIncrementalStore(
        engine: engine,
        configuration: StoreConfiguration(description: description, model: model, entityNumbers: model.entities.map(\.number)))
    }
    self.source = store(source, isReadOnly: true)
    self.destination = store(destination, isReadOnly: false)
  }

  var isFollowed: Bool { runner.reportsProgress }

  func report(_ phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double?) {
    runner.report(phase, completed: completedUnitCount, total: totalUnitCount, fraction: fractionCompleted)
  }

  func checkCancellation() throws { try runner.check() }
}
