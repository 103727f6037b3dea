/// Makes one object of several that have the same values under a uniqueness constraint.
///
/// Devices that do not know of each other can give the same unique value to two objects. One of their records becomes the successor of the
/// other one: that on the hub, or else that with the smaller ID. The other record remains, without an object. What refers to it is made to
/// refer to the successor:
///
/// - references in the states of records, with a stamp that follows from that of the reference (``Stamp/ofReplacement``), so that all devices
///   write the same, and a later change of the reference wins
/// - references in pending saves (``SyncStore/redirect(_:)``)
/// - links, whose additions and positions are joined with those of the same links of the successor
///
/// Two devices can choose different successors. If the records then succeed each other in a cycle, the one with the smallest ID has the object.
/// A merge is never undone, also if the values of the objects differ later, or the successor is deleted.
struct DuplicateMerge {
  private let model: SyncModel
  private let store: any SyncStore
  private let zone: ZoneState
  private var queue: [RecordID] = []
  private var holders: [UniqueKey: RecordID] = [:]
  /// Records to whose successors pending saves must refer.
  private var redirected: Set<RecordID> = []
  /// The relationships by which objects with unique values can require others, directly or indirectly.
  private let requirements: [PropertyID]
  /// Records that may appear, and that were queued for that.
  private var appearing = RecordSet()
  /// Records of which those that require them were queued.
  private var requiring = RecordSet()
  /// The records whose objects may change.
  private var touched = RecordSet()

  init(_ model: SyncModel, in store: any SyncStore) throws {
    (self.model, self.store, zone) = (model, store, try store.zone())
    func required(by entity: SyncModel.Entity) -> [PropertyID] { entity.isLink ? [] : entity.references.filter(\.value).map(\.key) }
    let entities = model.entities.values
    let isRequiring = entities.contains { !$0.unique.isEmpty && !required(by: $0).isEmpty }
    requirements = isRequiring ? Set(entities.flatMap(required)).sorted() : []
  }

  /// Merges objects with the same unique values.
  ///
  /// - Parameter changed: Records whose states have changed.
  /// - Returns: These records, and others whose objects may change.
  mutating func merge(_ changed: some Sequence<RecordID>) throws -> RecordSet {
    try process(changed)
    while !redirected.isEmpty {
      // A successor can have got another one meanwhile.
      var successors: [RecordID: RecordID] = [:]
      for id in redirected {
        let successor = try store.successor(of: id)
        if successor != id { successors[id] = successor }
      }
      redirected = []
      let changed = try store.redirect(successors)
      // Links that became one count as one: the next part of a save would begin too late. The hub discards the parts that it has.
      if !changed.isEmpty, case .changes? = try store.outbox()?.next { try store.setOutbox(nil) }
      // What pending saves refer to now may appear.
      (appearing, requiring) = (RecordSet(), RecordSet())
      try process(changed)
      for id in changed { if let state = try state(of: id) { touched.formUnion(try fellowMembers(of: state)) } }
    }
    return touched
  }

  private mutating func process(_ changed: some Sequence<RecordID>) throws {
    for id in changed {
      touched.insert(id)
      queue.append(id)
      while let next = queue.popLast() { try process(next) }
    }
  }

  private mutating func process(_ id: RecordID) throws {
    guard let state = try state(of: id) else { return }
    // If it is deleted, it may have been in a cycle of successors.
    if state.successor != nil || state.isDeleted { try followSuccessor(of: id) }
    if state.isTombstone { return }
    for field in state.fields where field.property != .successor {
      if let destination = field.value.reference { try redirect(id, from: destination) }
    }
    guard let state = try self.state(of: id) else { return }
    // The record may deny the deletion of another one.
    for destination in state.deniedDestinations(model) where try self.state(of: destination)?.isDeleted ?? false {
      if appearing.insert(destination) { queue.append(destination) }
    }
    guard try exists(id, state) else { return }
    // What requires the object appears with it.
    if !requirements.isEmpty, try store.object(of: id) == nil, requiring.insert(id) {
      for property in requirements { queue += try store.referrers(of: id, through: property) }
    }
    for key in state.uniqueKeys(model) {
      var holder = id
      for other in try store.records(with: key) + [holders[key]].compactMap({ $0 }) where other != holder {
        guard let theirs = try self.state(of: other), theirs.uniqueKeys(model).contains(key), try exists(other, theirs) else { continue }
        holder = try merge(holder, other, key)
      }
      holders[key] = holder
      if holder != id { return }
    }
  }

