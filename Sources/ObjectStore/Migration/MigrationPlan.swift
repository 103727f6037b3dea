// MigrationPlan: what a migration would do to a store, in words and in SQL.
public import ObjectModel

/// What a migration would do to a store: steps in words, their statements, and the rows each concerns.
public struct MigrationPlan: Sendable, CustomStringConvertible {
  /// A step.
  public struct Step: Sendable, Hashable {
    /// What is done, such as `add the column “subtitle” to “Book”`.
    public let summary: String
    /// The statements, in order. Those that go through a table in portions have the bounds of the portion as `?`.
    public let statements: [String]
    /// The rows that the step reads or writes; 0 where only the schema changes.
    public let rowCount: Int
    /// Whether the step waits for ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``.
    public let isDeferred: Bool

    /// Makes a step.
    public init(summary: String, statements: [String], rowCount: Int, isDeferred: Bool = false) {
      self.summary = summary
      self.statements = statements
      self.rowCount = rowCount
      self.isDeferred = isDeferred
    }
  }

  /// What changed between the store's model and the new one.
  public let changes: [ModelChange]
  /// The steps, in the order in which they are done.
  public let steps: [Step]
  /// The changes that cannot be inferred: with any, the migration is refused.
  public let obstacles: [ModelChange]
  /// What the stored rows do not allow, such as two objects with the same values under a new constraint: with any, the migration would fail.
  public let conflicts: [StoreError]

  /// Makes a plan.
  public init(changes: [ModelChange], steps: [Step], obstacles: [ModelChange], conflicts: [StoreError]) {
    self.changes = changes
    self.steps = steps
    self.obstacles = obstacles
    self.conflicts = conflicts
  }

  /// Whether the store fits the model already.
  public var isEmpty: Bool { steps.isEmpty && obstacles.isEmpty && conflicts.isEmpty }
  /// Whether the migration would succeed.
  public var isPossible: Bool { obstacles.isEmpty && conflicts.isEmpty }
  /// The rows that all steps read or write, those that are deferred left out.
  public var rowCount: Int { steps.lazy.filter { !$0.isDeferred }.reduce(0) { $0 + $1.rowCount } }

  /// The plan as text, a line for each step and statement.
  public var description: String {
    if isEmpty { return "Nothing has to be done: the store fits the model." }
    var lines: [String] = []
    for obstacle in obstacles { lines.append("cannot be inferred: \(obstacle)") }
    for conflict in conflicts { lines.append("the data does not allow it: \(conflict.message)") }
    for step in steps {
      let rows = step.rowCount == 0 ? "" : step.rowCount == 1 ? " (1 row)" : " (\(step.rowCount) rows)"
      lines.append((step.isDeferred ? "later: " : "") + step.summary + rows)
      for statement in step.statements { lines.append("  \(statement)") }
    }
    return lines.joined(separator: "\n")
  }
}
