import Foundation
public import ObjectModel
public import ObjectStore
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
    try describer.runChecks()
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

/// Plans a migration stage by stage, each from the tables that the previous stage would produce.
struct StagedDryRun {
  let connection: Connection
  let path: String
  let model: CompiledModel
  let entityNumbers: [Int]
  let stages: [StoreMigrationStep]
  let defersCleanUp: Bool

  /// Returns the plan for a store with a schema. It ends before a stage that cannot be inferred.
  func plan(_ stored: StoreSchema) throws -> MigrationPlan {
    var result: [MigrationPlan.Stage] = []
    var conflicts: [StoreError] = []
    var schema = stored
    // A single first stage counts the rows of the file directly.
    var estimates = stages.count > 1 ? try RowEstimates(stored, connection) : RowEstimates(unknownIn: stored)
    for (position, stage) in stages.enumerated() {
      let planner = MigrationPlanner(
        from: schema, to: stage.model, entityNumbers: model.entityNumbers(entityNumbers, in: stage.model), step: stage,
        defersCleanUp: defersCleanUp)
      guard planner.obstacles.isEmpty else {
        result.append(
          MigrationPlan.Stage(
            name: stage.name, changes: planner.map.difference.changes, steps: [], unknowns: ["This stage cannot be inferred."]))
        return MigrationPlan(stages: result, obstacles: planner.obstacles, conflicts: conflicts)
      }
      let planned = try planner.plan()
      let newer = estimates.after(planned, stage)
      let isFirst = position == 0
      var describer = StepDescriber(
        connection: connection, path: path, plan: planned,
        auxiliaries: isFirst ? try StepDescriber.inFile(connection) : try StepDescriber.made(for: schema),
        estimates: isFirst ? nil : (estimates, newer), isPrepared: stage.preparation != nil)
      var unknowns = unknowns(of: stage, planned, areExact: estimates.areExact)
      if isFirst { try describer.runChecks() }
      try describer.describe()
      if let limit = SchemaLimits(schema: planned.schema).problem {
        conflicts.append(StoreError(limit, operation: .planMigration, path: path))
      }
      for conflict in describer.conflicts {
        // Handlers can remove the conflict. The store is checked again after they have run.
        let mayGo = stage.preparation != nil || (stage.handler != nil && conflict.code == .migrationConstraintViolation)
        if mayGo {
          unknowns.append("As the data is now, it does not allow the stage: \(conflict.message)")
        } else {
          conflicts.append(conflict)
        }
      }
      if !isFirst, dependsOnRows(planned) { unknowns.append("Whether the rows allow it is asked when the stages before it have run.") }
      var steps = describer.steps
      if stage.preparation != nil {
        steps.insert(
          MigrationPlan.Step(
            summary: "prepare the older rows for “\(stage.name)”", statements: [], rowCount: 0, rowCountPrecision: .unknown), at: 0)
      }
      // Only the last stage defers tasks: a later stage takes care of those of an earlier one.
      if position == stages.count - 1 { steps += StepDescriber.deferred(planned) }
      result.append(
        MigrationPlan.Stage(name: stage.name, changes: planned.map.difference.changes, steps: steps, unknowns: unknowns))
      (schema, estimates) = (planned.schema, newer)
    }
    return MigrationPlan(stages: result, obstacles: [], conflicts: conflicts)
  }

  private func unknowns(of stage: StoreMigrationStep, _ plan: PlannedMigration, areExact: Bool) -> [String] {
    var result: [String] = []
    if !areExact {
      result.append("The numbers of rows are those that inference alone would give: handlers of earlier stages may change them.")
    }
    if stage.preparation != nil {
      result.append("The application prepares the older rows first; the numbers of rows are those before it.")
    }
    guard stage.handler != nil else { return result }
    guard stage.infersRows else {
      return result + ["A mapping model makes all newer objects: how many is only known when it has run."]
    }
    result.append("What the application's handler makes, changes and deletes is only known when it has run.")
    for obstacle in plan.map.difference.obstacles {
      let place = [obstacle.entityName, obstacle.name].compactMap { $0 }.joined(separator: ".")
      result.append("Left to the handler: \(place): \(obstacle.change).")
    }
    return result
  }

  /// Returns whether stored rows can prevent the steps.
  private func dependsOnRows(_ plan: PlannedMigration) -> Bool {
    if !plan.checks.isEmpty { return true }
    return plan.map.difference.changes.contains { if case .conditional = $0.effect { true } else { false } }
  }
}

// MARK: - Dry runs of a file

extension SQLCipherStoreFile {
  /// Returns whether a model can open the store without migration, and the differences between the store's model and that model. No rows
  /// are read.
  package func comparison(with model: CompiledModel) async throws -> (fits: Bool, changes: [ModelChange]) {
    let numbers = try entityNumbers(of: model, nil)
    return try await read { connection in
      let hashes = try MetadataTable.readHashes(connection, path: connection.path)
      let stored = try StoredSchema.read(connection, path: connection.path)
      return (model.fits(hashes, entityNumbers: numbers), ModelDifference(from: stored.model, to: model).changes)
    }
  }

  package func migrationPlan(
    to model: CompiledModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, configuration)
    return try await read { connection in
      try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers, defersCleanUp: defersCleanUp
      ).plan()
    }
  }

  /// Returns what opening the store with a model would do: the steps with their statements and rows, the changes that cannot be inferred,
  /// and the stored rows that prevent the migration.
  ///
  /// The file does not change. Rows are counted, so the time grows with the store.
  ///
  /// - Parameters:
  ///   - model: The model to migrate to.
  ///   - configuration: The model's configuration that the store uses, or `nil` for all entities.
  ///   - defersCleanUp: Whether to defer costly cleanup.
  /// - Throws: ``StoreError`` with the code `storeNewerThanModel` if the store has already been migrated from the model;
  ///   ``ModelValidationError`` for errors in the model.
  public func migrationPlan(
    to model: ManagedObjectModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), configuration: configuration, defersCleanUp: defersCleanUp)
  }

  package func migrationPlan(to model: CompiledModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, description.configuration)
    return try await read { connection in
      try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers,
        defersCleanUp: description.defersLightweightMigration, description: description
      ).plan()
    }
  }

  /// Returns what opening the store with a description and a model would do, with one part per stage if the description has stages or
  /// needed mapping models.
  ///
  /// The file does not change, and no handlers are called: ``MigrationPlan/Stage/unknowns`` lists what depends on handlers. Rows are
  /// counted for the first stage. The numbers for later stages are inferred from it as far as possible.
  ///
  /// - Parameters:
  ///   - model: The model to migrate to.
  ///   - description: The store description. Its stages, mapping models, configuration, `defersLightweightMigration` and
  ///     `shouldInferMappingModelAutomatically` are used.
  /// - Throws: The ``StoreError`` of opening the store, such as `storeNewerThanModel`, `backwardMigration`, `unknownModelReference` or
  ///   `mappingModelMissing`; ``ModelValidationError`` for errors in the model.
  public func migrationPlan(to model: ManagedObjectModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), with: description)
  }

  private func entityNumbers(of model: CompiledModel, _ configuration: String?) throws -> [Int] {
    guard let numbers = model.entityNumbers(inConfiguration: configuration) else {
      throw StoreError(.unknownConfiguration(configuration), operation: .planMigration, path: path)
    }
    return numbers
  }
}
