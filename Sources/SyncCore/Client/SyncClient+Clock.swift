extension SyncClient {
  func correctClock(_ hubTime: Int64, in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.clock.correct(hubTime: hubTime, at: environment.wall)
    try store.setZone(zone)
  }

  /// Stamps the pending saves that are ahead of the hub's clock again, after a wall clock that was ahead has been corrected.
  ///
  /// What saves wrote to records that cannot be opened is held. It gets new stamps too, and the saves after it get later ones.
  func restamp(in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    let identities = Set([zone.device] + (zone.formerDevices ?? []))
    var pending: Set<HybridTime> = []
    try forEachChange(after: zone.settledThrough, in: store) { save, _ in pending.insert(save.stamp.time) }
    // The held states are of saves before the pending ones, except for those that have the times of these.
    var (first, ahead): (HybridTime, Set<HybridTime>) = (.zero, [])
    try forEachHeldState(in: store) { _, held in
      for stamp in held.stamps where !stamp.isDerived && (!identities.contains(stamp.device) || !pending.contains(stamp.time)) {
        if identities.contains(stamp.device), zone.clock.isAhead(stamp.time, at: environment.wall) {
          ahead.insert(stamp.time)
        } else {
          first = max(first, stamp.time)
        }
      }
    }
    zone.clock.reset(to: first)
    var times: [HybridTime: HybridTime] = [:]
    for former in ahead.sorted() {
      let time = zone.clock.stamp(at: environment.wall)
      if time < former { times[former] = time } else { zone.clock.reset(to: max(first, former)) }
      first = max(first, min(time, former))
    }
    let newStamp = { (save: PendingSave) -> Stamp? in
      let time = zone.clock.stamp(at: environment.wall)
      if time < save.stamp.time {
        times[save.stamp.time] = time
        return Stamp(time, zone.device)
      }
      // It was not ahead. A save never gets a later stamp: it would replace what was saved elsewhere meanwhile.
      zone.clock.reset(to: max(first, save.stamp.time))
      return nil
    }
    let restamped = { (stamp: Stamp) -> Stamp in
      // A derived stamp has the time of the value that it follows from.
      identities.contains(stamp.device) || stamp.isDerived ? times[stamp.time].map { Stamp($0, stamp.device) } ?? stamp : stamp
    }
    try restampSaves(in: store, after: zone.settledThrough, newStamp, others: restamped) {
      times.isEmpty ? RecordSet() : try restampHeldStates(restamped, in: store)
    }
    try store.setZone(zone)
  }

  /// Replaces the stamps of held states.
  ///
  /// - Returns: The records whose objects may change.
  private func restampHeldStates(_ transform: (Stamp) -> Stamp, in store: some SyncStore) throws -> RecordSet {
    var restamped = RecordSet()
    try forEachHeldState(in: store) { id, held in
      let new = held.mapStamps(transform)
      guard new != held, var entry = try store.entry(of: id) else { return }
      entry.held = new
      try store.setEntry(entry, of: id)
      restamped.insert(id)
      if model.hasRivals { restamped.formUnion(try rivals(of: held, in: store)) }
    }
    return restamped
  }

  private func forEachHeldState(in store: some SyncStore, _ body: (RecordID, Record) throws -> Void) throws {
    var last: RecordID?
    while true {
      let records = try store.unsentRecords(after: last, maximumCount: limits.recordsInBatch)
      guard let final = records.last else { return }
      for id in records { if let held = try store.entry(of: id)?.held { try body(id, held) } }
      last = final
    }
  }

  /// Replaces the stamps of pending saves, and updates the objects that follow from them.
  ///
  /// - Parameters:
  ///   - newStamp: Returns the new stamp of a save, or nil if it keeps its own.
  ///   - others: Returns the new stamp of an addition of a link.
  ///   - restampOthers: Replaces other stamps, before objects are updated. Returns the records whose objects may change.
  func restampSaves(
    in store: some SyncStore, after number: Int64, _ newStamp: (PendingSave) -> Stamp?, others: (Stamp) -> Stamp = { $0 },
    _ restampOthers: () throws -> RecordSet = { RecordSet() }
  ) throws {
    var (stamps, restamped): ([Int64: Stamp], RecordSet) = ([:], RecordSet())
    var kept: Int64?
    try forEachChange(after: number, in: store) { save, change in
      if save.number == kept { return }
      if stamps[save.number] == nil {
        guard let stamp = newStamp(save) else {
          kept = save.number
          return
        }
        stamps[save.number] = stamp
      }
      restamped.insert(change.id)
      if model.hasRivals { restamped.formUnion(try rivals(of: change.record(save.stamp), in: store)) }
    }
    try store.restamp(stamps, additions: others)
    restamped.formUnion(try restampOthers())
    try updateObjects(of: restamped, in: store)
  }
}
