extension SyncClient {
  /// Returns the records that refer to the same destinations as a record, by one-to-one relationships.
  func rivals(of record: Record?, in store: some SyncStore) throws -> [RecordID] {
    try record?.claims(model).flatMap { try store.referrers(of: $0.claim.destination, through: $0.claim.property) } ?? []
  }

  /// Updates the objects whose one-to-one relationships depend on new saves.
  ///
  /// When an application deletes an object or changes its relationship, the destination may be free for a record that the application does
  /// not see.
  func reviewClaims(in store: some SyncStore) throws {
    guard model.hasExclusiveReferences else { return }
    try store.transaction {
      var zone = try store.zone()
      let start = max(zone.reviewedThrough, zone.settledThrough)
      var (last, isRelevant) = (start, false)
      try forEachChange(after: start, in: store) { save, change in
        last = save.number
        let exclusive = model.entities[change.entity]?.exclusive ?? []
        if !exclusive.isEmpty, change.values.map({ !exclusive.isDisjoint(with: $0.keys) }) ?? true { isRelevant = true }
      }
      if last == start { return }
      if isRelevant {
        // What the new saves replace can be in earlier ones that were not sent yet.
        var changed = RecordSet()
        try forEachChange(after: zone.settledThrough, in: store) { save, change in
          guard let exclusive = model.entities[change.entity]?.exclusive, !exclusive.isEmpty else { return }
          let entry = try store.entry(of: change.id)
          for record in [change.record(save.stamp), entry?.base?.record, entry?.held] {
            changed.formUnion(try rivals(of: record, in: store))
          }
        }
        try updateObjects(of: changed, in: store)
      }
      zone.reviewedThrough = last
      try store.setZone(zone)
    }
  }

  /// Calls a closure with the changes of pending saves, which are read in batches.
  func forEachChange(after number: Int64, in store: some SyncStore, _ body: (PendingSave, PendingChange) throws -> Void) throws {
    var last = number
    while true {
      let saves = try store.pendingSaves(after: last, maximumChangeCount: limits.recordsInBatch)
      guard let final = saves.last else { return }
      for save in saves {
        for change in save.changes { try body(save, change) }
        var position = save.changes.count
        while position < save.changeCount {
          let changes = try store.changes(of: save.number, from: position, maximumCount: limits.recordsInBatch)
          if changes.isEmpty { break }
          position += changes.count
          for change in changes { try body(save, change) }
        }
      }
      last = final.number
    }
  }
}
