import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A part of a migration, as a range of the whole.
struct MigrationSpan {
  var start = 0.0
  var end = 1.0

  /// Where so much of the part is done.
  func at(_ done: Int, of total: Int) -> Double {
    total > 0 ? at(Double(done) / Double(total)) : start
  }

  /// Where a part of the part is done, which goes from 0 to 1.
  func at(_ part: Double) -> Double { start + (end - start) * min(max(part, 0), 1) }

  /// The part's own parts, one after the other.
  func parts(_ weights: [Int]) -> [MigrationSpan] {
    let total = weights.reduce(0, +)
    var done = 0
    return weights.map { weight in
      defer { done += weight }
      return MigrationSpan(start: at(done, of: total), end: at(done + weight, of: total))
    }
  }
}

/// How much of a migration is done: it only rises, and stays below 1 until somebody knows that the migration has succeeded.
struct MigrationFraction {
  private(set) var value = 0.0
  /// The part under way.
  private var span = MigrationSpan()
  /// What a handler counts just now: its own units, from where it began.
  private var walk: (span: MigrationSpan, done: Int, total: Int)?

  mutating func begin(_ span: MigrationSpan) {
    self.span = span
    walk = nil
    rise(to: span.start)
  }

  mutating func reach(_ done: Int, of total: Int) { rise(to: span.at(done, of: total)) }

  mutating func end() { rise(to: span.end) }

  /// Takes over how much a handler has done of all that it does.
  mutating func reachInHandler(_ part: Double) { rise(to: span.at(part)) }

  /// Takes over what a handler tells. How often it begins to count anew nobody knows: each count has half of what is left of the part.
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

/// How much work each stage of a migration is expected to be, in rows, before any of them has run.
struct StageWeights {
  /// The application's preparation of the older rows, and the rest of a stage.
  var preparation = 0
  var steps = 1
  /// The rows that a handler is expected to go through.
  var handlerRows = 0

  /// Those of the only stage: what follows it is a hundredth.
  static let alone = StageWeights(steps: 99)

  /// Weighs stages by the rows that the file holds now. Stages behind one that cannot be planned, which ends the migration, weigh next to nothing.
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
      let makesAuxiliaries = try SchemaAuxiliaries(schema: plan.schema).areWanted
      weights[position].steps = plan.steps.weights(counts, handlerRows: rows, makesAuxiliaries: makesAuxiliaries).reduce(0, +)
      (schema, estimates) = (plan.schema, estimates.after(plan, stage))
    }
    return weights
  }
}

extension MigrationStep {
  /// The quoted name of the table that the step goes through.
  fileprivate var table: String? {
    switch work {
    case .portions(let portions): portions.table
    case .links(let fill): fill.read.table
    default: nil
    }
  }
}

extension [MigrationStep] {
  /// What each step weighs: the rows that it touches; a handler, those that are there; indexes and what follows from rows, those that were written.
  ///
  /// - Parameters:
  ///   - counts: The rows of the steps that count them, 0 for others.
  ///   - handlerRows: The rows that a handler is expected to go through.
  ///   - makesAuxiliaries: Whether there is any index, or anything else that follows from rows.
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
