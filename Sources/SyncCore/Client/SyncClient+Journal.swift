extension SyncClient {
  /// Adds to the journal what loses when a record is imported that has unsent changes.
  ///
  /// What another device has changed meanwhile did not know the unsent changes, nor did they know it: the hub accepts a change of the last
  /// state only.
  ///
  /// The order of members is not in the journal.
  ///
  /// - Parameters:
  ///   - entry: The entry before the import.
  ///   - listed: The commit in the outbox if the pull lists it. The imported state knows what it has changed.
  func noteLosses(
    of id: RecordID, _ entry: RecordEntry, replacedBy stored: StoredRecord, _ new: Record, after listed: FrozenCommit?,
    in store: some SyncStore
  ) throws {
    if new.isLink || model.isLink(new.entity) { return }
    if let base = entry.base, base.sequence >= stored.sequence || base.record.isDeleted { return }
    let zone = try store.zone()
    let settled = listed?.through ?? zone.settledThrough
    // What a restored hub lacks is older than what it has, or the same.
    let held = zone.isSalvaging ? nil : entry.held
    let base = entry.base?.record
    guard let unsent = held.applying(try store.pendingChanges(of: id, after: settled)) else {
      if new.isDeleted, let base, try isRequired(id, byChangesAfter: settled, in: store) {
        try store.addToJournal(JournalEntry(id, .deletion, losing: base, winning: new.deletion, object: base))
      }
      return
    }
    let changed = new.fields.filter {
      !$0.property.isOfRecordOnly && $0.value.position == nil && $0.stamp != base?[$0.property]?.stamp && $0.stamp.device != zone.device
    }
    switch (unsent.isDeleted, new.isDeleted) {
    case (true, true): return
    case (false, true):
      // The edit can have won over the deletion.
      if !new.applying(unsent).isDeleted { return }
      try store.addToJournal(JournalEntry(id, .deletion, losing: unsent, winning: new.deletion, object: base.applying(unsent)))
    case (true, false):
      // Without a base, what others have changed is known only of a record that the device has sent itself.
      if base == nil && listed == nil && zone.formerDevices == nil || changed.isEmpty || !new.applying(unsent).isDeleted { return }
      let losing = Record(entity: new.entity, .live(changed))
      try store.addToJournal(JournalEntry(id, .deletion, losing: losing, winning: unsent.deletion, object: new))
    case (false, false):
      try noteFailedMerges(of: id, unsent, changed, new.entity, in: store)
      var (mine, theirs): ((losing: [Field], winning: [Field]), (losing: [Field], winning: [Field])) = (([], []), ([], []))
      for field in unsent.fields {
        guard let other = changed.first(where: { $0.property == field.property }), field.isInConflict(with: other) else { continue }
        if (field.stamp, field.value) < (other.stamp, other.value) {
          mine.losing.append(field)
          mine.winning.append(other)
        } else if other.value != .superseded {
          theirs.losing.append(other)
          theirs.winning.append(field)
        }
      }
      for (losing, winning) in [mine, theirs] where !losing.isEmpty {
        try store.addToJournal(
          JournalEntry(
            id, .laterChange, losing: Record(entity: new.entity, .live(losing)), winning: Record(entity: new.entity, .live(winning))))
      }
    }
  }

  /// Adds to the journal the values that a function of the application could not merge with the last one.
  ///
  /// - Parameter changed: The fields that others have changed.
  private func noteFailedMerges(
    of id: RecordID, _ unsent: Record, _ changed: [Field], _ entity: EntityID, in store: some SyncStore
  ) throws {
    for other in changed where other.rule == .custom {
      guard let field = unsent[other.property] else { continue }
      let (mine, theirs) = (ValueVersions(of: field), ValueVersions(other.value))
      let all = theirs.joined(with: mine)
      guard let failure = all.merged(by: model.function(for: other.property, of: entity)).failure, failure != .missing,
        let last = all.versions.last
      else { continue }
      func record(_ version: ValueVersions.Version) -> Record {
        Record(entity: entity, .live([Field(other.property, version.value, version.stamp)]))
      }
      // What both sides know has lost before.
      let known = all.versions.filter { mine.seen.contains($0.stamp) && theirs.seen.contains($0.stamp) }
      for version in all.versions where version != last && version.value != last.value && !known.contains(version) {
        try store.addToJournal(JournalEntry(id, .failedMerge, losing: record(version), winning: record(last)))
      }
    }
  }

  /// Adds to the journal what a commit of the device has deleted or replaced because of a rule. Only one device does so successfully.
  func noteOwnEffects(on id: RecordID, _ entry: RecordEntry, _ new: Record, in store: some SyncStore) throws {
    guard let base = entry.base?.record, !base.isDeleted, !model.isLink(base.entity) else { return }
    if new.isDeleted {
      // Changes that were not sent yet end with the object.
      let pending = try store.pendingChanges(of: id, after: store.zone().settledThrough)
      guard entry.isOrphan, let state = entry.state.applying(pending), !state.isDeleted else { return }
      return try store.addToJournal(JournalEntry(id, .destinationDeleted, losing: state, object: state))
    }
    let taken = base.fields.filter { field in
      field.value.reference != nil && new[field.property].map { $0.value == .superseded && $0.stamp == field.stamp } ?? false
    }
    let cyclic = try taken.filter { field in
      guard model.isTree(field.property, of: base.entity) else { return false }
      // A parent that admits a limited number of children can have had no room.
      if model.capacity(field.property, of: base.entity) == nil { return true }
      return try store.ancestors(of: Record(entity: base.entity, .live([field])), model).contains(id)
    }
    for (reason, losing) in [(JournalEntry.Reason.destinationTaken, taken.filter { !cyclic.contains($0) }), (.cycle, cyclic)] {
      if !losing.isEmpty { try store.addToJournal(JournalEntry(id, reason, losing: Record(entity: base.entity, .live(losing)))) }
    }
  }

  /// Returns whether an object with unsent changes cannot exist without another one, and does not deny its deletion.
  private func isRequired(_ id: RecordID, byChangesAfter settled: Int64, in store: some SyncStore) throws -> Bool {
    try store.referrers(of: id).contains { referrer in
      guard let pending = try store.pendingChanges(of: referrer, after: settled), !pending.isDeleted, !pending.isLink else { return false }
      let state = try (store.entry(of: referrer)?.state).applying(pending) ?? pending
      return state.fields.contains {
        $0.value == .reference(id) && model.isRequired($0.property, of: state.entity) && !model.isDenying($0.property, of: state.entity)
      }
    }
  }
}

extension Record {
  /// The deletion of a deleted object, without its values.
  fileprivate var deletion: Record { Record(entity: entity, .deleted(self[.deletion]?.stamp ?? latestStamp ?? Stamp(.zero, DeviceID(0)))) }
}

extension Field {
  /// Returns whether only one of two values that were written at the same time remains.
  fileprivate func isInConflict(with other: Field) -> Bool {
    rule == .latest && other.rule == .latest && value != other.value && stamp != other.stamp && value != .superseded
  }
}
