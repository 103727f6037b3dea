/// Compares the records of a device with those of the hub, exactly.
///
/// Both must have the same commits: the device pulls first, and again if another device has pushed meanwhile.
package struct Verification {
  /// What the device is to do.
  package enum Action: Hashable {
    /// Send a request.
    case send(VerificationRequest)
    /// Send and pull everything, then begin again.
    case synchronize
    case finish(Result)
  }

  package struct Result: Hashable, Sendable {
    /// The records that differ, at most ``Verification/maximumDifferences``.
    package var differences: [Difference] = []
    /// Whether more records differ.
    package var hasMore = false
    package var isEqual: Bool { differences.isEmpty }

    package init() {}
  }

  /// A record whose version on the device is another one than on the hub.
  package struct Difference: Hashable, Sendable {
    package let name: RecordName
    /// The record, if the device has it.
    package let id: RecordID?
    /// The versions; nil where the record is missing.
    package let device: Digest?
    package let hub: Digest?
  }

  package static let maximumDifferences = 100

  private let sealing: any CommitSealing
  private let hashing: any CommitHashing
  private let maximumCount: Int
  private var incarnation = Incarnation(0)
  private var point = ChainPoint()
  /// The ranges that differ and were not compared yet.
  private var ranges: [UInt8] = []
  /// What the hub has in the first of them, as far as it was listed.
  private var listed: [RecordName: Digest] = [:]
  private var result = Result()

  /// - Parameter maximumCount: The number of records in a page.
  package init(_ sealing: any CommitSealing, _ hashing: any CommitHashing, maximumCount: Int = 1_000) {
    (self.sealing, self.hashing, self.maximumCount) = (sealing, hashing, maximumCount)
  }

  package mutating func begin(in store: some SyncStore) throws -> Action {
    let zone = try store.transaction { try store.zone() }
    guard let incarnation = zone.incarnation, zone.isJoined, zone.accepted == nil else { return .synchronize }
    (self.incarnation, point, result) = (incarnation, zone.base, Result())
    return .send(.digest(incarnation, at: point))
  }

  package mutating func receive(_ answer: VerificationAnswer, in store: some SyncStore) throws -> Action {
    let action: Action? = try store.transaction {
      let zone = try store.zone()
      guard zone.base == point, zone.incarnation == incarnation, zone.accepted == nil else { return .synchronize }
      switch answer {
      case .moved: return .synchronize
      case .digest(let digest):
        var mine = ZoneDigest()
        try forEachVersion(in: store) { record, _ in try mine.add(record, hashing) }
        ranges = (0...UInt8.max).filter { mine.ranges[Int($0)] != digest.ranges[Int($0)] }
        listed = [:]
      case .versions(let records, let isLast):
        guard let range = ranges.first else { return .finish(result) }
        for record in records { listed[record.name] = record.version }
        if !isLast, let next = records.last?.name.next { return request(range, from: next) }
        try compare(range, in: store)
        ranges.removeFirst()
        listed = [:]
      }
      return nil
    }
    if let action { return action }
    guard let range = ranges.first else { return .finish(result) }
    if result.differences.count >= Self.maximumDifferences {
      result.hasMore = true
      return .finish(result)
    }
    return request(range, from: ZoneDigest.names(in: range).lowerBound)
  }

  private func request(_ range: UInt8, from name: RecordName) -> Action {
    .send(.versions(incarnation, at: point, range: range, from: name, maximumCount: maximumCount))
  }

  private mutating func compare(_ range: UInt8, in store: some SyncStore) throws {
    var found: [Difference] = []
    var rest = listed
    try forEachVersion(in: store) { record, id in
      guard ZoneDigest.range(of: record.name) == range else { return }
      let hub = rest.removeValue(forKey: record.name)
      if hub != record.version { found.append(Difference(name: record.name, id: id, device: record.version, hub: hub)) }
    }
    found += rest.map { Difference(name: $0.key, id: nil, device: nil, hub: $0.value) }
    found.sort { $0.name < $1.name }
    let space = Self.maximumDifferences - result.differences.count
    result.differences += found.prefix(space)
    if found.count > space { result.hasMore = true }
  }

  /// Calls a closure with the versions of all records that the device has pulled, whether or not it could open them.
  private func forEachVersion(in store: some SyncStore, _ body: (RecordVersion, RecordID?) throws -> Void) throws {
    var quarantined: Set<RecordName> = []
    var lastName: RecordName?
    while true {
      let records = try store.quarantined(after: lastName, maximumCount: maximumCount)
      guard let final = records.last else { break }
      for record in records {
        quarantined.insert(record.name)
        try body(RecordVersion(record.name, record.version), nil)
      }
      lastName = final.name
    }
    var last: RecordID?
    while true {
      let records = try store.records(after: last, maximumCount: maximumCount)
      guard let final = records.last else { break }
      for id in records {
        guard let base = try store.entry(of: id)?.base else { continue }
        let name = try sealing.name(of: id)
        if !quarantined.contains(name) { try body(RecordVersion(name, base.version), id) }
      }
      last = final
    }
  }
}
