package import SyncCore

/// A device in a simulation.
final class SimulatedDevice {
  let number: Int
  let store: SimulatedStore
  var client: SyncClient
  /// The difference of the wall clock from the time, in milliseconds.
  var clockError: Int64
  /// An older copy of the store.
  var copy: SimulatedStore.State?

  init(_ number: Int, _ store: SimulatedStore, _ client: SyncClient, clockError: Int64) {
    (self.number, self.store, self.client, self.clockError) = (number, store, client, clockError)
  }
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
  /// What does not change while a simulation is shortened.
  package struct Setup: Hashable, Sendable, CustomStringConvertible {
    package var seed: UInt64
    package var deviceCount: Int
    package var loss: Double
    /// Whether devices lack keys for a time. Meanwhile, parts of saves are not visible.
    package var losesKeys: Bool

    package init(seed: UInt64, deviceCount: Int, loss: Double, losesKeys: Bool = false) {
      (self.seed, self.deviceCount, self.loss, self.losesKeys) = (seed, deviceCount, loss, losesKeys)
    }
    package var description: String {
      "Simulation.Setup(seed: \(seed), deviceCount: \(deviceCount), loss: \(loss), losesKeys: \(losesKeys))"
    }
  }

  enum Message {
    case pullRequest(device: Int, PullRequest)
    case pushRequest(device: Int, SealedCommit)
    case pullAnswer(device: Int, PullAnswer)
    case pushAnswer(device: Int, Digest, PushAnswer)
    case pullFailure(device: Int)
    case pushFailure(device: Int)
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
  /// The time, in milliseconds since 1970.
  var time: Int64 = 1_800_000_000_000
  var checks = SimulationChecks()
  private var lastRecord: UInt64 = 0
  private var lastIdentity: UInt64 = 0
  /// The probability of faults of the network: 0 in the final phase.
  private var loss: Double

  package init(_ setup: Setup) {
    self.setup = setup
    loss = setup.loss
    var random = SimulationRandom(setup.seed)
    model = SimulatedModel(&random)
    hub = Hub(hashing)
    keys = (0..<setup.deviceCount).map { _ in SimulatedKeys() }
    storage = SimulatedHub(incarnation: random.next())
    for number in 0..<setup.deviceCount {
      let store = SimulatedStore(device: newIdentity())
      let error: Int64 = [0, 0, -3_600_000, 3_600_000, Int64(random.number(below: 100)) - 50][random.number(below: 5)]
      let device = SimulatedDevice(number, store, makeClient(number), clockError: error)
      devices.append(device)
      // Objects from before synchronization.
      if random.chance(0.3) {
        var editor = ObjectEditor(objects: [:], model: model)
        for _ in 0..<(3 + random.number(below: 5)) { editor.insert(newRecordID(), &random) }
        store.setExistingObjects(editor.objects)
        for (id, object) in editor.objects.sorted(by: { $0.key < $1.key }) { checks.addBaseline(id, object) }
        for id in editor.objects.keys.sorted() where random.chance(0.8) { addBaseline(id, on: device) }
      }
    }
  }

  private func makeClient(_ number: Int) -> SyncClient { SyncClient(model.syncModel, keys[number], hashing, limits: limits(of: number)) }

  func limits(of number: Int) -> SyncClient.Limits {
    var limits = SyncClient.Limits()
    var random = SimulationRandom(setup.seed &+ UInt64(number))
    limits.changesInCommit = 1 + random.number(below: 8)
    limits.bytesInCommit = [200, 1 << 20, 1 << 20][random.number(below: 3)]
    limits.recordsInPage = 1 + random.number(below: 6)
    limits.recordsInBatch = 1 + random.number(below: 4)
    return limits
  }

  func newRecordID() -> RecordID {
    lastRecord += 1
    return RecordID(high: lastRecord &* 0x9E37_79B9_7F4A_7C15, low: lastRecord)
  }

  func newIdentity() -> DeviceID {
    lastIdentity += 1
    return DeviceID(lastIdentity)
  }

