/// How a device compares its records with those of the hub, and continues from there.
///
/// It does so if the hub has removed deletions that it has not pulled, if the sums of the records differ after an import, if a commit
/// is in conflict with records that no pull brings, or on request. Nothing is deleted and pulled again: only the records that differ
/// are fetched. Other devices can push meanwhile.
extension SyncClient {
  /// Begins to compare all records, because the hub has removed deletions that the device has not pulled.
  func reconciliation(after truncation: Truncation, in store: some SyncStore, _ environment: Environment) throws -> Reconciliation {
    try correctClock(truncation.hubTime, in: store, environment)
    try removeStaging(in: store)
    var zone = try store.zone()
    zone.incarnation = truncation.incarnation
    try store.setZone(zone)
    let outbox = try store.outbox()?.commit
    if let last = truncation.lastCommit, isFork(last, zone, outbox) { try changeIdentity(isForked: true, in: store, environment) }
    // The pull does not list the commits before.
    let listed = truncation.lastCommit.flatMap { $0.digest == outbox?.digest ? $0.digest : nil }
    return Reconciliation(truncation.incarnation, at: truncation.head, listedOutbox: listed, .comparing(try comparison(of: store)))
  }

  /// Begins to compare all records at the point that was pulled.
  func reconciliation(in store: some SyncStore) throws -> Reconciliation? {
    let zone = try store.zone()
    guard let incarnation = zone.incarnation, zone.isJoined else { return nil }
    return Reconciliation(incarnation, at: zone.base, .comparing(try comparison(of: store)))
  }

  /// Begins to fetch the records of a commit that is in conflict, although everything was pulled.
  func reconciliation(of commit: SealedCommit, in store: some SyncStore) throws -> Reconciliation? {
    let zone = try store.zone()
    guard let incarnation = zone.incarnation else { return nil }
    var ids: [RecordName: RecordID] = [:]
    for record in commit.records {
      let stored = StoredRecord(name: record.name, sequence: 0, version: record.version, isDeleted: record.isDeleted, body: record.body)
      ids[record.name] = try? sealing.open(stored).id
    }
    var reconciliation = Reconciliation(incarnation, at: zone.base, .fetching)
    reconciliation.fetch(commit.records.map { RecordDifference(name: $0.name, id: ids[$0.name], device: nil, hub: nil) })
    return reconciliation
  }

  private func comparison(of store: some SyncStore) throws -> RecordComparison {
    try RecordComparison(store, sealing, hashing, maximumCount: max(limits.recordsInPage, limits.recordsInBatch))
  }

  /// Forgets the pull in progress.
  func removeStaging(in store: some SyncStore) throws {
    var zone = try store.zone()
    try store.removeStagedRecords()
    zone.staging = nil
    try store.setZone(zone)
  }

  /// Lets the next pages continue from the staged records.
  func finishFetching(_ reconciliation: Reconciliation, in store: some SyncStore) throws {
    var zone = try store.zone()
    var staging = ZoneState.Staging(from: reconciliation.point)
    (staging.reconciledAt, staging.listedOutbox) = (reconciliation.point, reconciliation.listedOutbox)
    zone.staging = staging
    try store.setZone(zone)
  }

  /// Returns the names of records that the device has not pulled, and that can be deleted on the hub: those of the commit in the outbox if the
  /// hub has accepted it, and links that were added and not sent, since their IDs follow from their ends.
  ///
  /// - Parameter listed: ``Reconciliation/listedOutbox``.
  func unknownRecords(listed: Digest?, in store: some SyncStore) throws -> [RecordName] {
    var names: Set<RecordName> = []
    let outbox = try store.outbox()
    let accepted = outbox?.commit.digest == listed ? outbox?.through : nil
    try forEachChange(after: try store.zone().settledThrough, in: store) { save, change in
      let isAccepted = accepted.map { save.number <= $0 } ?? false
      guard isAccepted || change.isLink && change.isAddition, try store.entry(of: change.id)?.base == nil else { return }
      names.insert(try sealing.name(of: change.id))
    }
    return names.sorted()
  }

