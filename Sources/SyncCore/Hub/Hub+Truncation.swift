/// Deleted records are removed from a zone some time after all devices know of the deletion.
///
/// A device that was away longer cannot receive all deletions any more. The hub knows up to which commit it has removed some, the *floor*, and
/// lets such a device compare its records with those of the zone.
extension Hub {
  /// The point from which a device pulls: records that were deleted up to it are not missing on the device.
  func start(of request: PullRequest, in storage: some HubStorage) throws -> Int64 {
    if request.base.sequence > 0 { return request.base.sequence }
    // A device without any records misses no deletion of one, except if that is deleted during the pull.
    return try request.start ?? storage.head().sequence
  }

  /// Returns whether a request says more of what a device has pulled than the hub has recorded.
  package func mustAcknowledge(_ request: PullRequest, in storage: some HubStorage, at time: Int64) throws -> Bool {
    guard let device = request.device else { return false }
    guard let known = try storage.acknowledgment(of: device) else { return true }
    let sequence = request.imported ?? request.base.sequence
    return known.time <= time - limits.acknowledgmentInterval || known.sequence > sequence && sequence > 0
  }

  /// Records what a device has pulled.
  package func acknowledge(_ request: PullRequest, in storage: some HubStorage, at time: Int64) throws {
    try storage.transaction {
      guard let device = request.device, try contains([request.base], request.incarnation, in: storage) else { return }
      // The first request of a new device can be repeated when the first answer has arrived: what it will contain is not known.
      let sequence = request.imported ?? (request.base.sequence > 0 ? request.base.sequence : request.start ?? 0)
      try storage.acknowledge(Acknowledgment(sequence: sequence, time: time), of: device)
    }
  }

  /// Removes records that were deleted long ago, if all devices that were there recently know of it.
  func truncate(_ storage: some HubStorage, at time: Int64) throws {
    guard let latest = try lastCommit(before: time - limits.tombstoneLifetime, in: storage) else { return }
    let acknowledged = try storage.leastAcknowledgment(since: time - limits.absenceLimit) ?? .max
    _ = try storage.removeDeletedRecords(through: min(latest, acknowledged), maximumCount: limits.tombstonesInCleanup, at: time)
  }

  /// Returns the number of the last commit that was added before a time; nil if all of them are up to the floor.
  private func lastCommit(before time: Int64, in storage: some HubStorage) throws -> Int64? {
    let first = try storage.floor()
    // The commits are in the order of their times, unless the hub's clock was set back.
    var (low, high) = (first, try storage.head().sequence)
    while low < high {
      let middle = (low + high + 1) / 2
      if let added = try storage.commitTime(at: middle), added <= time { low = middle } else { high = middle - 1 }
    }
    return low > first ? low : nil
  }
}

/// What a device has pulled completely, and when it has said so.
package struct Acknowledgment: Hashable, Sendable {
  package var sequence: Int64
  /// The hub's time, in milliseconds since 1970.
  package var time: Int64

  package init(sequence: Int64, time: Int64) { (self.sequence, self.time) = (sequence, time) }
}
