import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Runs the steps of a migration in its transaction, in batches, and reports the progress.
///
/// Batches bound memory use: SQLite collects the keys of all rows that a statement changes before it changes them.
final class MigrationRunner {
  /// The default number of rows in a batch.
  static let standardBatchSize = 2_000

  private let transaction: WriteTransaction
  private var connection: Connection { transaction.connection }
  private let trace: StatementTrace
  private let progress: (@Sendable (MigrationProgress) -> Void)?
  private let cancellation: RequestCancellation?
  private let batchSize: Int
  private var done = 0
  private var total = 0
  private var fraction = MigrationFraction()
  /// The span of each stage in the whole migration; empty without a progress handler.
  private var stages: [(preparation: MigrationSpan, steps: MigrationSpan, handlerRows: Int)] = []
  private var stage = 0
  /// The number of rows processed before the current step, and the expected number of rows of the step.
  private var rowsBefore = 0
  private var rowsOfStep = 0
  /// The derived attributes that the current stage has computed again.
  private(set) var computedSlots: [SchemaAuxiliary.ComputedSlot] = []

  init(
    _ transaction: WriteTransaction, request: StoreMigrationRequest, trace: StatementTrace,
    batchSize: Int = MigrationRunner.standardBatchSize
  ) {
    self.batchSize = max(1, batchSize)
    self.transaction = transaction
    self.trace = trace
    progress = request.progress
    cancellation = request.cancellation
  }

  func check() throws { try cancellation?.check(.migrate) }

  /// Whether there is a progress handler.
  var reportsProgress: Bool { progress != nil }

  /// Divides the whole among the stages. The work after the last stage counts as one row.
  func share(_ weights: [StageWeights]) {
    stages = MigrationSpan().parts(weights.map { $0.preparation + $0.steps } + [1]).dropLast().enumerated().map { position, span in
      let parts = span.parts([weights[position].preparation, weights[position].steps])
      return (parts[0], parts[1], weights[position].handlerRows)
    }
  }

  func begin(stage: Int) {
    self.stage = stage
    computedSlots = []
    if stages.indices.contains(stage) { fraction.begin(stages[stage].preparation) }
  }

  /// The final progress report, to be sent after the migration has succeeded.
  var last: MigrationProgress {
    MigrationProgress(phase: "done", completedUnitCount: total, totalUnitCount: total, fractionCompleted: 1)
  }

  /// Runs a planned migration, except for its metadata.
  ///
  /// - Parameter handler: Runs the application's part of a stage.
  func run(_ plan: PlannedMigration, handler: (StoreMigrationStep) throws -> Void) throws {
    for migrationCheck in plan.checks {
      try check()
      let count = try number(migrationCheck.sql)
      if count > 0 { throw migrationCheck.error(count) }
    }
    try run(plan.steps, plan.schema, handler: handler)
  }

  /// Runs the steps that lead to a schema.
  func run(_ steps: [MigrationStep], _ schema: StoreSchema, handler: (StoreMigrationStep) throws -> Void = { _ in }) throws {
    // Auxiliaries are recreated at the end. Their number of rows is unknown and counts as 0.
    let counts = try steps.map { step in try step.countSQL.map(number) ?? 0 }
    total += counts.reduce(0, +)
    let known = stages.indices.contains(stage) ? stages[stage] : nil
    let handlerRows = max(known?.handlerRows ?? 0, counts.reduce(0, +))
    let weights = steps.weights(counts, handlerRows: handlerRows, makesAuxiliaries: try SchemaAuxiliaries(schema: schema).hasAuxiliaries)
    let spans = (known?.steps ?? MigrationSpan()).parts(weights)
    for (position, (step, count)) in zip(steps, counts).enumerated() {
      try check()
      fraction.begin(spans[position])
      rowsBefore = done
      rowsOfStep = count
      report(step.summary)
      try run(step, schema, handler)
      done = max(rowsBefore + count, done)
      fraction.end()
      report(step.summary)
    }
  }

  /// Reports the progress of a step.
  func report(_ phase: String) {
    fraction.reach(done - rowsBefore, of: rowsOfStep)
    report(phase, done, total)
  }

  /// Reports the progress of a handler in its own units, and as a fraction of its whole work if known.
  func report(_ phase: String, completed: Int, total: Int, fraction part: Double?) {
    if let part { fraction.reachInHandler(part) } else { fraction.reachInHandler(completed, of: total) }
    report(phase, completed, total)
  }

  private func report(_ phase: String, _ completed: Int, _ total: Int) {
    progress?(
      MigrationProgress(phase: phase, completedUnitCount: completed, totalUnitCount: total, fractionCompleted: fraction.value))
  }

  private func run(_ step: MigrationStep, _ schema: StoreSchema, _ handler: (StoreMigrationStep) throws -> Void) throws {
    switch step.work {
    case .schema(let statements): for statement in statements { try execute(statement) }
    case .keys(let statements, let table, let source):
      for statement in statements { try execute(statement) }
      try transaction.stableIDs?.pass(from: source, to: table)
    case .batches(let batches): try run(batches, step.summary)
    case .links(let fill): try run(fill, step.summary)
    case .dropFollowers: try SchemaAuxiliaries.dropFollowers(transaction)
    case .dropIndexes: try SchemaAuxiliaries(schema: schema).dropUnexpected(transaction)
    case .handler(let stage): try handler(stage)
    case .makeAuxiliaries:
      try LargeValueMigration(transaction, schema).moveIntoRows()
      computedSlots += try SchemaAuxiliaries(schema: schema).update(transaction) { made, all in
        try check()
        fraction.reach(made, of: all)
        report(step.summary, done, total)
      }
    }
  }

