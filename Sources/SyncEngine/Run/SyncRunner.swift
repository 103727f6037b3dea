import Foundation
import ObjectContext
import SyncCrypto
import Synchronization
package import SyncCore
package import SyncHub

/// Synchronizes one store with its zone: drives the state machine of the device with the answers of the hub.
///
/// The store is read and written on the runner's own queue. A pull never waits for a push, nor a push for a pull.
package actor SyncRunner {
  nonisolated private let executor = QueueExecutor(label: "CipherData.Synchronization")
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// What one round of synchronization has done.
  package struct Round: Hashable, Sendable {
    /// The number of records of other devices that were pulled so far.
    package var pulled = 0
    /// The number of objects that the pulled records have inserted, changed or deleted. Records that the store had already change none.
    package var changed = 0
    /// The number of records that the hub has accepted.
    package var pushed = 0
    /// The number of objects that were there before and have been added to the zone.
    package var added = 0
    /// What a comparison with all records of the hub has changed; nil without one.
    package var reconciled: ReconciliationResult?
    /// The number of large values that were downloaded.
    package var downloaded = 0
    /// The number of bytes of sealed chunks of large values that were sent and received.
    package var sentBytes = 0
    package var receivedBytes = 0
    /// The name under which the store continues as a new device, because its file was copied or replaced by an older one; nil otherwise.
    package var newDeviceName: String?

    package init() {}

    /// Whether nothing was sent, and neither the objects nor the device have changed.
    package var isEmpty: Bool { changed == 0 && pushed == 0 && added == 0 && downloaded == 0 && sentBytes == 0 && newDeviceName == nil }
  }

  let replica: StoreReplica
  let hub: any HubConnection
  let zone: ZoneID
  let sealing: ZoneSealing
  private let limits: SyncClient.Limits
  private var client: SyncClient
  /// The devices whose commits are accepted; nil until they are needed.
  private var verifier: CommitVerifier?
  private let wall: @Sendable () -> Int64
  /// Whether the hub was asked for the device's certificate.
  private var isRegistered = false
  /// The number of answers of the hub in the round that it does not have chunks of large values.
  var missingChunkAnswers = 0
  /// Whether the round must not send anything, because the model is too old.
  private var sendsNothing = false
  private var isRunning = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var events = RoundEvents()
  /// Which large values are downloaded.
  nonisolated let assetPolicy = Mutex(AssetPolicy.eager)
  /// What the application does with imports.
  nonisolated let importHandling: ImportHandling
  private nonisolated let receiver = Mutex<(@Sendable (SyncEvent) -> Void)?>(nil)

  /// Prepares to synchronize a replica of an account's zone.
  package init(
    _ replica: sending StoreReplica, with hub: any HubConnection, limits: SyncClient.Limits = .init(),
    wall: @escaping @Sendable () -> Int64 = { Date().millisecondsSince1970 }
  ) throws {
    // Records contain values that only other versions of the model have.
    try replica.adoptModel(batch: limits.recordsInBatch)
    (zone, sealing) = try replica.transaction { (try replica.knownState().zoneID, try replica.zoneSealing()) }
    (self.hub, self.limits, self.wall) = (hub, limits, wall)
    importHandling = replica.importHandling
    client = SyncClient(replica.schema.syncModel, sealing, ZoneHashing(zone: zone), limits: limits)
    self.replica = replica
  }

  // MARK: Rounds

  /// The number of objects that are added to the zone in one transaction.
  private static let baselineBatch = 1_000

  /// Pulls everything, and pushes what was saved before the round, with later saves as far as they fit into the same commits. Saves during
  /// the round do not prolong it.
  ///
  /// - Parameters:
  ///   - pulls: Whether to pull; false only sends what was saved, if nothing else is needed for it.
  ///   - progress: Called after each step with what the round has done so far.
  /// - Returns: What was done.
  /// - Throws: The first error of the hub or the store. What was done before remains; the next round continues.
  @discardableResult
  package func synchronize(pulls: Bool = true, _ progress: (@Sendable (Round) -> Void)? = nil) async throws -> Round {
    await beginRound()
    defer { endRound() }
    try Task.checkCancellation()
    var round = Round()
    missingChunkAnswers = 0
    do { return try await attempt(pulls, &round, progress) } catch let error as HubError
      where isRegistered && (error.code == .unknownZone || error.code == .unknownAccount)
    {
      // The hub was restored from a state without the account, or replaced by a new one. The next attempt creates the account again.
      isRegistered = false
      return try await attempt(pulls, &round, progress)
    }
  }

  private func attempt(_ pulls: Bool, _ round: inout Round, _ progress: (@Sendable (Round) -> Void)?) async throws -> Round {
    do {
      let last = try replica.reader.newest
      try await addBaseline(&round, progress)
      var actions: [SyncClient.Action] = []
      let isCopy = try replica.isCopy()
      if isCopy {
        actions = try handle(.copied)
        begin(.setup)
      }
      // A device is certified before it sends anything. If that failed after the store became a new device, it is certified now.
      let isNewDevice = try await certify()
      if isCopy || isNewDevice { try noteNewDevice(in: &round) }
      sendsNothing = false
      if let required = try replica.snapshot({ try replica.unmetRequirement() }) {
        // A pull shows whether it is still required.
        if !pulls { throw SyncError(.modelTooOld(required: required, known: replica.modelVersion), path: replica.path) }
        sendsNothing = true
        try await process(actions, through: last, &round, progress)
        try await process(handle(.remoteChange), through: last, &round, progress)
        if let required = try replica.snapshot({ try replica.unmetRequirement() }) {
          throw SyncError(.modelTooOld(required: required, known: replica.modelVersion), path: replica.path)
        }
        sendsNothing = false
        actions = []
      }
      try await process(actions, through: last, &round, progress)
      try await process(handle(pulls ? .remoteChange : .save), through: last, &round, progress)
      try await transferAssets(&round, progress) { round in
        try await self.process(self.handle(.save), through: last, &round, progress)
      }
      endEvents(round)
      return round
    } catch {
      if let required = (error as? SyncError)?.requiredModelVersion { try? replica.setUnmetRequirement(required) }
      endEvents(round, error, otherwise: pulls ? .import : .export)
      renewClient()
      throw error
    }
  }

  /// Continues with what is in the store, without the requests that were not answered.
  private func renewClient() { client = SyncClient(replica.schema.syncModel, sealing, ZoneHashing(zone: zone), limits: limits) }

  /// Makes the account and the device known to the hub, without a round.
  func register() async throws {
    await beginRound()
    defer { endRound() }
    try await certify()
  }

  /// Returns whether the store continues as a new device.
  @discardableResult
  private func certify() async throws -> Bool {
    let isNewDevice = try await DeviceRegistration(replica: replica, hub: hub).register(asksHub: !isRegistered)
    isRegistered = true
    return isNewDevice
  }

  // Rounds do not overlap.

  func beginRound() async {
    guard isRunning else {
      isRunning = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func endRound() {
    if waiting.isEmpty { isRunning = false } else { waiting.removeFirst().resume() }
  }

  package func zoneID() -> ZoneID { zone }

  /// Ends the synchronization of the store, after the round that is running.
  func leave() async throws {
    await beginRound()
    defer { endRound() }
    try replica.end()
  }

  /// Whether everything is sent and pulled, as far as the device knows.
  package func isIdle() throws -> Bool { try client.isIdle(in: replica) }

  /// Runs a closure with the replica, between two steps.
  package func withReplica<Result>(_ body: (StoreReplica) throws -> sending Result) rethrows -> sending Result { try body(replica) }

  private func addBaseline(_ round: inout Round, _ progress: (@Sendable (Round) -> Void)?) async throws {
    let start = Date()
    while let count = try replica.addBaseline(maximumCount: Self.baselineBatch) {
      // Only then it is known that there is something to add.
      if count > 0 { begin(.setup, start: start) }
      round.added += count
      report(round, progress)
      try Task.checkCancellation()
      // Let saves of the application run.
      await Task.yield()
    }
    events.end(.setup, round)
  }

  func handle(_ event: SyncClient.Event) throws -> [SyncClient.Action] {
    let environment = SyncClient.Environment(wall: wall(), newDevice: .random())
    return try client.handle(event, in: replica, environment)
  }

  private typealias Answer = (action: SyncClient.Action, event: Result<SyncClient.Event, any Error>)

  /// Sends requests, and those that follow from their answers.
  ///
  /// - Parameter last: The last transaction of the store's history when the round began. What was saved later remains for the next round.
  private func process(
    _ first: [SyncClient.Action], through last: Int64, _ round: inout Round, _ progress: (@Sendable (Round) -> Void)?
  ) async throws {
    let (hub, zone) = (hub, zone)
    // The device's own commits that were pulled.
    var own: Set<Int64> = []
    // If a request fails, the others continue: a pull needs no space on the hub's disk, for example.
    var failure: (any Error)?
    var isPostponed = false
    try await withThrowingTaskGroup(of: Answer.self) { group in
      func start(_ actions: [SyncClient.Action]) {
        for action in actions {
          if case .push = action { begin(.export) }
          if case .verify = action { begin(.reconcile) }
          group.addTask { (action, await Self.answer(action, hub, zone)) }
        }
      }
      start(first.filter { !sendsNothing || !$0.isPush })
      while let (action, answer) = try await group.next() {
        try Task.checkCancellation()
        do {
          let event = try answer.get()
          if try await uploadMissingChunks(event, of: action, &round) {
            start([action])
            continue
          }
          var actions = try await process(event, of: action, &round, &own)
          if sendsNothing { actions.removeAll(where: \.isPush) }
          if try actions.contains(where: \.isPush) && replica.isSettled(through: last) {
            actions.removeAll(where: \.isPush)
            isPostponed = true
          }
          start(actions)
        } catch {
          failure = failure ?? error
        }
        report(round, progress)
      }
    }
    if let failure { throw failure }
    // The commit is in the store.
    if isPostponed || sendsNothing { renewClient() }
  }

  /// Processes the answer to a request.
  ///
  /// - Returns: The requests to send now.
  private func process(
    _ event: SyncClient.Event, of action: SyncClient.Action, _ round: inout Round, _ own: inout Set<Int64>
  ) async throws -> [SyncClient.Action] {
    try await verify(event)
    var former: DeviceID?
    if case .pulled(.truncated) = event { former = try identity() }
    if case .pulled(.page(let page)) = event, !page.commits.isEmpty {
      former = try identity()
      own.formUnion(page.commits.lazy.filter { $0.device == former }.map(\.sequence))
    }
    round.add(event, of: action, own)
    if round.pulled > 0 { begin(.import) }
    let changedBefore = replica.changedCount
    let actions = try handle(event)
    if case .pulled = event { round.changed += replica.changedCount - changedBefore }
    if let result = client.takeReconciliationResult() { endReconciliation(result, &round) }
    if round.changed > 0 { begin(.import) }
    // A pull can show that the store was replaced by an older copy. Then the device has a new identity.
    let isNewDevice = try event.isFork || former != nil && former != identity()
    if isNewDevice || event.requiresRegistration {
      if isNewDevice { begin(.setup) }
      try await DeviceRegistration(replica: replica, hub: hub).register(asksHub: true)
      if isNewDevice { try noteNewDevice(in: &round) }
      verifier = nil
    }
    return actions
  }

  /// Compares all records with those of the hub, and fetches those that differ.
  package func reconcile(_ progress: (@Sendable (Round) -> Void)? = nil) async throws -> Round {
    await beginRound()
    defer { endRound() }
    var round = Round()
    do {
      try await process(handle(.reconcile), through: try replica.reader.newest, &round, progress)
      endEvents(round)
      return round
    } catch {
      endEvents(round, error, otherwise: .reconcile)
      renewClient()
      throw error
    }
  }

  /// Reports what a comparison has changed.
  private func endReconciliation(_ result: ReconciliationResult, _ round: inout Round) {
    round.reconciled = result
    begin(.reconcile)
    let error: SyncError? = result.isSumWrong ? SyncError(.wrongSum, path: replica.path) : nil
    events.end(.reconcile, round, error: error)
  }

  /// Reports that the store continues as a new device.
  private func noteNewDevice(in round: inout Round) throws {
    round.newDeviceName = try replica.snapshot { try replica.accountState().deviceName }
    begin(.setup)
  }

  private func identity() throws -> DeviceID? { try replica.snapshot { try replica.replicaState()?.zone.device } }

  /// Throws unless devices of the account have signed the commits of a page.
  private func verify(_ event: SyncClient.Event) async throws {
    guard case .pulled(.page(let page)) = event, !page.commits.isEmpty else { return }
    let registration = DeviceRegistration(replica: replica, hub: hub)
    var verifier = verifier
    var isCurrent = false
    for entry in page.commits {
      if verifier == nil {
        verifier = CommitVerifier(zone: zone, devices: try await devices(registration))
        isCurrent = true
      }
      do { try verifier?.verify(entry) } catch SyncCryptoError.unknownDevice where !isCurrent {
        // A device that was added since.
        let renewed = CommitVerifier(zone: zone, devices: try await devices(registration))
        try renewed.verify(entry)
        (verifier, isCurrent) = (renewed, true)
      }
    }
    self.verifier = verifier
  }

  /// Returns the devices of the account, and stores their names.
  private func devices(_ registration: DeviceRegistration) async throws -> DeviceChain {
    let chain = try await registration.chain()
    let keys = try replica.transaction { try replica.accountState().accountKeys }
    try replica.setDeviceNames(chain.names(keys))
    return chain
  }

  private static func answer(
    _ action: SyncClient.Action, _ hub: any HubConnection, _ zone: ZoneID
  ) async -> Result<SyncClient.Event, any Error> {
    do {
      switch action {
      case .pull(let request): return .success(.pulled(try await hub.pull(request, zone: zone)))
      case .push(let commit): return .success(.pushed(commit.digest, try await hub.push(commit, zone: zone)))
      case .verify(let request): return .success(.verified(request, try await hub.verify(request, zone: zone)))
      }
    } catch { return .failure(error) }
  }
}

// MARK: - Events

extension SyncRunner {
  /// Sets the function that receives the events of all rounds.
  package nonisolated func setEventReceiver(_ receiver: @escaping @Sendable (SyncEvent) -> Void) {
    self.receiver.withLock { $0 = receiver }
  }

  /// Adds an event of work that was done apart from rounds.
  func record(_ event: SyncEvent) throws {
    events.add(event)
    try reportEnded { try replica.add($0) }
  }

  /// Stores the events that have ended, and reports them.
  func reportEnded(_ store: ([SyncEvent]) throws -> Void) rethrows {
    let ended = events.takeEnded()
    defer { for event in ended { send(event) } }
    try store(ended)
  }

  func begin(_ kind: SyncEvent.Kind, start: Date? = nil) { if let event = events.begin(kind, start: start) { send(event) } }

  func report(_ round: Round, _ progress: (@Sendable (Round) -> Void)?) {
    for event in events.update(round) { send(event) }
    progress?(round)
  }

  private func endEvents(_ round: Round, _ error: (any Error)? = nil, otherwise kind: SyncEvent.Kind = .import) {
    // Without this list, the event is reported nevertheless.
    let unreadable = (try? findUnreadableRecords()) ?? []
    let error = error.map { SyncError.converting($0, path: replica.path) }
    let unmerged = Array(replica.takeUnmergedValues().prefix(SyncEvent.maximumUnreadableCount))
    for event in events.end(round, unreadable: unreadable, unmerged: unmerged, error: error, otherwise: kind) { send(event) }
  }

  private func send(_ event: SyncEvent) { receiver.withLock { $0 }?(event) }

  /// Returns the records that could not be opened, those that are known first.
  private func findUnreadableRecords() throws -> [SyncEvent.UnreadableRecord] {
    let names = replica.takeUnreadableRecords()
    if names.isEmpty { return [] }
    let found = try replica.transaction { try UnreadableNames(names, sealing).records(in: replica) }
    let events = found.map { SyncEvent.UnreadableRecord(id: $0.uuid) } + (found.count..<names.count).map { _ in .init(id: nil) }
    return Array(events.prefix(SyncEvent.maximumUnreadableCount))
  }
}

extension SyncError.Reason {
  fileprivate static var wrongSum: Self {
    Self(
      .hubUnreadable,
      "The records of the hub do not have the sum that it states: its file was changed by other means than this library. The records were "
        + "compared one by one, and are equal now.")
  }
}

extension SyncClient.Action {
  fileprivate var isPush: Bool { if case .push = self { true } else { false } }
}

extension SyncClient.Event {
  /// Whether the hub was restored from an older state, which can lack the device.
  fileprivate var requiresRegistration: Bool {
    switch self {
    case .pulled(.diverged), .pushed(_, .diverged), .pulled(.truncated): true
    default: false
    }
  }

  /// Whether the hub has commits of another state of the store.
  fileprivate var isFork: Bool { if case .pushed(_, .forked) = self { true } else { false } }
}

extension SyncRunner.Round {
  fileprivate mutating func add(_ event: SyncClient.Event, of action: SyncClient.Action, _ own: Set<Int64>) {
    switch (event, action) {
    case (.pulled(.page(let page)), _): pulled += page.records.count { !own.contains($0.sequence) }
    case (.pushed(_, .accepted), .push(let commit)), (.pushed(_, .staged), .push(let commit)): pushed += commit.records.count
    default: break
    }
  }
}
