import SyncCore

/// A device in a simulation.
final class SimulatedDevice {
  let number: Int
  let store: SimulatedStore
  var client: SyncClient
  /// The difference of the wall clock from the time, in milliseconds.
  var clockError: Int64
  /// An older copy of the store.
  var copy: SimulatedStore.State?
  /// The identity under which the device has lost saves without noticing it.
  var forkedIdentity: DeviceID?
  /// The version of the model that the device has.
  var model: SyncModel
  /// Whether the device sends nothing.
  var isAway = false
  var transfers = AssetTransfers()
  /// Whether the device downloads all large values.
  let loadsAssets: Bool

  init(_ number: Int, _ store: SimulatedStore, _ client: SyncClient, _ model: SyncModel, clockError: Int64) {
    (self.number, self.store, self.client, self.model, self.clockError) = (number, store, client, model, clockError)
    loadsAssets = store.state.zone.device.value % 2 == 0
  }

  /// Whether the device has not noticed yet that its store was replaced.
  var isForked: Bool { forkedIdentity == store.state.zone.device }
}

/// A violation of an invariant.
package struct SimulationFailure: Error, CustomStringConvertible {
  package let invariant: String
  package let detail: String
  /// The number of the event, or nil if it occurred after all events.
  package var event: Int?
  package var description: String { "\(invariant)\(event.map { " after event \($0)" } ?? " at the end"): \(detail)" }
}

