import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Describes the steps between two versions of the model, for the file as it is or as an earlier stage would leave it.
struct StepDescriber {
  /// An index, trigger or full-text table that the file has or will have.
  struct Auxiliary {
    let kind: SchemaAuxiliary.Kind
    let name: String
    /// The unquoted name of its table; empty if it does not matter.
    let table: String
    let sql: String
  }

  let connection: Connection
  let path: String
  let plan: PlannedMigration
  let auxiliaries: [Auxiliary]
  /// The estimated rows before and after the steps, if they depend on earlier stages, or `nil` if the file can be queried.
  var estimates: (older: RowEstimates, newer: RowEstimates)?
  /// Whether an application's handler can change rows before they are counted or checked.
  var isPrepared = false
  private(set) var steps: [MigrationPlan.Step] = []
  private(set) var conflicts: [StoreError] = []

  init(
    connection: Connection, path: String, plan: PlannedMigration, auxiliaries: [Auxiliary],
    estimates: (older: RowEstimates, newer: RowEstimates)? = nil, isPrepared: Bool = false
  ) {
    self.connection = connection
    self.path = path
    self.plan = plan
    self.auxiliaries = auxiliaries
    self.estimates = estimates
    self.isPrepared = isPrepared
  }

  /// Runs the checks of the stored rows, and records conflicts.
  mutating func runChecks() throws {
    for check in plan.checks {
      let count = try connection.number(check.sql)
      if count > 0 { record(check.error(count)) }
    }
  }

  mutating func describe() throws {
    for step in plan.steps { try describe(step) }
    if steps.isEmpty { steps.append(MigrationPlan.Step(summary: "note the newer model; no table changes", statements: [], rowCount: 0)) }
  }

  /// Returns the tasks that remain deferred after the steps.
  static func deferred(_ plan: PlannedMigration) -> [MigrationPlan.Step] {
    plan.deferredTasks.map { MigrationPlan.Step(summary: $0, statements: [], rowCount: 0, isDeferred: true) }
  }

  private mutating func record(_ conflict: StoreError) {
    var conflict = conflict
    conflict.path = path
    conflicts.append(conflict)
  }

