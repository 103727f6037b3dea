import SyncCore
import SyncEngine

/// What ``PersistentCloudContainer/reconcile()`` has found and repaired.
public struct CloudReconciliation: Sendable, Hashable {
  /// The number of records whose version in the store was another one than on the hub, or that only one of both had.
  public private(set) var differentRecords = 0
  /// The number of records that were fetched from the hub.
  public private(set) var fetchedRecords = 0
  /// The number of records that were removed from the store, because the hub does not have them anymore.
  public private(set) var removedRecords = 0
  /// The number of records that the hub does not have anymore, and that are sent again, because unsent changes need them.
  public private(set) var resentRecords = 0
  /// The number of objects that differed from their records, of at most 100 that were listed at once.
  public private(set) var differentObjects = 0

  /// Whether nothing differed.
  public var isEqual: Bool { differentRecords == 0 && differentObjects == 0 }

  mutating func add(_ result: SyncReconciliation) {
    differentRecords += result.records.differenceCount
    fetchedRecords += result.records.fetchedCount
    removedRecords += result.records.removedCount
    resentRecords += result.records.resent.count
    differentObjects += result.objects.differences.count
  }
}
