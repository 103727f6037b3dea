package import SQLCipherConnection
package import SyncCore

/// What a hub stores, for status displays.
package struct HubUsage: Hashable, Sendable {
  package struct Zone: Hashable, Sendable {
    package let id: ZoneID
    package let account: AccountID
    /// The number of commits.
    package let commits: Int64
    /// The number of devices that have sent commits.
    package let devices: Int
    /// The number of records, including those of deleted objects.
    package let records: Int
    package let deletedRecords: Int
    /// The size of the sealed records, in bytes.
    package let bytes: Int
  }

  /// The size of the hub's file and its log, in bytes.
  package let fileSize: Int
  package let zones: [Zone]

  /// Reads the figures in the connection's open transaction. They are kept up to date by pushes, so that no record is read.
  package static func zones(_ connection: Connection) throws -> [Zone] {
    try connection.all(.zones) { row in
      let number = row.int64(0)
      let devices = try connection.first(.deviceCount, number, read: { $0.int(0) }) ?? 0
      return Zone(
        id: try row.zoneID(1), account: try row.accountID(2), commits: row.int64(3), devices: devices, records: row.int(5),
        deletedRecords: row.int(6), bytes: row.int(7))
    }
  }
}