  // MARK: Import

  /// Prepares an entry so that a fetched state replaces it, whatever its number is. Only what was accepted since remains.
  func admit(_ stored: StoredRecord, of id: RecordID, _ reconciliation: Reconciliation, in store: some SyncStore) throws {
    guard stored.sequence <= reconciliation.point.sequence, var entry = try store.entry(of: id), let base = entry.base,
      base.version != stored.version, base.sequence >= stored.sequence
    else { return }
    if base.sequence > reconciliation.point.sequence, let last = try store.zone().accepted?.sequence, base.sequence <= last { return }
    entry.base = RecordEntry.VersionedRecord(stored.sequence - 1, base.version, base.record)
    try store.setEntry(entry, of: id)
  }

  /// Holds the changes of a deleted record that comes back, because the commit in the outbox lacks them.
  func holdOmittedChanges(of id: RecordID, in store: some SyncStore) throws {
    guard let through = try store.outbox()?.through else { return }
    try forEachChange(after: try store.zone().settledThrough, through: through, in: store) { save, change in
      if change.id == id, !change.isEmpty { try store.hold(change.record(save.stamp), of: id) }
    }
  }

  /// Holds the records that only saves know which the hub has accepted, after the pull that shows it: the hub does not have them anymore.
  ///
  /// - Returns: These records.
  func holdRemovedRecords(through last: Int64, in store: some SyncStore) throws -> RecordSet {
    var removed = RecordSet()
    try forEachChange(after: try store.zone().settledThrough, through: last, in: store) { save, change in
      guard !change.isEmpty, try store.entry(of: change.id)?.base == nil, try store.quarantined(sealing.name(of: change.id)) == nil else {
        return
      }
      try store.hold(change.record(save.stamp), of: change.id)
      removed.insert(change.id)
    }
    return removed
  }

  /// Removes the records that the hub does not have anymore, except those with unsent changes and those that such ones require: they are sent
  /// again, whole.
  ///
  /// - Parameters:
  ///   - accepted: Such records that have no base (``holdRemovedRecords(through:in:)``).
  ///   - listed: The commit of the device that the hub has accepted and no pull has brought.
  /// - Returns: The records whose objects may change.
  func removeMissingRecords(
    _ reconciliation: inout Reconciliation, accepted: RecordSet, after listed: FrozenCommit?, in store: some SyncStore
  ) throws -> RecordSet {
    // Another device can have sent a record again since.
    for name in reconciliation.missing {
      guard let stored = try store.quarantined(name), stored.sequence <= reconciliation.point.sequence else { continue }
      try store.setQuarantined(nil, name)
    }
    var missing = accepted
    for name in reconciliation.missing {
      guard let id = reconciliation.ids[name], let base = try store.entry(of: id)?.base,
        base.sequence <= reconciliation.point.sequence
      else { continue }
      missing.insert(id)
    }
    if missing.isEmpty { return missing }
    let needed = try unsentRecords(among: missing, accepted: accepted, in: store)
    var changed = RecordSet()
    for id in missing {
      guard var entry = try store.entry(of: id) else { continue }
      changed.insert(id)
      if model.hasRivals { changed.formUnion(try rivals(of: entry.state, in: store)) }
      // What requires it is no orphan anymore.
      if entry.base?.record.isTombstone ?? false { changed.formUnion(try store.referrers(of: id)) }
      if needed.contains(id) {
        entry.held = entry.state
        reconciliation.result.resent.append(id)
      } else {
        // The device has deleted it itself, because an object that it requires was deleted.
        if entry.isOrphan, let listed, let state = entry.state, !state.isDeleted, !model.isLink(state.entity) {
          let name = try sealing.name(of: id)
          if listed.commit.records.contains(where: { $0.name == name }) {
            try store.addToJournal(JournalEntry(id, .destinationDeleted, losing: state, object: state))
          }
        }
        entry.held = nil
        reconciliation.result.removedCount += 1
      }
      (entry.base, entry.isOrphan) = (nil, false)
      try store.setEntry(entry, of: id)
    }
    return changed
  }

