import SyncCore

/// The invariants of synchronization, checked after every step.
final class SimulationChecks {
  /// A save of an application.
  final class Save {
    let device: Int
    let number: Int64
    let changes: [PendingChange]
    var stamps: [Stamp]
    /// The stamp that a value must have at least. A corrected wall clock lowers it.
    var lowestStamp: Stamp { stamps.min() ?? stamps[0] }
    var isAccepted = false
    var isLost = false

    /// Returns whether the save wrote a value.
    func has(written field: Field, of id: RecordID) -> Bool {
      changes.contains { $0.id == id && $0.values?[field.property] == field.value }
    }

    init(_ save: PendingSave, of device: Int) {
      (self.device, number, changes, stamps) = (device, save.number, save.changes, [save.stamp])
    }
  }

  private var saves: [Save] = []
  /// The saves by their stamps. A device that does not notice that its store was replaced by a copy can use a stamp twice.
  private var byStamp: [Stamp: [Save]] = [:]
  private var byDevice: [Int: [Int64: Save]] = [:]
  private var byCommit: [Digest: [Save]] = [:]
  private var baseline: [RecordID: SyncedObject] = [:]
  /// The records that each device has seen deleted on the hub.
  private var deleted: Set<RecordID> = []

  /// The records that applications have deleted.
  private var deletions: Set<RecordID> = []

  /// Records that a restored store has inserted again. If their former deletion was part of the same commit as their insertion, the hub never
  /// had them.
  private var revived: Set<RecordID> = []

  func addBaseline(_ id: RecordID, _ object: SyncedObject) { baseline[id] = object }

  // MARK: Events

  func noteSave(_ save: PendingSave, of device: SimulatedDevice) {
    let save = Save(save, of: device.number)
    saves.append(save)
    byDevice[device.number, default: [:]][save.number] = save
    byStamp[save.stamps[0], default: []].append(save)
    for change in save.changes where change.values == nil { deletions.insert(change.id) }
  }

  /// Records the stamps that saves have after a wall clock was corrected.
  func noteRestamps(of device: SimulatedDevice) throws {
    for pending in device.store.state.saves.suffix(40) {
      guard let save = byDevice[device.number]?[pending.number], save.stamps.last != pending.stamp else { continue }
      // A restored store has earlier stamps again.
      if let latest = save.stamps.max(), pending.stamp.time > latest.time {
        throw SimulationFailure(invariant: "stamps do not become later", detail: "save \(save.number) of device \(save.device)")
      }
      save.stamps.append(pending.stamp)
      byStamp[pending.stamp, default: []].append(save)
    }
  }

  func noteOutbox(of device: SimulatedDevice) {
    guard let frozen = device.store.state.outbox, byCommit[frozen.commit.digest] == nil else { return }
    let settled = device.store.state.zone.settledThrough
    byCommit[frozen.commit.digest] = (byDevice[device.number] ?? [:]).values.filter { $0.number > settled && $0.number <= frozen.through }
  }

  func noteAccepted(_ commit: SealedCommit) { for save in byCommit[commit.digest] ?? [] { save.isAccepted = true } }

  /// Records that saves were lost with a device's store, unless the hub has them.
  func noteLostSaves(of device: SimulatedDevice, restoredTo copy: SimulatedStore.State) {
    for (number, save) in byDevice[device.number] ?? [:] where number > copy.lastNumber {
      if !save.isAccepted { save.isLost = true }
      byDevice[device.number]?[number] = nil
    }
    for save in copy.saves where save.number > copy.zone.settledThrough {
      for change in save.changes where change.values != nil && copy.entries[change.id] == nil { revived.insert(change.id) }
    }
  }

  // MARK: Invariants

