extension SyncClient {
  /// Returns the commit to send: the one in the outbox, or a new one of records without saves, or of pending saves.
  func freeze(in store: some SyncStore, _ environment: Environment) throws -> FrozenCommit? {
    try store.transaction {
      if let frozen = try store.outbox() { return frozen }
      guard try store.zone().isJoined else { return nil }
      // Objects from before synchronization are sent before the saves that refer to them.
      let unsent = try unsentChanges(in: store)
      if !unsent.isEmpty { return try freeze(unsent, through: try store.zone().settledThrough, in: store) }
      while true {
        let saves = try unsentSaves(in: store, environment)
        guard let through = saves.last?.number else { return nil }
        let changes = try changes(of: saves, in: store)
        if !changes.isEmpty { return try freeze(changes, through: through, in: store) }
        // The zone contains everything already.
        var zone = try store.zone()
        zone.settledThrough = through
        try store.setZone(zone)
      }
    }
  }

  private func freeze(_ changes: [RecordChange], through: Int64, in store: some SyncStore) throws -> FrozenCommit {
    var zone = try store.zone()
    zone.deviceSequence += 1
    try store.setZone(zone)
    let commit = Commit(
      device: zone.device, deviceSequence: zone.deviceSequence, base: zone.base, accepted: zone.accepted,
      incarnation: zone.incarnation ?? Incarnation(0),
      time: changes.lazy.compactMap { $0.record.latestStamp?.time }.max() ?? .zero, changes: changes)
    let frozen = FrozenCommit(try sealing.seal(commit), through: through)
    try store.setOutbox(frozen)
    for change in changes where change.replacedVersion == nil {
      var entry = try store.entry(of: change.id) ?? RecordEntry()
      entry.wasSent = true
      try store.setEntry(entry, of: change.id)
    }
    return frozen
  }

  /// Returns the changes of records that no pending save changes: of as many as a commit can have, so that objects from before
  /// synchronization are sent in many commits, or of all that the hub has lost.
  private func unsentChanges(in store: some SyncStore) throws -> [RecordChange] {
    var zone = try store.zone()
    var changes: [RecordChange] = []
    var last: RecordID?
    while changes.isEmpty || zone.isSalvaging {
      let records = try store.unsentRecords(after: last, maximumCount: limits.changesInCommit)
      guard let final = records.last else { break }
      for id in records { try change(of: id, nil, in: store).map { changes.append($0) } }
      last = final
    }
    if changes.isEmpty, zone.isSalvaging {
      zone.isSalvaging = false
      try store.setZone(zone)
    }
    return changes
  }

  /// Returns the saves of the next commit.
  private func unsentSaves(in store: some SyncStore, _ environment: Environment) throws -> [PendingSave] {
    let zone = try store.zone()
    let saves = try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
    guard saves.contains(where: { zone.clock.isAhead($0.stamp.time, at: environment.wall) }) else { return saves }
    try restamp(in: store, environment)
    return try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
  }

  /// Returns the changes that bring the zone from what was pulled to the state after some saves.
  private func changes(of saves: [PendingSave], in store: some SyncStore) throws -> [RecordChange] {
    var pending: [RecordID: Record] = [:]
    for save in saves {
      for change in save.changes { pending[change.id] = pending[change.id].joined(with: change.record(save.stamp)) }
    }
    return try pending.keys.sorted().compactMap { try change(of: $0, pending[$0], in: store) }
  }

  /// Returns the change of a record that brings the zone to a state, or nil if there is nothing to send.
  private func change(of id: RecordID, _ pending: Record?, in store: some SyncStore) throws -> RecordChange? {
    let entry = try store.entry(of: id)
    let base = entry?.base?.record
    guard var state = base.joined(with: entry?.held).joined(with: pending) else { return nil }
    if entry?.isOrphan ?? false, let stamp = state.latestStamp { state = Record(entity: state.entity, .deleted(stamp)) }
    if state == base {
      try releaseHeldState(of: id, in: store)
      return nil
    }
    // An object that was inserted and deleted again before anything was sent.
    if state.isDeleted, base == nil, entry?.wasSent != true, entry?.held == nil { return nil }
    return RecordChange(id, replacing: entry?.base?.version, state)
  }

  private func releaseHeldState(of id: RecordID, in store: some SyncStore) throws {
    guard var entry = try store.entry(of: id), entry.held != nil else { return }
    entry.held = nil
    try store.setEntry(entry, of: id)
  }

  /// Records that the hub has accepted the commit in the outbox.
  ///
  /// - Returns: False if the hub has another history than the one that was pulled.
  func settle(acceptedAs point: ChainPoint, _ hubTime: Int64, in store: some SyncStore, _ environment: Environment) throws -> Bool {
    try correctClock(hubTime, in: store, environment)
    guard let frozen = try store.outbox() else { return true }
    var zone = try store.zone()
    // A pull up to the commit would have listed it, and the outbox would be empty.
    if point.sequence <= zone.base.sequence { return false }
    zone.settledThrough = frozen.through
    try store.setOutbox(nil)
    zone.accepted = point
    var changed: [RecordID] = []
    for record in frozen.commit.records {
      let opened = try sealing.open(
        StoredRecord(name: record.name, sequence: point.sequence, version: record.version, isDeleted: record.isDeleted, body: record.body))
      var entry = try store.entry(of: opened.id) ?? RecordEntry()
      entry.setBase(RecordEntry.VersionedRecord(point.sequence, record.version, opened.record))
      try store.setEntry(entry, of: opened.id)
      if let time = opened.record.latestStamp?.time { zone.clock.observe(time) }
      changed.append(opened.id)
    }
    try store.setZone(zone)
    try updateObjects(of: changed, in: store)
    return true
  }

  /// Updates the objects that follow from the states of records.
  func updateObjects(of changed: some Sequence<RecordID>, in store: some SyncStore) throws {
    try VisibleState(model, in: store, portion: limits.recordsInPortion).update(changed)
  }

  // MARK: Clock

  func correctClock(_ hubTime: Int64, in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.clock.correct(hubTime: hubTime, at: environment.wall)
    try store.setZone(zone)
  }

  /// Stamps the pending saves that are ahead of the hub's clock again, after a wall clock that was ahead has been corrected.
  func restamp(in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    let limit = HybridTime(milliseconds: zone.clock.hubTime(at: environment.wall))
    zone.clock.reset()
    try restampSaves(in: store, after: zone.settledThrough) { save in
      if save.stamp.time <= limit {
        zone.clock.reset(to: save.stamp.time)
        return nil
      }
      return Stamp(zone.clock.stamp(at: environment.wall), zone.device)
    }
    try store.setZone(zone)
  }

  /// Replaces the stamps of pending saves, and updates the objects that follow from them.
  ///
  /// - Parameter newStamp: Returns the new stamp of a save, or nil if it keeps its own.
  func restampSaves(in store: some SyncStore, after number: Int64, _ newStamp: (PendingSave) -> Stamp?) throws {
    var (stamps, restamped): ([Int64: Stamp], Set<RecordID>) = ([:], [])
    for save in try store.pendingSaves(after: number, maximumChangeCount: .max) {
      guard let stamp = newStamp(save) else { continue }
      stamps[save.number] = stamp
      for change in save.changes { restamped.insert(change.id) }
    }
    try store.restamp(stamps)
    try updateObjects(of: restamped, in: store)
  }
}
