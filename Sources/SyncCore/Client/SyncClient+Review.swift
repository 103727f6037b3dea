extension SyncClient {
  /// Returns the records whose objects can depend on the references of a record: those that refer to the same destinations by one-to-one
  /// relationships or by relationships with a maximum count, its ancestors, and destinations whose deletion it denies.
  func rivals(of record: Record?, in store: some SyncStore) throws -> [RecordID] {
    try claimRivals(of: record, in: store) + fellowMembers(of: record, in: store)
  }

  /// Returns the same, apart from those that refer by relationships with a maximum count.
  func claimRivals(of record: Record?, in store: some SyncStore) throws -> [RecordID] {
    guard let record else { return [] }
    let claimants = try record.claims(model).flatMap {
      let isMutual = model.isMutual($0.claim.property, of: record.entity)
      return try store.referrers(of: $0.claim.destination, through: $0.claim.property) + (isMutual ? [$0.claim.destination] : [])
    }
    return try claimants + record.deniedDestinations(model) + (model.hasTrees ? store.ancestors(of: record, model) : [])
  }

  /// Updates objects that new saves have effects on which the application did not see.
  ///
  /// - When an application deletes an object or changes its one-to-one relationship, the destination may be free for a record that the
  ///   application does not see. An object whose deletion it has denied may not exist any more.
  /// - What refers to an object that the application inserts again is visible again.
  /// - When an application removes a member of a relationship with a maximum count, one that has found no room may be a member.
  /// - What refers to a deleted object although the application has left that unchanged is nil.
  /// - An attribute with a rule (``MergeRule``) can have another value than the one that was saved.
  func reviewSaves(in store: some SyncStore) throws {
    try store.transaction {
      var zone = try store.zone()
      let hasMergeRules = hasMergeRules(zone)
      guard model.hasRivals || hasMergeRules || model.hasDeletionMarks || model.leavesReferences else { return }
      let start = max(zone.reviewedThrough, zone.settledThrough)
      var (last, concernsClaims, changed) = (start, false, RecordSet())
      try forEachChange(after: start, in: store) { save, change in
        last = save.number
        let references = rivalReferences(of: change.entity)
        if !references.isEmpty, change.values.map({ !references.isDisjoint(with: $0.keys) }) ?? true { concernsClaims = true }
        if change.isReinsertion { changed.formUnion(try [change.id] + store.referrers(of: change.id)) }
        // The links of a deleted object, which nothing removes, give room at their other ends.
        if model.leavesReferences || model.hasLinkCapacities, change.values == nil { changed.formUnion(try store.referrers(of: change.id)) }
        if hasMergeRules, try hasMergeRule(change, in: store) { changed.insert(change.id) }
      }
      if last == start { return }
      if concernsClaims {
        // What the new saves replace can be in earlier ones that were not sent yet.
        var groups = MemberGroups()
        try forEachChange(after: zone.settledThrough, in: store) { save, change in
          if rivalReferences(of: change.entity).isEmpty { return }
          let entry = try store.entry(of: change.id)
          for record in [change.record(save.stamp), entry?.base?.record, entry?.held] {
            changed.formUnion(try claimRivals(of: record, in: store))
            changed.formUnion(try fellowMembers(of: record, in: store, except: &groups))
          }
        }
      }
      try updateObjects(of: changed, in: store)
      zone.reviewedThrough = last
      try store.setZone(zone)
    }
  }

  /// Returns the relationships of an entity on which other objects than their owners depend.
  private func rivalReferences(of entity: EntityID) -> Set<PropertyID> {
    model.entities[entity].map { $0.exclusive.union($0.denying).union($0.trees).union($0.capacities.keys) } ?? []
  }

  /// Returns the records with attributes that have rules and were changed by saves that become settled.
  ///
  /// What several saves have written together under another version of the model can differ from what they have written one after the other.
  func mergedRecords(settledThrough last: Int64, in store: some SyncStore) throws -> RecordSet {
    let zone = try store.zone()
    var records = RecordSet()
    guard hasMergeRules(zone) else { return records }
    try forEachChange(after: zone.settledThrough, through: last, in: store) { _, change in
      if try hasMergeRule(change, in: store) { records.insert(change.id) }
    }
    return records
  }

  /// Returns whether attributes have rules, by this version of the model or by another one that the device knows records of.
  func hasMergeRules(_ zone: ZoneState) -> Bool { model.hasMergeRules || zone.hasMergeRules ?? false }

  /// Returns whether a change concerns an attribute that has a rule, by this version of the model or by another one.
  private func hasMergeRule(_ change: PendingChange, in store: some SyncStore) throws -> Bool {
    let properties = change.properties
    let rules = model.merging(of: change.entity)
    if properties.contains(where: { rules[$0] != nil }) { return true }
    guard let state = try store.entry(of: change.id)?.state, state.hasMergeRules else { return false }
    return properties.contains { state[$0].map { $0.rule != .latest } ?? false }
  }

  /// Calls a closure with the changes of pending saves, which are read in batches.
  func forEachChange(
    after number: Int64, through end: Int64 = .max, in store: some SyncStore, _ body: (PendingSave, PendingChange) throws -> Void
  ) throws {
    try store.forEachChange(after: number, through: end, maximumCount: limits.recordsInBatch, body)
  }
}
