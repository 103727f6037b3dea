import SyncCore

/// The storage of a zone in memory.
final class MemoryHubStorage: HubStorage {
  private let identity: Incarnation
  private var heads: [Digest] = [.zero]
  private var log: [CommitEntry] = []
  private var records: [RecordName: StoredRecord] = [:]
  private var parts: [DeviceID: [(part: SealedCommit, time: Int64)]] = [:]

  private var times: [Int64] = []
  private var recordSum: RecordSum?
  private var truncatedThrough: Int64 = 0
  private var acknowledgments: [DeviceID: Acknowledgment] = [:]
  /// The chunks of large values, and since when no record has named them.
  private var chunks: [ChunkID: (bytes: [UInt8], unused: Int64?)] = [:]
  private var references: [RecordName: Set<ChunkID>] = [:]

  init(incarnation: Incarnation) { identity = incarnation }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  func incarnation() -> Incarnation { identity }
  func head() -> ChainPoint { ChainPoint(sequence: Int64(log.count), head: heads[log.count]) }
  func chainHead(at sequence: Int64) -> Digest? { heads.indices.contains(Int(sequence)) ? heads[Int(sequence)] : nil }
  func lastCommit(of device: DeviceID) -> CommitEntry? { log.last { $0.device == device } }
  func version(of name: RecordName) -> (version: Digest, isDeleted: Bool)? { records[name].map { ($0.version, $0.isDeleted) } }
  func record(_ name: RecordName) -> StoredRecord? { records[name] }
  func versions(in names: ClosedRange<RecordName>, maximumCount: Int) -> [RecordVersion] {
    let found = records.values.filter { names.contains($0.name) && !$0.isDeleted }.sorted { $0.name < $1.name }
    return found.prefix(maximumCount).map { RecordVersion($0.name, $0.version) }
  }

  func setRecord(_ record: StoredRecord) { records[record.name] = record }

  func missingChunks(_ ids: [ChunkID]) -> [ChunkID] { ids.filter { chunks[$0] == nil } }
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], at time: Int64) { chunks[id] = (bytes, time) }
  func chunk(_ id: ChunkID) -> [UInt8]? { chunks[id]?.bytes }

  func setChunks(_ ids: [ChunkID], of name: RecordName, at time: Int64) {
    let former = references.updateValue(Set(ids), forKey: name) ?? []
    for id in ids { chunks[id]?.unused = nil }
    for id in former where !references.values.contains(where: { $0.contains(id) }) { chunks[id]?.unused = time }
  }

  func removeUnusedChunks(before time: Int64, maximumCount: Int) -> Int {
    let unused = chunks.filter { $0.value.unused.map { $0 < time } ?? false }.sorted { ($0.value.unused ?? 0) < ($1.value.unused ?? 0) }
    for id in unused.prefix(maximumCount) { chunks[id.key] = nil }
    return min(unused.count, maximumCount)
  }

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

  func append(_ entry: CommitEntry, head: Digest, at time: Int64, sum: RecordSum) {
    log.append(entry)
    times.append(time)
    self.recordSum = sum
    heads.append(head)
  }

  func sum() -> RecordSum? { recordSum }

  func records(
    after position: PagePosition?, since sequence: Int64, omittingDeletedThrough omitted: Int64, maximumCount: Int
  ) -> [StoredRecord] {
    let later = records.values.filter { record in
      if record.isDeleted, record.sequence <= omitted { return false }
      guard let position else { return record.sequence > sequence }
      return (record.sequence, record.name) > (position.sequence, position.name)
    }
    return Array(later.sorted { ($0.sequence, $0.name) < ($1.sequence, $1.name) }.prefix(maximumCount))
  }

  func commits(after sequence: Int64, through last: Int64) -> [CommitEntry] {
    log.filter { $0.sequence > sequence && $0.sequence <= last }
  }

  func commitTime(at sequence: Int64) -> Int64? { times.indices.contains(Int(sequence) - 1) ? times[Int(sequence) - 1] : nil }
  func floor() -> Int64 { truncatedThrough }

  func removeDeletedRecords(through sequence: Int64, maximumCount: Int, at time: Int64) -> Int {
    let deleted = records.values.filter { $0.isDeleted && $0.sequence <= sequence }.sorted {
      ($0.sequence, $0.name) < ($1.sequence, $1.name)
    }
    for record in deleted.prefix(maximumCount) {
      records[record.name] = nil
      setChunks([], of: record.name, at: time)
      truncatedThrough = record.sequence
    }
    return min(deleted.count, maximumCount)
  }

  func acknowledgment(of device: DeviceID) -> Acknowledgment? { acknowledgments[device] }
  func acknowledge(_ acknowledgment: Acknowledgment, of device: DeviceID) { acknowledgments[device] = acknowledgment }
  func leastAcknowledgment(since time: Int64) -> Int64? {
    acknowledgments.values.lazy.filter { $0.time >= time }.map(\.sequence).min()
  }
}
