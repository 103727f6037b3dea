/// The state machine of a device that synchronizes a store with a zone.
///
/// What must survive the process is in the store. A new machine continues where another one was interrupted.
package struct SyncClient {
  /// What happens to the device.
  package enum Event {
    /// The process has started, or another device has pushed: pull.
    case remoteChange
    /// The store was saved.
    case save
    /// The hub has answered.
    case pulled(PullAnswer)
    case pushed(Digest, PushAnswer)
    /// A request was not answered.
    case pullFailed
    case pushFailed
    /// The hub has answered a request of a comparison, or has not.
    case verified(VerificationRequest, VerificationAnswer)
    case verificationFailed
    /// Compare all records with those of the hub.
    case reconcile
    /// The device has received keys.
    case keysChanged
    /// The store's file is a copy of the one that the device's identity belongs to.
    case copied
  }

  /// What the device is to do.
  package enum Action: Hashable {
    case pull(PullRequest)
    case push(SealedCommit)
    case verify(VerificationRequest)
  }

  /// What the machine needs to know of the world.
  package struct Environment {
    /// The device's wall clock, in milliseconds since 1970.
    package var wall: Int64
    /// An ID that no device has.
    package var newDevice: DeviceID

    package init(wall: Int64, newDevice: DeviceID) { (self.wall, self.newDevice) = (wall, newDevice) }
  }

  let model: SyncModel
  let sealing: any CommitSealing
  let hashing: any CommitHashing
  let limits: Limits
  private var wantsPull = true
  private var pull: PullRequest?
  private var push: Digest?
  /// Whether a pull from the present base is in progress.
  var isPulling: Bool { pull != nil }
  /// Whether nothing can be sent before a pull is complete, because a commit was in conflict.
  private var mustPull = false
  /// The comparison with the records of the hub that is in progress.
  private(set) var reconciliation: Reconciliation?
  /// Whether a pull must be complete before records are compared, because the zone has changed otherwise than by commits.
  private var pullsFirst = false
  /// Whether the sums differed after the last comparison, which had found differences.
  private var repeatsReconciliation = false
  /// What the last comparison has changed, until it is taken.
  private var reconciliationResult: ReconciliationResult?
  /// The point at which the last commit was in conflict.
  private var conflict: ChainPoint?

  /// Limits of messages.
  package struct Limits: Sendable {
    /// The maximum number of changes in a commit, or in a part of one.
    package var changesInCommit = 400
    /// The size of the records, in bytes, from which a commit contains no further record.
    package var bytesInCommit = 1 << 20
    package var recordsInPage = 1_000
    /// The number of records that an import reads, and of objects that it writes, at once.
    package var recordsInBatch = 2_000

    package init() {}
  }

  package init(_ model: SyncModel, _ sealing: any CommitSealing, _ hashing: any CommitHashing, limits: Limits = Limits()) {
    (self.model, self.sealing, self.hashing, self.limits) = (model, sealing, hashing, limits)
  }

  /// Processes an event.
  ///
  /// - Returns: The requests to send now.
  package mutating func handle(_ event: Event, in store: some SyncStore, _ environment: Environment) throws -> [Action] {
    switch event {
    case .remoteChange: wantsPull = true
    case .save: break
    case .pulled(let answer): try receive(answer, in: store, environment)
    case .pushed(let digest, let answer): try receive(answer, to: digest, in: store, environment)
    case .pullFailed: (pull, wantsPull) = (nil, true)
    case .pushFailed: push = nil
    case .verified(let request, let answer): try receive(answer, to: request, in: store)
    case .verificationFailed: reconciliation?.request = nil
    case .reconcile:
      try store.transaction {
        // They have the versions of the hub. Without them, they are fetched again: they may have been damaged on the way.
        try removeQuarantined(in: store)
        try requestReconciliation(in: store)
      }
      wantsPull = true
    case .keysChanged:
      let opened = try store.transaction { try reopenQuarantined(in: store) }
      // The hub may not have them anymore.
      reconciliation?.ids.merge(opened) { $1 }
    case .copied:
      try store.transaction { try changeIdentity(isForked: false, in: store, environment) }
      (push, wantsPull) = (nil, true)
    }
    return try nextActions(in: store, environment)
  }

  /// Whether everything is sent and pulled, as far as the device knows.
  package func isIdle(in store: some SyncStore) throws -> Bool {
    try store.transaction {
      let zone = try store.zone()
      return try !wantsPull && pull == nil && reconciliation == nil && zone.isJoined && store.outbox() == nil
        && store.unsentRecords(after: nil, maximumCount: 1).isEmpty
        && store.pendingSaves(after: zone.settledThrough, maximumChangeCount: 1).isEmpty
    }
  }

  private mutating func nextActions(in store: some SyncStore, _ environment: Environment) throws -> [Action] {
    var actions: [Action] = []
    try reviewSaves(in: store)
    if wantsPull, pull == nil, reconciliation.map({ !$0.isComparing }) ?? true {
      if let request = try store.transaction({ try nextPull(in: store) }) {
        (pull, wantsPull) = (request, false)
        actions.append(.pull(request))
      }
    }
    if reconciliation?.isComparing ?? false, let request = try nextVerification(in: store) { actions.append(.verify(request)) }
    if wantsPull, pull == nil, let reconciliation, !reconciliation.isComparing {
      return try actions + nextActions(in: store, environment)
    }
    if !mustPull, let frozen = try freeze(in: store, environment), frozen.commit.digest != push {
      push = frozen.commit.digest
      actions.append(.push(frozen.commit))
    }
    return actions
  }

  // MARK: Pulling

  /// Returns the next request, or nil if the records are to be compared first.
  private mutating func nextPull(in store: some SyncStore) throws -> PullRequest? {
    var zone = try store.zone()
    if zone.staging?.reconciledAt != nil, reconciliation == nil {
      // The process was interrupted between the comparison and the import.
      try removeStaging(in: store)
      zone.staging = nil
    }
    if zone.mustReconcile ?? false, !pullsFirst, reconciliation == nil, var begun = try reconciliation(in: store) {
      try removeStaging(in: store)
      begun.isRepeated = repeatsReconciliation
      (reconciliation, mustPull) = (begun, true)
      return nil
    }
    let base = zone.staging?.reconciledAt ?? zone.base
    var request = PullRequest(
      incarnation: zone.incarnation, base: base, known: [zone.accepted, zone.staging?.head].compactMap { $0 },
      position: zone.staging?.position, listed: zone.staging?.point ?? base, maximumCount: limits.recordsInPage, device: zone.device)
    if zone.staging?.reconciledAt != nil { request.imported = zone.base.sequence }
    if base.sequence == 0 {
      request.start = zone.staging?.start
      request.omitsDeleted = try zone.staging?.omitsDeleted ?? isNew(zone, in: store)
    }
    return request
  }

  /// Whether the device has nothing that may have been deleted in the zone.
  private func isNew(_ zone: ZoneState, in store: some SyncStore) throws -> Bool {
    try zone.staging == nil && !zone.isJoined && zone.formerDevices == nil && store.records(after: nil, maximumCount: 1).isEmpty
      && store.pendingSaves(after: zone.settledThrough, maximumChangeCount: 1).isEmpty
  }

  // MARK: Comparing

  /// Returns the next request of the comparison; nil if one is not answered yet, or if the records are staged.
  private mutating func nextVerification(in store: some SyncStore) throws -> VerificationRequest? {
    guard var running = reconciliation, running.request == nil else { return nil }
    reconciliation = nil  // So that it is not copied.
    let request = try store.transaction {
      let listed = running.listedOutbox
      let request = try running.nextRequest(in: store) { try unknownRecords(listed: listed, in: store) }
      if request == nil {
        try finishFetching(running, in: store)
        running.step = .staged
      }
      return request
    }
    reconciliation = running
    if request == nil { wantsPull = true }
    return request
  }

  private mutating func receive(_ answer: VerificationAnswer, to request: VerificationRequest, in store: some SyncStore) throws {
    guard var running = reconciliation, running.request == request else { return }
    if answer == .moved {
      // The hub was restored: a pull shows it.
      (reconciliation, wantsPull, pullsFirst) = (nil, true, true)
      return
    }
    reconciliation = nil
    try store.transaction { try store.stage(running.receive(answer)) }
    reconciliation = running
  }

  /// Returns what the last comparison has changed, once.
  package mutating func takeReconciliationResult() -> ReconciliationResult? {
    defer { reconciliationResult = nil }
    return reconciliationResult
  }

  private mutating func receive(_ answer: PullAnswer, in store: some SyncStore, _ environment: Environment) throws {
    switch answer {
    case .diverged(let incarnation):
      pull = nil
      try store.transaction { try salvage(incarnation, in: store) }
      (wantsPull, reconciliation) = (true, nil)
    case .truncated(let truncation):
      guard truncation.request == pull else { return }
      pull = nil
      reconciliation = try store.transaction { try reconciliation(after: truncation, in: store, environment) }
      mustPull = true
    case .page(let page):
      // A late or repeated page does not continue what was pulled.
      guard page.request == pull else { return }
      pull = nil
      switch try store.transaction({ try receive(page, in: store, environment) }) {
      case .complete(let result, let mustReconcile):
        (mustPull, pullsFirst, reconciliation) = (mustReconcile, false, nil)
        if mustReconcile { wantsPull = true }
        repeatsReconciliation = mustReconcile && result != nil
        if let result { reconciliationResult = reconciliationResult?.adding(result) ?? result }
      case .incomplete:
        wantsPull = true
        // The hub was restored meanwhile.
        if reconciliation != nil, try store.transaction({ try store.zone().staging?.reconciledAt }) == nil { reconciliation = nil }
      case .outdated: (wantsPull, mustPull, reconciliation) = (true, true, nil)
      }
    }
  }

  // MARK: Pushing

  private mutating func receive(
    _ answer: PushAnswer, to digest: Digest, in store: some SyncStore, _ environment: Environment
  ) throws {
    guard try store.transaction({ try store.outbox()?.commit.digest == digest }) else { return }
    if push == digest { push = nil }
    switch answer {
    case .accepted(let point, let hubTime):
      let isConsistent = try store.transaction { try settle(acceptedAs: point, hubTime, in: store, environment) }
      if !isConsistent { (wantsPull, mustPull) = (true, true) }
    case .staged(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try freezeNextPart(in: store)
      }
    case .incomplete(let hubTime), .missingChunks(_, let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try store.setOutbox(nil)  // Freeze the commit again, from its first part, or what can be sent of it.
      }
    case .conflict(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        let base = try store.zone().base
        if base == conflict, !isPulling, reconciliation == nil, let frozen = try store.outbox() {
          // A pull has not brought what it is in conflict with.
          reconciliation = try reconciliation(of: frozen.commit, in: store)
          if reconciliation != nil { try removeStaging(in: store) }
        }
        conflict = base
        try store.setOutbox(nil)  // Freeze again after the next pull.
      }
      (wantsPull, mustPull) = (true, true)
    case .truncated(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try store.setOutbox(nil)  // Its changes may concern what was deleted.
      }
      (wantsPull, mustPull) = (true, true)
    case .diverged(let incarnation):
      try store.transaction { try salvage(incarnation, in: store) }
      (wantsPull, pull, reconciliation) = (true, nil, nil)
    case .forked:
      try store.transaction { try changeIdentity(isForked: true, in: store, environment) }
      wantsPull = true
    case .ahead(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try restamp(in: store, environment)
        try store.setOutbox(nil)
      }
    }
  }
}
