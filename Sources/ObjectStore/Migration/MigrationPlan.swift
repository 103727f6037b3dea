public import ObjectModel

/// The steps of a possible migration of a store, with descriptions, SQL statements, and affected rows. Creating a plan does not change the
/// store.
///
/// ```swift
/// let plan = try await SQLCipherStoreFile.unlock(at: url, key: key).migrationPlan(to: model)
/// print(plan.isPossible, plan.rowCount, plan)
/// ```
///
/// ``obstacles`` lists the changes that prevent the migration, each with advice.
public struct MigrationPlan: Sendable, CustomStringConvertible {
  /// A step of a migration.
  public struct Step: Sendable, Hashable {
    /// The precision of a step's row count before the migration runs.
    public enum RowCountPrecision: Sendable, Hashable {
      /// The rows were counted.
      case exact
      /// The current number of rows, or the number after inference alone. A handler may change it, or the step may affect only some of the
      /// rows.
      case estimated
      /// The number is known only when the step runs.
      case unknown
    }

    /// A description, such as `add the column “subtitle” to “Book”`.
    public let summary: String
    /// The statements, in order. Statements that process a table in batches have `?` for the bounds of a batch.
    public let statements: [String]
    /// The number of rows that the step reads or writes. 0 if it changes only the schema or the number is ``RowCountPrecision/unknown``.
    public let rowCount: Int
    /// The precision of ``rowCount``.
    public let rowCountPrecision: RowCountPrecision
    /// Whether the step is deferred until ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``.
    public let isDeferred: Bool

    package init(
      summary: String, statements: [String], rowCount: Int, isDeferred: Bool = false, rowCountPrecision: RowCountPrecision = .exact
    ) {
      self.summary = summary
      self.statements = statements
      self.rowCount = rowCount
      self.isDeferred = isDeferred
      self.rowCountPrecision = rowCountPrecision
    }

    /// The description with the row count, followed by the statements.
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

  /// The changes between the store's model and the new one. If there are stages, the changes of all stages in sequence.
  public let changes: [ModelChange]
  /// The steps in order, including those of all stages.
  public let steps: [Step]
  /// The stages in order. Empty if the migration is inferred in one step.
  public let stages: [Stage]
  /// The changes that cannot be inferred. If there are any, the migration is refused.
  public let obstacles: [ModelChange]
  /// The conflicts with stored rows, such as objects with the same values under a new uniqueness constraint. If there are any, the
  /// migration would fail.
  public let conflicts: [StoreError]

  package init(changes: [ModelChange], steps: [Step], obstacles: [ModelChange], conflicts: [StoreError]) {
    self.changes = changes
    self.steps = steps
    self.obstacles = obstacles
    self.conflicts = conflicts
    stages = []
  }

  package init(stages: [Stage], obstacles: [ModelChange], conflicts: [StoreError]) {
    changes = stages.flatMap(\.changes)
    steps = stages.flatMap(\.steps)
    self.stages = stages
    self.obstacles = obstacles
    self.conflicts = conflicts
  }

  /// Whether the store already matches the model.
  ///
  /// There may still be ``changes`` that do not make another version of the model, such as those of indexes and derivations. They are
  /// applied when the store is opened for writing.
  public var isEmpty: Bool { steps.isEmpty && obstacles.isEmpty && conflicts.isEmpty }
  /// Whether the migration would succeed, as far as can be determined. Handlers of stages may still fail or produce data that a later stage
  /// rejects (``Stage/unknowns``).
  public var isPossible: Bool { obstacles.isEmpty && conflicts.isEmpty }
  /// The number of rows that all steps read or write, as far as it is known, without deferred steps.
  public var rowCount: Int { steps.lazy.filter { !$0.isDeferred }.reduce(0) { $0 + $1.rowCount } }

  /// The plan as text, with one line for each step and statement.
  public var description: String {
    if isEmpty {
      return changes.isEmpty
        ? "Nothing to do: the store matches the model."
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
  /// A stage of a migration, from one version of the model to the next.
  public struct Stage: Sendable {
    /// The name of the stage.
    public let name: String
    /// The changes between the two versions.
    public let changes: [ModelChange]
    /// The steps, in order.
    public let steps: [Step]
    /// Messages about results that are known only after the stage or an earlier one has run, and about changes that are left to handlers.
    public let unknowns: [String]

    package init(name: String, changes: [ModelChange], steps: [Step], unknowns: [String] = []) {
      self.name = name
      self.changes = changes
      self.steps = steps
      self.unknowns = unknowns
    }
  }

  /// The plan without the statements of its steps.
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
