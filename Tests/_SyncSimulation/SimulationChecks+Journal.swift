import SyncCore

/// The invariant of the journal: a value is replaced only by changes that knew it, or is in a journal.
extension SimulationChecks {
  /// A property of a record.
  struct PropertyKey: Hashable {
    let id: RecordID
    let property: PropertyID
  }

  /// What is known of the values of a property.
  struct ValueHistory {
    /// What each save has written.
    var written: [(save: Save, value: FieldValue)] = []
    /// The stamp of the value that the device had when it made a save, by the save.
    var replaced: [ObjectIdentifier: Stamp] = [:]
    /// The stamps that the devices had that have deleted the object.
    var deleted: [Stamp] = []
  }

  /// Records what a device knew of the values that it replaces.
  func noteReplacedValues(of save: Save, of device: SimulatedDevice) {
    let state = device.store.state
    for change in save.changes where !change.isLink {
      var known = state.entries[change.id]?.state
      for pending in state.saves where pending.number > state.zone.settledThrough && pending.number < save.number {
        for other in pending.changes where other.id == change.id { known = known.applying(other.record(pending.stamp)) }
      }
      guard let values = change.values else {
        for field in known?.fields ?? [] {
          histories[PropertyKey(id: change.id, property: field.property), default: ValueHistory()].deleted.append(field.stamp)
        }
        continue
      }
      for (property, value) in values
      where !property.isOfRecordOnly && value.position == nil && change.rules[property] ?? .latest == .latest {
        let key = PropertyKey(id: change.id, property: property)
        histories[key, default: ValueHistory()].written.append((save, value))
        histories[key]?.replaced[ObjectIdentifier(save)] = known?[property]?.stamp
      }
    }
  }

  /// Checks that each value that was replaced without being known is in a journal, at the end of a simulation without restorations,
  /// corrections of clocks, and deletions that edits win over, which can write all values again.
  func checkJournals(_ simulation: Simulation, _ view: StateView) throws {
    guard isComparable, simulation.setup.hasCertainJournals,
      saves.allSatisfy({ Set($0.stamps.map(\.time)).count == 1 })
    else { return }
    var journaled: [PropertyKey: [Field]] = [:]
    for entry in simulation.devices.flatMap(\.store.state.journal) {
      for field in entry.losing.fields { journaled[PropertyKey(id: entry.id, property: field.property), default: []].append(field) }
    }
    let hasFormerDevices = simulation.devices.contains { $0.store.state.zone.formerDevices != nil }
    // A device can have deleted a returned object when it did not know anymore what others had changed.
    for (key, history) in histories where !hasReturned(key.id) {
      // A device that compares its records with those of the hub does not recognize what a former identity has deleted.
      if hasFormerDevices, removesDeletions, isRemoved(key.id) || isDeleted(key.id) { continue }
      // A reference to a merged object follows its successor.
      if view.hasSuccessor(key.id) || history.written.contains(where: { $0.value.reference.map(view.mayHaveSuccessor) ?? false }) {
        continue
      }
      try checkReplacedReference(key, history, journaled[key] ?? [], view)
      // A device that gets another identity can win over a value of the same time to which it has lost before.
      let hasChangedOrder = history.written.contains { write in
        Set(write.save.stamps.map(\.device)).count > 1
          && history.written.contains { $0.save !== write.save && $0.save.lastTime == write.save.lastTime }
      }
      if hasChangedOrder { continue }
      let kept = (view.state(of: key.id)?[key.property].map { [$0] } ?? []) + (journaled[key] ?? [])
      var known: Set<Stamp> = []
      // Several devices can have written the same value: each of them is the one that is kept, or that a later save has known.
      func equal(to value: FieldValue) -> [Stamp] { history.written.filter { $0.value == value }.flatMap(\.save.stamps) }
      var waiting = kept.flatMap { [$0.stamp] + equal(to: $0.value) } + history.deleted
      while let stamp = waiting.popLast() {
        if !known.insert(stamp).inserted { continue }
        for write in history.written where write.save.stamps.contains(stamp) {
          waiting += equal(to: write.value)
          if let replaced = history.replaced[ObjectIdentifier(write.save)] { waiting.append(replaced) }
        }
      }
      for (save, value) in history.written where !save.isLost && known.isDisjoint(with: save.stamps) {
        if value == .null && kept.contains(where: { $0.value == .superseded }) { continue }
        // The device did not have the bytes of a large value anymore, and has sent null.
        let asset = SimulatedStore.AssetKey(id: key.id, property: key.property)
        if let content = value.asset?.content,
          simulation.devices.contains(where: { $0.store.abandonedAssets[asset]?.contains(content) ?? false })
        {
          continue
        }
        if history.written.contains(where: { $0.value == value && !known.isDisjoint(with: $0.save.stamps) }) { continue }
        throw SimulationFailure(
          invariant: "what loses is in a journal",
          detail: "save \(save.number) of device \(save.device): \(value) of \(key.property) of \(key.id.low)")
      }
    }
  }

  /// Checks that a reference that is nil because another object has the destination is in a journal.
  private func checkReplacedReference(_ key: PropertyKey, _ history: ValueHistory, _ journaled: [Field], _ view: StateView) throws {
    guard let state = view.state(of: key.id), let field = state[key.property], field.value == .superseded, !state.isDeleted else { return }
    for (save, value) in history.written where save.stamps.contains(field.stamp) && value.reference != nil {
      if journaled.contains(where: { $0.value == value }) { continue }
      throw SimulationFailure(
        invariant: "replaced references are in a journal",
        detail: "save \(save.number) of device \(save.device): \(value) of \(key.property) of \(key.id.low)")
    }
  }
}