  private mutating func describe(_ step: MigrationStep) throws {
    let statements: [String]
    var table: String?
    switch step.work {
    case .schema(let texts), .keys(let texts, _, _): statements = texts
    case .batches(let batches): (statements, table) = ([batches.sql], batches.table)
    case .links(let fill): (statements, table) = ([fill.read.sql, fill.write], fill.read.table)
    case .handler:
      steps.append(MigrationPlan.Step(summary: step.summary, statements: [], rowCount: 0, rowCountPrecision: .unknown))
      return
    case .dropFollowers:
      statements = try auxiliaries.filter { $0.kind != .index }.map { try SchemaAuxiliary.dropping($0.kind, $0.name) }
    case .dropIndexes:
      let expected = Dictionary(
        try SchemaGenerator(schema: plan.schema).indexes().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
      statements = try auxiliaries.filter { object in
        object.kind == .index && expected[object.name] != object.sql && !plan.replacedTables.contains(object.table)
      }.map { try SchemaAuxiliary.dropping(.index, $0.name) }
    case .makeAuxiliaries: return try describeAuxiliaries()
    }
    if statements.isEmpty, step.countSQL == nil { return }
    let (count, precision) = try step.countSQL.map { try rows($0, in: table ?? "", of: step.entities) } ?? (0, .exact)
    steps.append(
      MigrationPlan.Step(summary: step.summary, statements: statements, rowCount: count, rowCountPrecision: precision))
  }

  private func rows(
    _ sql: String, in table: String, of entities: [Int]?
  ) throws -> (Int, MigrationPlan.Step.RowCountPrecision) {
    guard let estimates else { return (try connection.number(sql), isPrepared ? .estimated : .exact) }
    if let entities, let count = estimates.older.objects(of: entities) { return (count, estimates.older.areExact ? .exact : .estimated) }
    guard let count = estimates.older.rows(inTable: table) else { return (0, .unknown) }
    // The rows do not exist yet, so how many of them meet a condition is unknown.
    return (count, estimates.older.areExact && !sql.contains(" WHERE ") ? .exact : .estimated)
  }

  private mutating func describeAuxiliaries() throws {
    let present = Dictionary(
      auxiliaries.filter { !plan.replacedTables.contains($0.table) }.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let known = Dictionary(auxiliaries.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let indexes = try SchemaGenerator(schema: plan.schema).indexes()
    let tables = Set(plan.map.source.layout.physicalTables)
    for index in indexes where present[index.name] != index.sql {
      var (count, precision) = (0, MigrationPlan.Step.RowCountPrecision.exact)
      if let estimates {
        let newer = estimates.newer.rows(inTable: index.table)
        (count, precision) = (newer ?? 0, newer == nil ? .unknown : estimates.newer.areExact ? .exact : .estimated)
      } else if tables.contains(Self.plain(index.table)) {
        (count, precision) = (try connection.number(index.rowCount), isPrepared ? .estimated : .exact)
      }
      steps.append(
        MigrationPlan.Step(
          summary: "make the index “\(index.name)”", statements: [index.sql], rowCount: count, rowCountPrecision: precision))
      guard estimates == nil, index.meaning.origin == .uniqueness, known[index.name] != index.sql, let sql = olderCount(index) else {
        continue
      }
      let duplicates = try connection.number(sql)
      if duplicates > 0 { record(ConstraintViolation.violation(index, count: duplicates, path: path)) }
    }
    let names = Set(indexes.map(\.name))
    let drops = plan.steps.contains { if case .dropFollowers = $0.work { true } else { false } }
    for auxiliary in try SchemaAuxiliaries(schema: plan.schema).expected() where !names.contains(auxiliary.name) {
      guard drops || known[auxiliary.name] != auxiliary.sql else { continue }
      steps.append(
        MigrationPlan.Step(summary: "make “\(auxiliary.name)”, and fill it", statements: [auxiliary.sql] + auxiliary.fill, rowCount: 0))
    }
  }

  /// Returns the query that counts older rows with duplicate values under a newer constraint, or `nil` if the constraint includes values
  /// that do not exist yet.
  private func olderCount(_ index: StoreIndex) -> String? {
    guard let entity = plan.map.destination.entity(named: index.meaning.entityName), let older = plan.map.older(entity),
      let table = plan.map.source.tableIfStored(older.number)
    else { return nil }
    var columns: [String] = []
    for property in index.meaning.properties {
      guard let slot = entity.slots.first(where: { $0.name == property }), let known = plan.map.olderSlot(of: slot, in: entity),
        let column = table.column(entity: older.number, slot: known.index)
      else { return nil }
      columns.append("t.\(column.name)")
    }
    let condition = table.entityCondition(older.number, includesSubentities: true, model: plan.map.source.model, alias: "t")
    return table.duplicateCount(of: columns, where: condition)
  }
}

extension StepDescriber {
  /// Reads the auxiliaries of the file.
  static func inFile(_ connection: Connection) throws -> [Auxiliary] {
    let statement = try connection.statement(.auxiliariesOfTables)
    defer { statement.reset() }
    var result: [Auxiliary] = []
    while try statement.step() {
      guard let kind = SchemaAuxiliary.Kind(rawValue: statement.text(0)) else { continue }
      result.append(Auxiliary(kind: kind, name: statement.text(1), table: statement.text(2), sql: statement.text(3)))
    }
    return result
  }

  /// Returns the auxiliaries that the file will have after a stage that leads to a schema.
  static func made(for schema: StoreSchema) throws -> [Auxiliary] {
    let tables = Dictionary(
      try SchemaGenerator(schema: schema).indexes().map { ($0.name, plain($0.table)) }, uniquingKeysWith: { first, _ in first })
    return try SchemaAuxiliaries(schema: schema).expected().filter { $0.kind != .view }.map {
      Auxiliary(kind: $0.kind, name: $0.name, table: tables[$0.name] ?? "", sql: $0.sql)
    }
  }

  private static func plain(_ name: String) -> String { String(name.dropFirst().dropLast()).replacing("\"\"", with: "\"") }
}

/// The estimated number of rows in each table of a schema, between the stages of a migration.
///
/// The effect of lightweight stages follows from the models; the effect of handlers does not.
struct RowEstimates {
  /// The number of objects of each entity without its subentities, by entity number. Unknown numbers are missing.
  private var objects: [Int: Int] = [:]
  /// The number of rows of each join table, by unquoted name.
  private var links: [String: Int] = [:]
  /// Whether inference alone determines the numbers.
  private(set) var areExact = true
  private let schema: StoreSchema

  /// Counts the rows in a file.
  init(_ schema: StoreSchema, _ connection: Connection) throws {
    self.schema = schema
    for table in schema.tables {
      for entity in table.root.subtree {
        let condition = table.entityCondition(entity, includesSubentities: false, model: schema.model, alias: "t")
        objects[entity] = try connection.number(table.count(where: condition))
      }
    }
    for table in schema.layout.joinTables {
      links[table.name] = try connection.number(table.count())
    }
  }

  /// Creates estimates in which all numbers are unknown.
  init(unknownIn schema: StoreSchema) { self.schema = schema }

  /// Returns the estimates after a stage.
  func after(_ plan: PlannedMigration, _ stage: StoreMigrationStep) -> RowEstimates {
    var result = RowEstimates(unknownIn: plan.schema)
    result.areExact = areExact && stage.handler == nil && stage.preparation == nil
    // A mapping model creates the newer rows, so their number does not follow from the older ones.
    guard stage.infersRows else { return result }
    for number in plan.map.storedEntities {
      if let older = plan.map.older(plan.map.destination.entities[number]) {
        result.objects[number] = objects[older.number]
      } else if stage.handler == nil {
        result.objects[number] = 0
      }
    }
    for table in plan.schema.layout.joinTables where !plan.replacedTables.contains(table.name) {
      result.links[table.name] = links[table.name]
    }
    return result
  }

  /// The sum of all known numbers of objects and links.
  var known: Int { objects.values.reduce(0, +) + links.values.reduce(0, +) }

  /// Returns the number of rows of a table, or `nil` if it is unknown.
  ///
  /// - Parameter name: The table's quoted name.
  func rows(inTable name: String) -> Int? {
    if let table = schema.tables.first(where: { $0.name == name }) { return objects(of: Array(table.root.subtree)) }
    return links.first { (try? Identifier.quoted($0.key)) == name }?.value
  }

  /// Returns the number of objects of entities, or `nil` if it is unknown.
  func objects(of entities: [Int]) -> Int? {
    var sum = 0
    for entity in entities {
      guard let count = objects[entity] else { return nil }
      sum += count
    }
    return sum
  }
}
