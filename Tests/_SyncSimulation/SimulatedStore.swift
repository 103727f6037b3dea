import SyncCore

/// A store in memory, whose process can be killed at any call.
final class SimulatedStore: SyncStore {
  struct State {
    var zone: ZoneState
    var entries: [RecordID: RecordEntry] = [:]
    var objects: [RecordID: SyncedObject] = [:]
    var saves: [PendingSave] = []
    var lastNumber: Int64 = 0
    var outbox: FrozenCommit?
    var staged: [StoredRecord] = []
    var quarantined: [RecordName: StoredRecord] = [:]
    /// The records that have ever referred to a record, and by which relationships.
    var referrers: [RecordID: [RecordID: Set<PropertyID>]] = [:]
    /// The range of the IDs that new objects get, and the number of the last one.
    var range: UInt64 = 0
    var lastKey: UInt64 = 0
    /// The records of which objects got other ones, with those.
    var renewals: [(former: RecordID, new: RecordID)] = []
    /// What has lost, without equal entries.
    var journal: [JournalEntry] = []
    /// A number of each save that no other save of the device has, also in other states of the store.
    var saveIdentities: [Int64: UInt64] = [:]
    /// What is known of large values.
    var assets: [AssetKey: AssetEntry] = [:]
  }

  /// The process was killed.
  struct Kill: Error {}

  var state: State { didSet { contentRevision &+= 1 } }
  /// A number that is another one after each change of what the invariants of the objects depend on. It may change without one.
  private(set) var contentRevision = 0
  /// The number of calls until the process is killed.
  var callsUntilKill: Int?
  private var callsInTransaction = 0  // An endless transaction has very many.
  /// The number of transactions that were committed.
  private(set) var commitCount = 0
  private var isInTransaction = false
  private let hashing = SimulatedHashing()
  private var lastSaveIdentity: UInt64 = 0
  private let firstRange: UInt64
  /// The largest number of records, changes or objects that a call has read or written, and the number of objects that were read.
  private(set) var (largestPortion, objectReadCount) = (0, 0)
  /// The records into which others were ever merged.
  private(set) var successors: [RecordID: Set<RecordID>] = [:]
  /// The records that were sent again after the hub had removed their deletions.
  private(set) var resent: Set<RecordID> = []
  /// The stamps that held values have got since a wall clock was corrected.
  var restamps: [(former: Stamp, new: Stamp)] = []
  /// The records that have lost their bases in the transaction, and must be sent.
  private var unbased: Set<RecordID> = []
  /// The objects that were written in the transaction.
  private var writtenObjects: Set<RecordID> = []
  /// The objects that referred to an object when it was deleted.
  private var remainingReferrers: [(referrer: RecordID, destination: RecordID)] = []
  /// The values that could not be merged.
  private(set) var unmerged: Set<UnmergedValue> = []
  /// How the contract of the store was violated.
  private(set) var violation: String?

  /// The version of the model that the store has.
  var model: SyncModel?
  /// The version that has all many-to-many relationships.
  var newestModel = SyncModel(entities: [:])

  /// Whether the application saves large values.
  var hasAssets = false
  /// The large values that were uploaded, by their contents.
  var uploaded: [AssetReference: AssetReference] = [:]
  /// The large values that were not sent, because the device did not have the bytes anymore.
  var abandonedAssets: [AssetKey: Set<AssetReference>] = [:]

  /// Whether the IDs of new objects are in the order in which the objects were inserted.
  let hasOrderedIDs: Bool

  init(device: DeviceID, range: UInt64, hasOrderedIDs: Bool = false) {
    (self.hasOrderedIDs, firstRange) = (hasOrderedIDs, range)
    state = State(zone: ZoneState(device: device), range: range)
  }

  /// Changes what the invariants of the objects do not depend on.
  private func setAside(_ change: (inout State) -> Void) {
    let revision = contentRevision
    change(&state)
    contentRevision = revision
  }