  private func execute(_ sql: String) throws {
    trace.record(connection, sql)
    try connection.execute(sql)
  }

  func number(_ sql: String) throws -> Int {
    try connection.number(sql, trace: trace)
  }

  // MARK: Batches

  private func run(_ batches: Batches, _ summary: String) throws {
    let statement = try connection.statement(sql: batches.sql)
    trace.record(statement)
    try forEachRange(batches) { low, high in
      try statement.bind(1, low)
      try statement.bind(2, high)
      try statement.run()
      done += connection.changes
      report(summary)
    }
  }

  private func run(_ fill: LinkFill, _ summary: String) throws {
    let read = try connection.statement(sql: fill.read.sql)
    let write = try connection.statement(sql: fill.write)
    trace.record(read)
    trace.record(write)
    var values: [Int64?] = []
    try forEachRange(fill.read) { low, high in
      values.removeAll(keepingCapacity: true)
      try read.bind(1, low)
      try read.bind(2, high)
      defer { read.reset() }
      while try read.step() {
        for column in 0..<fill.valueCount { values.append(read.isNull(column) ? nil : read.int64(column)) }
      }
      read.reset()
      for start in stride(from: 0, to: values.count, by: Int(fill.valueCount)) {
        for column in 0..<fill.valueCount {
          if let value = values[start + Int(column)] { try write.bind(column + 1, value) } else { try write.bindNull(column + 1) }
        }
        try write.run()
        done += 1
      }
      report(summary)
    }
  }

  /// Calls `body` with consecutive key ranges of a table, one batch each.
  private func forEachRange(_ batches: Batches, _ body: (_ low: Int64, _ high: Int64) throws -> Void) throws {
    let bound = try connection.statement(sql: batches.end)
    try bound.bind(2, Int64(batchSize - 1))
    var low: Int64 = 0
    while true {
      try check()
      try bound.bind(1, low)
      let high = try bound.step() ? bound.int64(0) : Int64.max
      bound.reset()
      try body(low, high)
      if high == Int64.max { return }
      low = high
    }
  }
}

/// Performs the cleanup that migrations deferred, one task at a time. The recorded layout determines the tasks.
struct DeferredCleanup {
  let connection: Connection
  let path: String
  let model: CompiledModel
  let entityNumbers: [Int]
  let trace: StatementTrace
  /// The participants of the transaction. The first one throws if the file's model has changed.
  let participants: [any TransactionParticipant]

  /// Returns descriptions of the deferred tasks. Tables with unused columns come first, since these columns can refer to the tables that
  /// are dropped later.
  static func tasks(_ layout: TableLayout) -> [String] {
    (layout.deferredTables ?? []).map { name in
      let columns = layout.tables.first { $0.name == name }?.leftovers ?? []
      return "clear the unused columns \(columns.joined(separator: ", ")) out of “\(name)”"
    } + (layout.leftoverTables ?? []).map { "drop the unused table “\($0)”" }
  }

  /// Performs one task in a separate transaction.
  ///
  /// - Returns: Whether there was a task.
  func runOne() throws -> Bool {
    let result = try connection.withoutForeignKeys {
      try WriteTransaction.run(on: connection, participants) { transaction -> Bool in
        var layout = try MetadataTable.readLayout(connection, path: path)
        if let name = layout.deferredTables?.first {
          try clear(name, &layout, transaction)
        } else if let name = layout.leftoverTables?.first {
          let statement = try BookkeepingTables.droppingTable(name)
          trace.record(connection, statement)
          try connection.execute(statement)
          layout.leftoverTables = layout.leftoverTables.flatMap { $0.count > 1 ? Array($0.dropFirst()) : nil }
        } else {
          return false
        }
        let basis = MetadataTable.layoutBasis(model: model, entityNumbers: entityNumbers)
        let isFresh = layout == TableLayout(model: model, entityNumbers: entityNumbers)
        try MetadataTable.update(
          layout: layout, layoutBasis: isFresh ? basis : MetadataTable.indexesOnly + basis, deferredTasks: Self.tasks(layout), connection)
        return true
      }
    }
    connection.discardStatements()
    return result
  }

  /// Copies a table without its unused columns. All other columns keep their names, since the store is open with them.
  private func clear(_ name: String, _ layout: inout TableLayout, _ transaction: WriteTransaction) throws {
    guard let index = layout.tables.firstIndex(where: { $0.name == name }) else { return }
    layout.tables[index].leftovers = nil
    layout.deferredTables = layout.deferredTables.flatMap { $0.count > 1 ? $0.filter { $0 != name } : nil }
    let schema = try StoreSchema(model: model, layout: layout)
    let table = schema.tables[index]
    var names = NameAllocator(reserved: BookkeepingTables.reservedNames + layout.physicalTables)
    let working = names.take("cipherdata_new_1")
    let columns = try layout.tables[index].physicalColumns.map { (column: $0, value: "t.\(try Identifier.quoted($0))") }
    let creation = try SchemaGenerator(schema: schema).createTable(table, named: try Identifier.quoted(working))
    let steps = [
      MigrationStep(summary: "", work: .dropFollowers),
      MigrationStep(summary: "", work: .schema([creation])),
      MigrationStep(summary: "", work: .batches(try table.copying(columns, to: working, where: nil))),
      MigrationStep(summary: "", work: .schema(try layout.tables[index].replacing(with: working))),
      MigrationStep(summary: "", work: .makeAuxiliaries),
    ]
    let runner = MigrationRunner(transaction, request: StoreMigrationRequest(), trace: trace)
    try runner.run(steps, schema)
  }
}
