package import SQLCipherConnection
package import SyncCore

/// A zone in a hub's file, for one transaction of a connection.
package final class SQLCipherHubStorage: HubStorage {
  let connection: Connection
  let zone: Int64
  /// Whether records of the zone name chunks; nil before it was read.
  var mayHaveReferences: Bool?
  /// What is kept of a record that the transaction may replace.
  private typealias Replaced = (version: Digest, isDeleted: Bool, size: Int)
  /// The records that were read last; nil for those that do not exist. A commit in parts can have any number of them.
  private var replaced: [RecordName: Replaced?] = [:]
  private static let maximumReplacedCount = 10_000
  /// The changes of the zone's figures by the transaction.
  private var added = (records: 0, deleted: 0, bytes: 0)

  /// Creates the storage of a zone for the connection's open transaction.
  package init(_ connection: Connection, zone: ZoneID) throws {
    self.connection = connection
    self.zone = try HubZones.number(of: zone, connection)
  }

  /// Runs a closure in the open transaction, whose owner ends it.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  package func incarnation() throws -> Incarnation {
    let value = try connection.first(.incarnation) { $0.int64(0) }
    guard let value else { throw HubError(.damaged, "The hub \(connection.path) has lost its identity.") }
    return Incarnation(UInt64(bitPattern: value))
  }

  package func head() throws -> ChainPoint { try HubZones.head(of: zone, connection) }

  package func chainHead(at sequence: Int64) throws -> Digest? {
    if sequence == 0 { return .zero }
    return try connection.first(.chainHead, zone, sequence) { try $0.digest(0) }
  }

  package func lastCommit(of device: DeviceID) throws -> CommitEntry? {
    try connection.first(.lastCommit, zone, device) { try CommitEntry(row: $0) }
  }

  package func version(of name: RecordName) throws -> (version: Digest, isDeleted: Bool)? {
    try read(name).map { ($0.version, $0.isDeleted) }
  }

  /// Returns what is known of a record, which was usually read before in the transaction.
  private func read(_ name: RecordName) throws -> Replaced? {
    if let known = replaced[name] { return known }
    let found = try connection.first(.version, zone, name.digest) {
      (version: try $0.digest(0), isDeleted: $0.int(1) != 0, size: $0.int(2))
    }
    keep(found, name)
    return found
  }

  package func record(_ name: RecordName) throws -> StoredRecord? {
    try connection.first(.record, zone, name.digest) { try StoredRecord(row: $0) }
  }

  private func keep(_ record: Replaced?, _ name: RecordName) {
    if replaced.count >= Self.maximumReplacedCount { replaced.removeAll(keepingCapacity: true) }
    replaced[name] = .some(record)
  }

  package func versions(in names: ClosedRange<RecordName>, maximumCount: Int) throws -> [RecordVersion] {
    try connection.all(.versions, zone, names.lowerBound.digest, names.upperBound.digest, maximumCount) {
      RecordVersion(RecordName(try $0.digest(0)), try $0.digest(1))
    }
  }

  package func setRecord(_ record: StoredRecord) throws {
    let replaced = try read(record.name)
    if let replaced {
      added.records -= 1
      added.deleted -= replaced.isDeleted ? 1 : 0
      added.bytes -= replaced.size
    }
    try connection.run(
      replaced == nil ? .newRecord : .setRecord, zone, record.name.digest, record.sequence, record.version, record.isDeleted ? 1 : 0,
      record.body)
    added.records += 1
    added.deleted += record.isDeleted ? 1 : 0
    added.bytes += record.body.count
    keep((record.version, record.isDeleted, record.body.count), record.name)
  }

  package func stagedParts(of device: DeviceID) throws -> StagedParts? {
    try connection.first(.lastPart, zone, device) {
      StagedParts(deviceSequence: $0.int64(0), count: $0.int64(1) + 1, lastDigest: try $0.digest(2))
    }
  }

  package func stagedPart(_ number: Int64, of device: DeviceID) throws -> SealedCommit? {
    guard let bytes = try connection.first(.part, zone, device, number, read: { $0.bytes(0) }) else { return nil }
    do { return try CommitCoding.decode(bytes) } catch {
      throw HubError(.damaged, "A part of a commit in the hub \(connection.path) is damaged.")
    }
  }

  package func stage(_ part: SealedCommit, at time: Int64) throws {
    try connection.run(
      .newPart, zone, part.device, part.part.number, part.deviceSequence, part.digest, time, CommitCoding.encode(part))
  }

  package func removeStagedParts(before time: Int64) throws { try connection.run(.removeOldParts, zone, time) }

  package func removeStagedParts(of device: DeviceID) throws { try connection.run(.removeParts, zone, device) }

  package func append(_ entry: CommitEntry, head: Digest, at time: Int64, sum: RecordSum) throws {
    try connection.run(.newCommit, zone, entry.sequence, entry.device, entry.deviceSequence, entry.digest, entry.signature, head, time)
    try connection.run(.setLastCommit, zone, entry.device, entry.sequence)
    try connection.run(.setHead, entry.sequence, head, added.records, added.deleted, added.bytes, sum, zone)
    added = (0, 0, 0)
  }

  package func sum() throws -> RecordSum? { try connection.first(.sum, zone) { try $0.recordSum(0) } }

  package func records(
    after position: PagePosition?, since sequence: Int64, omittingDeletedThrough omitted: Int64, maximumCount: Int
  ) throws -> [StoredRecord] {
    // No record follows the last name in a commit.
    let position = position ?? PagePosition(sequence: sequence, name: RecordName(Digest(.max, .max, .max, .max)))
    return try connection.all(.records, zone, position.sequence, position.name.digest, omitted, maximumCount) { try StoredRecord(row: $0) }
  }

  package func commits(after sequence: Int64, through last: Int64) throws -> [CommitEntry] {
    try connection.all(.commits, zone, sequence, last) { try CommitEntry(row: $0) }
  }

  // MARK: Truncation

  package func commitTime(at sequence: Int64) throws -> Int64? { try connection.first(.commitTime, zone, sequence) { $0.int64(0) } }

  package func floor() throws -> Int64 { try connection.first(.floor, zone) { $0.int64(0) } ?? 0 }

  package func removeDeletedRecords(through sequence: Int64, maximumCount: Int, at time: Int64) throws -> Int {
    let found = try connection.all(.deletedRecords, zone, sequence, maximumCount) { row in
      (id: row.int64(0), sequence: row.int64(1), size: row.int(2), name: RecordName(try row.digest(3)))
    }
    guard let last = found.last else { return 0 }
    for record in found {
      try connection.run(.removeRecord, record.id)
      try setChunks([], of: record.name, at: time)
    }
    try connection.run(.setFloor, last.sequence, found.count, found.reduce(0) { $0 + $1.size }, zone)
    replaced = [:]
    return found.count
  }

  package func acknowledgment(of device: DeviceID) throws -> Acknowledgment? {
    try connection.first(.acknowledgment, zone, device) { Acknowledgment(sequence: $0.int64(0), time: $0.int64(1)) }
  }

  package func acknowledge(_ acknowledgment: Acknowledgment, of device: DeviceID) throws {
    try connection.run(.setAcknowledgment, zone, device, acknowledgment.sequence, acknowledgment.time)
  }

  package func leastAcknowledgment(since time: Int64) throws -> Int64? {
    try connection.first(.leastAcknowledgment, zone, time) { $0.isNull(0) ? nil : $0.int64(0) } ?? nil
  }
}

