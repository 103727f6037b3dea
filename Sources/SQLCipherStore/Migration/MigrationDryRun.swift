import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Creates a readable plan of a migration. It counts rows of the file and writes nothing.
struct MigrationDryRun {
  let connection: Connection
  let path: String
  let model: CompiledModel
  let entityNumbers: [Int]
  let defersCleanUp: Bool
  /// The description that the store would be opened with, if it has stages or mapping models.
  var description: PersistentStoreDescription?

  /// Returns the plan; empty if the store does not need a migration.
  func plan() throws -> MigrationPlan {
    try StoredFunctionIndexes.register(on: connection)
    try ValueConversion.register(on: connection)
    guard let record = try MetadataTable.read(connection, path: path) else {
      throw StoreError(.notAStore(.never), operation: .planMigration, path: path)
    }
    let hashes = try MetadataTable.readHashes(connection, path: path)
    let schema = try StoredSchema.read(connection, path: path)
    guard !model.fits(hashes, entityNumbers: entityNumbers) else {
      return MigrationPlan(changes: ModelDifference(from: schema.model, to: model).changes, steps: [], obstacles: [], conflicts: [])
    }
    let stages = try stages(record, hashes, schema)
    try StoreMigrator.checkNotNewer(record, try MetadataTable.readPastModels(connection, path: path), model, path: path)
    guard stages.isEmpty else {
      return try StagedDryRun(
        connection: connection, path: path, model: model, entityNumbers: entityNumbers, stages: stages, defersCleanUp: defersCleanUp
      ).plan(schema)
    }
    let planner = MigrationPlanner(from: schema, to: model, entityNumbers: entityNumbers, defersCleanUp: defersCleanUp)
    guard planner.obstacles.isEmpty else {
      return MigrationPlan(changes: planner.map.difference.changes, steps: [], obstacles: planner.obstacles, conflicts: [])
    }
    let planned = try planner.plan()
    var describer = StepDescriber(connection: connection, path: path, plan: planned, auxiliaries: try StepDescriber.inFile(connection))
    try describer.ask()
    try describer.describe()
    let steps = describer.steps + StepDescriber.deferred(planned)
    let limit = SchemaLimits(schema: planned.schema).problem.map { [StoreError($0, operation: .planMigration, path: path)] } ?? []
    return MigrationPlan(changes: planned.map.difference.changes, steps: steps, obstacles: [], conflicts: limit + describer.conflicts)
  }

  /// Returns the stages that the description requires, as a coordinator determines them.
  private func stages(_ record: StoreRecord, _ hashes: [String: Data], _ schema: StoreSchema) throws -> [StoreMigrationStep] {
    guard let description else { return [] }
    let stored = schema.model
    let origin = StoreMigrationOrigin(record.metadata(hashes: hashes), description, path: path) { stored }
    let stages = try description.migrationSteps?(origin, model) ?? []
    guard description.shouldInferMappingModelAutomatically || !stages.isEmpty else {
      throw StoreError(.nothingInferred, operation: .planMigration, path: path)
    }
    return stages
  }
}
