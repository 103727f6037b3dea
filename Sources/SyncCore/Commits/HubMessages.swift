/// A record on a hub.
package struct StoredRecord: Hashable, Sendable {
  package var name: RecordName
  /// The number of the commit that wrote it.
  package var sequence: Int64
  package var version: Digest
  package var isDeleted: Bool
  package var body: [UInt8]

  package init(name: RecordName, sequence: Int64, version: Digest, isDeleted: Bool, body: [UInt8]) {
    self.name = name
    self.sequence = sequence
    self.version = version
    self.isDeleted = isDeleted
    self.body = body
  }
}

/// An accepted commit in the log of a zone.
package struct CommitEntry: Hashable, Sendable {
  package var sequence: Int64
  package var device: DeviceID
  package var deviceSequence: Int64
  package var digest: Digest
  package var signature: [UInt8]

  package init(sequence: Int64, device: DeviceID, deviceSequence: Int64, digest: Digest, signature: [UInt8] = []) {
    self.sequence = sequence
    self.device = device
    self.deviceSequence = deviceSequence
    self.digest = digest
    self.signature = signature
  }
}

/// A position in the records of a zone, which are in the order of their commits.
package struct PagePosition: Hashable, Codable, Sendable {
  package var sequence: Int64
  package var name: RecordName

  package init(sequence: Int64, name: RecordName) { (self.sequence, self.name) = (sequence, name) }
}

/// A request for the records that commits after a point have written.
package struct PullRequest: Hashable, Sendable {
  package var incarnation: Incarnation?
  /// What the device has pulled completely.
  package var base: ChainPoint
  /// Further points that the device knows of the zone: if the hub does not contain one, it was restored from a backup.
  package var known: [ChainPoint]
  /// The last record of the previous page; nil for the first page.
  package var position: PagePosition?
  /// The last commit that the previous pages listed.
  package var listed: ChainPoint
  package var maximumCount: Int
  /// The device, whose progress the hub records; nil for a request that is not part of synchronization.
  package var device: DeviceID?
  /// What the device has imported completely, if it pulls from a later point, up to which it has compared its records.
  package var imported: Int64?
  /// Of a pull of the whole zone: the number of commits that the zone had at the first page; nil for that page.
  package var start: Int64?
  /// Whether records that were deleted before a pull of the whole zone are left out, because the device has none of them.
  package var omitsDeleted: Bool

  package init(
    incarnation: Incarnation?, base: ChainPoint, known: [ChainPoint], position: PagePosition?, listed: ChainPoint, maximumCount: Int,
    device: DeviceID? = nil, start: Int64? = nil, omitsDeleted: Bool = false
  ) {
    (self.device, self.start, self.omitsDeleted) = (device, start, omitsDeleted)
    self.incarnation = incarnation
    self.base = base
    self.known = known
    self.position = position
    self.listed = listed
    self.maximumCount = maximumCount
  }
}

/// A page of records. The state of the zone at its head is complete with the last page: a record that is written again meanwhile is in a
/// later page.
package struct PullPage: Hashable, Sendable {
  package var request: PullRequest
  package var incarnation: Incarnation
  package var records: [StoredRecord]
  /// The commits after the listed ones, up to the last record of the page, or to the head with the last page.
  package var commits: [CommitEntry]
  package var isLast: Bool
  /// The head of the zone when the page was read.
  package var head: ChainPoint
  /// The sum of the zone's records at the head, with the last page.
  package var sum: RecordSum?
  package var hubTime: Int64

  package init(
    request: PullRequest, incarnation: Incarnation, records: [StoredRecord], commits: [CommitEntry], isLast: Bool, head: ChainPoint,
    sum: RecordSum? = nil, hubTime: Int64
  ) {
    self.sum = sum
    self.request = request
    self.incarnation = incarnation
    self.records = records
    self.commits = commits
    self.isLast = isLast
    self.head = head
    self.hubTime = hubTime
  }
}

package enum PullAnswer: Hashable, Sendable {
  case page(PullPage)
  /// The hub does not contain the commits that the device has pulled: it was restored from a backup.
  case diverged(Incarnation)
  /// Deletions that the device has not pulled were removed: it must compare its records with those of the hub.
  case truncated(Truncation)
}

package enum PushAnswer: Hashable, Sendable {
  /// The commit is in the zone, from this push or an earlier one, at this point of the chain.
  case accepted(ChainPoint, hubTime: Int64)
  /// The hub keeps the part of a commit until the last part.
  case staged(hubTime: Int64)
  /// The hub does not have the part before, because it was restored from a backup.
  case incomplete(hubTime: Int64)
  /// The hub does not have chunks that the commit names, or earlier parts of it: they must be uploaded first.
  case missingChunks([ChunkID], hubTime: Int64)
  /// Records were changed by other commits.
  case conflict(hubTime: Int64)
  /// The hub does not contain the commits that the device has pulled: it was restored from a backup.
  case diverged(Incarnation)
  /// Another commit of the device has this number or a later one: a copy of the device's store uses its identity.
  case forked
  /// Deletions that the device has not pulled were removed: it must pull first.
  case truncated(hubTime: Int64)
  /// The commit's time is too far ahead of the hub's clock.
  case ahead(hubTime: Int64)
}
