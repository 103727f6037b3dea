import SyncCore

/// The storage of a zone in memory.
final class MemoryHubStorage: HubStorage {
  private let identity: Incarnation
  private var heads: [Digest] = [.zero]
  private var log: [CommitEntry] = []
  private var records: [RecordName: StoredRecord] = [:]
  private var parts: [DeviceID: [(part: SealedCommit, time: Int64)]] = [:]

  init(incarnation: Incarnation) { identity = incarnation }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  func incarnation() -> Incarnation { identity }
  func head() -> ChainPoint { ChainPoint(sequence: Int64(log.count), head: heads[log.count]) }
  func chainHead(at sequence: Int64) -> Digest? { heads.indices.contains(Int(sequence)) ? heads[Int(sequence)] : nil }
  func lastCommit(of device: DeviceID) -> CommitEntry? { log.last { $0.device == device } }
  func version(of name: RecordName) -> Digest? { records[name]?.version }
  func versions(in names: ClosedRange<RecordName>, maximumCount: Int) -> [RecordVersion] {
    let found = records.values.filter { names.contains($0.name) }.sorted { $0.name < $1.name }
    return found.prefix(maximumCount).map { RecordVersion($0.name, $0.version) }
  }

  func setRecord(_ record: StoredRecord) { records[record.name] = record }

  func stagedParts(of device: DeviceID) -> StagedParts? {
    guard let parts = parts[device], let last = parts.last?.part else { return nil }
    return StagedParts(deviceSequence: last.deviceSequence, count: Int64(parts.count), lastDigest: last.digest)
  }

  func stagedPart(_ number: Int64, of device: DeviceID) -> SealedCommit? {
    parts[device]?.map(\.part).first { $0.part.number == number }
  }
  func stage(_ part: SealedCommit, at time: Int64) { parts[part.device, default: []].append((part, time)) }
  func removeStagedParts(of device: DeviceID) { parts[device] = nil }
  func removeStagedParts(before time: Int64) {
    for (device, parts) in parts { self.parts[device] = parts.filter { $0.time >= time } }
  }

  func append(_ entry: CommitEntry, head: Digest) {
    log.append(entry)
    heads.append(head)
  }

  func records(after position: PagePosition?, since sequence: Int64, maximumCount: Int) -> [StoredRecord] {
    let later = records.values.filter { record in
      guard let position else { return record.sequence > sequence }
      return (record.sequence, record.name) > (position.sequence, position.name)
    }
    return Array(later.sorted { ($0.sequence, $0.name) < ($1.sequence, $1.name) }.prefix(maximumCount))
  }

  func commits(after sequence: Int64, through last: Int64) -> [CommitEntry] {
    log.filter { $0.sequence > sequence && $0.sequence <= last }
  }
}
