import SyncCore

/// The invariants of deletions that edits win over and other objects deny.
extension SimulationChecks {
  /// What a device knew of a record when it deleted the object.
  struct Knowledge {
    /// The latest times of the properties of the record, and of references to it, by devices.
    var times: [Writer: HybridTime] = [:]
    /// The pending saves among it.
    var saves: [Save] = []

    struct Writer: Hashable {
      let record: RecordID
      let property: PropertyID
      let device: DeviceID
    }

    mutating func add(_ field: Field, of id: RecordID) {
      for stamp in field.writers {
        let writer = Writer(record: id, property: field.property, device: stamp.device)
        times[writer] = max(times[writer] ?? .zero, stamp.time)
      }
    }

    func contains(_ property: PropertyID, of id: RecordID, _ stamp: Stamp) -> Bool {
      if let time = times[Writer(record: id, property: property, device: stamp.device)], time >= stamp.time { return true }
      // What was there before the model declared a counter: it has the time of that value, but no device.
      return stamp.device == Counter.baseline
        && times.contains { $0.key.record == id && $0.key.property == property && $0.value == stamp.time }
    }
  }

  /// Determines what the device knew of the objects that a save deletes: what it had pulled, and its own pending saves.
  func noteDeletions(_ save: Save, of device: SimulatedDevice) {
    for (position, change) in save.changes.enumerated() where change.deletionMark != nil {
      var knowledge = Knowledge()
      let entry = device.store.state.entries[change.id]
      for field in (entry?.base?.record.fields ?? []) + (entry?.held?.fields ?? []) { knowledge.add(field, of: change.id) }
      for referrer in (device.store.state.referrers[change.id] ?? [:]).keys {
        let entry = device.store.state.entries[referrer]
        let pending = device.store.pending(of: referrer, after: device.store.state.zone.settledThrough)
        for field in (entry?.base?.record.fields ?? []) + (entry?.held?.fields ?? []) + (pending?.fields ?? [])
        where field.value.reference == change.id {
          knowledge.add(field, of: referrer)
        }
      }
      for (other, earlier) in byDevice[device.number] ?? [:]
      where other > device.store.state.zone.settledThrough && other < save.number {
        for known in earlier.changes where known.id == change.id {
          for stamp in earlier.stamps { for field in known.fields(stamp) { knowledge.add(field, of: change.id) } }
          knowledge.saves.append(earlier)
        }
      }
      // A counter can begin with a value that an earlier pending save has written.
      var state = entry?.state
      for earlier in device.store.state.saves where earlier.number > device.store.state.zone.settledThrough && earlier.number < save.number
      {
        for known in earlier.changes where known.id == change.id { state = state.applying(known.record(earlier.stamp)) }
      }
      for field in state?.fields ?? [] { knowledge.add(field, of: change.id) }
      save.known[position] = knowledge
    }
  }

  /// Checks that no device has sent an object again whose deletion it knew.
  ///
  /// - Parameter ids: Records that the hub had removed, and that a device which knew of their deletion has sent.
  func checkReturned(_ ids: [RecordID], _ setup: Simulation.Setup) throws {
    // Edits win over marks. A restored device knows less than its former identity did.
    if setup.hasDeletionMarks || setup.losesKeys || !isComparable { return }
    // Another identity sends again what its device has sent, also if that was deleted and the deletion removed.
    let resending = saves.filter { Set($0.stamps.map(\.device)).count > 1 }
    guard let id = ids.first(where: { id in !resending.contains { $0.changes.contains { $0.id == id } } }) else { return }
    throw SimulationFailure(invariant: "who knows a deletion does not undo it", detail: "\(id.low)")
  }

  /// Returns whether a state contains a deletion that edits can win over, or one that they cannot.
  func includesDeletion(_ change: PendingChange, of save: Save, _ state: Record) -> Bool {
    if state.isTombstone { return true }
    guard change.deletionMark != nil, let mark = state.deletionMark else { return false }
    // A corrected clock can have lowered the stamp of a deletion that was held.
    return save.stamps.contains { stamp in
      mark.hasSeenDeletion(stamp) || mark.entries.contains { $0.property == .deletion && $0.stamp.device == stamp.device }
    }
  }