  /// Checks the invariants of a device.
  func check(_ device: SimulatedDevice, in simulation: Simulation) throws {
    if let violation = device.store.violation {
      throw SimulationFailure(invariant: "the store's contract", detail: "device \(device.number): \(violation)")
    }
    let state = device.store.state
    if let count = state.outbox?.commit.records.count, count > simulation.limits(of: device.number).changesInCommit {
      throw SimulationFailure(invariant: "commits are bounded", detail: "device \(device.number): \(count) records")
    }
    let view = StateView(state, simulation.model.syncModel, store: device.store)
    // The objects are those that follow from base, held states and pending saves.
    let expected = view.objects()
    // After a kill, the effects of a save on one-to-one relationships may not be reviewed yet.
    let isReviewed =
      !simulation.model.syncModel.hasExclusiveReferences || state.lastNumber <= max(state.zone.reviewedThrough, state.zone.settledThrough)
    if isReviewed, expected != state.objects {
      let ids = Set(expected.keys).union(state.objects.keys).filter { expected[$0] != state.objects[$0] }.sorted()
      let difference = ids.map { "\($0.low): \(String(describing: state.objects[$0])), expected \(String(describing: expected[$0]))" }
      throw SimulationFailure(invariant: "tables equal state", detail: "device \(device.number): \(difference.joined(separator: "; "))")
    }
    for (id, entry) in state.entries where isReviewed && entry.isOrphan != view.isOrphan(id, in: expected) {
      throw SimulationFailure(invariant: "orphans equal state", detail: "device \(device.number): \(id.low), \(entry)")
    }
    // No required relationship is dangling.
    for (id, object) in state.objects {
      for (property, value) in object.values {
        if let destination = value.reference, state.objects[destination] == nil {
          throw SimulationFailure(invariant: "no dangling relationship", detail: "device \(device.number): \(id.low) to \(destination.low)")
        }
        if value == .null, simulation.model.syncModel.isRequired(property, of: object.entity) {
          throw SimulationFailure(invariant: "required relationship", detail: "device \(device.number): \(id.low)")
        }
      }
    }
    // No two objects refer to the same object by a one-to-one relationship.
    var referrers: [PropertyID: [RecordID: RecordID]] = [:]
    for (id, object) in state.objects {
      for (property, value) in object.values where simulation.model.syncModel.isExclusive(property, of: object.entity) {
        guard let destination = value.reference else { continue }
        if let other = referrers[property, default: [:]].updateValue(id, forKey: destination) {
          throw SimulationFailure(
            invariant: "one referrer", detail: "device \(device.number): \(id.low) and \(other.low) to \(destination.low)")
        }
      }
    }
    // Deletions are final.
    for (id, entry) in state.entries where entry.base?.record.isDeleted ?? false { deleted.insert(id) }
    for id in deleted where state.entries[id]?.base?.record.isDeleted ?? false && state.objects[id] != nil {
      throw SimulationFailure(invariant: "deletions are final", detail: "device \(device.number): \(id.low)")
    }
    if !simulation.setup.losesKeys { try checkAtomicity(view, device) }
  }

  /// Checks that of each save that a device shows a part of, it shows all, as far as later saves have not replaced it.
  private func checkAtomicity(_ view: StateView, _ device: SimulatedDevice) throws {
    var seen: Set<ObjectIdentifier> = []
    for id in view.ids {
      for field in view.state(of: id)?.fields ?? [] {
        let writers = byStamp[field.stamp] ?? []
        guard let save = writers.first(where: { $0.has(written: field, of: id) }), seen.insert(ObjectIdentifier(save)).inserted else {
          continue
        }
        for change in save.changes {
          if !includes(change, save.lowestStamp, view) {
            throw SimulationFailure(
              invariant: "saves are atomic",
              detail: "device \(device.number): save \(save.number) of device \(save.device) without \(change.id.low): "
                + "\(save.stamps), \(String(describing: change.values)); \(String(describing: view.state(of: change.id)))")
          }
        }
      }
    }
  }