/// Devices and a hub that exchange messages over a network that loses, delays, repeats and reorders them.
package final class Simulation {
  enum Message {
    case pullRequest(device: Int, PullRequest)
    case pushRequest(device: Int, SealedCommit)
    case pullAnswer(device: Int, PullAnswer)
    case pushAnswer(device: Int, Digest, PushAnswer)
    case verificationRequest(device: Int, VerificationRequest)
    case verificationAnswer(device: Int, VerificationRequest, VerificationAnswer)
    case pullFailure(device: Int)
    case pushFailure(device: Int)
    case verificationFailure(device: Int)
    case asset(device: Int, AssetMessage)
  }

  let setup: Setup
  let model: SimulatedModel
  let hashing = SimulatedHashing()
  let hub: Hub
  let storage: SimulatedHub
  /// The keys of each device.
  let keys: [SimulatedKeys]
  var devices: [SimulatedDevice] = []
  /// The messages that were sent. Slow ones arrive when others have long been answered.
  var network: [(message: Message, isSlow: Bool)] = []
  var hubCopies: [SimulatedHub.State] = []
  /// The state of the hub before the last commit.
  private var stateBeforeLastCommit: SimulatedHub.State?
  /// The time, in milliseconds since 1970.
  var time: Int64 = 1_800_000_000_000
  var checks = SimulationChecks()
  private var lastSerial: Int64 = 0
  private var lastIdentity: UInt64 = 0
  private var lastRange: UInt64 = 0
  /// The probability of faults of the network: 0 in the final phase.
  private var loss: Double
  /// Whether the final phase has begun, without faults.
  private(set) var isQuiet = false
  /// Whether large values are not uploaded yet in the final phase.
  var delaysUploads = false
  /// The numbers of keys of large values, and of requests about chunks.
  var (assetKeyCount, assetRequestCount) = (0, 0)

  package init(_ setup: Setup) {
    self.setup = setup
    loss = setup.loss
    var random = SimulationRandom(setup.seed)
    model = SimulatedModel(
      &random, hasManyClaims: setup.hasManyClaims, hasLinks: setup.hasLinks, hasRules: setup.hasRules,
      hasDeletionMarks: setup.hasDeletionMarks, hasLists: setup.hasLists, hasUniqueValues: setup.hasUniqueValues,
      hasFunctions: setup.hasFunctions, hasMutual: setup.hasMutual, hasAssets: setup.hasAssets)
    var hubLimits = Hub.Limits()
    (hubLimits.partLifetime, hubLimits.commitsUntilCleanup) = (20_000, 3)
    (hubLimits.chunkLifetime, hubLimits.removedChunksInCommit) = (30_000, 4)
    if setup.truncates {
      (hubLimits.tombstoneLifetime, hubLimits.absenceLimit, hubLimits.acknowledgmentInterval) = (2_000, 4_000, 500)
      (hubLimits.tombstonesInCleanup, hubLimits.commitsUntilCleanup) = (5, 1)
    }
    hub = Hub(hashing, limits: hubLimits)
    keys = (0..<setup.deviceCount).map { _ in SimulatedKeys() }
    storage = SimulatedHub(incarnation: random.next())
    for number in 0..<setup.deviceCount {
      let store = SimulatedStore(device: newIdentity(), range: newRange())
      let errors = [0, 0, -Self.largestClockError, Self.largestClockError, Int64(random.number(below: 100)) - 50]
      let error = errors[random.number(below: 5)]
      let hasEarlierModel = setup.hasEarlierModels && random.chance(0.5)
      let version = hasEarlierModel ? model.earlierVersion(&random) : model.syncModel
      let client = SyncClient(version, keys[number], hashing, limits: limits(of: number))
      let device = SimulatedDevice(number, store, client, version, clockError: setup.hasCoarseClocks ? 0 : error)
      (store.model, store.newestModel, store.hasAssets) = (version, model.syncModel, setup.hasAssets)
      devices.append(device)
      // Objects from before synchronization.
      if random.chance(0.3) {
        var editor = ObjectEditor(objects: [:], model: model, version: version, setup, on: store.state.zone.device)
        editor.validatesCounts = true
        for _ in 0..<(3 + random.number(below: 5)) { editor.insert(store.newID(), serial: newSerial(), &random) }
        if setup.hasLinks { for _ in 0..<4 { editor.changeLink(&random) } }
        store.setExistingObjects(editor.objects)
        for (id, object) in editor.objects.sorted(by: { $0.key < $1.key }) { checks.addBaseline(id, object, version) }
        // Often another device adds the same links before.
        for (id, object) in editor.objects.sorted(by: { $0.key < $1.key }) where random.chance(object.isLink ? 0.3 : 0.8) {
          addBaseline(id, on: device)
        }
      }
    }
    prepareChecks()
  }

  private func renewClient(_ device: SimulatedDevice) {
    device.client = SyncClient(device.model, keys[device.number], hashing, limits: limits(of: device.number))
    device.transfers = AssetTransfers()
  }

  func limits(of number: Int) -> SyncClient.Limits {
    var limits = SyncClient.Limits()
    var random = SimulationRandom(setup.seed &+ UInt64(number))
    limits.changesInCommit = 1 + random.number(below: 8)
    limits.bytesInCommit = [200, 1 << 20, 1 << 20][random.number(below: 3)]
    limits.recordsInPage = 1 + random.number(below: setup.hasManyMerges ? 30 : 6)
    limits.recordsInBatch = 1 + random.number(below: 4)
    return limits
  }

  func newSerial() -> Int64 {
    lastSerial += 1
    return lastSerial
  }

  /// Returns an identity of a device. Later ones are not greater.
  func newIdentity() -> DeviceID {
    lastIdentity += 1
    return DeviceID((lastIdentity &* 0x9E377 &+ setup.seed) & 0xFFFFF)
  }

  private func newRange() -> UInt64 {
    lastRange += 1
    return lastRange
  }

  func wall(of device: SimulatedDevice) -> Int64 { time + device.clockError }

  /// Returns the time of the hub's clock when a device sends a request.
  func hubTime(for device: Int) -> Int64 { setup.hasClockOfDevices ? wall(of: devices[device]) : time }

  /// The latest time that a record can have.
  var latestTime: Int64 { time + (setup.hasClockOfDevices ? Self.largestClockError : 0) + DeviceClock.tolerance }
  private static let largestClockError: Int64 = 3_600_000

  func addBaseline(_ id: RecordID, on device: SimulatedDevice) {
    guard let object = device.store.state.objects[id] else { return }
    _ = try? device.store.transaction {
      // What a save has inserted is not from before synchronization.
      let settled = try device.store.zone().settledThrough
      if try device.store.entry(of: id) == nil, try device.store.pendingChanges(of: id, after: settled) == nil {
        try device.store.addBaseline(object, of: id)
      }
    }
  }

  // MARK: Running

  /// Runs events, then lets everything become quiet, and checks all invariants after each step.
  package func run(_ events: [SimulationEvent]) throws {
    for (number, event) in events.enumerated() {
      do { try run(event) } catch var failure as SimulationFailure {
        failure.event = number
        throw failure
      }
    }
    try becomeQuiet()
    try checks.checkEnd(self)
    for device in devices { try verify(device) }
  }

  /// Compares the versions of all records with those of the hub.
  private func verify(_ device: SimulatedDevice) throws {
    var verification = Verification(hashing, hashing, maximumCount: 50)
    var action = try verification.begin(in: device.store)
    while case .send(let request) = action {
      action = try verification.receive(try hub.verify(request, in: storage), in: device.store)
    }
    if action != .finish(Verification.Result()) {
      throw SimulationFailure(invariant: "versions equal those of the hub", detail: "device \(device.number): \(action)")
    }
  }

  private func run(_ event: SimulationEvent) throws {
    var random = SimulationRandom(event.seed)
    checks.addedMembers = [:]
    // Some saves of different devices have the same time.
    time += setup.hasCoarseClocks ? (random.chance(0.1) ? 500 : 0) : 500 * Int64(random.number(below: 4))
    passAssetTime(&random)
    let device = devices[event.device % devices.count]
    switch event.kind {
    case .save:
      try survivingKill(device) { try save(on: device, &random) }
      try handle(.save, on: device, &random)
    case .deliver:
      // Devices that often receive what others have changed change it too.
      for _ in 0..<(setup.hasManyMerges ? 3 : 1) where !network.isEmpty {
        let index = random.number(below: network.count)
        if network[index].isSlow, random.chance(0.9) { break }
        try deliver(network.remove(at: index).message, &random)
      }
    case .remoteChange: try handle(.remoteChange, on: device, &random)
    case .kill:
      switch random.number(below: 10) {
      case 0...1: if !device.isForked { try handleCopy(device, &random) }
      case 2: try adoptModel(device, &random)
      case 3: try restart(device, &random)
      default: device.store.callsUntilKill = random.number(below: 60)
      }
    case .setClock where setup.hasCoarseClocks:
      // A new identity decides otherwise between saves of the same time.
      if !device.isForked { try handleCopy(device, &random) }
    // It would stamp saves twice if its clock were set back.
    case .setClock where device.isForked: break
    case .setClock: device.clockError = Int64(random.number(below: 2 * Int(Self.largestClockError))) - Self.largestClockError
    case .restoreHub:
      // Often the last one: it has what some devices have, so that they do not notice the restoration. Often only one commit is lost.
      let recent = random.chance(0.5) ? hubCopies.last : random.element(of: hubCopies)
      guard let copy = random.chance(0.25) ? stateBeforeLastCommit : recent else { break }
      let incarnation = storage.state.incarnation
      // Answers from before the restoration arrive late.
      for index in network.indices { if case .pushAnswer = network[index].message { network[index].isSlow = true } }
      storage.state = copy
      checks.noteRestoration()
      storage.state.incarnation = random.chance(0.5) ? Incarnation(random.next()) : incarnation
      // A later state may be restored afterwards.
      if random.chance(0.5) { hubCopies = [copy] }
      // Often several devices send at the same time what was lost.
      if random.chance(0.5) { for device in devices { try handle(.remoteChange, on: device, &random) } }
    case .restoreDevice: try restore(device, &random)
    case .setKeys:
      let missing = random.chance(0.7) ? random.next() % 2 : nil
      keys[device.number].isMissing = { $0.version.words.1 % 2 == missing }
      try handle(.keysChanged, on: device, &random)
    case .leave:
      device.isAway.toggle()
      if !device.isAway { try resume(device, &random) }
    }
    try checks.check(device, in: self)
  }

  private func becomeQuiet() throws {
    (loss, isQuiet) = (0, true)
    var random = SimulationRandom(setup.seed ^ 0xABCD)
    for device in devices {
      device.store.callsUntilKill = nil
      for id in device.store.state.objects.keys.sorted() { addBaseline(id, on: device) }
      keys[device.number].isMissing = { _ in false }
      device.isAway = false
      try adoptModel(device, &random)
      try handle(.keysChanged, on: device, &random)
    }
    for round in 0..<60 {
      if setup.hasAssets, round <= Self.delayedRounds { try endDelay(after: round) }
      for device in devices {
        try handle(round == 0 ? .pullFailed : .remoteChange, on: device, &random)
        if round == 0 {
          try handle(.pushFailed, on: device, &random)
          try handle(.verificationFailed, on: device, &random)
        }
        var count = 0
        while !network.isEmpty {
          time += 20
          try deliver(network.removeFirst().message, &random)
          count += 1
          if count > 10_000 { throw SimulationFailure(invariant: "quiet", detail: "messages do not end") }
        }
        try checks.check(device, in: self)
      }
      if try devices.allSatisfy({ try isUpToDate($0) }) { return }
    }
    let states = devices.map { device in
      let state = device.store.state
      return "device \(device.number): base \(state.zone.base.sequence) of \(storage.head().sequence), joined \(state.zone.isJoined), "
        + "outbox \(state.outbox?.commit.records.count ?? 0), saves \(state.saves.count { $0.number > state.zone.settledThrough }), "
        + "unsent \(state.entries.filter(\.value.isUnsent).map { "\($0.key.low) \($0.value)" }), client \(device.client)"
    }
    throw SimulationFailure(invariant: "quiet", detail: "devices do not become idle: \(states.joined(separator: "; "))")
  }

  /// Whether a device has sent and pulled everything. It notices only with a pull that the hub was restored.
  private func isUpToDate(_ device: SimulatedDevice) throws -> Bool {
    let zone = device.store.state.zone
    if setup.hasAssets, !device.transfers.isIdle || device.loadsAssets && !device.store.missingAssets.isEmpty { return false }
    return try device.client.isIdle(in: device.store) && zone.base == storage.head() && zone.incarnation == storage.incarnation()
  }

  // MARK: Devices

  func handle(_ event: SyncClient.Event, on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    var actions: [SyncClient.Action] = []
    try survivingKill(device) {
      actions = try device.client.handle(
        event, in: device.store, SyncClient.Environment(wall: wall(of: device), newDevice: newIdentity()))
    }
    checks.noteOutbox(of: device)
    checks.noteReconciliation(of: device)
    if device.isAway { return }
    if device.copy == nil, device.store.state.outbox?.next != nil, random.chance(0.2) { device.copy = device.store.state }
    for action in actions {
      switch action {
      case .pull(let request): send(.pullRequest(device: device.number, request), failure: .pullFailure(device: device.number), &random)
      case .push(let commit): send(.pushRequest(device: device.number, commit), failure: .pushFailure(device: device.number), &random)
      case .verify(let request):
        send(
          .verificationRequest(device: device.number, request), failure: .verificationFailure(device: device.number), &random)
      }
    }
    try beginTransfer(on: device, &random)
  }

  func survivingKill(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
    do { try body() } catch is SimulatedStore.Kill {
      device.store.callsUntilKill = nil
      renewClient(device)
    }
    checks.noteRenewals(of: device)
    try checks.noteRestamps(of: device)
  }

  private func restart(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    renewClient(device)
    try handle(.remoteChange, on: device, &random)
  }

  /// Replaces a device's store by an older copy, or makes the copy.
  private func restore(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard let copy = device.copy else {
      device.copy = device.store.state
      return
    }
    let lastTime = device.store.state.zone.clock.last
    device.copy = nil
    // A device that does not notice stamps its saves by its wall clock, which is later than anything that it has stamped, unless the clock
    // was set back. It does not notice the commits of an identity that it has taken since.
    let isStampedTwice = lastTime.milliseconds >= copy.zone.clock.hubTime(at: wall(of: device))
    // A copy that contains what was saved after a restoration that the device had not noticed does not notice this one either.
    let isOfFork = copy.zone.device == device.forkedIdentity
    // The zone must have a commit that shows it: the device may have taken another identity since, of which the copy does not know.
    let isShown = storage.state.devices[copy.zone.device].map { $0.deviceSequence > copy.zone.deviceSequence } ?? false
    if isOfFork, isStampedTwice || copy.zone.device != device.store.state.zone.device && !isShown { return }
    let isOfFormerIdentity = copy.zone.device != device.store.state.zone.device
    // An object that gets the ID of a lost one cannot be told from it when the deletion of that was removed.
    let isTruncated = !storage.removed.isEmpty
    if isTruncated, isOfFork || copy.zone.base.sequence == 0 { return }
    let isNoticed = !isOfFork && (isTruncated || random.chance(setup.hasLinks ? 0.2 : 0.4) || isStampedTwice || isOfFormerIdentity)
    checks.noteLostSaves(of: device, restoredTo: copy) { storage.version(of: hashing.name(of: $0)) != nil }
    device.store.state = copy
    renewClient(device)
    if setup.hasEarlierModels { try makeObjects(device) }  // The copy can be from before a later version of the model.
    if !isNoticed {
      device.forkedIdentity = copy.zone.device
      // The former process has ended: its requests have arrived or are lost, and their answers do not reach the new one.
      network.removeAll { $0.message.device == device.number }
    }
    if !isNoticed {
      // Often something is saved before anything is pulled.
      for _ in 0..<(setup.hasLinks ? 3 : 1) where random.chance(setup.hasLinks ? 0.8 : 0.5) {
        try survivingKill(device) { try save(on: device, &random) }
      }
      if random.chance(0.4) { device.copy = device.store.state }
      return try handle(.remoteChange, on: device, &random)
    }
    try handleCopy(device, &random)
    // If the process was killed, the next one notices it again.
    if device.store.state.zone.device == copy.zone.device { try handle(.copied, on: device, &random) }
  }

  /// Lets a device notice that its store was copied. New objects get IDs of another range.
  private func handleCopy(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    (device.store.state.range, device.store.state.lastKey) = (newRange(), 0)
    try handle(.copied, on: device, &random)
  }

  /// Gives a device the newest version of the model. Its process starts again, and makes the objects from the records.
  private func adoptModel(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    device.model = model.syncModel
    device.store.model = device.model
    try makeObjects(device)
    try restart(device, &random)
  }

  private func makeObjects(_ device: SimulatedDevice) throws {
    device.store.callsUntilKill = nil
    checks.checkAgain(device)
    try device.store.transaction {
      try VisibleState(device.model, in: device.store, batch: limits(of: device.number).recordsInBatch).updateAll()
    }
  }

  // MARK: Network

  func send(_ message: Message, failure: Message?, _ random: inout SimulationRandom) {
    var loss = loss
    if case .pushRequest = message, setup.losesCommits, !isQuiet { loss = 0.8 }
    if random.chance(loss) {
      if let failure { network.append((failure, false)) }
      return
    }
    network.append((message, random.chance(loss / 2)))
    if random.chance(loss) { network.append((message, random.chance(0.2))) }
    // The sender stops waiting although the message arrives later.
    if random.chance(loss / 2), let failure { network.append((failure, false)) }
  }

  private func deliver(_ message: Message, _ random: inout SimulationRandom) throws {
    switch message {
    case .pullRequest(let device, let request):
      let time = hubTime(for: device)
      if try hub.mustAcknowledge(request, in: storage, at: time) { try hub.acknowledge(request, in: storage, at: time) }
      let answer = try hub.pull(request, from: storage, at: time)
      if request.omitsDeleted {
        let deleted = storage.state.records.values.filter { $0.isDeleted && $0.sequence <= request.start ?? .max }
        checks.noteOmitted(deleted.compactMap { try? hashing.open($0).id }, by: device)
      }
      send(.pullAnswer(device: device, answer), failure: .pullFailure(device: device), &random)
    case .pushRequest(let device, let commit):
      let former = storage.state
      storage.canTruncate = devices.allSatisfy { isInChain($0) && !$0.isForked }
      let answer = try hub.push(commit, to: storage, at: hubTime(for: device))
      if let parts = storage.state.parts[commit.device], Set(parts.map(\.deviceSequence)).count != 1 {
        throw SimulationFailure(invariant: "parts of one commit", detail: "device \(device)")
      }
      if setup.hasAssets { try storage.checkChunks(since: former, hub.limits, at: hubTime(for: device)) }
      if case .accepted = answer {
        checks.noteAccepted(commit)
        let returned = storage.noteReturned(by: commit.device, since: former).compactMap { try? hashing.open($0) }
        try checks.checkReturned(returned.filter { !$0.record.isLink }.map(\.id), setup)
        if storage.state.commits.count > former.commits.count { stateBeforeLastCommit = former }
        if random.chance(0.2) { hubCopies.append(storage.state) }
      } else if case .staged = answer, random.chance(0.4) {
        hubCopies.append(storage.state)
      }
      send(.pushAnswer(device: device, commit.digest, answer), failure: .pushFailure(device: device), &random)
    case .verificationRequest(let device, let request):
      let answer = try hub.verify(request, in: storage)
      send(
        .verificationAnswer(device: device, request, answer), failure: .verificationFailure(device: device), &random)
    case .verificationAnswer(let device, let request, let answer):
      try handle(.verified(request, answer), on: devices[device], &random)
    case .verificationFailure(let device): try handle(.verificationFailed, on: devices[device], &random)
    case .pullAnswer(let device, let answer): try handle(.pulled(answer), on: devices[device], &random)
    case .pushAnswer(let device, let digest, let answer)
    where try setup.hasAssets && repeatCommit(after: answer, digest, on: devices[device], &random):
      break
    case .pushAnswer(let device, let digest, let answer): try handle(.pushed(digest, answer), on: devices[device], &random)
    case .pullFailure(let device): try handle(.pullFailed, on: devices[device], &random)
    case .pushFailure(let device): try handle(.pushFailed, on: devices[device], &random)
    case .asset(let device, let message): try deliver(message, devices[device], &random)
    }
    if let device = message.receiver { try checks.check(devices[device], in: self) }
  }
}

extension Simulation.Message {
  /// The device that has sent the message or will receive it.
  fileprivate var device: Int {
    switch self {
    case .pullRequest(let device, _), .pushRequest(let device, _), .pullFailure(let device), .pushFailure(let device): device
    case .pullAnswer(let device, _), .pushAnswer(let device, _, _): device
    case .verificationRequest(let device, _), .verificationAnswer(let device, _, _), .verificationFailure(let device): device
    case .asset(let device, _): device
    }
  }

  fileprivate var receiver: Int? {
    switch self {
    case .pullRequest, .pushRequest, .verificationRequest: nil
    case .verificationAnswer(let device, _, _), .verificationFailure(let device): device
    case .pullAnswer(let device, _), .pushAnswer(let device, _, _), .pullFailure(let device), .pushFailure(let device): device
    case .asset(let device, _): device
    }
  }
}
