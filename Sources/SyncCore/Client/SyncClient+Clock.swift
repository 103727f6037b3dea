extension SyncClient {
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
    var last = number
    while true {
      let saves = try store.pendingSaves(after: last, maximumChangeCount: limits.recordsInPortion)
      guard let final = saves.last else { break }
      for save in saves {
        guard let stamp = newStamp(save) else { continue }
        stamps[save.number] = stamp
        var position = 0
        while position < save.changeCount {
          let changes = try store.changes(of: save.number, from: position, maximumCount: limits.recordsInPortion)
          if changes.isEmpty { break }
          position += changes.count
          for change in changes { restamped.insert(change.id) }
        }
      }
      last = final.number
    }
    try store.restamp(stamps)
    try updateObjects(of: restamped, in: store)
  }
}