  /// Returns those of some records that unsent changes concern or require, also if later ones delete them: commits of the former can be sent
  /// before.
  private func unsentRecords(among missing: RecordSet, accepted: RecordSet, in store: some SyncStore) throws -> RecordSet {
    var (needed, visited) = (RecordSet(), RecordSet())
    let settled = try store.zone().settledThrough
    func visit(_ id: RecordID) throws {
      var waiting = [id]
      while let next = waiting.popLast() {
        guard visited.insert(next) else { continue }
        guard let entry = try store.entry(of: next), let known = entry.state else { continue }
        if known.isDeleted, entry.state.applying(try store.pendingChanges(of: next, after: settled))?.isDeleted ?? true { continue }
        if missing.contains(next) { needed.insert(next) }
        for field in known.fields where model.isRequired(field.property, of: known.entity) {
          if let destination = field.value.reference { waiting.append(destination) }
        }
      }
    }
    try forEachChange(after: settled, in: store) { _, change in
      guard let values = change.values, !change.isLink || change.isAddition else { return }
      try visit(change.id)
      for (property, value) in values where model.isRequired(property, of: change.entity) {
        if let destination = value.reference { try visit(destination) }
      }
    }
    var last: RecordID?
    while true {
      let records = try store.unsentRecords(after: last, maximumCount: limits.recordsInBatch)
      guard let final = records.last else { return needed }
      for id in records {
        // A replaced reference is no change of the application, nor is one that follows a merged object.
        guard !accepted.contains(id), let held = try store.entry(of: id)?.held,
          held.fields.contains(where: { $0.value != .superseded && !$0.stamp.isDerived })
        else { continue }
        try visit(id)
      }
      last = final
    }
  }

  // MARK: Sums

  /// Returns whether the sum of the records is that of the hub, after an import, as far as it can be compared.
  func compareSums(_ page: PullPage, in store: some SyncStore) throws -> Bool {
    var zone = try store.zone()
    guard let theirs = page.sum, zone.accepted == nil, zone.base == page.head else { return true }
    let mine: RecordSum
    if let known = zone.sum {
      mine = known
    } else {
      // A record that cannot be opened replaces one that is not known.
      guard try store.quarantined(after: nil, maximumCount: 1).isEmpty else { return true }
      mine = try sum(in: store)
      zone.sum = mine
    }
    if mine == theirs { zone.sumError = nil }
    if try zone != store.zone() { try store.setZone(zone) }
    return mine == theirs || theirs - mine == zone.sumError
  }

  /// Records what the hub's sum is wrong by, after the records were compared.
  func acceptSum(_ page: PullPage, in store: some SyncStore) throws {
    var zone = try store.zone()
    guard let theirs = page.sum, let mine = zone.sum else { return }
    zone.sumError = theirs - mine
    try store.setZone(zone)
  }

  /// Lets all records be compared with those of the hub.
  func requestReconciliation(in store: some SyncStore) throws {
    var zone = try store.zone()
    zone.mustReconcile = true
    try store.setZone(zone)
  }

  /// Computes the sum of the records.
  private func sum(in store: some SyncStore) throws -> RecordSum {
    var sum = RecordSum()
    try RecordComparison.forEachVersion(in: store, sealing, limits.recordsInBatch) { record, _ in try sum.add(record, hashing) }
    return sum
  }
}

extension ZoneState {
  /// Records that a record has another version on the hub.
  mutating func replace(
    _ former: RecordEntry.VersionedRecord?, by new: RecordEntry.VersionedRecord?, _ name: RecordName, _ hashing: any CommitHashing
  ) throws {
    guard former?.version != new?.version, var sum else { return }
    if let former, !former.record.isDeleted { try sum.remove(RecordVersion(name, former.version), hashing) }
    if let new, !new.record.isDeleted { try sum.add(RecordVersion(name, new.version), hashing) }
    self.sum = sum
  }
}
