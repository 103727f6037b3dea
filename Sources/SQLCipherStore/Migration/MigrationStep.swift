import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A step of a migration, with its description and its SQL.
struct MigrationStep {
  /// The kinds of changes that migrations make to a file.
  enum Work {
    /// Runs statements that change the schema only.
    case schema([String])
    /// Runs statements that count the keys of a new table, and passes on the stable IDs of the rows of the table that they come from.
    case keys([String], of: Int, from: Int?)
    /// Runs a statement on a table in batches.
    case batches(Batches)
    /// Writes references to a column from the links of another table.
    case links(LinkFill)
    /// Drops triggers and full-text tables before rows change. They are recreated and filled at the end.
    case dropFollowers
    /// Drops indexes that the newer schema does not have, before rows change.
    case dropIndexes
    /// Runs the application's handler.
    case handler(StoreMigrationStep)
    /// Updates indexes, triggers, full-text tables and derived values.
    case makeAuxiliaries
  }

  let summary: String
  let work: Work
  /// The query that counts the rows of the step for progress reports. It runs before the migration begins.
  var countSQL: String?
  /// The numbers of the older entities whose objects the step processes, if only the entity determines them.
  var entities: [Int]?
}

/// Reads links from one table and writes them to a to-one column of another, in batches. Correlated subqueries would need indexes instead.
struct LinkFill {
  /// Selects key, reference, the reference's entity number and the order in a key range.
  let read: Batches
  /// Updates one row unless it already has a reference. Placeholder 1 is the key, the other selected values follow.
  let write: String
  /// The number of values that `read` selects and `write` binds.
  let valueCount: Int32
}

/// A check of the stored rows that must count 0 before a migration can begin.
struct MigrationCheck {
  /// Counts the rows that prevent the migration.
  let sql: String
  /// Returns the error for a count above 0.
  let error: (Int) -> StoreError
}

/// A part of a migration, as a subrange of 0 to 1.
struct MigrationSpan {
  var start = 0.0
  var end = 1.0

  /// Returns the overall fraction after `done` of `total` units of the part.
  func at(_ done: Int, of total: Int) -> Double {
    total > 0 ? at(Double(done) / Double(total)) : start
  }

  /// Returns the overall fraction for a fraction of the part.
  func at(_ part: Double) -> Double { start + (end - start) * min(max(part, 0), 1) }

  /// Divides the part into consecutive parts in proportion to their weights.
  func parts(_ weights: [Int]) -> [MigrationSpan] {
    let total = weights.reduce(0, +)
    var done = 0
    return weights.map { weight in
      defer { done += weight }
      return MigrationSpan(start: at(done, of: total), end: at(done + weight, of: total))
    }
  }
}

/// The completed fraction of a migration. It never decreases, and stays below 1 until the migration has succeeded.
struct MigrationFraction {
  private(set) var value = 0.0
  private var span = MigrationSpan()
  /// The handler's current count in its own units, and the span that it fills.
  private var walk: (span: MigrationSpan, done: Int, total: Int)?

  mutating func begin(_ span: MigrationSpan) {
    self.span = span
    walk = nil
    rise(to: span.start)
  }

  mutating func reach(_ done: Int, of total: Int) { rise(to: span.at(done, of: total)) }

  mutating func end() { rise(to: span.end) }

  /// Records the fraction of a handler's whole work.
  mutating func reachInHandler(_ part: Double) { rise(to: span.at(part)) }

  /// Records a handler's count. A handler can start any number of counts, so each one gets half of what remains of the part.
  mutating func reachInHandler(_ done: Int, of total: Int) {
    guard total > 0 else { return }
    let middle = (value + span.end) / 2
    var current = walk ?? (MigrationSpan(start: value, end: middle), done, total)
    if total != current.total || done < current.done { current = (MigrationSpan(start: value, end: middle), done, total) }
    current.done = done
    walk = current
    rise(to: current.span.at(done, of: total))
  }

  private mutating func rise(to value: Double) { self.value = max(self.value, min(value, 1 - .ulpOfOne)) }
}

/// The expected work of a stage in rows, before any stage has run.
struct StageWeights {
  /// The application's preparation of the older rows, and the rest of the stage.
  var preparation = 0
  var steps = 1
  /// The number of rows that a handler is expected to process.
  var handlerRows = 0

  /// The weights of a single stage. The work after it counts as one hundredth.
  static let alone = StageWeights(steps: 99)

  /// Returns the weights of stages, estimated from the rows in the file. Stages after one that cannot be planned, where the migration
  /// fails, have minimal weights.
  static func of(
    _ stages: [StoreMigrationStep], from stored: StoreSchema, to model: CompiledModel, entityNumbers: [Int], _ connection: Connection
  ) throws -> [StageWeights] {
    var weights = Array(repeating: StageWeights(), count: stages.count)
    if stages.count == 1, stages[0].preparation == nil, stages[0].handler == nil { return [.alone] }
    var schema = stored
    var estimates = try RowEstimates(stored, connection)
    let rows = estimates.known
    for (position, stage) in stages.enumerated() {
      if stage.preparation != nil { weights[position].preparation = 1 + rows }
      let planner = MigrationPlanner(
        from: schema, to: stage.model, entityNumbers: model.entityNumbers(entityNumbers, in: stage.model), step: stage,
        defersCleanUp: false)
      guard planner.obstacles.isEmpty, let plan = try? planner.plan() else { break }
      let counts = plan.steps.map { step in
        step.countSQL == nil ? 0 : step.entities.flatMap(estimates.objects) ?? step.table.flatMap(estimates.rows) ?? rows
      }
      weights[position].handlerRows = rows
      let makesAuxiliaries = try SchemaAuxiliaries(schema: plan.schema).hasAuxiliaries
      weights[position].steps = plan.steps.weights(counts, handlerRows: rows, makesAuxiliaries: makesAuxiliaries).reduce(0, +)
      (schema, estimates) = (plan.schema, estimates.after(plan, stage))
    }
    return weights
  }
}

extension MigrationStep {
  fileprivate var table: String? {
    switch work {
    case .batches(let batches): batches.table
    case .links(let fill): fill.read.table
    default: nil
    }
  }
}

extension [MigrationStep] {
  /// Returns the weight of each step: the number of rows that it changes. A handler counts as all existing rows; auxiliaries such as
  /// indexes count as all written rows.
  ///
  /// - Parameters:
  ///   - counts: The rows of each step that counts them; 0 for others.
  ///   - handlerRows: The number of rows that a handler is expected to process.
  ///   - makesAuxiliaries: Whether the schema has auxiliaries.
  func weights(_ counts: [Int], handlerRows: Int, makesAuxiliaries: Bool) -> [Int] {
    let written = counts.reduce(0, +)
    return zip(self, counts).map { step, count in
      switch step.work {
      case .handler: 1 + handlerRows
      case .makeAuxiliaries: 1 + (makesAuxiliaries ? written : 0)
      default: 1 + count
      }
    }
  }
}
