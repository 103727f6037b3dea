package import Foundation
import SyncCore
import SyncCrypto

/// What the last rounds of synchronization have shown, which the store contains.
package struct SyncReport: Hashable, Codable, Sendable {
  /// The name of the report in its table.
  static let name = "report"

  /// The end of the last round without an error.
  package var lastSuccess: Date?
  /// The message of the error of the last round, and its time; nil after a round without an error.
  package var lastError: String?
  package var lastErrorDate: Date?
  /// The message in one sentence, without advice.
  package var lastFailure: String?
  /// Whether the last verification found no difference, and its time.
  package var isVerified: Bool?
  package var verificationDate: Date?
}

/// The state of a store's synchronization.
package struct SyncStatus: Hashable, Sendable {
  /// The account and the zone, as UUIDs.
  package var account: UUID
  package var zone: UUID
  package var device: String
  package var hubPath: String
  /// The number of commits of the zone that were pulled.
  package var cursor: Int64
  /// The number of saves that the hub has not accepted yet, and of their changes.
  package var pendingSaves: Int
  package var pendingChanges: Int
  /// The size of the commit that is being sent, in bytes; 0 without one.
  package var frozenBytes: Int
  /// The number of objects that were there before and have been added to the zone; nil if all are.
  package var baselineCount: Int?
  /// The number of records to send apart from pending saves: of objects that were there before, and of those that a restored hub lacks.
  package var unsentCount: Int
  /// The number of records that cannot be opened, because their key is missing or they are damaged. They are kept until they can be.
  package var unreadableCount: Int
  /// The number of large values that only the hub has, and their size in bytes.
  package var missingAssets: Int
  package var missingBytes: Int64
  /// The least version of the model that the zone requires, and the version of the store's model; nil without one.
  package var requiredModelVersion: ModelVersion?
  package var modelVersion: ModelVersion?
  /// Whether the store's model is older than that, so that nothing is sent or imported.
  package var isModelTooOld: Bool { requiredModelVersion.map { required in modelVersion.map { $0 < required } ?? true } ?? false }
  package var report: SyncReport
}

extension StoreReplica {
  func report() throws -> SyncReport {
    try storedValue(SyncReport.name).map { try JSONDecoder().decode(SyncReport.self, from: $0) } ?? SyncReport()
  }

  func setReport(_ report: SyncReport) throws { try store(try JSONEncoder().encode(report), as: SyncReport.name) }

  /// Returns the state of synchronization. Neither waits for other processes that write to the store, nor needs a writable store.
  package func status() throws -> SyncStatus {
    let (state, account, counts, frozenBytes, missing, report, required) = try snapshot {
      (
        try knownState(), try accountState(), (unreadable: try quarantinedCount(), unsent: try unsentCount()),
        try outbox().map { CommitCoding.encode($0.commit).count } ?? 0, try assetEntries(at: [.hub, .lost]).map(\.asset.size),
        try self.report(), try requiredModelVersion()
      )
    }
    let pending = try reader.count(after: state.consumedThrough)
    let id = try account.accountKeys.id
    return SyncStatus(
      account: RecordID(high: id.high, low: id.low).uuid, zone: RecordID(high: state.zoneID.high, low: state.zoneID.low).uuid,
      device: account.deviceName, hubPath: account.hubPath, cursor: state.zone.accepted?.sequence ?? state.zone.base.sequence,
      pendingSaves: pending.saves, pendingChanges: pending.changes, frozenBytes: frozenBytes, baselineCount: state.baseline?.count,
      unsentCount: counts.unsent, unreadableCount: counts.unreadable, missingAssets: missing.count,
      missingBytes: missing.reduce(0) { $0.addingReportingOverflow($1).partialValue }, requiredModelVersion: required,
      modelVersion: modelVersion, report: report)
  }
}

extension StoreReplica {
  /// Whether the store belongs to a zone. Waits for no other process.
  package func isSynchronized() throws -> Bool { try snapshot { try replicaState() != nil } }

  /// Returns the number of the last transaction of the store's history.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to a zone.
  package func lastTransaction() throws -> Int64 {
    _ = try snapshot { try knownState() }
    return try reader.newest
  }

  /// Whether the hub has accepted the saves up to a transaction, and the objects that were there before. Waits for no other process.
  package func isSent(through number: Int64) throws -> Bool {
    let (consumed, hasUnsent) = try snapshot { (try knownState().consumedThrough, try hasUnsentRecords()) }
    if hasUnsent { return false }
    return try consumed >= number || !reader.hasChanges(after: consumed, through: number)
  }

  /// Whether the hub has accepted the saves up to a transaction, and the objects that were there before. If the transaction is not a save of
  /// the application, it can be one save late.
  func isSettled(through number: Int64) throws -> Bool {
    try snapshot { try knownState().consumedThrough >= number && !hasUnsentRecords() }
  }

  private func hasUnsentRecords() throws -> Bool {
    if try knownState().baseline != nil { return true }
    // A change of a record that cannot be opened waits until the record can be opened.
    let unreadable = try quarantinedCount()
    return try unsentRecords(after: nil, maximumCount: unreadable + 1).count > unreadable
  }
}
