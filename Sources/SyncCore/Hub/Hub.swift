/// The state machine of a hub: it gives the commits of a zone an order, and accepts only those that change what they were based on.
///
/// It cannot read the records.
package struct Hub {
  let hashing: any CommitHashing
  package let limits: Limits

  /// Limits of pages, in addition to the number of records that a device requests.
  package struct Limits: Sendable {
    /// The size of the bodies in a page. A page contains at least one record.
    package var bytesInPage = 1 << 20
    package var commitsInPage: Int64 = 10_000
    /// The number of records that are read at once. Their sizes are not known before.
    package var recordsInBatch = 16
    /// How long the hub keeps the parts of an incomplete commit, in milliseconds. A device whose store was copied or replaced abandons its
    /// commit without a notice. One that continues later sends all parts again.
    package var partLifetime: Int64 = 7 * 24 * 3_600_000
    /// The number of commits after which the hub looks for such parts. It also does when it stages a first part.
    package var commitsUntilCleanup: Int64 = 100
    /// How long the hub keeps deleted records at least, in milliseconds.
    package var tombstoneLifetime: Int64 = 30 * 24 * 3_600_000
    /// How long it keeps them for a device that does not pull, in milliseconds.
    package var absenceLimit: Int64 = 90 * 24 * 3_600_000
    /// The time for which what a device has pulled need not be recorded again, in milliseconds.
    package var acknowledgmentInterval: Int64 = 24 * 3_600_000
    /// The maximum number of deleted records that are removed at once.
    package var tombstonesInCleanup = 1_000
    /// How long the hub keeps a chunk that no record names, in milliseconds: an upload can continue for that time, and a device can download
    /// a value that was just replaced.
    package var chunkLifetime: Int64 = 7 * 24 * 3_600_000
    /// The number of chunks that are removed with one commit.
    package var removedChunksInCommit = 16
    /// The maximum size of a sealed chunk.
    package var bytesInChunk = Int(AssetReference.maximumChunkSize) + (64 << 10)

    package init() {}
  }

  package init(_ hashing: any CommitHashing, limits: Limits = Limits()) { (self.hashing, self.limits) = (hashing, limits) }

  /// Adds a commit to a zone, or stages a part of it. The last part adds the commit.
  ///
  /// - Parameter time: The hub's time, in milliseconds since 1970.
  package func push(_ commit: SealedCommit, to storage: some HubStorage, at time: Int64) throws -> PushAnswer {
    try storage.transaction {
      // A repeated commit gets its first answer, whatever has changed since. The digest distinguishes a repetition from another commit under
      // the same number.
      if let last = try storage.lastCommit(of: commit.device), commit.deviceSequence <= last.deviceSequence {
        guard last.digest == commit.digest, let head = try storage.chainHead(at: last.sequence) else { return .forked }
        return .accepted(ChainPoint(sequence: last.sequence, head: head), hubTime: time)
      }
      var parts = try storage.stagedParts(of: commit.device)
      if let staged = parts, commit.deviceSequence <= staged.deviceSequence {
        if commit.deviceSequence < staged.deviceSequence { return .forked }
        if commit.part.number < staged.count {
          let isRepeated = try storage.stagedPart(commit.part.number, of: commit.device)?.digest == commit.digest
          return isRepeated ? .staged(hubTime: time) : .forked
        }
      } else {
        parts = nil  // Parts of another commit, which the device has abandoned.
      }
      let isBehind = try commit.base.sequence < storage.floor()
      guard try contains([commit.base, commit.accepted].compactMap { $0 }, isBehind ? nil : commit.incarnation, in: storage) else {
        return .diverged(try storage.incarnation())
      }
      // The device may not know that what its changes concern was deleted.
      if isBehind { return .truncated(hubTime: time) }
      if commit.time.milliseconds > time + DeviceClock.tolerance { return .ahead(hubTime: time) }
      guard commit.part.number == parts?.count ?? 0, commit.part.previous == parts?.lastDigest else { return .incomplete(hubTime: time) }
      if try isInConflict(commit, in: storage) { return .conflict(hubTime: time) }
      let missing = try missingChunks(of: commit, in: storage)
      if !missing.isEmpty { return .missingChunks(missing, hubTime: time) }
      if commit.part.isLast { return try add(commit, after: parts?.count ?? 0, to: storage, at: time) }
      if parts == nil {
        try storage.removeStagedParts(of: commit.device)  // Of a commit that it has abandoned.
        try storage.removeStagedParts(before: time - limits.partLifetime)
      }
      try storage.stage(commit, at: time)
      return .staged(hubTime: time)
    }
  }

  /// Adds a commit and the staged parts before it, as one.
  private func add(_ commit: SealedCommit, after partCount: Int64, to storage: some HubStorage, at time: Int64) throws -> PushAnswer {
    func part(_ number: Int64) throws -> SealedCommit? { try storage.stagedPart(number, of: commit.device) }
    for number in 0..<partCount {
      guard let part = try part(number) else { return .incomplete(hubTime: time) }
      // Records may have changed since the part was staged.
      if try isInConflict(part, in: storage) { return .conflict(hubTime: time) }
      let missing = try missingChunks(of: part, in: storage)
      if !missing.isEmpty { return .missingChunks(missing, hubTime: time) }
    }
    let head = try storage.head()
    let point = ChainPoint(sequence: head.sequence + 1, head: try hashing.head(after: head.head, adding: commit.digest))
    var sum = try storage.sum() ?? sum(of: .all, in: storage)
    for number in 0..<partCount { try part(number).map { try write($0.records, point.sequence, &sum, to: storage, at: time) } }
    try write(commit.records, point.sequence, &sum, to: storage, at: time)
    try storage.removeStagedParts(of: commit.device)
    try storage.removeUnusedChunks(before: time - limits.chunkLifetime, maximumCount: limits.removedChunksInCommit)
    try storage.append(
      CommitEntry(
        sequence: point.sequence, device: commit.device, deviceSequence: commit.deviceSequence, digest: commit.digest,
        signature: commit.signature),
      head: point.head, at: time, sum: sum)
    if point.sequence % limits.commitsUntilCleanup == 0 {
      try storage.removeStagedParts(before: time - limits.partLifetime)
      try truncate(storage, at: time)
    }
    return .accepted(point, hubTime: time)
  }

  private func isInConflict(_ commit: SealedCommit, in storage: some HubStorage) throws -> Bool {
    try commit.records.contains { try storage.version(of: $0.name)?.version != $0.replacedVersion }
  }

  private func write(
    _ records: [SealedRecord], _ sequence: Int64, _ sum: inout RecordSum, to storage: some HubStorage, at time: Int64
  ) throws {
    for record in records {
      if let former = try storage.version(of: record.name), !former.isDeleted {
        try sum.remove(RecordVersion(record.name, former.version), hashing)
      }
      if !record.isDeleted { try sum.add(RecordVersion(record.name, record.version), hashing) }
      try storage.setRecord(
        StoredRecord(name: record.name, sequence: sequence, version: record.version, isDeleted: record.isDeleted, body: record.body))
      try storage.setChunks(record.chunks, of: record.name, at: time)
    }
  }

  /// Returns a page of the records that commits after a point have written.
  package func pull(_ request: PullRequest, from storage: some HubStorage, at time: Int64) throws -> PullAnswer {
    try storage.transaction {
      let incarnation = try storage.incarnation()
      let isBehind = try start(of: request, in: storage) < storage.floor()
      guard try contains((request.known + [request.base, request.listed]), isBehind ? nil : request.incarnation, in: storage) else {
        return .diverged(incarnation)
      }
      let head = try storage.head()
      if isBehind {
        return .truncated(
          Truncation(
            request: request, incarnation: incarnation, head: head, lastCommit: try request.device.flatMap(storage.lastCommit),
            hubTime: time))
      }
      var (records, isLast) = try records(request, from: storage)
      var end = isLast ? head.sequence : records.last?.sequence ?? request.listed.sequence
      let lastListed = request.listed.sequence + limits.commitsInPage
      if end > lastListed {
        // The zone's records were replaced many times. The page lists commits up to a number, and only their records.
        (end, isLast) = (lastListed, false)
        while let record = records.last, record.sequence > end { records.removeLast() }
      }
      let commits = try storage.commits(after: request.listed.sequence, through: end)
      return .page(
        PullPage(
          request: request, incarnation: incarnation, records: records, commits: commits, isLast: isLast, head: head,
          sum: isLast ? try storage.sum() : nil, hubTime: time))
    }
  }

  /// Returns the next records that a page can contain, and whether there are no more.
  private func records(_ request: PullRequest, from storage: some HubStorage) throws -> (records: [StoredRecord], isLast: Bool) {
    var (records, size): ([StoredRecord], Int) = ([], 0)
    let omitted = try request.omitsDeleted ? start(of: request, in: storage) : 0
    while records.count < request.maximumCount {
      let position = records.last.map { PagePosition(sequence: $0.sequence, name: $0.name) } ?? request.position
      let count = min(limits.recordsInBatch, request.maximumCount - records.count)
      let batch = try storage.records(
        after: position, since: request.base.sequence, omittingDeletedThrough: omitted, maximumCount: count)
      for record in batch {
        size += record.body.count
        if size > limits.bytesInPage, !records.isEmpty { return (records, false) }
        records.append(record)
      }
      if batch.count < count { return (records, true) }
    }
    return (records, false)
  }

  /// Returns whether the zone's chain contains points that a device knows.
  func contains(_ points: [ChainPoint], _ incarnation: Incarnation?, in storage: some HubStorage) throws -> Bool {
    if let incarnation, try storage.incarnation() != incarnation { return false }
    return try points.allSatisfy { try storage.chainHead(at: $0.sequence) == $0.head }
  }
}