  func call(_ count: Int = 0) throws {
    largestPortion = max(largestPortion, count)
    callsInTransaction += 1
    if callsInTransaction > 1_000_000 { throw SimulationFailure(invariant: "transactions end", detail: "\(state.zone)") }
    guard let calls = callsUntilKill else { return }
    if calls == 0 { throw Kill() }
    callsUntilKill = calls - 1
  }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try call()
    precondition(!isInTransaction)
    (isInTransaction, callsInTransaction) = (true, 0)
    defer { isInTransaction = false }
    let former = state
    (writtenObjects, remainingReferrers, unbased) = ([], [], [])
    do {
      let result = try body()
      for (referrer, destination) in remainingReferrers where state.objects[referrer] != nil {
        violation = "object \(destination.low) was deleted before its referrer \(referrer.low) was updated"
      }
      // Killed before the commit.
      try call()
      commitCount += 1
      if state.zone.base.sequence > 0 { resent.formUnion(unbased) }
      return result
    } catch {
      state = former
      throw error
    }
  }

  func zone() throws -> ZoneState {
    try call()
    return state.zone
  }
  func setZone(_ zone: ZoneState) throws {
    try call()
    let former = state.zone
    if (zone.settledThrough, zone.reviewedThrough, zone.device) == (former.settledThrough, former.reviewedThrough, former.device) {
      setAside { $0.zone = zone }
    } else {
      state.zone = zone
    }
  }

  func entry(of id: RecordID) throws -> RecordEntry? {
    try call()
    return state.entries[id]
  }
  func setEntry(_ entry: RecordEntry, of id: RecordID) throws {
    try call()
    // What was accepted and never pulled had no base. Objects from before synchronization are not sent again.
    let isFromBefore = entry.held?.latestStamp.map { $0.time.value <= 1 } ?? false
    if entry.base == nil, entry.held != nil, !isFromBefore || state.entries[id]?.base != nil { unbased.insert(id) }
    noteRestamps(state.entries[id]?.held, entry.held)
    state.entries[id] = entry
    if let successor = entry.state?.successor { successors[id, default: []].insert(successor) }
    addReferrer(id, entry.base?.record)
    addReferrer(id, entry.held)
  }
  func records(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
    try call()
    let ids = state.entries.keys.sorted()
    guard let id else { return Array(ids.prefix(maximumCount)) }
    return Array(ids.drop { $0 <= id }.prefix(maximumCount))
  }
  func unsentRecords(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
    try call()
    let ids = state.entries.filter { entry in entry.value.isUnsent && id.map { $0 < entry.key } ?? true }.keys.sorted()
    return Array(ids.prefix(maximumCount))
  }

  func pendingSaves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave] {
    var (result, count): ([PendingSave], Int) = ([], 0)
    for save in state.saves where save.number > number {
      count += save.changes.count
      if !result.isEmpty, count > maximumChangeCount { break }
      let changes = Array(save.changes.prefix(maximumChangeCount))
      result.append(PendingSave(number: save.number, stamp: save.stamp, changes: changes, changeCount: save.changes.count))
    }
    try call(result.reduce(0) { $0 + $1.changes.count })
    return result
  }
  func changes(of save: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange] {
    let changes = Array((state.saves.first { $0.number == save }?.changes ?? []).dropFirst(position).prefix(maximumCount))
    try call(changes.count)
    return changes
  }
  func pendingChanges(of id: RecordID, after number: Int64) throws -> Record? {
    try call()
    return pending(of: id, after: number)
  }
  func restamp(_ stamps: [Int64: Stamp], additions: (Stamp) -> Stamp) throws {
    try call()
    for index in state.saves.indices where state.saves[index].number > state.zone.settledThrough {
      if let stamp = stamps[state.saves[index].number] { state.saves[index].stamp = stamp }
      state.saves[index].changes = state.saves[index].changes.map { $0.ownFields.isEmpty ? $0 : $0.restamped(additions) }
    }
  }

  func object(of id: RecordID) throws -> SyncedObject? {
    try call()
    objectReadCount += 1
    return state.objects[id]
  }
  func setObjects(_ changes: [(id: RecordID, object: SyncedObject?)]) throws {
    try call(changes.count)
    for change in changes {
      // What a superseded reference has denied is evaluated again, and so are objects that become one with others, and members.
      let isRepeated = !writtenObjects.insert(change.id).inserted
      if isRepeated, model.map({ $0.denyingReferences.isEmpty && !$0.hasUniqueConstraints && !$0.hasCapacities }) ?? true {
        violation = "object \(change.id.low) was written twice"
      }
      if hasAssets { noteAssets(of: change.id, change.object) }
      state.objects[change.id] = change.object
      if let entity = change.object?.entity, let model, model.entities[entity] == nil {
        violation = "object \(change.id.low) has entity \(entity.value), which the model lacks"
      }
      if change.object != nil { continue }
      // What is deleted too can be there again, after members were counted.
      remainingReferrers.removeAll { $0.0 == change.id }
      for referrer in (state.referrers[change.id] ?? [:]).keys {
        if state.objects[referrer]?.values.values.contains(where: { $0.reference == change.id }) ?? false {
          remainingReferrers.append((referrer, change.id))
        }
      }
    }
    for change in changes {
      for destination in (change.object?.values.values).map({ $0.compactMap(\.reference) }) ?? [] where state.objects[destination] == nil {
        violation = "object \(change.id.low) was written before its destination \(destination.low)"
      }
    }
  }
  func referrers(of id: RecordID) throws -> [RecordID] {
    try call()
    return (state.referrers[id] ?? [:]).keys.sorted()
  }
  func referrers(of id: RecordID, through property: PropertyID) throws -> [RecordID] {
    try call()
    return (state.referrers[id] ?? [:]).filter { $0.value.contains(property) }.keys.sorted()
  }

  func addToJournal(_ entry: JournalEntry) throws {
    try call()
    if !state.journal.contains(entry) { setAside { $0.journal.append(entry) } }
  }

  func noteUnmerged(_ value: UnmergedValue) throws {
    try call()
    unmerged.insert(value)
  }

  func outbox() throws -> FrozenCommit? {
    try call()
    return state.outbox
  }
  func setOutbox(_ commit: FrozenCommit?) throws {
    try call()
    setAside { $0.outbox = commit }
  }

  func stage(_ records: [StoredRecord]) throws {
    try call()
    setAside { $0.staged += records }
  }
  func stagedRecords(after position: Int, maximumCount: Int) throws -> [StoredRecord] {
    let records = Array(state.staged.dropFirst(position).prefix(maximumCount))
    try call(records.count)
    return records
  }
  func removeStagedRecords() throws {
    try call()
    setAside { $0.staged = [] }
  }

  func setQuarantined(_ record: StoredRecord?, _ name: RecordName) throws {
    try call()
    setAside { $0.quarantined[name] = record }
  }
  func quarantined(_ name: RecordName) throws -> StoredRecord? {
    try call()
    return state.quarantined[name]
  }
  func quarantined(after name: RecordName?, maximumCount: Int) throws -> [StoredRecord] {
    try call()
    if state.quarantined.isEmpty { return [] }
    let names = state.quarantined.keys.filter { other in name.map { $0 < other } ?? true }.sorted()
    return names.prefix(maximumCount).compactMap { state.quarantined[$0] }
  }

  func renewRecords(_ ids: [RecordID]) throws -> [RecordID: RecordID] {
    try call(ids.count)
    let renewed = Dictionary(uniqueKeysWithValues: ids.map { ($0, newID(inPlaceOf: $0)) })
    var renewedLinks: [RecordID: RecordID] = [:]
    func renew(_ change: PendingChange) -> PendingChange {
      let new = change.renewed(renewed, newestModel, linkID: hashing.id)
      if change.isLink, new.id != change.id { renewedLinks[change.id] = new.id }
      return new
    }
    for index in state.saves.indices where state.saves[index].number > state.zone.settledThrough {
      let stamp = state.saves[index].stamp
      state.saves[index].changes = state.saves[index].changes.map { change in
        let new = renew(change)
        addReferrer(new.id, new.record(stamp))
        return new
      }
    }
    var objects: [RecordID: SyncedObject] = [:]
    for (id, object) in state.objects {
      let new = renew(PendingChange(id, entity: object.entity, object.values))
      objects[new.id] = SyncedObject(entity: object.entity, new.values ?? [:])
    }
    state.objects = objects
    let all = renewed.sorted { $0.key < $1.key } + renewedLinks.sorted { $0.key < $1.key }
    for (former, new) in all { state.renewals.append((former, new)) }
    return renewed
  }

  func id(of link: Link) -> RecordID { hashing.id(of: link) }

  func records(with key: UniqueKey) throws -> [RecordID] {
    try call()
    let model = model ?? newestModel
    return state.objects.filter { _, object in
      Record(entity: object.entity, object.values, Stamp(.zero, state.zone.device)).uniqueKeys(model).contains(key)
    }.keys.sorted()
  }

  func redirect(_ successors: [RecordID: RecordID]) throws -> [RecordID] {
    try call(successors.count)
    var changed: [RecordID] = []
    for index in state.saves.indices where state.saves[index].number > state.zone.settledThrough {
      var (changes, links): ([PendingChange], [RecordID: Int]) = ([], [:])
      for change in state.saves[index].changes {
        let new = change.redirected(successors, newestModel, linkID: hashing.id)
        if new != change {
          changed += [change.id, new.id]
          addReferrer(new.id, new.record(state.saves[index].stamp))
        }
        // A save has one change of each link.
        if new.isLink, let known = links[new.id] {
          changes[known] = changes[known].joined(with: new)
        } else {
          if new.isLink { links[new.id] = changes.count }
          changes.append(new)
        }
      }
      state.saves[index].changes = changes
    }
    return changed
  }

  // MARK: The application

  /// Returns an ID for a new object. If the store was replaced by an older copy, an object that was lost can have the same.
  func newID() -> RecordID {
    while true {
      state.lastKey += 1
      let low = state.range << 20 | state.lastKey
      let id = RecordID(high: hasOrderedIDs ? 1 : low &* 0x9E37_79B9_7F4A_7C15, low: low)
      if state.entries[id] == nil { return id }
    }
  }

  /// Returns the same ID in each state of the store that contains the save that has inserted the object.
  private func newID(inPlaceOf id: RecordID) -> RecordID {
    let save = state.saves.first { $0.number > state.zone.settledThrough && $0.changes.contains { $0.id == id } }
    guard let identity = save.flatMap({ state.saveIdentities[$0.number] }) else { return newID() }
    let low = 1 << 63 | (id.low &* 0x9E37_79B9_7F4A_7C15 ^ (firstRange << 32 | identity) &* 0xC2B2_AE3D_27D4_EB4F) >> 1
    return RecordID(high: hasOrderedIDs ? 1 : low &* 0x9E37_79B9_7F4A_7C15, low: low)
  }

  /// Sets the objects that are there before synchronization begins.
  func setExistingObjects(_ objects: [RecordID: SyncedObject]) {
    state.objects = objects
    for (id, object) in objects { addReferrer(id, Record(entity: object.entity, object.values, Stamp(.zero, state.zone.device))) }
  }

  /// Adds an object from before synchronization to the zone.
  func addBaseline(_ object: SyncedObject, of id: RecordID) throws {
    try Baseline.add(object, of: id, merging: model?.merging(of: object.entity) ?? [:], in: self)
  }

  /// Saves changes of the application.
  func save(_ changes: [PendingChange], at wall: Int64) throws -> PendingSave {
    try transaction {
      for change in changes where state.entries[change.id] == nil && pending(of: change.id, after: 0) == nil {
        if let object = state.objects[change.id] { try addBaseline(object, of: change.id) }
      }
      // The links of a deleted object exist again if it does.
      for change in changes where change.values == nil && model?.updateWins(change.entity) ?? false {
        for referrer in (state.referrers[change.id] ?? [:]).keys.sorted()
        where state.entries[referrer] == nil && pending(of: referrer, after: 0) == nil {
          if let object = state.objects[referrer], object.isLink { try addBaseline(object, of: referrer) }
        }
      }
      let stamp = Stamp(state.zone.clock.stamp(at: wall), state.zone.device)
      let saved = changes
      let changes = try changes.map { change in
        if change.isLink { return linkChange(change, stamp) }
        return try change.values == nil ? deletion(change, among: saved) : objectChange(change, stamp)
      }
      state.lastNumber += 1
      let save = PendingSave(number: state.lastNumber, stamp: stamp, changes: changes)
      state.saves.append(save)
      lastSaveIdentity += 1
      state.saveIdentities[save.number] = lastSaveIdentity
      for change in changes where change.isLink || change.values == nil {
        if let values = change.values {
          // A link that is added again has its former positions, unless it gets others.
          let positions = (known(of: change.id)?.fields ?? []).filter { $0.value.position != nil }
          let former = Dictionary(uniqueKeysWithValues: positions.map { ($0.property, $0.value) })
          let present = SyncedObject(entity: change.entity, former.merging(values) { $1 })
          state.objects[change.id] = change.isRemoval ? nil : present
          addReferrer(change.id, change.record(stamp))
        } else {
          state.objects[change.id] = nil
          removeLinks(of: change.id)
        }
      }
      for change in saved where !change.isLink {
        if hasAssets { forgetMissingAssets(replacedBy: change) }
        guard let values = change.values else { continue }
        state.objects[change.id, default: SyncedObject(entity: change.entity, [:])].values.merge(values) { $1 }
        addReferrer(change.id, change.record(stamp))
      }
      return save
    }
  }

  /// Returns a change of an object with the rules that the device's model declares.
  private func objectChange(_ change: PendingChange, _ stamp: Stamp) -> PendingChange {
    let rules = model?.merging(of: change.entity) ?? [:]
    guard let values = change.values else { return change }
    if state.objects[change.id] == nil, let known = known(of: change.id), known.isDeleted, known.deletionMark != nil {
      return .reinsertion(
        of: change.id, entity: change.entity, values, in: known, model ?? newestModel, first: stamp, revival: stamp)
    }
    let (former, known) = (state.objects[change.id]?.values ?? [:], known(of: change.id))
    if rules.isEmpty, known == nil { return change }
    return PendingChange(change.id, entity: change.entity, values, replacing: former, rules: rules, first: stamp)
      .versioned(model ?? newestModel, replacing: former, in: known, settled: state.entries[change.id]?.state, first: stamp)
  }

  /// Returns a deletion with what it has seen, if edits can win over it.
  private func deletion(_ change: PendingChange, among saved: [PendingChange]) throws -> PendingChange {
    guard let model, model.updateWins(change.entity) else { return change }
    let changed = Set(saved.map(\.id))
    let references = try denyingReferences(to: change.id, model, after: state.zone.settledThrough, except: changed.contains)
    return .deletion(of: change.id, entity: change.entity, from: known(of: change.id), references: references)
  }

  func known(of id: RecordID) -> Record? {
    (state.entries[id]?.state).applying(pending(of: id, after: state.zone.settledThrough))
  }

  /// Returns the objects that were deleted so that they can be inserted again under the same records.
  func deletedObjects() -> [RecordID: SyncedObject] {
    var result: [RecordID: SyncedObject] = [:]
    let ids = Set(state.entries.keys).union(state.saves.filter { $0.number > state.zone.settledThrough }.flatMap(\.changes).map(\.id))
    for id in ids where state.objects[id] == nil {
      guard let known = known(of: id), known.isDeleted, known.deletionMark != nil else { continue }
      var values: [PropertyID: FieldValue] = [:]
      for field in known.fields where !field.property.isOfRecordOnly {
        values[field.property] = field.value.unmerged.content
      }
      result[id] = SyncedObject(entity: known.entity, values)
    }
    return result
  }

  /// Returns a change of a link with its addition, or with those that it removes.
  private func linkChange(_ change: PendingChange, _ stamp: Stamp) -> PendingChange {
    guard let source = change.values?[.linkSource]?.reference, let destination = change.values?[.linkDestination]?.reference else {
      return change
    }
    let link = Link(change.entity, from: source, to: destination, isSymmetric: false)
    if change.isMove { return change }
    if change.isAddition { return .addition(of: link, change.id, stamp).positioned(change.positions) }
    let known = (state.entries[change.id]?.state).joined(with: pending(of: change.id, after: state.zone.settledThrough))
    return .removal(of: link, change.id, from: known)
  }

  /// Removes the links of an object that is deleted, as a store does.
  private func removeLinks(of id: RecordID) {
    for referrer in (state.referrers[id] ?? [:]).keys {
      guard let object = state.objects[referrer], object.isLink, object.values.values.contains(.reference(id)) else { continue }
      state.objects[referrer] = nil
    }
  }

  func pending(of id: RecordID, after number: Int64) -> Record? {
    var result: Record?
    // Most saves are settled.
    let first = (state.saves.lastIndex { $0.number <= number } ?? -1) + 1
    for save in state.saves[first...] {
      for change in save.changes where change.id == id { result = result.applying(change.record(save.stamp)) }
    }
    return result
  }

  private func addReferrer(_ id: RecordID, _ record: Record?) {
    for field in record?.fields ?? [] {
      if let destination = field.value.reference { state.referrers[destination, default: [:]][id, default: []].insert(field.property) }
    }
  }
}
