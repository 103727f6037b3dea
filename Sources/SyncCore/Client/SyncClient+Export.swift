extension SyncClient {
  /// Returns the commit to send: the one in the outbox, or a new one of records without saves, or of pending saves.
  func freeze(in store: some SyncStore, _ environment: Environment) throws -> FrozenCommit? {
    try store.transaction {
      if let frozen = try store.outbox() { return frozen }
      guard try store.zone().isJoined else { return nil }
      // Values that follow from pending saves have their times.
      if model.hasUniqueConstraints { _ = try savesInTime(in: store, environment) }
      // Objects from before synchronization are sent before the saves that refer to them.
      if let frozen = try freezeRecords(in: store) { return frozen }
      while true {
        let saves = try unsentSaves(in: store, environment)
        guard let first = saves.first else { return nil }
        var zone = try store.zone()
        let through: Int64
        if let (changes, last) = try wholeChanges(of: saves, in: store) {
          if !changes.isEmpty { return try freeze(changes, .whole, through: last, next: nil, in: store) }
          through = last
        } else {
          if let frozen = try freezePart(.changes(from: 0), after: nil, through: first.number, in: store) { return frozen }
          through = first.number
        }
        // The zone contains everything already.
        let merged = try mergedRecords(settledThrough: through, in: store)
        zone.settledThrough = through
        try store.setZone(zone)
        try updateObjects(of: merged, in: store)
      }
    }
  }

  /// Replaces a part in the outbox that the hub has staged by the next one.
  func freezeNextPart(in store: some SyncStore) throws {
    guard let frozen = try store.outbox(), let next = frozen.next else { return }
    do { try freezePart(next, after: frozen.commit, through: frozen.through, in: store) } catch is AwaitedUpload {
      try store.setOutbox(nil)  // Freeze the commit again when the value is uploaded.
    }
  }

  /// Freezes records that no pending save changes: as many as a commit can have, so that objects from before synchronization are sent in
  /// many commits, or all that the hub has lost, in parts.
  private func freezeRecords(in store: some SyncStore) throws -> FrozenCommit? {
    var zone = try store.zone()
    if !zone.isSalvaging {
      let (changes, _) = try changes(from: .records(after: nil), through: zone.settledThrough, in: store)
      return changes.isEmpty ? nil : try freeze(changes, .whole, through: zone.settledThrough, next: nil, in: store)
    }
    if let frozen = try freezePart(.records(after: nil), after: nil, through: zone.settledThrough, in: store) { return frozen }
    zone.isSalvaging = false
    try store.setZone(zone)
    return nil
  }

  /// Freezes a part of a commit.
  ///
  /// - Returns: Nil if the commit has no changes.
  @discardableResult
  private func freezePart(
    _ start: FrozenCommit.NextPart, after previous: SealedCommit?, through: Int64, in store: some SyncStore
  ) throws -> FrozenCommit? {
    let (changes, next) = try changes(from: start, through: through, in: store)
    if previous == nil, changes.isEmpty { return nil }
    let part = CommitPart(number: previous.map { $0.part.number + 1 } ?? 0, previous: previous?.digest, isLast: next == nil)
    return try freeze(changes, part, through: through, next: next, in: store)
  }

  private func freeze(
    _ changes: [RecordChange], _ part: CommitPart, through: Int64, next: FrozenCommit.NextPart?, in store: some SyncStore
  ) throws -> FrozenCommit {
    var zone = try store.zone()
    if part.number == 0 {
      zone.deviceSequence += 1
      try store.setZone(zone)
    }
    let latest = changes.lazy.compactMap { $0.record.latestStamp?.time }.max() ?? .zero
    let commit = Commit(
      device: zone.device, deviceSequence: zone.deviceSequence, part: part, base: zone.base, accepted: zone.accepted,
      incarnation: zone.incarnation ?? Incarnation(0),
      time: zone.clock.isExplained(latest) ? .zero : latest, changes: changes)
    let frozen = FrozenCommit(try sealing.seal(commit), through: through, next: next)
    try store.setOutbox(frozen)
    return frozen
  }

  // MARK: Changes

  /// Returns as many changes as a part can have, and where the next part begins.
  private func changes(
    from start: FrozenCommit.NextPart, through: Int64, in store: some SyncStore
  ) throws -> (changes: [RecordChange], next: FrozenCommit.NextPart?) {
    var (changes, size): ([RecordChange], Int) = ([], 0)
    func add(_ change: RecordChange?) {
      guard let change else { return }
      changes.append(change)
      size += change.record.approximateSize
    }
    func isFull() -> Bool { changes.count >= limits.changesInCommit || size >= limits.bytesInCommit }
    switch start {
    case .records(var last):
      while !isFull() {
        let records = try store.unsentRecords(after: last, maximumCount: limits.changesInCommit - changes.count)
        if records.isEmpty { return (changes, nil) }
        for id in records where !isFull() {
          // A large value that is not uploaded yet does not delay other records.
          do { add(try change(of: id, nil, in: store)) } catch is AwaitedUpload {}
          last = id
        }
      }
      let isLast = try store.unsentRecords(after: last, maximumCount: 1).isEmpty
      return (changes, isLast ? nil : .records(after: last))
    case .changes(var position):
      guard let save = try store.pendingSaves(after: through - 1, maximumChangeCount: 1).first, save.number == through else {
        return (changes, nil)
      }
      while !isFull() {
        let batch = try store.changes(of: through, from: position, maximumCount: limits.changesInCommit - changes.count)
        if batch.isEmpty { return (changes, nil) }
        for pending in batch where !isFull() {
          if !pending.isEmpty { add(try change(of: pending.id, pending.record(save.stamp), in: store)) }
          position += 1
        }
      }
      return (changes, position < save.changeCount ? .changes(from: position) : nil)
    }
  }

  /// Returns the saves of the next commit.
  private func unsentSaves(in store: some SyncStore, _ environment: Environment) throws -> [PendingSave] {
    let saves = try savesInTime(in: store, environment)
    guard try store.hasAssets else { return saves }
    // Saves are sent in their order: a large value that is not uploaded yet delays those after it.
    var pending: [RecordID: Record] = [:]
    return Array(try saves.prefix { try isSendable($0, &pending, in: store) })
  }

  /// Returns the next pending saves. If the hub would refuse their stamps, all get others first.
  private func savesInTime(in store: some SyncStore, _ environment: Environment) throws -> [PendingSave] {
    let zone = try store.zone()
    let saves = try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
    guard saves.contains(where: { zone.clock.isAhead($0.stamp.time, at: environment.wall) }) else { return saves }
    try restamp(in: store, environment)
    return try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
  }

  /// Returns whether the large values of all records that a save changes are uploaded.
  ///
  /// - Parameter pending: What the saves before have changed, to which the changes of this one are added.
  private func isSendable(_ save: PendingSave, _ pending: inout [RecordID: Record], in store: some SyncStore) throws -> Bool {
    var (changes, position) = (save.changes, 0)
    while !changes.isEmpty {
      for change in changes where !change.isLink {
        pending[change.id] = pending[change.id].applying(change.record(save.stamp))
        let state = (try store.entry(of: change.id)?.state).applying(pending[change.id])
        if let state, try store.sendable(state, of: change.id) == nil { return false }
      }
      position += changes.count
      if position >= save.changeCount { break }
      changes = try store.changes(of: save.number, from: position, maximumCount: limits.recordsInBatch)
    }
    return true
  }

  /// Returns the changes of whole saves that bring the zone from what was pulled to the state after them, and the last of these saves; nil if
  /// the first save is too large for one commit.
  private func wholeChanges(of saves: [PendingSave], in store: some SyncStore) throws -> (changes: [RecordChange], last: Int64)? {
    var saves = saves
    while let first = saves.first, let last = saves.last, first.changes.count == first.changeCount {
      var pending: [RecordID: Record] = [:]
      for save in saves {
        for change in save.changes where !change.isEmpty {
          pending[change.id] = pending[change.id].applying(change.record(save.stamp))
        }
      }
      let changes = try pending.keys.sorted().compactMap { try change(of: $0, pending[$0], in: store) }
      if changes.lazy.map(\.record.approximateSize).reduce(0, +) <= limits.bytesInCommit || changes.count <= 1 {
        return (changes, last.number)
      }
      saves.removeLast((saves.count + 1) / 2)
    }
    return nil
  }

  /// A record cannot be sent before a large value is uploaded.
  private struct AwaitedUpload: Error {}

  /// Returns the change of a record that brings the zone to a state, or nil if there is nothing to send.
  private func change(of id: RecordID, _ pending: Record?, in store: some SyncStore) throws -> RecordChange? {
    if try holdChange(of: id, pending, in: store) {
      // With later saves of another version of the model, what is held can have another result.
      if pending != nil, hasMergeRules(try store.zone()) { try updateObjects(of: [id], in: store) }
      return nil
    }
    let entry = try store.entry(of: id)
    let base = entry?.base?.record
    guard var state = (entry?.state).applying(pending) else { return nil }
    if entry?.isOrphan ?? false, let stamp = state.latestStamp { state = Record(entity: state.entity, .deleted(stamp)) }
    // A link was added again although it was deleted with an end, because the device cannot open that deletion.
    if state.isDeleted, pending?.isLink ?? false { try updateObjects(of: [id], in: store) }
    let whole = state
    if try store.hasAssets {
      guard let sendable = try store.sendable(state, of: id) else { throw AwaitedUpload() }
      state = sendable
    }
    if state == base {
      try releaseHeldState(of: id, in: store)
      // A large value that neither the hub nor the device has cannot be sent.
      if state != whole { try updateObjects(of: [id], in: store) }
      return nil
    }
    state = try compacted(state, of: id, in: store)
    // The deletion of an object is sent even if the hub never had it: a copy of the store may have it, and send it.
    return RecordChange(id, replacing: entry?.base?.version, state)
  }

  /// Returns a state with the device's own dots of counters replaced by a total, as far as they are settled.
  private func compacted(_ state: Record, of id: RecordID, in store: some SyncStore) throws -> Record {
    if !state.fields.contains(where: { $0.rule == .counter }) { return state }
    let zone = try store.zone()
    let pending = try store.pendingChanges(of: id, after: zone.settledThrough)
    return state.mapValues { field in
      let pending = pending?[field.property]
      guard field.rule == .counter, pending?.rule ?? .counter == .counter else { return field.value }
      // Later saves have times after all that the device has seen.
      let counter = Counter(field.value)
      return counter.compacted(zone.device, through: zone.clock.seen, excluding: Counter(pending?.value ?? .null)).fieldValue
    }
  }

  private func releaseHeldState(of id: RecordID, in store: some SyncStore) throws {
    guard var entry = try store.entry(of: id), entry.held != nil else { return }
    entry.held = nil
    try store.setEntry(entry, of: id)
  }

  /// Records that the hub has accepted the commit in the outbox.
  ///
  /// - Returns: False if only a pull can tell: the earlier parts of the commit are not kept, or the hub has another history than the one
  ///   that was pulled.
  func settle(acceptedAs point: ChainPoint, _ hubTime: Int64, in store: some SyncStore, _ environment: Environment) throws -> Bool {
    try correctClock(hubTime, in: store, environment)
    guard let frozen = try store.outbox() else { return true }
    // The records that are compared must not change meanwhile.
    if reconciliation != nil { return false }
    var zone = try store.zone()
    // A pull up to the commit would have listed it, and the outbox would be empty, or will be when the pull is complete.
    let listed = zone.staging?.point ?? zone.base
    if point.sequence <= listed.sequence { return false }
    if frozen.commit.part.number > 0 { return false }
    let records = frozen.commit.records.map { record in
      StoredRecord(
        name: record.name, sequence: point.sequence, version: record.version, isDeleted: record.isDeleted, body: record.body)
    }
    let opened = records.map { try? sealing.open($0) }
    // The hub accepts a commit only if it changes the last states. If others were pulled since, the hub was restored meanwhile.
    for (record, opened) in zip(frozen.commit.records, opened) {
      if let opened, try store.entry(of: opened.id)?.base?.version != record.replacedVersion { return false }
    }
    zone.settledThrough = frozen.through
    try store.setOutbox(nil)
    let next = ChainPoint(
      sequence: zone.base.sequence + 1, head: try hashing.head(after: zone.base.head, adding: frozen.commit.digest))
    if point == next, !isPulling, zone.staging == nil {
      // No other device has pushed since the last pull. The commit need not be pulled.
      zone.base = point
    } else {
      zone.accepted = point
    }
    var (changed, unexpected): ([RecordID], RecordSet) = ([], RecordSet())
    for (record, opened) in zip(records, opened) {
      if let (id, new) = opened, let entry = try store.entry(of: id) { try noteOwnEffects(on: id, entry, new, in: store) }
      changed += try setBase(record, opened, &zone, &unexpected, in: store)
    }
    try holdSettledChanges(through: frozen.through, in: store)
    changed += try mergedRecords(settledThrough: frozen.through, in: store)
    try store.setZone(zone)
    try updateObjects(of: changed, in: store)
    return true
  }

  /// Updates the objects that follow from the states of records.
  func updateObjects(of changed: some Sequence<RecordID>, in store: some SyncStore) throws {
    try VisibleState(model, in: store, batch: limits.recordsInBatch).update(changed)
  }
}
