public import Foundation

extension Progress {
  /// A progress handler that updates this progress during a backup, key rotation, compaction, verification, or import. Canceling the
  /// progress cancels the operation at its next report.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 100)
  /// try await file.backUp(to: url, progress: progress.storeProgressHandler)
  /// ```
  ///
  /// The completed fraction of the operation is converted to the units of the progress. If the progress has no units, its total is set to
  /// 1,000. Use a progress for one operation only. It is updated on the thread of the operation.
  public var storeProgressHandler: @Sendable (_ done: Int, _ total: Int) -> Bool {
    { done, total in
      self.follow(total > 0 ? Double(done) / Double(total) : 0)
      return !self.isCancelled
    }
  }

  /// Updates the completed units. The total is reached only at the end of the operation.
  fileprivate func follow(_ fraction: Double) {
    if totalUnitCount <= 0 { totalUnitCount = 1_000 }
    completedUnitCount = fraction >= 1 ? totalUnitCount : min(Int64(fraction * Double(totalUnitCount)), totalUnitCount - 1)
  }
}

extension PersistentStoreDescription {
  /// Reports a migration that is performed when the store is added to a Foundation progress. Canceling the progress cancels the migration
  /// at its next report.
  ///
  /// An existing ``migrationProgress`` handler is still called. ``migrationCancellation`` is created if it is nil.
  ///
  /// - Parameter progress: Receives ``MigrationProgress/fractionCompleted`` in its own units. If it has none, its total is set to 1,000. It
  ///   is updated on the thread that migrates.
  public mutating func followMigration(with progress: Progress) {
    let cancellation = migrationCancellation ?? RequestCancellation()
    migrationCancellation = cancellation
    migrationProgress = { [previousHandler = migrationProgress] report in
      previousHandler?(report)
      progress.follow(report.fractionCompleted)
      if progress.isCancelled { cancellation.cancel() }
    }
  }
}
