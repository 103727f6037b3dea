import Foundation
import ObjectModel
import SQLCipherStore
package import SyncCore

// Pulled records that are not part of the replica yet.

extension StoreReplica {
  // MARK: Staged records

  package func stage(_ records: [StoredRecord]) throws {
    for record in records {
      try transactionTables.execute(
        SyncStatement.stage, record.name.digest.slot, .int(record.sequence), record.version.slot,
        .int(record.isDeleted ? 1 : 0), .bytes(Data(record.body)))
    }
  }

  /// Returns staged records.
  ///
  /// - Throws: `CancellationError` if the task was canceled. The records remain, and the next round imports them.
  package func stagedRecords(after position: Int, maximumCount: Int) throws -> [StoredRecord] {
    try Task.checkCancellation()
    var found: [StoredRecord] = []
    try transactionTables.query(SyncStatement.staged, .int(Int64(position)), .int(Int64(maximumCount))) {
      found.append(try StoredRecord($0))
    }
    return found
  }

  package func removeStagedRecords() throws { try transactionTables.execute(SyncStatement.removeStaged) }

  // MARK: Records that cannot be opened

  package func setQuarantined(_ record: StoredRecord?, _ name: RecordName) throws {
    guard let record else {
      unreadableRecords.remove(name)
      guard try isAnyQuarantined() else { return }
      try transactionTables.execute(SyncStatement.removeQuarantined, name.digest.slot)
      return
    }
    running.hasQuarantined = true
    unreadableRecords.insert(name)
    try transactionTables.execute(
      SyncStatement.setQuarantined, record.name.digest.slot, .int(record.sequence), record.version.slot,
      .int(record.isDeleted ? 1 : 0), .bytes(Data(record.body)))
  }

  /// Whether there are such records, which is rare: most transactions need no other statement.
  private func isAnyQuarantined() throws -> Bool {
    if let known = running.hasQuarantined { return known }
    let found = try quarantinedCount() > 0
    running.hasQuarantined = found
    return found
  }

  package func quarantined(_ name: RecordName) throws -> StoredRecord? {
    guard try isAnyQuarantined() else { return nil }
    var found: StoredRecord?
    try transactionTables.query(SyncStatement.quarantined, name.digest.slot) { found = try StoredRecord($0) }
    return found
  }

  package func quarantined(after name: RecordName?, maximumCount: Int) throws -> [StoredRecord] {
    var found: [StoredRecord] = []
    try transactionTables.query(
      SyncStatement.quarantinedAfter, name?.digest.slot ?? .bytes(Data()), .int(Int64(maximumCount))
    ) { found.append(try StoredRecord($0)) }
    return found
  }

  /// Returns the names of the records that could not be opened since the last call.
  func takeUnreadableRecords() -> Set<RecordName> {
    defer { unreadableRecords = [] }
    return unreadableRecords
  }

  /// The number of records that cannot be opened.
  func quarantinedCount() throws -> Int { try count(SyncStatement.quarantinedCount) }
}

extension StoredRecord {
  fileprivate init(_ row: SideTableRow) throws {
    self.init(
      name: RecordName(try Digest(bigEndian: row.bytes(0))), sequence: row.int64(1), version: try Digest(bigEndian: row.bytes(2)),
      isDeleted: row.int64(3) != 0, body: row.bytes(4))
  }
}

extension Digest {
  /// The value of a column. The order of the bytes is that of the digests.
  var slot: Slot {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 4) { words in
      for (index, word) in allWords.enumerated() { words[index] = word.bigEndian }
      return .bytes(Data(UnsafeRawBufferPointer(words)))
    }
  }

  /// Reads a column.
  init(bigEndian bytes: [UInt8]) throws {
    guard bytes.count == 32 else { throw WireError.invalid }
    self = bytes.withUnsafeBytes { bytes in
      func word(_ index: Int) -> UInt64 { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)) }
      return Digest(word(0), word(1), word(2), word(3))
    }
  }
}
