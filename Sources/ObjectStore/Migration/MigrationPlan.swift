// MigrationPlan: what a migration would do to a store, in words and in SQL.
public import ObjectModel

/// What a migration would do to a store: its steps in words, their statements, and the rows that each concerns. Nothing is changed to find
/// out.
///
/// ```swift
/// let plan = try await SQLCipherStoreFile.unlock(at: url, key: key).migrationPlan(to: model)
/// print(plan.isPossible, plan.rowCount, plan)
/// ```
///
/// ``obstacles`` is what stands in the way, each with advice.
public struct MigrationPlan: Sendable, CustomStringConvertible {
  /// A step.
  public struct Step: Sendable, Hashable {
    /// How well the number of a step's rows is known before the migration runs.
    public enum RowCountPrecision: Sendable, Hashable {
      /// It was counted.
      case exact
      /// It is what there is now, or what inference alone would make of it: a handler may change it, or only some of the rows are concerned.
      case estimated
      /// It is only known when the step runs.
      case unknown
    }

    /// What is done, such as `add the column “subtitle” to “Book”`.
    public let summary: String
    /// The statements, in order. Those that go through a table in portions have the bounds of the portion as `?`.
    public let statements: [String]
    /// The rows that the step reads or writes; 0 where only the schema changes, and where the number is ``RowCountPrecision/unknown``.
    public let rowCount: Int
    /// How well ``rowCount`` is known.
    public let rowCountPrecision: RowCountPrecision
    /// Whether the step waits for ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``.
    public let isDeferred: Bool

    /// Makes a step.
    package init(
      summary: String, statements: [String], rowCount: Int, isDeferred: Bool = false, rowCountPrecision: RowCountPrecision = .exact
    ) {
      self.summary = summary
      self.statements = statements
      self.rowCount = rowCount
      self.isDeferred = isDeferred
      self.rowCountPrecision = rowCountPrecision
    }

    /// The step in words with its rows, and its statements.
    fileprivate var lines: [String] {
      let number = rowCount == 1 ? "1 row" : "\(rowCount) rows"
      let rows =
        switch rowCountPrecision {
        case .exact: rowCount == 0 ? "" : " (\(number))"
        case .estimated: " (about \(number))"
        case .unknown: " (how many rows is only known when it runs)"
        }
      return [(isDeferred ? "later: " : "") + summary + rows] + statements.map { "  \($0)" }
    }
  }

  /// What changed between the store's model and the new one; where there are stages, what changes in each of them, one after the other.
  public let changes: [ModelChange]
  /// The steps, in the order in which they are done: those of all stages where there are any.
  public let steps: [Step]
  /// The stages of the way, in order; none where it is inferred straight from the store's model to the new one.
  public let stages: [Stage]
  /// The changes that cannot be inferred: with any, the migration is refused.
  public let obstacles: [ModelChange]
  /// What the stored rows do not allow, such as two objects with the same values under a new constraint: with any, the migration would fail.
  public let conflicts: [StoreError]

  /// Makes a plan without stages.
  package init(changes: [ModelChange], steps: [Step], obstacles: [ModelChange], conflicts: [StoreError]) {
    self.changes = changes
    self.steps = steps
    self.obstacles = obstacles
    self.conflicts = conflicts
    stages = []
  }

  /// Makes a plan of stages.
  package init(stages: [Stage], obstacles: [ModelChange], conflicts: [StoreError]) {
    changes = stages.flatMap(\.changes)
    steps = stages.flatMap(\.steps)
    self.stages = stages
    self.obstacles = obstacles
    self.conflicts = conflicts
  }

  /// Whether the store fits the model already. There may still be ``changes`` that make no other version of the model, such as those of indexes and
  /// derivations: the store follows these when it is opened for writing.
  public var isEmpty: Bool { steps.isEmpty && obstacles.isEmpty && conflicts.isEmpty }
  /// Whether the migration would succeed, as far as it is known: handlers of stages may fail, or leave behind what a later stage does not allow
  /// (``Stage/unknowns``).
  public var isPossible: Bool { obstacles.isEmpty && conflicts.isEmpty }
  /// The rows that all steps read or write, as far as their number is known and without the steps that are deferred.
  public var rowCount: Int { steps.lazy.filter { !$0.isDeferred }.reduce(0) { $0 + $1.rowCount } }

  /// The plan as text, a line for each step and statement.
  public var description: String {
    if isEmpty {
      return changes.isEmpty
        ? "Nothing has to be done: the store fits the model."
        : "No migration is needed: indexes and derived values follow when the store is opened for writing."
    }
    var lines: [String] = []
    for obstacle in obstacles { lines.append("cannot be inferred: \(obstacle)") }
    for conflict in conflicts { lines.append("the data does not allow it: \(conflict.message)") }
    if stages.isEmpty { lines += steps.flatMap(\.lines) }
    for (number, stage) in stages.enumerated() {
      lines.append("stage \(number + 1) of \(stages.count), “\(stage.name)”:")
      lines += (stage.unknowns + stage.steps.flatMap(\.lines)).map { "  \($0)" }
    }
    return lines.joined(separator: "\n")
  }
}

extension MigrationPlan {
  /// A stage of a migration: what leads from one version of the model to the next.
  public struct Stage: Sendable {
    /// What the stage is called.
    public let name: String
    /// What changes between the two versions.
    public let changes: [ModelChange]
    /// The steps, in the order in which they are done.
    public let steps: [Step]
    /// What is only known when the stage, or one before it, has run, in sentences: what handlers make, and what is left to them.
    public let unknowns: [String]

    /// Makes a stage.
    package init(name: String, changes: [ModelChange], steps: [Step], unknowns: [String] = []) {
      self.name = name
      self.changes = changes
      self.steps = steps
      self.unknowns = unknowns
    }
  }

  /// The same plan without the statements of its steps, for a short text.
  package var withoutStatements: MigrationPlan {
    func short(_ steps: [Step]) -> [Step] {
      steps.map {
        Step(
          summary: $0.summary, statements: [], rowCount: $0.rowCount, isDeferred: $0.isDeferred, rowCountPrecision: $0.rowCountPrecision)
      }
    }
    guard !stages.isEmpty else { return MigrationPlan(changes: changes, steps: short(steps), obstacles: obstacles, conflicts: conflicts) }
    return MigrationPlan(
      stages: stages.map { Stage(name: $0.name, changes: $0.changes, steps: short($0.steps), unknowns: $0.unknowns) },
      obstacles: obstacles, conflicts: conflicts)
  }
}