  /// Returns whether a record is neither deleted nor merged into another one. Its object can be hidden.
  private func exists(_ id: RecordID, _ state: Record) throws -> Bool {
    if try store.successor(of: id) != id { return false }
    if !state.isDeleted { return true }
    return try state.deletionMark != nil && VisibleState(model, in: store, batch: 1).isLive(id)
  }

  /// Makes one of two records the successor of the other one.
  ///
  /// - Returns: The successor.
  private mutating func merge(_ one: RecordID, _ other: RecordID, _ key: UniqueKey) throws -> RecordID {
    let (first, second) = (try rank(one), try rank(other))
    let (winner, loser) = first < second ? (one, other) : (other, one)
    guard let kept = try state(of: winner), let lost = try state(of: loser) else { return winner }
    try noteLosses(lost, winner, kept)
    // It is later than another successor, which the record has in a cycle.
    let stamps =
      (kept.fields + lost.fields).filter { key.constraint.properties.contains($0.property) } + [lost[.successor]].compactMap { $0 }
    var entry = try store.entry(of: loser) ?? RecordEntry()
    let stamp = (stamps.map(\.stamp).max() ?? Stamp(HybridTime(value: 1), zone.device)).ofReplacement
    entry.held = entry.held.joined(with: Record(entity: lost.entity, [.successor: .reference(winner)], stamp))
    try store.setEntry(entry, of: loser)
    touched.insert(winner)
    touched.insert(loser)
    queue.append(loser)
    return winner
  }

  /// What is on the hub remains, because other devices may show it already.
  private func rank(_ id: RecordID) throws -> (Int, RecordID) { (try store.entry(of: id)?.base == nil ? 1 : 0, id) }

  /// Makes what refers to a record, or to those that were merged into it, refer to the successor.
  private mutating func followSuccessor(of id: RecordID) throws {
    let successor = try store.successor(of: id)
    // In a cycle, the object can be that of another record than before.
    if successor != id {
      touched.insert(successor)
      if appearing.insert(successor) { queue.append(successor) }
    }
    for id in try predecessors(of: id) {
      touched.insert(id)
      if id == successor { continue }
      redirected.insert(id)
      if let state = try state(of: id) {
        // What has waited for the destinations of its relationships appears.
        let claimants = try state.claims(model).flatMap { try store.referrers(of: $0.claim.destination, through: $0.claim.property) }
        for rival in try claimants + fellowMembers(of: state) where rival != id && appearing.insert(rival) { queue.append(rival) }
        // A cycle of parents that it was in is open.
        if model.hasTrees { touched.formUnion(try store.ancestors(of: state, model)) }
      }
      for referrer in try store.referrers(of: id) {
        touched.insert(referrer)
        try redirect(referrer, from: id)
      }
    }
  }

  /// Returns a record and those that were merged into it, directly or indirectly.
  private func predecessors(of id: RecordID) throws -> Set<RecordID> {
    var (found, next): (Set<RecordID>, [RecordID]) = ([id], [id])
    while let id = next.popLast() {
      next += try store.referrers(of: id, through: .successor).filter { found.insert($0).inserted }
    }
    return found
  }

