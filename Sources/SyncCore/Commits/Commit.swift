/// The number of commits in a zone, and the hash of the chain that they form.
package struct ChainPoint: Hashable, Codable, Sendable {
  package var sequence: Int64
  package var head: Digest

  package init(sequence: Int64 = 0, head: Digest = .zero) { (self.sequence, self.head) = (sequence, head) }
}

/// A change of a record in a commit, before it is sealed.
package struct RecordChange: Hashable, Sendable {
  package let id: RecordID
  /// The version that the change replaces; nil for a new record.
  package let replacedVersion: Digest?
  /// The complete new state.
  package let record: Record

  package init(_ id: RecordID, replacing version: Digest?, _ record: Record) {
    (self.id, replacedVersion, self.record) = (id, version, record)
  }
}

/// The position of a part in a commit that is sent in parts, because it has more changes than the hub takes at once.
///
/// The hub keeps the parts and adds them to the zone together with the last one, as one commit. All parts have the same device sequence.
/// Each contains the digest of the part before it, so the digest of the last part identifies the whole commit.
package struct CommitPart: Hashable, Sendable {
  /// The number of parts before.
  package let number: Int64
  /// The digest of the part before.
  package let previous: Digest?
  package let isLast: Bool

  package init(number: Int64, previous: Digest?, isLast: Bool) {
    (self.number, self.previous, self.isLast) = (number, previous, isLast)
  }

  /// The only part of a commit.
  package static let whole = CommitPart(number: 0, previous: nil, isLast: true)
}

/// One or more whole saves of a device, or a part of one, before they are sealed.
package struct Commit: Hashable, Sendable {
  package var device: DeviceID
  /// The number of the commit among those of the device.
  package var deviceSequence: Int64
  package var part: CommitPart
  /// The state of the zone that the device has pulled.
  package var base: ChainPoint
  /// The last commit of the device that the hub has accepted, if it was not pulled yet.
  package var accepted: ChainPoint?
  /// The incarnation of the hub that the device knows.
  package var incarnation: Incarnation
  /// The latest time in the changes, by which the hub notices a wall clock that is ahead; zero if the zone has such times already.
  package var time: HybridTime
  package var changes: [RecordChange]

  package init(
    device: DeviceID, deviceSequence: Int64, part: CommitPart = .whole, base: ChainPoint, accepted: ChainPoint?,
    incarnation: Incarnation, time: HybridTime, changes: [RecordChange]
  ) {
    self.device = device
    self.deviceSequence = deviceSequence
    self.part = part
    self.base = base
    self.accepted = accepted
    self.incarnation = incarnation
    self.time = time
    self.changes = changes
  }
}

/// The identity of a zone on a hub from its creation or its last restoration from a backup.
package struct Incarnation: Hashable, Codable, Sendable {
  package let value: UInt64
  package init(_ value: UInt64) { self.value = value }
}

/// A change of a record as a hub stores it.
package struct SealedRecord: Hashable, Sendable {
  package var name: RecordName
  package var replacedVersion: Digest?
  package var version: Digest
  package var isDeleted: Bool
  /// The sealed state. Its size is padded.
  package var body: [UInt8]
  /// The chunks of the record's large values, in ascending order. The hub keeps them as long as the record.
  package var chunks: [ChunkID]

  package init(name: RecordName, replacedVersion: Digest?, version: Digest, isDeleted: Bool, body: [UInt8], chunks: [ChunkID] = []) {
    self.name = name
    self.chunks = chunks
    self.replacedVersion = replacedVersion
    self.version = version
    self.isDeleted = isDeleted
    self.body = body
  }
}

/// A commit as it is sent, or a part of one. It is sealed once; retries send the same bytes.
package struct SealedCommit: Hashable, Sendable {
  package var device: DeviceID
  package var deviceSequence: Int64
  package var part: CommitPart
  package var base: ChainPoint
  package var accepted: ChainPoint?
  package var incarnation: Incarnation
  package var time: HybridTime
  package var records: [SealedRecord]
  /// The digest of the bytes.
  package var digest: Digest
  /// The device's signature of the digest.
  package var signature: [UInt8]

  package init(_ commit: Commit, records: [SealedRecord], digest: Digest, signature: [UInt8] = []) {
    device = commit.device
    deviceSequence = commit.deviceSequence
    part = commit.part
    base = commit.base
    accepted = commit.accepted
    incarnation = commit.incarnation
    time = commit.time
    self.records = records
    self.digest = digest
    self.signature = signature
  }
}

/// Seals commits and opens records, with the keys of a zone.
package protocol CommitSealing: Sendable {
  func seal(_ commit: Commit) throws -> SealedCommit
  /// Returns the name of a record on the hub.
  func name(of id: RecordID) throws -> RecordName
  /// Opens a record.
  ///
  /// - Throws: If it was not sealed with the zone's keys or was changed.
  func open(_ record: StoredRecord) throws -> (id: RecordID, record: Record)
}
