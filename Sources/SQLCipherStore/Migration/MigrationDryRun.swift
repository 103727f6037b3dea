// MigrationDryRun: what a migration would do to a file, counted on the file as it is; nothing is written.
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Makes the plan of a migration for people to read.
struct MigrationDryRun {
  let connection: Connection
  let path: String
  let model: CompiledModel
  let entityNumbers: [Int]
  let defersCleanUp: Bool

  /// The plan; empty where the store fits.
  func plan() throws -> MigrationPlan {
    guard let record = try MetadataTable.read(connection, path: path) else {
      throw StoreError(.notAStore, "The database holds no CipherData store.", operation: "plan a migration", path: path)
    }
    guard try MetadataTable.readHashes(connection, path: path) != model.versionHashes(ofEntities: entityNumbers) else {
      return MigrationPlan(changes: [], steps: [], obstacles: [], conflicts: [])
    }
    try StoreMigrator.checkNotNewer(record, try MetadataTable.readPastModels(connection, path: path), model, path: path)
    let schema = try StoredSchema.read(connection, path: path)
    let planner = MigrationPlanner(from: schema, to: model, entityNumbers: entityNumbers, defersCleanUp: defersCleanUp)
    guard planner.obstacles.isEmpty else {
      return MigrationPlan(changes: planner.map.difference.changes, steps: [], obstacles: planner.obstacles, conflicts: [])
    }
    let planned = try planner.plan()
    var conflicts: [StoreError] = []
    for check in planned.checks {
      let count = try number(check.sql)
      if count > 0 { conflicts.append(check.error(count)) }
    }
    var steps: [MigrationPlan.Step] = []
    for step in planned.steps { steps += try describe(step, planned, &conflicts) }
    if steps.isEmpty {
      steps.append(MigrationPlan.Step(summary: "note the newer model; no table changes", statements: [], rowCount: 0))
    }
    steps += planned.deferredTasks.map { MigrationPlan.Step(summary: $0, statements: [], rowCount: 0, isDeferred: true) }
    for index in conflicts.indices { conflicts[index].path = path }
    return MigrationPlan(changes: planned.map.difference.changes, steps: steps, obstacles: [], conflicts: conflicts)
  }

  private func number(_ sql: String) throws -> Int {
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }

  private func describe(_ step: MigrationStep, _ plan: PlannedMigration, _ conflicts: inout [StoreError]) throws -> [MigrationPlan.Step] {
    let statements: [String]
    switch step.work {
    case .schema(let texts): statements = texts
    case .portions(let portions): statements = [portions.sql]
    case .links(let fill): statements = [fill.read.sql, fill.write]
    case .handler: statements = []
    case .dropFollowers:
      statements = try objects().filter { $0.type != "index" }.map { "DROP \($0.type.uppercased()) \(try Identifier.quoted($0.name))" }
    case .dropIndexes:
      let wanted = Dictionary(
        try SchemaGenerator(schema: plan.schema).indexes().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
      statements = try objects().filter { object in
        object.type == "index" && wanted[object.name] != object.sql && !plan.replacedTables.contains(object.table)
      }.map { "DROP INDEX \(try Identifier.quoted($0.name))" }
    case .makeAuxiliaries: return try auxiliaries(plan, &conflicts)
    }
    if statements.isEmpty, case .handler = step.work {} else if statements.isEmpty { return [] }
    return [MigrationPlan.Step(summary: step.summary, statements: statements, rowCount: try step.countSQL.map(number) ?? 0)]
  }

  private func auxiliaries(_ plan: PlannedMigration, _ conflicts: inout [StoreError]) throws -> [MigrationPlan.Step] {
    let present = Dictionary(
      try objects().filter { !plan.replacedTables.contains($0.table) }.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let known = Dictionary(try objects().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let indexes = try SchemaGenerator(schema: plan.schema).indexes()
    let tables = Set(plan.map.source.layout.physicalTables)
    var result: [MigrationPlan.Step] = []
    for index in indexes where present[index.name] != index.sql {
      let name = Identifier.unquoted(index.table)
      let count = tables.contains(name) ? try number("SELECT count(*) FROM \(index.table)") : 0
      result.append(MigrationPlan.Step(summary: "make the index “\(index.name)”", statements: [index.sql], rowCount: count))
      guard index.meaning.origin == .uniqueness, known[index.name] != index.sql, let sql = olderCount(index, plan) else { continue }
      let duplicates = try number(sql)
      if duplicates > 0 { conflicts.append(ConstraintViolation.violation(index, count: duplicates, path: path)) }
    }
    let names = Set(indexes.map(\.name))
    let drops = plan.steps.contains { if case .dropFollowers = $0.work { true } else { false } }
    for auxiliary in try SchemaAuxiliaries(schema: plan.schema).wanted() where !names.contains(auxiliary.name) {
      guard drops || known[auxiliary.name] != auxiliary.sql else { continue }
      result.append(
        MigrationPlan.Step(
          summary: "make “\(auxiliary.name)”, and fill it", statements: [auxiliary.sql] + auxiliary.fill, rowCount: 0))
    }
    return result
  }

  /// The query of how many older rows have the same values under a newer constraint; nil where it takes in values that are not there yet.
  private func olderCount(_ index: StoreIndex, _ plan: PlannedMigration) -> String? {
    guard let entity = plan.map.destination.entity(named: index.meaning.entityName), let older = plan.map.older(entity),
      let table = plan.map.source.tableIfHeld(older.number)
    else { return nil }
    var columns: [String] = []
    for property in index.meaning.properties {
      guard let slot = entity.slots.first(where: { $0.name == property }), let known = plan.map.olderSlot(of: slot, in: entity),
        let column = table.column(entity: older.number, slot: known.index)
      else { return nil }
      columns.append("t.\(column.name)")
    }
    let condition = table.entityCondition(older.number, includesSubentities: true, model: plan.map.source.model, alias: "t")
    let all = ([condition].compactMap { $0 } + columns.map { "\($0) IS NOT NULL" }).joined(separator: " AND ")
    return "SELECT ifnull(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM \(table.name) AS t WHERE \(all)"
      + " GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1)"
  }

  /// What the file has that follows from the model.
  private func objects() throws -> [(type: String, name: String, table: String, sql: String)] {
    let statement = try connection.statement(
      sql: "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        + " OR type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'")
    defer { statement.reset() }
    var result: [(type: String, name: String, table: String, sql: String)] = []
    while try statement.step() { result.append((statement.text(0), statement.text(1), statement.text(2), statement.text(3))) }
    return result
  }
}
