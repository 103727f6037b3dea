import SyncCore

/// The invariants of synchronization, checked after every step.
final class SimulationChecks {
  private(set) var saves: [Save] = []
  /// The saves by their stamps. A device that does not notice that its store was replaced by a copy can use a stamp twice.
  private(set) var byStamp: [Stamp: [Save]] = [:]
  private(set) var byDevice: [Int: [Int64: Save]] = [:]
  /// The saves of commits, and what they were when the commit was frozen.
  private var byCommit: [Digest: [(save: Save, frozen: Save)]] = [:]
  private(set) var baseline: [RecordID: SyncedObject] = [:]
  /// The versions of the model that the devices of the baseline had.
  private(set) var baselineModels: [RecordID: SyncModel] = [:]

  /// The values that saves have written.
  var histories: [PropertyKey: ValueHistory] = [:]
  /// The bits that saves have removed from attributes with the rule `custom`.
  var removedBits: [PropertyKey: Int64] = [:]
  /// The large values that no device had anymore when a restored hub had lost them.
  var lostAssets: [PropertyKey: Set<AssetReference>] = [:]
  /// The changes of each device's last save, and the objects that there were before it.
  var addedMembers: [Int: (changes: [PendingChange], former: [RecordID: SyncedObject])] = [:]
  /// Whether nothing was restored, so that it is known what each device has known.
  private(set) var isComparable = true

  /// The objects that applications have deleted.
  private var deletions: Set<Int64> = []
  /// The renewals of each device that were applied to its saves.
  private var renewalCounts: [Int: Int] = [:]
  /// Whether objects have got other records.
  private(set) var hasRenewals = false
  /// A number that is another one after each change of what is known of earlier saves.
  private var revision = 0
  /// The revisions of each device's content and of the saves at the last check.
  private var checkedRevisions: [Int: (content: Int, saves: Int)] = [:]
  /// The number of the commit that wrote each record that a device has pulled.
  private var sequences: [Int: [RecordID: Int64]] = [:]

  /// The records that a device has sent again after their deletions were removed from the hub.
  private var resent: Set<RecordID> = []

  /// Returns whether a record is deleted on the hub, whether the hub has removed its deletion, and whether a device has sent it again then.
  var isDeleted: (RecordID) -> Bool = { _ in false }
  var isRemoved: (RecordID) -> Bool = { _ in false }
  var hasReturned: (RecordID) -> Bool = { _ in false }
  /// Returns whether a device has ever merged an object into another one.
  var wasMerged: (RecordID) -> Bool = { _ in false }
  /// Whether the hub removes deletions, so that devices that were away compare their records with those of the hub.
  var removesDeletions = false

  /// The records whose deletions a device has not received, because they were deleted before its first pull.
  private var omitted: [Int: Set<RecordID>] = [:]

  func noteOmitted(_ ids: [RecordID], by device: Int) {
    revision += 1
    omitted[device, default: []].formUnion(ids)
  }

  func noteReconciliation(of device: SimulatedDevice) {
    if device.store.resent.isSubset(of: resent) { return }
    revision += 1
    resent.formUnion(device.store.resent)
  }

  func addBaseline(_ id: RecordID, _ object: SyncedObject, _ version: SyncModel) {
    (baseline[id], baselineModels[id]) = (object, version)
  }

  // MARK: Events

  func noteSave(_ save: PendingSave, _ serials: [RecordID: Int64], of device: SimulatedDevice) {
    let save = Save(save, serials, of: device.number)
    noteRemovals(save, of: device)
    noteReplacedValues(of: save, of: device)
    noteDeletions(save, of: device)
    if byStamp[save.stamps[0]] != nil { revision += 1 }
    saves.append(save)
    byDevice[device.number, default: [:]][save.number] = save
    byStamp[save.stamps[0], default: []].append(save)
    for change in save.changes where change.values == nil { if let serial = save.serials[change.id] { deletions.insert(serial) } }
  }

  /// Records that objects have got other records.
  func noteRenewals(of device: SimulatedDevice) {
    for (former, new) in device.store.state.renewals.dropFirst(renewalCounts[device.number] ?? 0) {
      (revision, hasRenewals) = (revision + 1, true)
      for save in (byDevice[device.number] ?? [:]).values.sorted(by: { $0.number < $1.number }) {
        if let copy = save.renew(former, new) { add(copy) }
      }
    }
    renewalCounts[device.number] = device.store.state.renewals.count
  }

