// Progress+StoreWork: Foundation's Progress follows long work on stores.
public import Foundation

extension Progress {
  /// What tells this progress how far a backup, a rotation, a compaction, a verification or an import is. Cancelling the progress ends that work at its next report.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 100)
  /// try await file.backUp(to: url, progress: progress.storeWorkHandler)
  /// ```
  ///
  /// The work's one fraction is taken over in this progress's units, of which there are a thousand where there were none. Use a progress for one work only. It is
  /// told on the thread that works.
  public var storeWorkHandler: @Sendable (_ done: Int, _ total: Int) -> Bool {
    { done, total in
      self.follow(total > 0 ? Double(done) / Double(total) : 0)
      return !self.isCancelled
    }
  }

  /// Takes over the fraction of a work: all units only with its end.
  fileprivate func follow(_ fraction: Double) {
    if totalUnitCount <= 0 { totalUnitCount = 1_000 }
    completedUnitCount = fraction >= 1 ? totalUnitCount : min(Int64(fraction * Double(totalUnitCount)), totalUnitCount - 1)
  }
}

extension PersistentStoreDescription {
  /// Lets a progress of Foundation follow a migration of the store, if there is one when it is added. Cancelling the progress calls the migration off at its next
  /// report.
  ///
  /// ``migrationProgress`` is told as before; ``migrationCancellation`` is made where there is none.
  ///
  /// - Parameter progress: Takes over ``MigrationProgress/fractionCompleted`` in its own units, of which there are a thousand where there were none. It is told on
  ///   the thread that migrates.
  public mutating func followMigration(with progress: Progress) {
    let cancellation = migrationCancellation ?? RequestCancellation()
    migrationCancellation = cancellation
    migrationProgress = { [told = migrationProgress] report in
      told?(report)
      progress.follow(report.fractionCompleted)
      if progress.isCancelled { cancellation.cancel() }
    }
  }
}
