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
    /// The device has received keys.
    case keysChanged
    /// The store's file is a copy of the one that the device's identity belongs to.
    case copied
  }

  /// What the device is to do.
  package enum Action: Hashable {
    case pull(PullRequest)
    case push(SealedCommit)
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
    case .keysChanged: try store.transaction { try reopenQuarantined(in: store) }
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
      return try !wantsPull && pull == nil && zone.isJoined && store.outbox() == nil
        && store.unsentRecords(after: nil, maximumCount: 1).isEmpty
        && store.pendingSaves(after: zone.settledThrough, maximumChangeCount: 1).isEmpty
    }
  }

  private mutating func nextActions(in store: some SyncStore, _ environment: Environment) throws -> [Action] {
    var actions: [Action] = []
    try reviewSaves(in: store)
    if wantsPull, pull == nil {
      let request = try store.transaction { pullRequest(try store.zone()) }
      (pull, wantsPull) = (request, false)
      actions.append(.pull(request))
    }
    if !mustPull, let frozen = try freeze(in: store, environment), frozen.commit.digest != push {
      push = frozen.commit.digest
      actions.append(.push(frozen.commit))
    }
    return actions
  }

  // MARK: Pulling

  private func pullRequest(_ zone: ZoneState) -> PullRequest {
    PullRequest(
      incarnation: zone.incarnation, base: zone.base, known: [zone.accepted, zone.staging?.head].compactMap { $0 },
      position: zone.staging?.position,
      listed: zone.staging?.point ?? zone.base, maximumCount: limits.recordsInPage)
  }

  private mutating func receive(_ answer: PullAnswer, in store: some SyncStore, _ environment: Environment) throws {
    switch answer {
    case .diverged(let incarnation):
      pull = nil
      try store.transaction { try salvage(incarnation, in: store) }
      wantsPull = true
    case .page(let page):
      // A late or repeated page does not continue what was pulled.
      guard page.request == pull else { return }
      pull = nil
      switch try store.transaction({ try receive(page, in: store, environment) }) {
      case .complete: mustPull = false
      case .incomplete: wantsPull = true
      case .outdated: (wantsPull, mustPull) = (true, true)
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
    case .incomplete(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try store.setOutbox(nil)  // Freeze the commit again, from its first part.
      }
    case .conflict(let hubTime):
      try store.transaction {
        try correctClock(hubTime, in: store, environment)
        try store.setOutbox(nil)  // Freeze again after the next pull.
      }
      (wantsPull, mustPull) = (true, true)
    case .diverged(let incarnation):
      try store.transaction { try salvage(incarnation, in: store) }
      (wantsPull, pull) = (true, nil)
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
