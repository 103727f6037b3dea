import Foundation
import ObjectModel
import ObjectStore
package import SyncCore

/// What a comparison of a store with the hub has repaired.
package struct SyncReconciliation: Hashable, Sendable {
  /// The comparison of the records with those of the hub.
  package let records: ReconciliationResult
  /// The objects that differed from the records, at most ``ObjectVerification/maximumDifferences``, and were made again from them.
  package let objects: ObjectVerification
  package var isEqual: Bool { records.differenceCount == 0 && objects.isEqual }
}

extension SyncService {
  /// Compares all records of the store with those of the hub, and its objects with its records, and repairs what differs. Sends and pulls
  /// everything before and after.
  ///
  /// A record that differs gets the state of the hub. Unsent changes remain, and records that only this store has are sent again if such
  /// changes need them. Objects that were changed by other means than this library get the values of their records, and those without a record
  /// are sent.
  package func reconcile(progress: (@Sendable (SyncRunner.Round) -> Void)? = nil) async throws -> SyncReconciliation {
    try await synchronize(progress: progress)
    let round = try await runner.reconcileAndReport(progress)
    let objects = try await runner.repairObjects()
    try await synchronize(progress: progress)
    return SyncReconciliation(records: round.reconciled ?? ReconciliationResult(), objects: objects)
  }
}

extension SyncRunner {
  /// Makes objects again from their records.
  ///
  /// - Returns: The objects that differed.
  fileprivate func repairObjects() async throws -> ObjectVerification {
    let found = try await compareObjects()
    var remaining = found
    var last: [ObjectDifference] = []
    // A comparison lists a part of the differences.
    while !remaining.isEqual, remaining.differences != last {
      try Task.checkCancellation()
      last = remaining.differences
      try withReplica { try $0.repairObjects(last) }
      if !remaining.hasMore { break }
      remaining = try await compareObjects()
    }
    return found
  }
}

extension StoreReplica {
  /// The number of objects to write at once.
  private static let repairBatch = 500

  /// Makes objects again from their records. Objects without a record get one.
  func repairObjects(_ differences: [ObjectDifference]) throws {
    try transaction {
      var ids = RecordSet()
      for difference in differences {
        guard let id = difference.stableID.map(RecordID.init) else { continue }
        ids.insert(id)
        ids.formUnion(try referrers(of: id))
        guard difference.kind == .unknown, let reference = difference.objectID?.reference, let row = try readRows([reference]).first else {
          continue
        }
        if try entry(of: id) == nil { try addBaseline(try object(row, of: id), of: id) }
        if try self.row(of: id)?.object != reference { try setObject(reference, of: id) }
      }
      try VisibleState(schema.syncModel, in: self, batch: Self.repairBatch).update(ids)
    }
  }
}