  func wall(of device: SimulatedDevice) -> Int64 { time + device.clockError }

  func addBaseline(_ id: RecordID, on device: SimulatedDevice) {
    guard let object = device.store.state.objects[id] else { return }
    _ = try? device.store.transaction {
      // What a save has inserted is not from before synchronization.
      let settled = try device.store.zone().settledThrough
      if try device.store.entry(of: id) == nil, try device.store.pendingChanges(of: id, after: settled) == nil {
        try Baseline.add(object, of: id, in: device.store)
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

  /// A digest of all objects and of the hub.
  package var digest: Digest {
    var words = storage.head().head.allWords
    for device in devices {
      for (id, object) in device.store.state.objects.sorted(by: { $0.key < $1.key }) {
        words += [id.high, id.low, object.entity.value]
        let record = Record(entity: object.entity, object.values, Stamp(.zero, DeviceID(0)))
        words += RecordCoding.encode(record, of: id).map(UInt64.init)
      }
    }
    return hashing.digest(of: words)
  }

  private func run(_ event: SimulationEvent) throws {
    var random = SimulationRandom(event.seed)
    // Some saves of different devices have the same time.
    time += 500 * Int64(random.number(below: 4))
    let device = devices[event.device % devices.count]
    switch event.kind {
    case .save:
      try survivingKill(device) { try save(on: device, &random) }
      try handle(.save, on: device, &random)
    case .deliver:
      guard !network.isEmpty else { break }
      let index = random.number(below: network.count)
      if network[index].isSlow, random.chance(0.9) { break }
      try deliver(network.remove(at: index).message, &random)
    case .remoteChange: try handle(.remoteChange, on: device, &random)
    case .kill:
      switch random.number(below: 10) {
      case 0...1: try handle(.copied, on: device, &random)
      case 2...3: try restart(device, &random)
      default: device.store.callsUntilKill = random.number(below: 60)
      }
    case .setClock: device.clockError = Int64(random.number(below: 7_200_000)) - 3_600_000
    case .restoreHub:
      guard let copy = random.element(of: hubCopies) else { break }
      let incarnation = storage.state.incarnation
      // Answers from before the restoration arrive late.
      for index in network.indices { if case .pushAnswer = network[index].message { network[index].isSlow = true } }
      storage.state = copy
      storage.state.incarnation = random.chance(0.5) ? Incarnation(random.next()) : incarnation
      hubCopies = [copy]
    case .restoreDevice: try restore(device, &random)
    case .setKeys:
      let missing = random.chance(0.7) ? random.next() % 2 : nil
      keys[device.number].isMissing = { $0.version.words.1 % 2 == missing }
      try handle(.keysChanged, on: device, &random)
    }
    try checks.check(device, in: self)
  }

  private func becomeQuiet() throws {
    loss = 0
    var random = SimulationRandom(setup.seed ^ 0xABCD)
    for device in devices {
      device.store.callsUntilKill = nil
      for id in device.store.state.objects.keys.sorted() { addBaseline(id, on: device) }
      keys[device.number].isMissing = { _ in false }
      try handle(.keysChanged, on: device, &random)
    }
    for round in 0..<60 {
      for device in devices {
        try handle(round == 0 ? .pullFailed : .remoteChange, on: device, &random)
        if round == 0 { try handle(.pushFailed, on: device, &random) }
        var count = 0
        while !network.isEmpty {
          time += 20
          try deliver(network.removeFirst().message, &random)
          count += 1
          if count > 10_000 { throw SimulationFailure(invariant: "quiet", detail: "messages do not end") }
        }
        try checks.check(device, in: self)
      }
      let head = storage.head()
      if try devices.allSatisfy({ try $0.client.isIdle(in: $0.store) && $0.store.state.zone.base == head }) { return }
    }
    let states = devices.map { device in
      let state = device.store.state
      return "device \(device.number): base \(state.zone.base.sequence) of \(storage.head().sequence), joined \(state.zone.isJoined), "
        + "outbox \(state.outbox?.commit.records.count ?? 0), saves \(state.saves.count { $0.number > state.zone.settledThrough }), "
        + "unsent \(state.entries.filter(\.value.isUnsent).map { "\($0.key.low) \($0.value)" }), client \(device.client)"
    }
    throw SimulationFailure(invariant: "quiet", detail: "devices do not become idle: \(states.joined(separator: "; "))")
  }

  // MARK: Devices

  func handle(_ event: SyncClient.Event, on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    var actions: [SyncClient.Action] = []
    try survivingKill(device) {
      actions = try device.client.handle(
        event, in: device.store, SyncClient.Environment(wall: wall(of: device), newDevice: newIdentity()))
    }
    checks.noteOutbox(of: device)
    if device.copy == nil, device.store.state.outbox?.next != nil, random.chance(0.2) { device.copy = device.store.state }
    for action in actions {
      switch action {
      case .pull(let request): send(.pullRequest(device: device.number, request), failure: .pullFailure(device: device.number), &random)
      case .push(let commit): send(.pushRequest(device: device.number, commit), failure: .pushFailure(device: device.number), &random)
      }
    }
  }

  private func survivingKill(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
    do { try body() } catch is SimulatedStore.Kill {
      device.store.callsUntilKill = nil
      device.client = makeClient(device.number)
    }
    try checks.noteRestamps(of: device)
  }

  private func restart(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    device.client = makeClient(device.number)
    try handle(.remoteChange, on: device, &random)
  }

  /// Replaces a device's store by an older copy, or makes the copy.
  private func restore(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard let copy = device.copy else {
      device.copy = device.store.state
      return
    }
    let lastTime = device.store.state.zone.clock.last
    checks.noteLostSaves(of: device, restoredTo: copy)
    device.store.state = copy
    device.client = makeClient(device.number)
    device.copy = nil
    // A device that does not notice stamps its saves by its wall clock, which is later than anything that it has stamped, unless the clock
    // was set back.
    let isNoticed =
      random.chance(0.6) || lastTime.milliseconds >= device.store.state.zone.clock.hubTime(at: wall(of: device))
    try handle(isNoticed ? .copied : .remoteChange, on: device, &random)
    // If the process was killed, the next one notices it again.
    if isNoticed, device.store.state.zone.device == copy.zone.device { try handle(.copied, on: device, &random) }
  }

  // MARK: Network

  private func send(_ message: Message, failure: Message?, _ random: inout SimulationRandom) {
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
      let answer = try hub.pull(request, from: storage, at: time)
      send(.pullAnswer(device: device, answer), failure: .pullFailure(device: device), &random)
    case .pushRequest(let device, let commit):
      let answer = try hub.push(commit, to: storage, at: time)
      if let parts = storage.state.parts[commit.device], Set(parts.map(\.deviceSequence)).count != 1 {
        throw SimulationFailure(invariant: "parts of one commit", detail: "device \(device)")
      }
      if case .accepted = answer {
        checks.noteAccepted(commit)
        if random.chance(0.2) { hubCopies.append(storage.state) }
      } else if case .staged = answer, random.chance(0.4) {
        hubCopies.append(storage.state)
      }
      send(.pushAnswer(device: device, commit.digest, answer), failure: .pushFailure(device: device), &random)
    case .pullAnswer(let device, let answer): try handle(.pulled(answer), on: devices[device], &random)
    case .pushAnswer(let device, let digest, let answer): try handle(.pushed(digest, answer), on: devices[device], &random)
    case .pullFailure(let device): try handle(.pullFailed, on: devices[device], &random)
    case .pushFailure(let device): try handle(.pushFailed, on: devices[device], &random)
    }
    if let device = message.receiver { try checks.check(devices[device], in: self) }
  }

  func record(_ save: PendingSave, of device: SimulatedDevice) { checks.noteSave(save, of: device) }
}

extension Simulation.Message {
  fileprivate var receiver: Int? {
    switch self {
    case .pullRequest, .pushRequest: nil
    case .pullAnswer(let device, _), .pushAnswer(let device, _, _), .pullFailure(let device), .pushFailure(let device): device
    }
  }
}
