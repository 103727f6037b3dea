// MigrationProgress: how far a migration has come.

/// How far a migration has come: what is being done, and how much of the whole.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.migrationProgress = { progress in
///   print(progress.phase, progress.fractionCompleted)
/// }
/// ```
///
/// The migration calls the closure on the thread that it runs on, after each portion of rows, and waits for it: hand the value on to where it is shown.
public struct MigrationProgress: Sendable, Hashable, CustomStringConvertible {
  /// What is being done, such as `copying Book`.
  public let phase: String
  /// The units of work done; as a rule a unit is a row.
  public let completedUnitCount: Int
  /// The units of work in all, as estimated when the migration began. It is never less than ``completedUnitCount``.
  public let totalUnitCount: Int

  /// Makes a report.
  package init(phase: String, completedUnitCount: Int, totalUnitCount: Int) {
    self.phase = phase
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = max(totalUnitCount, completedUnitCount)
  }

  /// The part that is done, from 0 to 1.
  public var fractionCompleted: Double { totalUnitCount == 0 ? 1 : Double(completedUnitCount) / Double(totalUnitCount) }

  /// The phase and the units.
  public var description: String { "\(phase) (\(completedUnitCount) of \(totalUnitCount))" }
}
