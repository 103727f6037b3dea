extension SyncClient {
  func correctClock(_ hubTime: Int64, in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.clock.correct(hubTime: hubTime, at: environment.wall)
    try store.setZone(zone)
  }

  /// Stamps the pending saves that are ahead of the hub's clock again, after a wall clock that was ahead has been corrected.
  func restamp(in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.clock.reset()
    try observeHeldStates(&zone.clock, in: store)
    try restampSaves(in: store, after: zone.settledThrough) { save in
      let time = zone.clock.stamp(at: environment.wall)
      if time < save.stamp.time { return Stamp(time, zone.device) }
      // It was not ahead. A save never gets a later stamp: it would replace what was saved elsewhere meanwhile.
      zone.clock.reset(to: save.stamp.time)
      return nil
    }
    try store.setZone(zone)
  }

  /// Lets a clock follow the times of held states. What saves wrote to records that cannot be opened is held, and keeps its stamps.
  private func observeHeldStates(_ clock: inout DeviceClock, in store: some SyncStore) throws {
    var last: RecordID?
    while true {
      let records = try store.unsentRecords(after: last, maximumCount: limits.recordsInBatch)
      guard let final = records.last else { return }
      for id in records { if let time = try store.entry(of: id)?.held?.latestStamp?.time { clock.observe(time) } }
      last = final
    }
  }

  /// Replaces the stamps of pending saves, and updates the objects that follow from them.
  ///
  /// - Parameter newStamp: Returns the new stamp of a save, or nil if it keeps its own.
  func restampSaves(in store: some SyncStore, after number: Int64, _ newStamp: (PendingSave) -> Stamp?) throws {
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
      if model.hasExclusiveReferences { restamped.formUnion(try rivals(of: change.record(save.stamp), in: store)) }
    }
    try store.restamp(stamps)
    try updateObjects(of: restamped, in: store)
  }
}
