package import SyncCore

/// The storage of a hub in memory, which can be restored from an older state.
final class SimulatedHub: HubStorage {
  struct State {
    var incarnation: Incarnation
    var heads: [Digest] = [.zero]
    var commits: [CommitEntry] = []
    var devices: [DeviceID: CommitEntry] = [:]
    var records: [RecordName: StoredRecord] = [:]
    /// The names of the records in the order of their commits.
    var order: [PagePosition] = []
    /// The staged parts of incomplete commits.
    var parts: [DeviceID: [SealedCommit]] = [:]
    /// When they were staged.
    var partTimes: [Digest: Int64] = [:]
    /// When the commits were added.
    var commitTimes: [Int64] = []
    var sum = RecordSum()
    var floor: Int64 = 0
    var acknowledgments: [DeviceID: Acknowledgment] = [:]
    /// The chunks of large values, and since when no record has named them.
    var chunks: [ChunkID: (bytes: [UInt8], unused: Int64?)] = [:]
    /// The chunks that records name.
    var chunkReferences: [RecordName: Set<ChunkID>] = [:]
    /// Since when no record names a chunk, computed from the records.
    var unusedSince: [ChunkID: Int64] = [:]
  }
  var state: State
  /// Whether deleted records may be removed. In reality, they are kept so long that devices notice a restoration before.
  var canTruncate = true
  /// The deleted records that were removed, with the devices that had pulled the deletion; also from states that were replaced by restored
  /// ones.
  private(set) var removed: [RecordName: Set<DeviceID>] = [:]
  /// Those that a device has sent again.
  private(set) var returned: Set<RecordName> = []

  init(incarnation: UInt64) { state = State(incarnation: Incarnation(incarnation)) }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  func incarnation() -> Incarnation { state.incarnation }
  func head() -> ChainPoint { ChainPoint(sequence: Int64(state.commits.count), head: state.heads[state.commits.count]) }
  func chainHead(at sequence: Int64) -> Digest? { sequence < state.heads.count ? state.heads[Int(sequence)] : nil }
  func lastCommit(of device: DeviceID) -> CommitEntry? { state.devices[device] }
  func version(of name: RecordName) -> (version: Digest, isDeleted: Bool)? { state.records[name].map { ($0.version, $0.isDeleted) } }
  func record(_ name: RecordName) -> StoredRecord? { state.records[name] }

  func versions(in names: ClosedRange<RecordName>, maximumCount: Int) -> [RecordVersion] {
    let records = state.records.values.filter { !$0.isDeleted && names.contains($0.name) }.sorted { $0.name < $1.name }
    return records.prefix(maximumCount).map { RecordVersion($0.name, $0.version) }
  }

  func setRecord(_ record: StoredRecord) {
    if let former = state.records.updateValue(record, forKey: record.name) {
      let position = PagePosition(sequence: former.sequence, name: former.name)
      state.order.remove(at: index(of: position))
    }
    let position = PagePosition(sequence: record.sequence, name: record.name)
    state.order.insert(position, at: index(of: position))
  }

