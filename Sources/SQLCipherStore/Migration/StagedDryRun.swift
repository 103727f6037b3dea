import ObjectModel
import ObjectStore
import SQLCipherConnection

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
      if isFirst { try describer.ask() }
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