  /// Makes a record refer to the successor of its destination, apart from what pending saves have written.
  private mutating func redirect(_ id: RecordID, from destination: RecordID) throws {
    let successor = try store.successor(of: destination)
    if successor == destination { return }
    redirected.insert(destination)
    touched.insert(id)
    guard var entry = try store.entry(of: id), let state = entry.state, !state.isTombstone else { return }
    if state.isLink {
      // Devices whose models have the relationship join it.
      if model.isLink(state.entity) { try joinLink(state, from: destination, to: successor) }
      return
    }
    var values: [Field] = []
    for field in state.fields where field.value == .reference(destination) && field.property != .successor {
      values.append(Field(field.property, .reference(successor), field.stamp.ofReplacement))
    }
    if values.isEmpty { return }
    entry.held = entry.held.joined(with: Record(entity: state.entity, .live(values)))
    try store.setEntry(entry, of: id)
    queue.append(id)
  }

  /// Joins a link of a record that was merged with the same link of its successor.
  private mutating func joinLink(_ state: Record, from destination: RecordID, to successor: RecordID) throws {
    if state.isDeleted { return }
    let ends = [PropertyID.linkSource, .linkDestination].compactMap { state[$0]?.value.reference }.map {
      $0 == destination ? successor : $0
    }
    guard ends.count == 2 else { return }
    let link = model.link(state.entity, from: ends[0], to: ends[1])
    let isSwapped = link.source != ends[0]
    let id = store.id(of: link)
    let fields = state.fields.map { field in
      switch field.property {
      case .linkSource: Field(.linkSource, .reference(link.source), field.stamp)
      case .linkDestination: Field(.linkDestination, .reference(link.destination), field.stamp)
      case let property where property.isLinkPosition && isSwapped: Field(property.oppositeLinkPosition, field.value, field.stamp)
      default: field
      }
    }
    let joined = Record(entity: state.entity, .live(fields.sorted { $0.property < $1.property }))
    var entry = try store.entry(of: id) ?? RecordEntry()
    let known = entry.state
    if known.joined(with: joined) == known { return }
    // Additions can have been removed.
    if let known { touched.formUnion(try fellowMembers(of: known)) }
    entry.held = entry.held.joined(with: joined)
    try store.setEntry(entry, of: id)
    touched.insert(id)
    queue.append(id)
  }

  /// Returns the records that may be members of objects in place of a record.
  private func fellowMembers(of state: Record) throws -> [RecordID] {
    try store.fellowMembers(in: state.memberships(model), model)
  }

  /// Keeps the values of an object that the device itself has written.
  private func noteLosses(_ lost: Record, _ winner: RecordID, _ kept: Record) throws {
    let losing = lost.fields.filter { field in
      !field.property.isOfRecordOnly && field.rule == .latest && field.value.position == nil && kept[field.property]?.value != field.value
        && field.value != .null && field.value != .superseded
    }
    guard losing.contains(where: { $0.stamp.device == zone.device }) else { return }
    let winning = losing.compactMap { kept[$0.property] }
    try store.addToJournal(
      JournalEntry(
        winner, .duplicate, losing: Record(entity: kept.entity, .live(losing)), winning: Record(entity: kept.entity, .live(winning))))
  }

  private func state(of id: RecordID) throws -> Record? {
    try store.state(of: id, model, after: zone.settledThrough) { try store.object(of: id) }
  }
}

extension SyncStore {
  /// Returns the record that has the object of a record: the last of its successors, or of a cycle of these, the one with the smallest ID.
  /// A deleted record has no successor, also if that was not sent yet.
  package func successor(of id: RecordID) throws -> RecordID {
    var path = [id]
    while let last = path.last, let next = try entry(of: last)?.state?.successor {
      if try pendingChanges(of: last, after: zone().settledThrough)?.isTombstone ?? false { break }
      if let start = path.firstIndex(of: next) { return path[start...].min() ?? id }
      path.append(next)
    }
    return path.last ?? id
  }
}
