/// Objects whose deletion others deny.
///
/// An object that was deleted with a mark (``DeletionMark``) exists nevertheless as long as a live record refers to it by a relationship that
/// denies its deletion, unless the deletion has seen that reference. The record can be one that exists for the same reason. As soon as the
/// reference is on the hub too, the deleted record gets a value that the deletion has not seen, ``PropertyID/revival``: the object remains
/// when the reference is removed later. The stamp of the value follows from the states on the hub, so all devices write the same.
extension VisibleState {
  /// Returns whether a record is neither deleted nor a link that was removed, by the states of records alone.
  func isLive(_ id: RecordID) throws -> Bool {
    if let known = liveness[id] { return known }
    let result = try state(of: id).map { try !isMerged(id, $0) && (isLive($0) || isDeletionDenied(of: id, $0)) } ?? false
    liveness[id] = result
    return result
  }

  /// Returns whether the object of a record is that of another one.
  private func isMerged(_ id: RecordID, _ state: Record) throws -> Bool { try state.successor != nil && store.successor(of: id) != id }

  private func isLive(_ state: Record) -> Bool { !state.isDeleted && (!model.isLink(state.entity) || state.hasAddition) }

  /// Returns whether a record that is live by its own state refers to a deleted one, directly or through other deleted ones.
  private func isDeletionDenied(of id: RecordID, _ state: Record) throws -> Bool {
    if denyingReferences.isEmpty || state.isTombstone { return false }
    var (visited, next): (Set<RecordID>, [RecordID]) = ([id], [id])
    while let id = next.popLast() {
      let mark = try self.state(of: id)?.deletionMark
      for (referrer, state, _) in try denyingReferrers(of: id, mark, { try self.state(of: $0) }) where visited.insert(referrer).inserted {
        if try isMerged(referrer, state) { continue }
        if isLive(state) { return true }
        next.append(referrer)
      }
    }
    return false
  }

  /// Returns the records that refer to a deleted one by relationships that deny its deletion, and that are no tombstones.
  ///
  /// - Parameters:
  ///   - mark: What the deletions have seen.
  ///   - state: Returns the state of a record.
  private func denyingReferrers(
    of id: RecordID, _ mark: DeletionMark?, _ state: (RecordID) throws -> Record?
  ) throws -> [(id: RecordID, state: Record, stamp: Stamp)] {
    var found: [(id: RecordID, state: Record, stamp: Stamp)] = []
    for property in denyingReferences {
      for referrer in try store.referrers(of: id, through: property) {
        guard let state = try state(referrer), model.isDenying(property, of: state.entity), let field = state[property],
          field.value.reference == id, !(mark?.hasSeenReference(property, of: referrer, field.stamp) ?? false)
        else { continue }
        found.append((referrer, state, field.stamp))
      }
    }
    return found
  }

  /// Returns the deleted records that a record can deny the deletion of, and prepares that the hub has what revives the record itself.
  func updateDeletion(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id) else { return [] }
    if state.isDeleted, try isLive(id), var entry = try store.entry(of: id), let base = entry.base?.record, !base.isTombstone,
      let mark = base.deletionMark, base.isDeleted
    {
      let referrers = try denyingReferrers(of: id, mark) { try store.entry(of: $0)?.base?.record }.filter {
        try isLive($0.state) && !isMerged($0.id, $0.state)
      }
      if let stamp = referrers.map(\.stamp).max() {
        // It is later than what the deletions have seen.
        let seen = mark.entries.filter { $0.property == .revival }.map(\.stamp.time) + [base[.revival]?.stamp.time].compactMap { $0 }
        let time = max(stamp.time, seen.max()?.next ?? .zero)
        entry.held = entry.held.joined(with: Record(entity: base.entity, [.revival: .integer(1)], Stamp(time, stamp.device)))
        try store.setEntry(entry, of: id)
      }
    }
    return state.deniedDestinations(model)
  }
}

extension Record {
  /// The records that it refers to by relationships that deny their deletion.
  func deniedDestinations(_ model: SyncModel) -> [RecordID] {
    fields.compactMap { model.isDenying($0.property, of: entity) ? $0.value.reference : nil }
  }
}