  private func add(_ save: Save) {
    revision += 1
    saves.append(save)
    for stamp in save.stamps { byStamp[stamp, default: []].append(save) }
  }

  /// Records the stamps that saves have after a wall clock was corrected.
  func noteRestamps(of device: SimulatedDevice) throws {
    for pending in device.store.state.saves {
      guard let save = byDevice[device.number]?[pending.number], save.stamps.last != pending.stamp else { continue }
      // A restored store has earlier stamps again.
      if let latest = save.stamps.max(), pending.stamp.time > latest.time {
        throw SimulationFailure(invariant: "stamps do not become later", detail: "save \(save.number) of device \(save.device)")
      }
      revision += 1
      save.stamps.append(pending.stamp)
      byStamp[pending.stamp, default: []].append(save)
    }
    for (former, new) in device.store.restamps {
      for save in byStamp[former] ?? [] where !save.stamps.contains(new) {
        revision += 1
        save.stamps.append(new)
        byStamp[new, default: []].append(save)
      }
    }
    device.store.restamps = []
  }

  func noteOutbox(of device: SimulatedDevice) {
    guard let frozen = device.store.state.outbox, byCommit[frozen.commit.digest] == nil else { return }
    let settled = device.store.state.zone.settledThrough
    let saves = (byDevice[device.number] ?? [:]).values.filter { $0.number > settled && $0.number <= frozen.through }
    byCommit[frozen.commit.digest] = saves.map { ($0, Save(copying: $0)) }
  }

  func noteAccepted(_ commit: SealedCommit) {
    for (save, frozen) in byCommit[commit.digest] ?? [] where !frozen.isAccepted {
      frozen.isAccepted = true
      save.acceptedTimes.insert(frozen.lastTime)
      // The objects of the save may have got other records since, or have the former ones again.
      if save.changes == frozen.changes { save.isAccepted = true } else { add(frozen) }
    }
  }

  /// Records that saves were lost with a device's store, unless the hub has them.
  func noteLostSaves(of device: SimulatedDevice, restoredTo copy: SimulatedStore.State, _ isOnHub: (RecordID) -> Bool) {
    noteRestoration()
    revision += 1
    sequences[device.number] = nil
    let lost = (byDevice[device.number] ?? [:]).filter { $0.key > copy.lastNumber }
    let revived = lost.values.flatMap(\.changes).filter { $0.values == nil && !isOnHub($0.id) }.map(\.id)
    for (number, save) in lost {
      if !save.isAccepted { save.isLost = true }
      save.isReplaced = true
      save.revived.formUnion(revived)
      byDevice[device.number]?[number] = nil
    }
    // What was renewed since the copy has its former records again.
    let renewals = device.store.state.renewals.filter { renewal in !copy.renewals.contains { $0 == renewal } }
    let formers = Dictionary(renewals.map { ($0.new, $0.former) }) { $1 }
    func isFormer(_ new: RecordID, _ former: RecordID) -> Bool {
      var id = new
      while let next = formers[id], next != new {
        if next == former { return true }
        id = next
      }
      return false
    }
    for pending in copy.saves {
      guard let save = byDevice[device.number]?[pending.number], let former = save.restore(pending.changes, isFormer) else { continue }
      add(former)
    }
    renewalCounts[device.number] = copy.renewals.count
  }

  /// Records that something was restored.
  func noteRestoration() { isComparable = false }

  // MARK: Invariants

  /// Checks a device completely the next time, because something else than its store has changed.
  func checkAgain(_ device: SimulatedDevice) { checkedRevisions[device.number] = nil }