  /// Returns whether a state contains a change or a later one.
  private func includes(_ change: PendingChange, _ stamp: Stamp, _ view: StateView) -> Bool {
    // An object that was deleted before its insertion was sent leaves no record.
    guard let state = view.state(of: change.id) else { return deletions.contains(change.id) }
    guard let values = change.values else { return state.isDeleted || revived.contains(change.id) }
    return state.isDeleted
      || values.allSatisfy { property, value in
        guard let field = state[property] else { return false }
        return field.stamp >= stamp || (byStamp[field.stamp] ?? []).contains { $0.stamps.contains { $0 >= stamp } }
      }
  }

  /// Checks that all devices have the same objects, and that nothing is lost.
  func checkEnd(_ simulation: Simulation) throws {
    let first = simulation.devices[0].store.state
    for device in simulation.devices where device.store.state.objects != first.objects {
      let other = device.store.state.objects
      let ids = Set(other.keys).union(first.objects.keys).filter { other[$0] != first.objects[$0] }.map(\.low).sorted()
      throw SimulationFailure(invariant: "convergence", detail: "devices 0 and \(device.number) differ in \(ids)")
    }
    let view = StateView(first, simulation.model.syncModel, store: simulation.devices[0].store)
    let limit = simulation.time + DeviceClock.tolerance
    for id in view.ids {
      if let time = view.state(of: id)?.latestStamp?.time, time.milliseconds > limit {
        throw SimulationFailure(invariant: "no stamps of the future", detail: "\(id.low): \(time.milliseconds - simulation.time) ms ahead")
      }
    }
    // What a save or a baseline has ever required of a record.
    var required: [RecordID: Set<RecordID>] = [:]
    let models = simulation.model.syncModel
    func note(_ id: RecordID, _ entity: EntityID, _ values: [PropertyID: FieldValue]) {
      for (property, value) in values where models.isRequired(property, of: entity) {
        if let destination = value.reference { required[id, default: []].insert(destination) }
      }
    }
    for (id, object) in baseline { note(id, object.entity, object.values) }
    for save in saves { for change in save.changes { note(change.id, change.entity, change.values ?? [:]) } }
    func mayBeDeleted(_ id: RecordID, depth: Int = 0) -> Bool {
      deletions.contains(id) || depth < 8 && (required[id] ?? []).contains { mayBeDeleted($0, depth: depth + 1) }
    }
    for save in saves where !save.isLost {
      for change in save.changes where !includes(change, save.lowestStamp, view) {
        throw SimulationFailure(
          invariant: "nothing acknowledged is lost", detail: "save \(save.number) of device \(save.device): \(change.id.low)")
      }
      for change in save.changes where change.values != nil {
        let isHidden = first.objects[change.id] == nil && !view.lacksDestination(change.id)
        if view.state(of: change.id)?.isDeleted ?? true || isHidden, !mayBeDeleted(change.id) {
          throw SimulationFailure(invariant: "only deletions delete", detail: "\(change.id.low)")
        }
      }
    }
    for id in baseline.keys where first.objects[id] == nil && !view.lacksDestination(id) && !mayBeDeleted(id) {
      throw SimulationFailure(invariant: "only deletions delete", detail: "baseline \(id.low)")
    }
    if let id = view.unresolvedReference() {
      throw SimulationFailure(invariant: "replaced references are nil on the hub", detail: "\(id.low)")
    }
    if let device = simulation.devices.first(where: { !$0.store.state.quarantined.isEmpty }) {
      throw SimulationFailure(invariant: "records are opened as soon as there is a key", detail: "device \(device.number)")
    }
    // The hub has what the devices have.
    for (id, object) in first.objects {
      guard let stored = simulation.storage.state.records[simulation.hashing.name(of: id)], !stored.isDeleted,
        let record = try? simulation.hashing.open(stored).record, record == view.state(of: id)
      else { throw SimulationFailure(invariant: "the hub has everything", detail: "\(id.low) \(object)") }
    }
  }
}

/// The states of a device's records and the objects that follow from them, computed from the definition.
struct StateView {
  private let states: [RecordID: Record]
  private let entries: [RecordID: RecordEntry]
  /// The records that refer to a record by a one-to-one relationship.
  private let claims: [PropertyID: [RecordID: [(stamp: Stamp, id: RecordID)]]]
  private let model: SyncModel
  private let unsynchronized: [RecordID: SyncedObject]