  func missingChunks(_ ids: [ChunkID]) -> [ChunkID] { ids.filter { state.chunks[$0] == nil } }
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], at time: Int64) { state.chunks[id] = (bytes, time) }
  func chunk(_ id: ChunkID) -> [UInt8]? { state.chunks[id]?.bytes }

  func setChunks(_ ids: [ChunkID], of name: RecordName, at time: Int64) {
    let former = state.chunkReferences.updateValue(Set(ids), forKey: name) ?? []
    if ids.isEmpty { state.chunkReferences[name] = nil }
    for id in ids { state.chunks[id]?.unused = nil }
    for id in former where !state.chunkReferences.values.contains(where: { $0.contains(id) }) { state.chunks[id]?.unused = time }
  }

  func removeUnusedChunks(before time: Int64, maximumCount: Int) -> Int {
    let unused = state.chunks.filter { $0.value.unused.map { $0 < time } ?? false }.keys.sorted().prefix(maximumCount)
    for id in unused { state.chunks[id] = nil }
    return unused.count
  }

  func stagedParts(of device: DeviceID) -> StagedParts? {
    guard let parts = state.parts[device], let last = parts.last else { return nil }
    return StagedParts(deviceSequence: last.deviceSequence, count: Int64(parts.count), lastDigest: last.digest)
  }
  func stagedPart(_ number: Int64, of device: DeviceID) -> SealedCommit? { state.parts[device]?.first { $0.part.number == number } }
  func stage(_ part: SealedCommit, at time: Int64) {
    state.parts[part.device, default: []].append(part)
    state.partTimes[part.digest] = time
  }
  func removeStagedParts(before time: Int64) {
    for (device, parts) in state.parts {
      let remaining = parts.filter { state.partTimes[$0.digest] ?? 0 >= time }
      state.parts[device] = remaining.isEmpty ? nil : remaining
    }
  }
  func removeStagedParts(of device: DeviceID) { state.parts[device] = nil }

  func append(_ entry: CommitEntry, head: Digest, at time: Int64, sum: RecordSum) {
    state.commitTimes.append(time)
    state.sum = sum
    state.commits.append(entry)
    state.heads.append(head)
    state.devices[entry.device] = entry
  }

  func sum() -> RecordSum? { state.sum }
  func commitTime(at sequence: Int64) -> Int64? { sequence < 1 ? nil : state.commitTimes[Int(sequence) - 1] }
  func floor() -> Int64 { state.floor }

  func removeDeletedRecords(through sequence: Int64, maximumCount: Int, at time: Int64) -> Int {
    guard canTruncate else { return 0 }
    let deleted = state.order.filter { $0.sequence <= sequence && state.records[$0.name]?.isDeleted ?? false }
    let positions = deleted.prefix(maximumCount)
    for position in positions {
      state.records[position.name] = nil
      setChunks([], of: position.name, at: time)
      state.order.remove(at: index(of: position))
      state.floor = position.sequence
      removed[position.name] = Set(state.acknowledgments.filter { $0.value.sequence >= position.sequence }.keys)
    }
    return positions.count
  }

  /// Records which removed records are there again after a commit.
  ///
  /// - Parameter former: The state before it.
  /// - Returns: Those that are not deleted, and whose deletion the device knew.
  func noteReturned(by device: DeviceID, since former: State) -> [StoredRecord] {
    let records = removed.keys.filter { former.records[$0] == nil }.compactMap { state.records[$0] }
    returned.formUnion(records.map(\.name))
    return records.filter { !$0.isDeleted && removed[$0.name]?.contains(device) ?? false }
  }

  func acknowledgment(of device: DeviceID) -> Acknowledgment? { state.acknowledgments[device] }
  func acknowledge(_ acknowledgment: Acknowledgment, of device: DeviceID) { state.acknowledgments[device] = acknowledgment }
  func leastAcknowledgment(since time: Int64) -> Int64? {
    state.acknowledgments.values.lazy.filter { $0.time >= time }.map(\.sequence).min()
  }

  func records(
    after position: PagePosition?, since sequence: Int64, omittingDeletedThrough omitted: Int64, maximumCount: Int
  ) -> [StoredRecord] {
    var first = index(of: PagePosition(sequence: sequence + 1, name: RecordName(.zero)))
    if let position {
      first = index(of: position)
      if first < state.order.count, state.order[first] == position { first += 1 }
    }
    let records = state.order[first...].lazy.compactMap { self.state.records[$0.name] }
    return Array(records.filter { !$0.isDeleted || $0.sequence > omitted }.prefix(maximumCount))
  }

  func commits(after sequence: Int64, through last: Int64) -> [CommitEntry] {
    sequence < last ? Array(state.commits[Int(sequence)..<Int(last)]) : []
  }

  /// Returns the index of the first record that is not before a position.
  private func index(of position: PagePosition) -> Int {
    var (low, high) = (0, state.order.count)
    while low < high {
      let middle = (low + high) / 2
      if (state.order[middle].sequence, state.order[middle].name) < (position.sequence, position.name) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

/// Digests for simulations: fast, and different for different texts in all probability.
package struct SimulatedHashing: CommitHashing, CommitSealing {
  package init() {}

  package func head(after head: Digest, adding commit: Digest) -> Digest { digest(of: head.allWords + commit.allWords) }

  func digest(of words: [UInt64]) -> Digest {
    var (a, b): (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F)
    for word in words {
      a = (a ^ word) &* 0xFF51_AFD7_ED55_8CCD
      a ^= a >> 32
      b = (b &+ a) &* 0xC4CE_B9FE_1A85_EC53
      b ^= b >> 29
    }
    return Digest(a, b, a &* b, UInt64(words.count))
  }

  package func digest(of bytes: [UInt8]) -> Digest { digest(of: bytes, [9]) }

  private func digest(of bytes: [UInt8], _ prefix: [UInt64]) -> Digest {
    var words = prefix
    words.reserveCapacity(prefix.count + bytes.count / 8 + 2)
    var index = 0
    while index < bytes.count {
      var word: UInt64 = 0
      for byte in bytes[index..<min(index + 8, bytes.count)] { word = word << 8 | UInt64(byte) }
      words.append(word)
      index += 8
    }
    words.append(UInt64(bytes.count))
    return digest(of: words)
  }

  /// Returns the record of a link.
  package func id(of link: Link) -> RecordID {
    let digest = digest(of: link.bytes, [8])
    return RecordID(high: digest.words.0, low: digest.words.1)
  }

  package func name(of id: RecordID) -> RecordName { RecordName(digest(of: [7, id.high, id.low])) }

  package func seal(_ commit: Commit) -> SealedCommit {
    let header =
      [commit.device.value, UInt64(bitPattern: commit.deviceSequence), commit.incarnation.value, commit.time.value]
      + [UInt64(bitPattern: commit.base.sequence)] + commit.base.head.allWords
      + [UInt64(bitPattern: commit.part.number), commit.part.isLast ? 1 : 0] + (commit.part.previous?.allWords ?? [])
    var records: [SealedRecord] = []
    var words = header
    for change in commit.changes {
      let body = RecordCoding.encode(change.record, of: change.id)
      let version = digest(of: body, header)
      records.append(
        SealedRecord(
          name: name(of: change.id), replacedVersion: change.replacedVersion, version: version, isDeleted: change.record.isDeleted,
          body: body, chunks: change.record.chunks))
      words += version.allWords + (change.replacedVersion?.allWords ?? [1]) + change.record.chunks.flatMap(\.digest.allWords)
    }
    return SealedCommit(commit, records: records, digest: digest(of: words))
  }

  package func open(_ record: StoredRecord) throws -> (id: RecordID, record: Record) { try RecordCoding.decode(record.body) }
}
