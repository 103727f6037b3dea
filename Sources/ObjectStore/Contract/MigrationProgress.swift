/// The progress of a migration: the current phase and the completed fraction.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.migrationProgress = { progress in
///   print(progress.phase, progress.fractionCompleted)
/// }
/// ```
///
/// The migration calls the closure synchronously on its own thread, after each batch of rows. Return quickly, and dispatch updates of a
/// user interface to the main thread.
public struct MigrationProgress: Sendable, Hashable, CustomStringConvertible {
  /// The current phase, such as `copying Book`.
  public let phase: String
  /// The completed units of work, of those counted so far. A unit is usually a row. A custom stage counts its own units.
  public let completedUnitCount: Int
  /// The units of work counted so far, or those of the custom stage that reports. Never less than ``completedUnitCount``.
  public let totalUnitCount: Int
  /// The completed fraction of the whole migration, from 0 to 1, over all stages and phases. Phases are weighted by the number of rows that
  /// they are expected to touch. The value never decreases. It reaches 1 only in the last report of a successful migration.
  public let fractionCompleted: Double

  /// Creates a report, clamping the fraction and the total count.
  package init(phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double) {
    self.fractionCompleted = min(max(fractionCompleted, 0), 1)
    self.phase = phase
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = max(totalUnitCount, completedUnitCount)
  }

  /// The phase and the units.
  public var description: String { "\(phase) (\(completedUnitCount) of \(totalUnitCount))" }
}