  /// Checks the invariants of a device. What depends on nothing that has changed since the last check is not checked again.
  func check(_ device: SimulatedDevice, in simulation: Simulation) throws {
    if let violation = device.store.violation {
      throw SimulationFailure(invariant: "the store's contract", detail: "device \(device.number): \(violation)")
    }
    let state = device.store.state
    if let count = state.outbox?.commit.records.count, count > simulation.limits(of: device.number).changesInCommit {
      throw SimulationFailure(invariant: "commits are bounded", detail: "device \(device.number): \(count) records")
    }
    try checkPulledRecords(device, simulation)
    let revisions = (device.store.contentRevision, revision)
    if let checked = checkedRevisions[device.number], checked == revisions { return }
    checkedRevisions[device.number] = revisions
    let view = StateView(state, simulation.model, device.model)
    // The objects are those that follow from base, held states and pending saves.
    let expected = view.objects()
    // A device that cannot open the deletion of an end, or to which a restored hub or a device that was away has brought the end back, can add
    // its link again, until that is sent.
    func isAddedAgain(_ id: RecordID) -> Bool {
      guard let object = state.objects[id], object.isLink, view.state(of: id)?.isDeleted ?? false else { return false }
      return simulation.setup.losesKeys || !isComparable || removesDeletions
    }
    // A link waits for an object that was lost with a store, and whose record another object has got.
    func isOfReused(_ id: RecordID) -> Bool {
      let ends = (view.state(of: id)?.fields ?? []).filter(\.property.isLinkEnd).compactMap(\.value.reference)
      return ends.contains { end in saves.contains { $0.isReplaced && $0.changes.contains { $0.id == end } } }
    }
    // After a kill, the effects of a save on one-to-one relationships may not be reviewed yet.
    let isReviewing =
      device.model.hasRivals || device.model.hasDeletionMarks || device.model.hasMergeRules || state.zone.hasMergeRules ?? false
    let isReviewed = !isReviewing || state.lastNumber <= max(state.zone.reviewedThrough, state.zone.settledThrough)
    if isReviewed, expected != state.objects {
      let ids = Set(expected.keys).union(state.objects.keys)
        .filter { expected[$0] != state.objects[$0] && !isAddedAgain($0) && !isOfReused($0) }.sorted()
      let difference = ids.map { "\($0.low): \(String(describing: state.objects[$0])), expected \(String(describing: expected[$0]))" }
      if !ids.isEmpty {
        throw SimulationFailure(
          invariant: "tables equal state", detail: "device \(device.number): \(difference.joined(separator: "; "))")
      }
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
    // No two objects have the same unique values.
    var unique: [UniqueKey: RecordID] = [:]
    for (id, object) in device.model.hasUniqueConstraints ? state.objects : [:] {
      let record = Record(entity: object.entity, object.values, Stamp(.zero, DeviceID(0)))
      for key in record.uniqueKeys(device.model) {
        guard let other = unique.updateValue(id, forKey: key) else { continue }
        throw SimulationFailure(invariant: "unique values", detail: "device \(device.number): \(id.low) and \(other.low)")
      }
    }
    // No two objects refer to the same object by a one-to-one relationship.
    var referrers: [PropertyID: [RecordID: RecordID]] = [:]
    for (id, object) in simulation.model.syncModel.hasExclusiveReferences ? state.objects : [:] {
      for (property, value) in object.values where simulation.model.syncModel.isExclusive(property, of: object.entity) {
        guard let destination = value.reference else { continue }
        if let other = referrers[property, default: [:]].updateValue(id, forKey: destination) {
          throw SimulationFailure(
            invariant: "one referrer", detail: "device \(device.number): \(id.low) and \(other.low) to \(destination.low)")
        }
      }
    }
    if isReviewed { try checkCounts(device, view) }
    // Both ends of a relationship that is its own inverse agree.
    for (id, object) in device.model.hasExclusiveReferences ? state.objects : [:] {
      for (property, value) in object.values where device.model.isMutual(property, of: object.entity) {
        if let destination = value.reference, state.objects[destination]?.values[property] != .reference(id) {
          throw SimulationFailure(
            invariant: "both ends agree", detail: "device \(device.number): \(id.low) to \(destination.low)")
        }
      }
    }
    // What is known of the hub's state does not become older.
    let sequences = state.entries.compactMapValues(\.base?.sequence)
    for (id, former) in self.sequences[device.number] ?? [:] {
      if let sequence = sequences[id], sequence < former {
        throw SimulationFailure(
          invariant: "states do not become older", detail: "device \(device.number): \(id.low), \(sequence) < \(former)")
      }
    }
    self.sequences[device.number] = sequences
    // Deletions are final.
    for (id, entry) in state.entries
    where entry.base?.record.isTombstone ?? false && state.objects[id] != nil && !isAddedAgain(id) {
      throw SimulationFailure(invariant: "deletions are final", detail: "device \(device.number): \(id.low)")
    }
    // A record that cannot be opened, or that a restored hub has lost, can have a successor that is not known.
    if !simulation.setup.losesKeys, isComparable { try checkSuccessors(view, device) }
    try checkMovedPositions(device)
    if isReviewed { try checkTrees(device) }
    try checkTotals(device, simulation)
    if !simulation.setup.losesKeys { try checkAtomicity(view, device) }
  }

  /// Checks that of each save that a device shows a part of, it shows all, as far as later saves have not replaced it.
  private func checkAtomicity(_ view: StateView, _ device: SimulatedDevice) throws {
    var missing: [ObjectIdentifier: PendingChange?] = [:]
    func missingChange(of save: Save) -> PendingChange? {
      if let known = missing[ObjectIdentifier(save)] { return known }
      let change = save.changes.first { !includes($0, of: save, view, device: device.number) }
      missing[ObjectIdentifier(save)] = .some(change)
      return change
    }
    var complete: Set<Stamp> = []
    for (id, state) in view.states {
      for field in state.fields {
        let hasStampsOfItsOwn = field.rule == .counter || field.property == .deletion
        if !hasStampsOfItsOwn, complete.contains(field.stamp) { continue }
        if (byStamp[field.stamp] ?? []).allSatisfy({ missingChange(of: $0) == nil }) {
          complete.insert(field.stamp)
          if !hasStampsOfItsOwn { continue }
        }
        // A save whose objects got other records counts as two.
        let writers = (byStamp[field.stamp] ?? []).filter { $0.has(written: field, of: id) }
        for save in savesOfDots(field, id) + savesOfDeletions(field, id) {
          guard let change = missingChange(of: save) else { continue }
          throw SimulationFailure(
            invariant: "saves are atomic",
            detail: "device \(device.number): a counter or a deletion of save \(save.number) without \(change.id.low)")
        }
        guard let save = writers.first, writers.allSatisfy({ missingChange(of: $0) != nil }), let change = missingChange(of: save) else {
          continue
        }
        // A pending save that a device has made refer to a successor can look like one of another copy of the store.
        let fields = save.isLink(id) ? view.state(of: id)?.fields ?? [] : [field]
        if fields.contains(where: { field in view.successors.contains { .reference($0.successor) == field.value } }) { continue }
        throw SimulationFailure(
          invariant: "saves are atomic",
          detail: "device \(device.number): save \(save.number) of device \(save.device) without \(change.id.low): "
            + "\(save.stamps), \(String(describing: change.values)); \(String(describing: view.state(of: change.id)))")
      }
    }
  }

  /// Returns whether a state contains a change or a later one.
  ///
  /// - Parameter device: The device whose state it is; nil at the end.
  private func includes(_ change: PendingChange, of save: Save, _ view: StateView, device: Int? = nil) -> Bool {
    if save.revived.contains(change.id) { return true }
    let wasRemoved = isRemoved(change.id)
    // The object has the state of a device that was away. What others had changed was deleted.
    if wasRemoved, resent.contains(change.id) || hasReturned(change.id) { return true }
    if wasRemoved || isDeleted(change.id) {
      // A device that never had the record does not receive its deletion. It can have an unsent insertion of it nevertheless: the same
      // link, or one that another identity of it has sent.
      guard let state = view.state(of: change.id), !removesDeletions || view.hasBase(change.id) else { return true }
      // A restored store has what was deleted since, until it sends that or receives the deletion.
      if !isComparable, device != nil, !view.hasBase(change.id) { return true }
      // A device that was away does not fetch what the hub has of an object, or has removed, that both have deleted. An edit that was not
      // sent yet can win over the deletion.
      if removesDeletions, state.isDeleted || view.hasDeletedBase(change.id) { return true }
    }
    // The hub was restored to a state before the deletion. That is not there again yet, although a device that never received it, because
    // it was deleted or removed before its first pull, has or has sent what else the save has changed.
    if device != nil, !isComparable {
      if wasRemoved || removesDeletions && change.values == nil { return true }
      if omitted.values.contains(where: { $0.contains(change.id) }) { return true }
    }
    if let device, omitted[device]?.contains(change.id) ?? false, view.state(of: change.id) == nil || change.values == nil { return true }
    if mayBeJoined(change, view) { return true }
    // An object that was deleted before its insertion was sent leaves no record. Another object can have that.
    guard let state = view.state(of: change.id), state.isTombstone || view.serial(of: change.id) == save.serials[change.id] else {
      // A store that was replaced repeatedly may not notice that its new object has the record of one that was lost.
      let isReused = saves.contains { $0.isReplaced && $0.device == save.device && $0.changes.contains { $0.id == change.id } }
      return isReused || (save.serials[change.id].map(deletions.contains) ?? false)
    }
    guard let values = change.values else { return includesDeletion(change, of: save, state) }
    if change.isLink { return includesLink(change, of: save, state) }
    return state.isTombstone
      || includesCounters(change, state) && includesRevival(change, of: save, state)
        && values.allSatisfy { property, value in
          // A restored hub has lost the bytes of this value or of a later one, which only another device has.
          if device != nil, !isComparable, value.asset != nil || state[property]?.value.asset != nil { return true }
          let lost = lostAssets[PropertyKey(id: change.id, property: property)]
          if let content = value.asset?.content, lost?.contains(content) ?? false { return true }
          guard let field = state[property] else { return false }
          if field.rule != .latest || change.rules[property] != nil { return includes(value, property, of: change, in: save, field) }
          return includes(value, of: property, save, state)
        }
  }

  /// Returns whether a state contains a value of a save that is not merged by a rule, or a later one.
  func includes(_ value: FieldValue, of property: PropertyID, _ save: Save, _ state: Record) -> Bool {
    guard let field = state[property] else { return false }
    // The device did not have the bytes of a large value anymore, which may be that of a later save.
    if field == field.withoutBytes { return true }
    // A corrected clock has lowered the stamp of a value that was held, because the device could not open its record.
    if field.value == value || field.value == .superseded, save.stamps.contains(where: { $0.device == field.stamp.device }) { return true }
    return field.stamp >= save.lowestStamp || (byStamp[field.stamp] ?? []).contains { $0.stamps.contains { $0 >= save.lowestStamp } }
  }

  /// Whether a link may be joined with that of the successor of an end. Devices can choose different successors.
  func mayBeJoined(_ change: PendingChange, _ view: StateView) -> Bool {
    change.isLink
      && (change.values ?? [:]).values.contains { $0.reference.map { view.mayHaveSuccessor($0) || wasMerged($0) } ?? false }
  }

  /// Checks that all devices have the same objects, and that nothing is lost.
  func checkEnd(_ simulation: Simulation) throws {
    let first = simulation.devices[0].store.state
    for device in simulation.devices where device.store.state.objects != first.objects {
      let other = device.store.state.objects
      let ids = Set(other.keys).union(first.objects.keys).filter { other[$0] != first.objects[$0] }.map(\.low).sorted()
      throw SimulationFailure(invariant: "convergence", detail: "devices 0 and \(device.number) differ in \(ids)")
    }
    let view = StateView(first, simulation.model, simulation.model.syncModel)
    // A save can be up to a second later than one that was accepted, whatever the hub's clock says.
    let latest = simulation.latestTime + Int64(saves.count) * 1_000
    for id in view.ids {
      if let time = view.state(of: id)?.latestStamp?.time, time.milliseconds > latest {
        throw SimulationFailure(invariant: "no stamps of the future", detail: "\(id.low): \(time.milliseconds - simulation.time) ms ahead")
      }
    }
    // What a save or a baseline has ever required of an object.
    var required: [Int64: Set<Int64>] = [:]
    let models = simulation.model.syncModel
    func note(_ id: RecordID, _ entity: EntityID, _ values: [PropertyID: FieldValue], _ serials: [RecordID: Int64]) {
      guard let serial = serials[id] else { return }
      for (property, value) in values where models.isRequired(property, of: entity) {
        if let destination = value.reference.flatMap({ serials[$0] }) { required[serial, default: []].insert(destination) }
      }
    }
    let baselineSerials = baseline.compactMapValues { simulation.model.serial($0.entity, $0.values) }
    for (id, object) in baseline { note(id, object.entity, object.values, baselineSerials) }
    for save in saves { for change in save.changes { note(change.id, change.entity, change.values ?? [:], save.serials) } }
    // The deletion of an object is that of the objects that were merged into it. A record can have had several objects, if it was lost and
    // its device gave it to another one.
    var serials = baselineSerials.mapValues { Set([$0]) }
    for save in saves { for (id, serial) in save.serials { serials[id, default: []].insert(serial) } }
    var merged: [Int64: Set<Int64>] = [:]
    // Devices can choose different successors, and references can have followed each of them.
    for (id, successors) in simulation.devices.flatMap(\.store.successors) {
      let others = Set(successors.flatMap { (serials[$0] ?? []).union(view.serial(of: $0).map { [$0] } ?? []) })
      for serial in (serials[id] ?? []).union(view.serial(of: id).map { [$0] } ?? []) { merged[serial, default: []].formUnion(others) }
    }
    func mayBeDeleted(_ serial: Int64?, depth: Int = 0) -> Bool {
      guard let serial else { return false }
      if depth < 8, (merged[serial] ?? []).contains(where: { mayBeDeleted($0, depth: depth + 1) }) { return true }
      return deletions.contains(serial) || depth < 8 && (required[serial] ?? []).contains { mayBeDeleted($0, depth: depth + 1) }
    }
    for save in saves where !save.isLost {
      for change in save.changes where !includes(change, of: save, view) {
        throw SimulationFailure(
          invariant: "nothing acknowledged is lost", detail: "save \(save.number) of device \(save.device): \(change.id.low)")
      }
      for change in save.changes where change.values != nil {
        // An object that is inserted again can lack its number, if its values were not known anymore.
        guard !change.isLink, let serial = save.serials[change.id] else { continue }
        let isHidden = first.objects[change.id] == nil && !view.lacksDestination(change.id) && !view.hasSuccessor(change.id)
        if view.state(of: change.id)?.isDeleted ?? true || isHidden, !mayBeDeleted(serial) {
          throw SimulationFailure(invariant: "only deletions delete", detail: "\(change.id.low)")
        }
      }
    }
    try checkOrder(view)
    try checkLinks(simulation, view)
    try checkMergedLinks(simulation, view)
    try checkRules(simulation, view)
    try checkVersions(simulation, view)
    try checkJournals(simulation, view)
    try checkDeletions(simulation, view)
    try checkAssets(simulation, view)
    for (id, object) in baseline where first.objects[id] == nil && !object.isLink {
      if view.lacksDestination(id) || view.hasSuccessor(id) || mayBeDeleted(baselineSerials[id]) { continue }
      throw SimulationFailure(invariant: "only deletions delete", detail: "baseline \(id.low)")
    }
    if let id = view.unresolvedReference() {
      throw SimulationFailure(invariant: "replaced references are nil on the hub", detail: "\(id.low)")
    }
    // What waits for an object whose deletion edits can win over remains after the hub has removed that deletion.
    if !simulation.setup.hasDeletionMarks, let (id, destination) = view.missingDestination() {
      throw SimulationFailure(invariant: "what a record requires is there", detail: "\(id.low) to \(destination.low)")
    }
    if let device = simulation.devices.first(where: { !$0.store.state.quarantined.isEmpty }) {
      throw SimulationFailure(invariant: "records are opened as soon as there is a key", detail: "device \(device.number)")
    }
    // No object has two records. A restored store may not recognize what it has sent with corrected stamps, or what was inserted
    // again or has returned.
    var records: [Int64: RecordID] = [:]
    let corrected = Set(saves.filter { Set($0.stamps.map(\.time)).count > 1 }.flatMap(\.serials.values))
    let reinserted = Set(saves.flatMap { save in save.changes.filter(\.isReinsertion).compactMap { save.serials[$0.id] } })
    for (id, object) in first.objects where !hasReturned(id) {
      guard let serial = simulation.model.serial(object.entity, object.values), !corrected.contains(serial), !reinserted.contains(serial)
      else { continue }
      if let other = records.updateValue(id, forKey: serial) {
        throw SimulationFailure(invariant: "objects are not doubled", detail: "\(id.low) and \(other.low) are object \(serial)")
      }
    }
    // The hub has what the devices have.
    for (id, object) in first.objects {
      guard let stored = simulation.storage.state.records[simulation.hashing.name(of: id)], !stored.isDeleted,
        let record = try? simulation.hashing.open(stored).record, record.mapValues(\.value.content) == view.state(of: id)
      else {
        throw SimulationFailure(
          invariant: "the hub has everything", detail: "\(id.low) \(object), \(String(describing: view.state(of: id)))")
      }
    }
  }
}
