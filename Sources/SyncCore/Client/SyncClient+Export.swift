extension SyncClient {
  /// Returns the commit to send: the one in the outbox, or a new one of pending saves.
  func freeze(in store: some SyncStore, _ environment: Environment) throws -> FrozenCommit? {
    try store.transaction {
      if let frozen = try store.outbox() { return frozen }
      guard try store.zone().isJoined else { return nil }
      while let saves = try unsentSaves(in: store, environment) {
        var zone = try store.zone()
        let changes = try changes(of: saves, in: store)
        let through = saves.last?.number ?? zone.settledThrough
        if changes.isEmpty {
          if saves.isEmpty { return nil }
          // The zone contains everything already.
          zone.settledThrough = through
          try store.setZone(zone)
          continue
        }
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
      return nil
    }
  }

  /// Returns the saves of the next commit, an empty list if there are only records to send, or nil if there is nothing to send.
  private func unsentSaves(in store: some SyncStore, _ environment: Environment) throws -> [PendingSave]? {
    let zone = try store.zone()
    var saves = try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
    if saves.contains(where: { zone.clock.isAhead($0.stamp.time, at: environment.wall) }) {
      try restamp(in: store, environment)
      saves = try store.pendingSaves(after: zone.settledThrough, maximumChangeCount: limits.changesInCommit)
    }
    if !saves.isEmpty { return saves }
    return try store.unsentRecords().isEmpty ? nil : []
  }

  /// Returns the changes that bring the zone from what was pulled to the state after some saves.
  private func changes(of saves: [PendingSave], in store: some SyncStore) throws -> [RecordChange] {
    var pending: [RecordID: Record] = [:]
    for save in saves {
      for change in save.changes { pending[change.id] = pending[change.id].joined(with: change.record(save.stamp)) }
    }
    let records = Set(pending.keys).union(try store.unsentRecords())
    var changes: [RecordChange] = []
    for id in records.sorted() {
      let entry = try store.entry(of: id)
      let base = entry?.base?.record
      guard var state = base.joined(with: entry?.held).joined(with: pending[id]) else { continue }
      if entry?.isOrphan ?? false, let stamp = state.latestStamp { state = Record(entity: state.entity, .deleted(stamp)) }
      if state == base {
        try releaseHeldState(of: id, in: store)
      } else {
        // An object that was inserted and deleted again before anything was sent.
        if state.isDeleted, base == nil, entry?.wasSent != true, entry?.held == nil { continue }
        changes.append(RecordChange(id, replacing: entry?.base?.version, state))
      }
    }
    return changes
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
    try VisibleState(model, in: store).update(changed)
    return true
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
    try VisibleState(model, in: store).update(restamped)
  }
}
