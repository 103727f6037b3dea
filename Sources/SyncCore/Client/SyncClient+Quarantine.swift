/// Records that cannot be opened: because a key is missing, they are damaged, or a later version wrote them.
///
/// They are kept aside by their names, and everything else goes on. A change of such a record cannot be sent, because it would replace what
/// was not read: it is held until the record can be opened or is replaced, while the other changes of its save are sent.
extension SyncClient {
  /// Returns the number of records that cannot be opened.
  package func quarantinedCount(in store: some SyncStore) throws -> Int {
    try store.transaction {
      var count = 0
      try forEachQuarantined(in: store) { _ in count += 1 }
      return count
    }
  }

  /// Opens the quarantined records for which there is a key now.
  ///
  /// - Returns: The IDs of the records that were opened.
  func reopenQuarantined(in store: some SyncStore) throws -> [RecordName: RecordID] {
    var zone = try store.zone()
    var (changed, unexpected): ([RecordID], RecordSet) = ([], RecordSet())
    var ids: [RecordName: RecordID] = [:]
    try forEachQuarantined(in: store) { stored in
      let opened = try? sealing.open(stored)
      ids[stored.name] = opened?.id
      changed += try setBase(stored, opened, &zone, &unexpected, in: store)
    }
    try store.setZone(zone)
    try updateObjects(of: changed, in: store)
    return ids
  }

  /// Forgets the quarantined records, before everything is pulled again.
  func removeQuarantined(in store: some SyncStore) throws {
    try forEachQuarantined(in: store) { try store.setQuarantined(nil, $0.name) }
  }

  /// Holds the change of a record that cannot be opened on the hub.
  ///
  /// - Returns: Whether it is held, and must not be sent.
  func holdChange(of id: RecordID, _ pending: Record?, in store: some SyncStore) throws -> Bool {
    guard try !store.quarantined(after: nil, maximumCount: 1).isEmpty, try store.quarantined(sealing.name(of: id)) != nil else {
      return false
    }
    guard let pending else { return true }
    try store.hold(pending, of: id)
    return true
  }

  /// Holds what saves have written to records that cannot be opened, before the saves count as accepted.
  ///
  /// Another device can have replaced a record between the commit of the saves and the pull that lists it. Then the only state that contains
  /// what was saved is the one that cannot be opened.
  func holdSettledChanges(through last: Int64, in store: some SyncStore) throws {
    guard try !store.quarantined(after: nil, maximumCount: 1).isEmpty else { return }
    try forEachChange(after: try store.zone().settledThrough, through: last, in: store) { save, change in
      if !change.isEmpty { _ = try holdChange(of: change.id, change.record(save.stamp), in: store) }
    }
  }

  private func forEachQuarantined(in store: some SyncStore, _ body: (StoredRecord) throws -> Void) throws {
    var last: RecordName?
    while true {
      let records = try store.quarantined(after: last, maximumCount: limits.recordsInPage)
      guard let final = records.last else { return }
      for record in records { try body(record) }
      last = final.name
    }
  }
}