  /// Returns whether a state contains the reinsertion that a change is, or a later one.
  func includesRevival(_ change: PendingChange, of save: Save, _ state: Record) -> Bool {
    guard change.isReinsertion else { return true }
    guard let revival = state[.revival] else { return false }
    if save.tags.contains(where: { $0 <= revival.stamp }) { return true }
    // A corrected clock has lowered the stamps of what was held.
    return state.fields.contains { $0.property != .revival && $0.stamp == revival.stamp && save.has(written: $0, of: change.id) }
  }

  /// Returns the saves whose deletions a mark contains.
  func savesOfDeletions(_ field: Field, _ id: RecordID) -> [Save] {
    guard case .deletion(let mark) = field.value else { return [] }
    return mark.entries.lazy.filter { $0.property == .deletion }.compactMap { entry in
      let saves = self.byStamp[entry.stamp] ?? []
      return saves.count == 1 ? saves.first { $0.changes.contains { $0.id == id && $0.deletionMark != nil } } : nil
    }
  }

  /// Checks that an object whose deletion has left a mark exists by its record exactly if a value of it is of a save that no deletion knew.
  func checkDeletions(_ simulation: Simulation, _ view: StateView) throws {
    if !simulation.setup.hasDeletionMarks { return }
    var deletions: [RecordID: [(save: Save, knowledge: Knowledge)]] = [:]
    for save in saves {
      for (position, knowledge) in save.known { deletions[save.changes[position].id, default: []].append((save, knowledge)) }
    }
    // A returned object has the state of a device that was away.
    for (id, deletions) in deletions.sorted(by: { $0.key < $1.key }) where !hasReturned(id) {
      guard let state = view.state(of: id), !state.isTombstone, state.deletionMark != nil else { continue }
      // A reference that follows a merged object denies the deletion.
      if state[.revival]?.stamp.isDerived ?? false { continue }
      let writers = Set(state.fields.filter { !$0.property.isOfRecordOnly }.flatMap { field in field.writers.map { (field, $0) }.map(\.1) })
      // What was stamped again can be known under another stamp.
      let all = writers.flatMap { byStamp[$0] ?? [] } + deletions.map(\.save) + deletions.flatMap(\.knowledge.saves)
      if all.contains(where: { Set($0.stamps).count > 1 || $0.isReplaced }) || hasRenewals { continue }
      let unknown = state.fields.first { field in
        field.property != .deletion && field.rule != .union && !field.stamp.isDerived
          && field.writers.contains { stamp in !deletions.contains { $0.knowledge.contains(field.property, of: id, stamp) } }
      }
      let isKnown = deletions.allSatisfy { !$0.save.isLost } && unknown == nil && !state.fields.contains { $0.rule == .union }
      if isKnown != state.isDeleted, unknown != nil || isKnown {
        throw SimulationFailure(
          invariant: "edits win over deletions that did not know them",
          detail: "\(id.low): \(String(describing: unknown)), \(state), \(deletions.map { ($0.save.number, $0.save.device) })")
      }
    }
    // An object whose deletion was denied exists.
    let first = simulation.devices[0].store.state
    for (id, object) in first.objects {
      guard let state = view.state(of: id) else { continue }
      for field in state.fields where simulation.model.syncModel.isDenying(field.property, of: object.entity) {
        guard let destination = field.value.reference, let denied = view.state(of: destination), !denied.isTombstone, denied.isDeleted,
          let all = deletions[destination], !all.contains(where: { Set($0.save.stamps).count > 1 || $0.save.isReplaced }), !hasRenewals,
          !all.contains(where: { $0.knowledge.contains(field.property, of: id, field.stamp) })
        else { continue }
        throw SimulationFailure(invariant: "references deny deletions", detail: "\(id.low) \(state) to \(destination.low) \(denied)")
      }
    }
  }
}

extension Field {
  /// The stamps of what the value consists of.
  var writers: [Stamp] {
    if rule == .counter { return Counter(value).entries.map { Stamp($0.time, $0.device) } }
    if case .versions(let versions) = value { return versions.versions.map(\.stamp) }
    return property == .deletion ? [] : [stamp]
  }
}

extension PendingChange {
  fileprivate func fields(_ stamp: Stamp) -> [Field] { values == nil ? [] : record(stamp).fields }
}
