package import SyncCore

/// Devices with notes in folders and a hub, for tests in which the order of all messages is given.
///
/// A note requires its folder. A folder can have a parent, and at most one cover and one lock. A lock requires its folder. Notes have links to
/// folders that they mention, and to related notes. A person can have a spouse. A folder has at most two stickers and two seals, which require
/// it, and at most two links by which notes pin it. Two friends have one link, and a person at most two.
package final class Scenario {
  package static let folder = EntityID(0)
  package static let note = EntityID(1)
  package static let cover = EntityID(2)
  package static let lock = EntityID(3)
  package static let person = EntityID(4)
  package static let sticker = EntityID(5)
  package static let seal = EntityID(6)
  package static let pins = EntityID(12)
  package static let friends = EntityID(13)
  package static let mentions = EntityID(10)
  package static let related = EntityID(11)
  package static let title = PropertyID(1)
  package static let text = PropertyID(2)
  package static let color = PropertyID(3)
  package static let parent = PropertyID(50)
  package static let owner = PropertyID(51)
  package static let coverFolder = PropertyID(52)
  package static let lockFolder = PropertyID(53)
  package static let spouse = PropertyID(54)
  package static let stickerFolder = PropertyID(55)
  package static let sealFolder = PropertyID(56)

  package static let model = SyncModel(entities: [
    folder: SyncModel.Entity(references: [parent: false]), note: SyncModel.Entity(references: [owner: true]),
    cover: SyncModel.Entity(references: [coverFolder: false], exclusive: [coverFolder]),
    lock: SyncModel.Entity(references: [lockFolder: true], exclusive: [lockFolder]),
    person: SyncModel.Entity(references: [spouse: false], exclusive: [spouse], mutual: [spouse]),
    sticker: SyncModel.Entity(references: [stickerFolder: false], capacities: [stickerFolder: 2]),
    seal: SyncModel.Entity(references: [sealFolder: true], capacities: [sealFolder: 2]),
    mentions: .link(), related: .link(isSymmetric: true), pins: .link(capacities: [.linkDestination: 2]),
    friends: .link(isSymmetric: true, capacities: [.linkSource: 2, .linkDestination: 2]),
  ])

  /// A device.
  package final class Device {
    package let scenario: Scenario
    let store: SimulatedStore
    package let keys = SimulatedKeys()
    private var client: SyncClient
    private var model = Scenario.model
    package var wall: Int64 = 1_000
    package var limits = SyncClient.Limits()

    init(_ scenario: Scenario, _ id: UInt64) {
      self.scenario = scenario
      store = SimulatedStore(device: DeviceID(id), range: id, hasOrderedIDs: true)
      (store.model, store.newestModel) = (Scenario.model, Scenario.model)
      store.hasAssets = true
      client = SyncClient(Scenario.model, keys, SimulatedHashing())
    }

    package var objects: [RecordID: SyncedObject] { store.state.objects }
    package var zone: ZoneState { store.state.zone }
    package var outbox: SealedCommit? { store.state.outbox?.commit }
    package var unmerged: Set<UnmergedValue> { store.unmerged }
    package var journal: [JournalEntry] { store.state.journal }
    /// The largest number of records, changes or objects that a call to the store has read or written.
    package var largestPortion: Int { store.largestPortion }
    package var objectReadCount: Int { store.objectReadCount }
    package func quarantinedCount() throws -> Int { try client.quarantinedCount(in: store) }
    package func takeReconciliationResult() -> ReconciliationResult? { client.takeReconciliationResult() }
    package func isIdle() throws -> Bool { try client.isIdle(in: store) }
    package var pendingCount: Int { store.state.saves.count { $0.number > store.state.zone.settledThrough } }

    /// Starts the process again.
    package func restart() { client = SyncClient(model, keys, SimulatedHashing(), limits: limits) }

    /// Gives the device another version of the model, and makes the objects from the records again.
    package func adoptModel(_ model: SyncModel) throws {
      (self.model, store.model) = (model, model)
      try store.transaction { try VisibleState(model, in: store, batch: 100).updateAll() }
      restart()
    }

    /// Inserts an object again whose deletion left a mark, with the values that it had.
    package func reinsert(_ id: RecordID) throws {
      guard let object = store.deletedObjects()[id] else { return }
      try save(PendingChange(id, entity: object.entity, object.values))
    }

    /// Returns a copy of the store's file, to be restored later.
    package func backUp() -> Any { store.state }
    package func restore(_ copy: Any) {
      if let state = copy as? SimulatedStore.State { store.state = state }
      restart()
    }

    /// Uploads a large value, in one chunk.
    ///
    /// - Parameter number: The number of the value.
    /// - Returns: The reference to the chunk.
    @discardableResult
    package func upload(_ number: UInt64) throws -> AssetReference {
      let content = Scenario.asset(number)
      let bytes = [UInt8](repeating: UInt8(number), count: Int(content.size))
      let id = ChunkID(SimulatedHashing().digest(of: bytes))
      let key = [UInt8](repeating: UInt8(number), count: AssetReference.keySize)
      let sealed = AssetReference(digest: content.digest, size: content.size, sealed: .init(key: key, chunkSize: 100, chunks: [id]))
      _ = try scenario.hub.putChunk(id, bytes, to: scenario.storage, at: scenario.time)
      store.uploaded[content] = sealed
      return sealed
    }

    /// Notes that neither the device nor the hub has the bytes of a large value.
    package func loseAsset(_ property: PropertyID, of id: RecordID) {
      guard let asset = store.state.objects[id]?.values[property]?.asset else { return }
      store.state.assets[SimulatedStore.AssetKey(id: id, property: property)] = .init(asset: asset, location: .lost)
    }

    /// Kills the process at a call to its store.
    package func kill(afterCalls count: Int) { store.callsUntilKill = count }

    // MARK: The application

    /// Adds an object as if it had been saved before synchronization began.
    package func addExisting(_ id: RecordID, _ object: SyncedObject) {
      store.setExistingObjects(store.state.objects.merging([id: object]) { $1 })
    }

    /// Adds all objects that were there before synchronization to the zone.
    package func takeInExisting() throws {
      try store.transaction {
        for (id, object) in store.state.objects.sorted(by: { $0.key < $1.key }) where store.state.entries[id] == nil {
          try store.addBaseline(object, of: id)
        }
      }
    }

    package func newID() -> RecordID { store.newID() }

    package func save(_ changes: PendingChange...) throws { try save(changes) }

    package func save(_ changes: [PendingChange]) throws {
      wall += 1
      _ = try store.save(changes, at: wall)
    }

    /// Adds a state that must be sent, as an import can have prepared it.
    package func hold(_ record: Record, of id: RecordID) throws {
      try store.transaction {
        var entry = try store.entry(of: id) ?? RecordEntry()
        entry.held = record
        try store.setEntry(entry, of: id)
        try VisibleState(model, in: store, batch: 100).update([id])
      }
    }

    package func insertFolder(_ title: String) throws -> RecordID {
      let id = newID()
      try save(PendingChange(id, entity: Scenario.folder, [Scenario.title: .text(title), Scenario.parent: .null]))
      return id
    }

    /// Inserts notes in one save.
    @discardableResult
    package func insertNotes(_ count: Int, in folder: RecordID) throws -> [RecordID] {
      let ids = (0..<count).map { _ in newID() }
      try save(ids.map { PendingChange($0, entity: Scenario.note, [Scenario.text: .text("note"), Scenario.owner: .reference(folder)]) })
      return ids
    }

    package func insertCover(of folder: RecordID?) throws -> RecordID {
      let id = newID()
      try save(PendingChange(id, entity: Scenario.cover, [Scenario.coverFolder: folder.map { .reference($0) } ?? .null]))
      return id
    }

    package func insertLock(of folder: RecordID) throws -> RecordID {
      let id = newID()
      try save(PendingChange(id, entity: Scenario.lock, [Scenario.lockFolder: .reference(folder)]))
      return id
    }

    package func insertPerson(_ name: String) throws -> RecordID {
      let id = newID()
      try save(PendingChange(id, entity: Scenario.person, [Scenario.title: .text(name), Scenario.spouse: .null]))
      return id
    }

    /// Sets the spouse of a person, as a context does: both ends, and those of the former spouses.
    package func marry(_ one: RecordID, _ other: RecordID?) throws {
      var spouses: [RecordID: FieldValue] = [one: other.map { .reference($0) } ?? .null]
      if let other { spouses[other] = .reference(one) }
      for (id, object) in objects where spouses[id] == nil {
        if let spouse = object.values[Scenario.spouse]?.reference, spouse == one || spouse == other { spouses[id] = .null }
      }
      try save(
        spouses.sorted { $0.key < $1.key }.map { PendingChange($0.key, entity: Scenario.person, [Scenario.spouse: $0.value]) })
    }

    @discardableResult
    package func insertNote(_ text: String, in folder: RecordID) throws -> RecordID {
      let id = newID()
      try save(PendingChange(id, entity: Scenario.note, [Scenario.text: .text(text), Scenario.owner: .reference(folder)]))
      return id
    }

    package func link(_ source: RecordID, _ destination: RecordID, by relationship: EntityID = Scenario.mentions) throws {
      let link = Scenario.model.link(relationship, from: source, to: destination)
      try save(.addition(of: link, SimulatedHashing().id(of: link), Stamp(.zero, zone.device)))
    }

    package func unlink(_ source: RecordID, _ destination: RecordID, by relationship: EntityID = Scenario.mentions) throws {
      let link = Scenario.model.link(relationship, from: source, to: destination)
      try save(.removal(of: link, SimulatedHashing().id(of: link), from: nil))
    }

    /// The ends of all links.
    package var links: Set<[RecordID]> {
      Set(objects.values.lazy.filter(\.isLink).map { [$0.values[.linkSource], $0.values[.linkDestination]].compactMap(\.?.reference) })
    }

    package func set(_ property: PropertyID, _ value: FieldValue, of id: RecordID, _ entity: EntityID = Scenario.note) throws {
      try save(PendingChange(id, entity: entity, [property: value]))
    }

    package func delete(_ id: RecordID, _ entity: EntityID = Scenario.note) throws { try save(PendingChange(id, entity: entity, nil)) }

    // MARK: Synchronization

    package func handle(_ event: SyncClient.Event) throws -> [SyncClient.Action] {
      wall += 1
      let actions = try client.handle(event, in: store, SyncClient.Environment(wall: wall, newDevice: scenario.newDevice()))
      if let violation = store.violation { throw SimulationFailure(invariant: "the store's contract", detail: violation) }
      return actions
    }

    /// Compares the records with those of the hub.
    ///
    /// - Parameter step: Called before each request.
    package func verify(beforeEach step: (VerificationRequest) throws -> Void = { _ in }) throws -> Verification.Result {
      var verification = Verification(SimulatedHashing(), SimulatedHashing(), maximumCount: 3)
      var action = try verification.begin(in: store)
      while true {
        switch action {
        case .finish(let result): return result
        case .synchronize:
          try synchronize()
          action = try verification.begin(in: store)
        case .send(let request):
          try step(request)
          action = try verification.receive(try scenario.hub.verify(request, in: scenario.storage), in: store)
        }
      }
    }

    /// Changes what the store knows of a record, as damage would.
    package func damage(_ id: RecordID, _ change: (inout RecordEntry) -> Void) {
      guard var entry = store.state.entries[id] else { return }
      change(&entry)
      store.state.entries[id] = entry
    }

    /// Sends requests and receives their answers until there is nothing to do.
    ///
    /// - Parameter step: Called before each request.
    package func synchronize(
      _ event: SyncClient.Event = .remoteChange, beforeEach step: (SyncClient.Action) throws -> Void = { _ in }
    ) throws {
      var actions = try handle(event)
      while let action = actions.first {
        actions.removeFirst()
        try step(action)
        actions += try handle(scenario.answer(action))
      }
    }
  }

  package private(set) var devices: [Device] = []
  package let hub: Hub
  let storage = SimulatedHub(incarnation: 1)
  /// The hub's time, in milliseconds since 1970.
  package var time: Int64 = 1_000
  private var lastDevice: UInt64 = 0

  /// Adds a device with an empty store.
  package func addDevice() -> Device {
    let device = Device(self, newDevice().value)
    devices.append(device)
    return device
  }

  package init(deviceCount: Int = 2, hubLimits: Hub.Limits = Hub.Limits()) {
    hub = Hub(SimulatedHashing(), limits: hubLimits)
    for _ in 0..<deviceCount { devices.append(Device(self, newDevice().value)) }
  }

  func newDevice() -> DeviceID {
    lastDevice += 1
    return DeviceID(lastDevice)
  }

  /// Returns the content of a large value.
  package static func asset(_ number: UInt64) -> AssetReference {
    AssetReference(digest: Digest(number, 0, 0, 0), size: 50 + Int64(number))
  }

  /// Removes a chunk from the hub, as if it had been restored from an older state.
  package func loseChunks(of asset: AssetReference) { for id in asset.sealed?.chunks ?? [] { storage.state.chunks[id] = nil } }

  /// Returns the hub's answer to a request, as the event that it causes.
  package func answer(_ action: SyncClient.Action) throws -> SyncClient.Event {
    time += 1
    switch action {
    case .pull(let request):
      if try hub.mustAcknowledge(request, in: storage, at: time) { try hub.acknowledge(request, in: storage, at: time) }
      return .pulled(try hub.pull(request, from: storage, at: time))
    case .push(let commit): return .pushed(commit.digest, try hub.push(commit, to: storage, at: time))
    case .verify(let request): return .verified(request, try hub.verify(request, in: storage))
    }
  }

  /// Changes a record on the hub, or removes it, as damage would.
  package func damage(_ id: RecordID, _ change: (inout StoredRecord) -> Void = { _ in }, isRemoved: Bool = false) {
    let name = SimulatedHashing().name(of: id)
    guard var record = storage.state.records[name] else { return }
    change(&record)
    storage.state.records[name] = isRemoved ? nil : record
    if isRemoved { storage.state.order.removeAll { $0.name == name } }
  }

  /// Changes the sum of the hub's records, as damage would.
  package func damageSum() { storage.state.sum = storage.state.sum + RecordSum(count: 1, high: 2, low: 3) }

  /// Lets time pass.
  package func wait(days: Int64) {
    time += days * 24 * 3_600_000
    for device in devices { device.wall += days * 24 * 3_600_000 }
  }

  /// The number of deleted records on the hub.
  package var deletedCount: Int { storage.state.records.values.count { $0.isDeleted } }
  /// The number of the last commit that a device has pulled, as far as the hub knows.
  package func acknowledged(by device: Device) -> Int64? { storage.state.acknowledgments[device.zone.device]?.sequence }
  /// The number of the last commit of which the hub has removed deleted records.
  package var floor: Int64 { storage.state.floor }
  /// Adds commits until the hub removes deleted records.
  package func cleanUp(from device: Device) throws {
    let folder = try device.insertFolder("cleanup")
    let next = (commitCount / Int(hub.limits.commitsUntilCleanup) + 1) * Int(hub.limits.commitsUntilCleanup)
    while commitCount < next {
      try device.set(Scenario.title, .text("\(commitCount)"), of: folder, Scenario.folder)
      try device.synchronize(.save)
    }
  }

  /// Returns a backup of the hub, to be restored later.
  package func backUpHub() -> Any { storage.state }

  /// Restores the hub.
  ///
  /// - Parameter incarnation: The new incarnation, or nil if only the files were replaced.
  package func restoreHub(_ copy: Any, incarnation: UInt64?) {
    guard let state = copy as? SimulatedHub.State else { return }
    storage.state = state
    if let incarnation { storage.state.incarnation = Incarnation(incarnation) }
  }

  /// Returns the record of a link.
  package static func linkID(_ source: RecordID, _ destination: RecordID, by relationship: EntityID = mentions) -> RecordID {
    SimulatedHashing().id(of: model.link(relationship, from: source, to: destination))
  }

  /// Returns the state of a record on the hub.
  package func record(_ id: RecordID) -> Record? {
    storage.state.records[SimulatedHashing().name(of: id)].flatMap { try? SimulatedHashing().open($0).record }
  }

  package var commitCount: Int { storage.state.commits.count }
  /// The number of parts that the hub keeps.
  package var stagedPartCount: Int { storage.state.parts.values.reduce(0) { $0 + $1.count } }
  /// The number of records on the hub that are not deleted.
  package var liveCount: Int { storage.state.records.values.count { !$0.isDeleted } }
}
