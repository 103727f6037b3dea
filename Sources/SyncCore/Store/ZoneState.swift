/// What a store knows of a zone.
package struct ZoneState: Hashable, Codable, Sendable {
  package var device: DeviceID
  /// The identities that the device had before.
  package var formerDevices: [DeviceID]?
  /// The digests of the commits that former identities were sending, at most eight.
  package var formerCommits: [Digest]?
  /// The number of the last commit that was frozen by the device.
  package var deviceSequence: Int64 = 0
  /// The state of the zone that was pulled completely.
  package var base = ChainPoint()
  /// The last commit of the device that the hub has accepted, if it was not pulled yet. Its records are already part of the base.
  package var accepted: ChainPoint?
  /// The incarnation of the hub; nil before the first answer.
  package var incarnation: Incarnation?
  /// Whether a pull was completed in this incarnation. Nothing is sent before that.
  package var isJoined = false
  package var clock = DeviceClock()
  /// The number of the last save that the hub has accepted.
  package var settledThrough: Int64 = 0
  /// Whether records that the hub has lost must be sent together, because saves that were complete on other devices wrote them.
  package var isSalvaging = false
  /// The number of the last save that was reviewed, because it can have effects that the application did not see when it saved.
  package var reviewedThrough: Int64 = 0
  /// Whether a pulled record has attributes with rules, which an earlier version of the model may lack.
  package var hasMergeRules: Bool?
  /// Whether a pulled record has versions of values (``ValueVersions``).
  package var hasVersions: Bool?
  /// The number of the last save that can have inserted an object under the ID of another one, because the store was replaced by an older copy
  /// and did not notice it; nil if that never happened. It is the maximum until a pull has brought what was lost.
  package var forkedThrough: Int64?
  /// The pull in progress.
  package var staging: Staging?
  /// The sum of the records that were pulled; nil if it must be computed.
  package var sum: RecordSum?
  /// Whether the records must be compared with those of the hub.
  package var mustReconcile: Bool?
  /// What the hub's sum is wrong by: the records themselves were compared.
  package var sumError: RecordSum?

  package init(device: DeviceID) { (self.device, sum) = (device, RecordSum()) }

  /// How many commits the pull in progress has received, and how many there are to receive; nil if there is no pull.
  package var pullProgress: (received: Int64, total: Int64)? {
    staging.map { ($0.point.sequence - base.sequence, $0.head.sequence - base.sequence) }
  }

  /// The position of a pull whose pages are staged.
  package struct Staging: Hashable, Codable, Sendable {
    /// The last staged record.
    package var position: PagePosition?
    /// The last listed commit.
    package var point: ChainPoint
    /// The head of the zone when the last page was read. Records that were written again by then are not in the pages before.
    package var head: ChainPoint
    /// The digest of the commit in the outbox, if that was listed.
    package var listedOutbox: Digest?
    /// The number of that commit, or of the one that a former identity was sending.
    package var listedSequence: Int64?
    /// Of a pull of the whole zone: the number of commits that the zone had at the first page.
    package var start: Int64?
    /// Whether records that were deleted before are left out.
    package var omitsDeleted: Bool?
    /// The point from which the records are pulled after they were compared with those of the hub; nil if that is the base.
    package var reconciledAt: ChainPoint?

    package init(from point: ChainPoint) { (self.point, head) = (point, point) }
  }
}

/// What a store knows of a record, in addition to its object and the pending saves.
package struct RecordEntry: Hashable, Sendable {
  /// The state on the hub that was pulled or accepted last.
  package var base: VersionedRecord?
  /// A state that is not part of a pending save and must be sent: of an object that was there before synchronization began, or that the
  /// hub has lost.
  package var held: Record?
  /// Whether the record must be deleted, because a required destination is deleted on the hub.
  package var isOrphan = false

  package init() {}

  /// The state without pending saves.
  package var state: Record? { (base?.record).applying(held) }

  /// Whether the record must be sent although no pending save changes it.
  package var isUnsent: Bool { held != nil || isOrphan }

  package struct VersionedRecord: Hashable, Sendable {
    /// The number of the commit that has written it.
    package let sequence: Int64
    package let version: Digest
    package let record: Record

    package init(_ sequence: Int64, _ version: Digest, _ record: Record) {
      (self.sequence, self.version, self.record) = (sequence, version, record)
    }
  }

  /// Whether the record is on the hub and not deleted there, as far as the device knows.
  var isLive: Bool { base.map { !$0.record.isDeleted } ?? false }

  /// Sets the state on the hub, and releases the held state if it contains that.
  ///
  /// A pull that began before a commit of the device was accepted can bring an older state: the newer one remains.
  package mutating func setBase(_ state: VersionedRecord) {
    if let base, base.sequence >= state.sequence { return }
    base = state
    let record = state.record
    if let held, record.applying(held) == record { self.held = nil }
  }
}
