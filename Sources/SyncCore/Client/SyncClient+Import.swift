extension SyncClient {
  /// Stages a page, and imports all pages with the last one.
  ///
  /// - Returns: Whether the pull is complete.
  func receive(_ page: PullPage, in store: some SyncStore, _ environment: Environment) throws -> Bool {
    try correctClock(page.hubTime, in: store, environment)
    var zone = try store.zone()
    if let incarnation = zone.incarnation, incarnation != page.incarnation {
      try salvage(page.incarnation, in: store)
      return false
    }
    zone.incarnation = page.incarnation
    var staging = zone.staging ?? ZoneState.Staging(from: zone.base)
    let outbox = try store.outbox()?.commit
    for entry in page.commits {
      staging.point = ChainPoint(sequence: entry.sequence, head: try hashing.head(after: staging.point.head, adding: entry.digest))
      if let accepted = zone.accepted, accepted.sequence == staging.point.sequence, accepted != staging.point {
        try salvage(page.incarnation, in: store)
        return false
      }
      if entry.digest == outbox?.digest { staging.listedOutbox = entry.digest }
    }
    try store.stage(page.records)
    if let last = page.records.last { staging.position = PagePosition(sequence: last.sequence, name: last.name) }
    staging.head = page.head
    zone.staging = staging
    try store.setZone(zone)
    if page.isLast { try importStagedRecords(in: store) }
    return page.isLast
  }

  /// Imports the staged records: first all states, then, in batches, the objects that follow from them.
  private func importStagedRecords(in store: some SyncStore) throws {
    var zone = try store.zone()
    guard let staging = zone.staging else { return }
    var changed: [RecordID] = []
    var position = 0
    while true {
      let batch = try store.stagedRecords(after: position, maximumCount: limits.recordsInBatch)
      if batch.isEmpty { break }
      position += batch.count
      for stored in batch {
        changed += try setBase(stored, &zone, in: store)
      }
    }
    try store.removeStagedRecords()
    if let listed = staging.listedOutbox, let frozen = try store.outbox(), frozen.commit.digest == listed {
      try holdSettledChanges(through: frozen.through, in: store)
      zone.settledThrough = frozen.through
      try store.setOutbox(nil)
    }
    zone.base = staging.point
    if let accepted = zone.accepted, accepted.sequence <= zone.base.sequence { zone.accepted = nil }
    zone.staging = nil
    zone.isJoined = true
    try store.setZone(zone)
    try updateObjects(of: changed, in: store)
  }

  /// Sets the state of a record on the hub, or quarantines the record if it cannot be opened.
  ///
  /// - Returns: The records whose objects may change.
  func setBase(_ stored: StoredRecord, _ zone: inout ZoneState, in store: some SyncStore) throws -> [RecordID] {
    guard let (id, record) = try? sealing.open(stored) else {
      try store.setQuarantined(stored, stored.name)
      return []
    }
    if let quarantined = try store.quarantined(stored.name), quarantined.sequence <= stored.sequence {
      try store.setQuarantined(nil, stored.name)
    }
    var entry = try store.entry(of: id) ?? RecordEntry()
    var changed = [id]
    if model.hasExclusiveReferences {
      // Its former destinations may be free.
      let pending = try store.pendingChanges(of: id, after: try store.zone().settledThrough)
      changed += try rivals(of: entry.state.joined(with: pending), in: store)
    }
    entry.setBase(RecordEntry.VersionedRecord(stored.sequence, stored.version, record))
    try store.setEntry(entry, of: id)
    if let time = record.latestStamp?.time { zone.clock.observe(time) }
    return changed
  }

  /// Prepares to join the device's records with those of a hub that was restored from a backup.
  func salvage(_ incarnation: Incarnation, in store: some SyncStore) throws {
    var last: RecordID?
    while true {
      let records = try store.records(after: last, maximumCount: limits.recordsInPage)
      guard let final = records.last else { break }
      for id in records {
        guard var entry = try store.entry(of: id) else { continue }
        entry.held = entry.state
        (entry.base, entry.isOrphan, entry.wasSent) = (nil, false, true)
        try store.setEntry(entry, of: id)
      }
      last = final
    }
    try removeQuarantined(in: store)
    var zone = try store.zone()
    try store.removeStagedRecords()  // They are from before the restoration.
    zone.incarnation = incarnation
    zone.base = ChainPoint()
    (zone.accepted, zone.staging) = (nil, nil)
    (zone.isJoined, zone.isSalvaging) = (false, true)
    try store.setZone(zone)
    try store.setOutbox(nil)  // Its commit is based on what the hub has lost.
  }

  /// Gives the device a new identity, because a copy of its store may use the former one.
  ///
  /// The pending saves get its stamps: a copy may have stamped other saves with the same times. Saves that were sent under the former
  /// identity are sent again; joining them twice changes nothing.
  func changeIdentity(in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.device = environment.newDevice
    zone.deviceSequence = 0
    try store.setZone(zone)
    try store.setOutbox(nil)  // The former identity has sent it.
    // It may have sent more than the copy knows of, so that what is deleted now must be deleted on the hub too.
    try forEachChange(after: zone.settledThrough, in: store) { _, change in
      var entry = try store.entry(of: change.id) ?? RecordEntry()
      if entry.base != nil || entry.wasSent { return }
      entry.wasSent = true
      try store.setEntry(entry, of: change.id)
    }
    try restampSaves(in: store, after: zone.settledThrough) { Stamp($0.stamp.time, zone.device) }
  }
}
