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
  /// The units of work done; as a rule a unit is a row. They are those counted so far; a custom stage counts its own.
  public let completedUnitCount: Int
  /// The units of work counted so far, or those of the custom stage that tells it. It is never less than ``completedUnitCount``.
  public let totalUnitCount: Int
  /// The part of the whole migration that is done, from 0 to 1: one fraction over all its stages and phases, weighted by the rows that they are expected to
  /// touch. It only rises, and is 1 once, in the last report of a migration that has succeeded.
  public let fractionCompleted: Double

  /// Makes a report.
  package init(phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double) {
    self.fractionCompleted = min(max(fractionCompleted, 0), 1)
    self.phase = phase
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = max(totalUnitCount, completedUnitCount)
  }

  /// The phase and the units.
  public var description: String { "\(phase) (\(completedUnitCount) of \(totalUnitCount))" }
}
