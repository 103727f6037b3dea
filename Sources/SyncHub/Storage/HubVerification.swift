package import SQLCipherConnection
package import SyncCore

/// A problem that the verification of a hub has found.
package enum HubFinding: Hashable, Sendable, CustomStringConvertible {
  /// A problem of the database.
  case database(VerificationFinding)
  /// The log of a zone does not have the commit with a number.
  case missingCommit(ZoneID, sequence: Int64)
  /// The head of a zone's chain at a number of commits does not follow from the commits before it.
  case wrongHead(ZoneID, sequence: Int64)
  /// The last commit of a device is not the last one in the log.
  case wrongLastCommit(ZoneID, DeviceID)
  /// The number of records whose commit is not in the log.
  case recordsWithoutCommit(ZoneID, count: Int)
  /// The number of chunks of large values that records name and the file does not have.
  case missingChunks(ZoneID, count: Int)
  /// The figures of a zone are not those of its records.
  case wrongFigures(ZoneID)
  /// The sum of a zone's records, which devices compare, is not that of its records.
  case wrongSum(ZoneID)

  package var description: String {
    switch self {
    case .database(let finding): finding.description
    case .missingCommit(let zone, let sequence): "zone \(Self.text(zone)): commit \(sequence) is missing"
    case .wrongHead(let zone, let sequence): "zone \(Self.text(zone)): the chain does not match at commit \(sequence)"
    case .wrongLastCommit(let zone, let device):
      "zone \(Self.text(zone)): the last commit of device \(String(device.value, radix: 16)) is another one"
    case .recordsWithoutCommit(let zone, let count): "zone \(Self.text(zone)): \(count) records belong to no commit"
    case .missingChunks(let zone, let count): "zone \(Self.text(zone)): \(count) chunks of large values are missing"
    case .wrongFigures(let zone): "zone \(Self.text(zone)): the numbers and sizes of the records are others"
    case .wrongSum(let zone): "zone \(Self.text(zone)): the sum of the records is another one"
    }
  }

  private static func text(_ zone: ZoneID) -> String { String(zone.high, radix: 16) + "-" + String(zone.low, radix: 16) }
}

/// Recomputes the chains of a hub's zones from the logs, and compares them and the records.
package struct HubVerification {
  private let connection: Connection
  private let hashing: any CommitHashing

  package init(_ connection: Connection, _ hashing: any CommitHashing) { (self.connection, self.hashing) = (connection, hashing) }

  /// Returns what is wrong, in the connection's open transaction. Memory is bounded by the number of devices.
  package func findings() throws -> [HubFinding] {
    let zones = try connection.all(.zones) { row in
      Zone(
        number: row.int64(0), id: try row.zoneID(1), head: ChainPoint(sequence: row.int64(3), head: try row.digest(4)),
        figures: Figures(records: row.int64(5), deleted: row.int64(6), bytes: row.int64(7)),
        sum: row.isNull(8) ? nil : try row.recordSum(8))
    }
    return try zones.flatMap { try findings(in: $0) }
  }

  private struct Figures: Hashable {
    let records: Int64
    let deleted: Int64
    let bytes: Int64
  }

  private struct Zone {
    let number: Int64
    let id: ZoneID
    let head: ChainPoint
    let figures: Figures
    let sum: RecordSum?
  }

  private func findings(in zone: Zone) throws -> [HubFinding] {
    var findings: [HubFinding] = []
    var devices: [DeviceID: CommitEntry] = [:]
    var (head, sequence) = (Digest.zero, Int64(0))
    try connection.forEach(.log, zone.number) { row in
      let entry = try CommitEntry(row: row)
      if entry.sequence != sequence + 1 { findings.append(.missingCommit(zone.id, sequence: sequence + 1)) }
      let stored = try row.digest(5)
      if entry.sequence == sequence + 1, try hashing.head(after: head, adding: entry.digest) != stored {
        findings.append(.wrongHead(zone.id, sequence: entry.sequence))
      }
      if let last = devices[entry.device], last.deviceSequence >= entry.deviceSequence {
        findings.append(.wrongLastCommit(zone.id, entry.device))
      }
      devices[entry.device] = entry
      (head, sequence) = (stored, entry.sequence)
    }
    if sequence < zone.head.sequence {
      findings.append(.missingCommit(zone.id, sequence: sequence + 1))
    } else if ChainPoint(sequence: sequence, head: head) != zone.head {
      findings.append(.wrongHead(zone.id, sequence: zone.head.sequence))
    }
    var last: [DeviceID: Int64] = [:]
    try connection.forEach(.lastCommits, zone.number) { row in
      last[DeviceID(UInt64(bitPattern: row.int64(0)))] = row.int64(1)
    }
    for device in Set(devices.keys).union(last.keys).sorted() where devices[device]?.sequence != last[device] {
      findings.append(.wrongLastCommit(zone.id, device))
    }
    let count = try connection.first(.recordsWithoutCommit, zone.number, read: { $0.int(0) }) ?? 0
    if count > 0 { findings.append(.recordsWithoutCommit(zone.id, count: count)) }
    let lost = try connection.first(.lostChunks, zone.number, read: { $0.int(0) }) ?? 0
    if lost > 0 { findings.append(.missingChunks(zone.id, count: lost)) }
    let figures = try connection.first(.recordFigures, zone.number) {
      Figures(records: $0.int64(0), deleted: $0.int64(1), bytes: $0.int64(2))
    }
    if figures != zone.figures { findings.append(.wrongFigures(zone.id)) }
    if let sum = zone.sum {
      var found = RecordSum()
      try connection.forEach(.versions, zone.number, Digest.zero, Digest.max, Int.max) { row in
        try found.add(RecordVersion(RecordName(try row.digest(0)), try row.digest(1)), hashing)
      }
      if found != sum { findings.append(.wrongSum(zone.id)) }
    }
    return findings
  }
}