  init(_ state: SimulatedStore.State, _ model: SyncModel, store: SimulatedStore) {
    self.model = model
    var states: [RecordID: Record] = [:]
    for (id, entry) in state.entries { states[id] = (entry.base?.record).joined(with: entry.held) }
    for save in state.saves where save.number > state.zone.settledThrough {
      for change in save.changes { states[change.id] = states[change.id].joined(with: change.record(save.stamp)) }
    }
    self.states = states
    entries = state.entries
    var claims: [PropertyID: [RecordID: [(stamp: Stamp, id: RecordID)]]] = [:]
    for (id, state) in states {
      for field in state.fields where model.isExclusive(field.property, of: state.entity) {
        guard let destination = field.value.reference else { continue }
        claims[field.property, default: [:]][destination, default: []].append((field.stamp, id))
      }
    }
    self.claims = claims
    unsynchronized = state.objects.filter { states[$0.key] == nil && state.entries[$0.key] == nil }
  }

  var ids: [RecordID] { Array(states.keys) }
  func state(of id: RecordID) -> Record? { states[id] }

  /// Returns whether a record must be deleted on the hub: it is there, has no object, and requires what is deleted there.
  func isOrphan(_ id: RecordID, in objects: [RecordID: SyncedObject]) -> Bool {
    guard let base = entries[id]?.base?.record, !base.isDeleted, objects[id] == nil, let state = states[id] else { return false }
    return state.fields.contains { field in
      guard let destination = field.value.reference, model.isRequired(field.property, of: state.entity) else { return false }
      return entries[destination]?.base?.record.isDeleted ?? false
    }
  }

  /// Returns whether no other live record has a later reference to a destination that admits one referrer only.
  private func isLatest(_ field: Field, of id: RecordID) -> Bool {
    guard let destination = field.value.reference, let entity = states[id]?.entity, model.isExclusive(field.property, of: entity) else {
      return true
    }
    return (claims[field.property]?[destination] ?? []).allSatisfy { ($0.stamp, $0.id) <= (field.stamp, id) }
  }

  /// Returns whether a record, or one that it requires, requires an object that another record refers to.
  func lacksDestination(_ id: RecordID, depth: Int = 0) -> Bool {
    guard let state = states[id], depth < 20 else { return false }
    return state.fields.contains { field in
      guard let destination = field.value.reference, model.isRequired(field.property, of: state.entity) else { return false }
      return !isLatest(field, of: id) || lacksDestination(destination, depth: depth + 1)
    }
  }

  /// Returns a record whose optional one-to-one relationship was replaced by that of another record, although its state still has it.
  func unresolvedReference() -> RecordID? {
    states.keys.sorted().first { id in
      guard let state = states[id] else { return false }
      return state.fields.contains { !model.isRequired($0.property, of: state.entity) && !isLatest($0, of: id) }
    }
  }

  func objects() -> [RecordID: SyncedObject] {
    var present = Set(states.filter { !$0.value.isDeleted }.keys).union(unsynchronized.keys)
    while true {
      let missing = present.filter { id in
        states[id]?.fields.contains { field in
          guard let entity = states[id]?.entity, let destination = field.value.reference else { return false }
          return model.isRequired(field.property, of: entity) && (!present.contains(destination) || !isLatest(field, of: id))
        } ?? false
      }
      if missing.isEmpty { break }
      present.subtract(missing)
    }
    var result = unsynchronized
    for id in present {
      guard let state = states[id] else { continue }
      var values: [PropertyID: FieldValue] = [:]
      for field in state.fields {
        if field.value == .superseded {
          values[field.property] = .null
        } else if let destination = field.value.reference, !present.contains(destination) || !isLatest(field, of: id) {
          values[field.property] = .null
        } else {
          values[field.property] = field.value
        }
      }
      result[id] = SyncedObject(entity: state.entity, values)
    }
    return result
  }
}