extension StoredRecord {
  fileprivate init(row: Statement) throws {
    self.init(
      name: RecordName(try row.digest(0)), sequence: row.int64(1), version: try row.digest(2), isDeleted: row.int(3) != 0,
      body: row.bytes(4))
  }
}

extension CommitEntry {
  /// Creates an entry from a row that begins with its columns.
  init(row: Statement) throws {
    self.init(
      sequence: row.int64(0), device: DeviceID(UInt64(bitPattern: row.int64(1))), deviceSequence: row.int64(2), digest: try row.digest(3),
      signature: row.bytes(4))
  }
}

/// The zones of a hub's file.
enum HubZones {
  /// Returns the number of a zone in the file.
  static func number(of zone: ZoneID, _ connection: Connection) throws -> Int64 {
    guard let number = try connection.first(.zone, zone, read: { $0.int64(0) }) else {
      throw HubError(.unknownZone, "The hub \(connection.path) does not have the zone.")
    }
    return number
  }

  static func head(of number: Int64, _ connection: Connection) throws -> ChainPoint {
    let head = try connection.first(.head, number) { ChainPoint(sequence: $0.int64(0), head: try $0.digest(1)) }
    guard let head else { throw HubError(.damaged, "The hub \(connection.path) has lost the head of a zone.") }
    return head
  }
}
