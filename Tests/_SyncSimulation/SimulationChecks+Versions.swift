import SyncCore

/// The invariants of attributes that functions of the application merge: a value ends only if a save has replaced it.
extension SimulationChecks {
  /// Records which bits a save removes.
  func noteRemovedBits(_ changes: [PendingChange], _ former: [RecordID: SyncedObject]) {
    for change in changes {
      for (property, value) in change.values ?? [:] {
        let removed = SimulatedModel.bits(former[change.id]?.values[property]) & ~SimulatedModel.bits(value)
        if removed != 0 { removedBits[PropertyKey(id: change.id, property: property), default: 0] |= removed }
      }
    }
  }

  /// Checks that each version that a state has not anymore was replaced by a save that knew it, and that the value contains all bits that
  /// saves have added and none has removed.
  func checkVersions(_ simulation: Simulation, _ view: StateView) throws {
    if !simulation.setup.hasFunctions { return }
    var written: [PropertyKey: [(save: Save, versions: ValueVersions)]] = [:]
    for save in saves {
      for change in save.changes {
        for field in change.ownFields where field.rule == .custom {
          written[PropertyKey(id: change.id, property: field.property), default: []].append((save, ValueVersions(field.value)))
        }
      }
    }
    for (key, all) in written {
      guard let state = view.state(of: key.id), !state.isDeleted, let field = state[key.property], !hasReturned(key.id) else { continue }
      let versions = ValueVersions(field.value)
      try checkReplacedVersions(versions, all, key)
      var expected: Int64 = 0
      for (save, own) in all where !save.isLost {
        guard let version = own.versions.last(where: { $0.stamp.device == save.stamps[0].device }) else { continue }
        expected |= SimulatedModel.bits(version.value)
        if versions.versions.contains(where: { $0.stamp == version.stamp }) { continue }
        let isReplaced = all.contains { other in
          other.save !== save && other.versions.seen.contains(version.stamp)
            && !other.versions.versions.contains { $0.stamp == version.stamp }
        }
        if !isReplaced {
          throw SimulationFailure(invariant: "only saves replace versions", detail: "\(key.id.low): \(version), of \(versions)")
        }
      }
      // Devices without the function, and such that have seen lost values, replace what they show.
      let function = SimulatedModel.function(for: key.property)
      if simulation.setup.hasEarlierModels || !isComparable || hasRenewals || function.name != "bits" { continue }
      let value = versions.merged(by: function).value
      if SimulatedModel.bits(value) & expected & ~(removedBits[key] ?? 0) != expected & ~(removedBits[key] ?? 0) {
        throw SimulationFailure(
          invariant: "functions lose nothing", detail: "\(key.id.low): \(value) of \(versions), expected \(expected)")
      }
    }
  }

  /// Checks that no version returns that a save has replaced.
  private func checkReplacedVersions(
    _ versions: ValueVersions, _ all: [(save: Save, versions: ValueVersions)], _ key: PropertyKey
  ) throws {
    // A store that was replaced can have used a stamp twice.
    func isCertain(_ save: Save) -> Bool { !save.isLost && !save.isReplaced }
    if hasRenewals { return }
    for version in versions.versions where (byStamp[version.stamp] ?? []).allSatisfy(isCertain) {
      for (save, own) in all where isCertain(save) && own.seen.contains(version.stamp) {
        if own.versions.contains(where: { $0.stamp == version.stamp }) { continue }
        throw SimulationFailure(
          invariant: "replaced versions do not return",
          detail: "\(key.id.low): \(version) of \(versions), replaced by save \(save.number) of device \(save.device)")
      }
    }
  }

  /// Checks which versions a save replaces, and what its own ones are based on.
  ///
  /// - Parameter former: The objects before the save.
  func checkVersions(of save: PendingSave, _ former: [RecordID: SyncedObject], on device: SimulatedDevice) throws {
    let state = device.store.state
    for change in save.changes where !change.isReinsertion {
      let settled = state.entries[change.id]?.state
      var unsent: Record?
      for pending in state.saves where pending.number > state.zone.settledThrough && pending.number < save.number {
        for other in pending.changes where other.id == change.id { unsent = unsent.applying(other.record(pending.stamp)) }
      }
      let known = settled.applying(unsent)
      for field in change.ownFields where field.rule == .custom {
        let (known, new) = (ValueVersions(of: known?[field.property]), ValueVersions(field.value))
        let function = device.model.function(for: field.property, of: change.entity)
        let shown = former[change.id]?.values[field.property]
        if known.versions.isEmpty { continue }
        let kept = known.versions.filter { new.versions.contains($0) }
        let (merged, failure) = known.merged(by: function)
        if failure == .missing {
          let replaced = known.versions.filter { !kept.contains($0) }
          if replaced.count == 1, replaced[0].value == shown || replaced[0] == known.versions.last { continue }
          throw SimulationFailure(
            invariant: "saves replace what is shown", detail: "\(change.id.low): \(known) by \(new), shown \(String(describing: shown))")
        }
        let base = ValueVersions(of: settled?[field.property])
        if failure != nil || shown != merged || base.versions.isEmpty { continue }
        if !kept.isEmpty || new.versions.count != 1 || new.versions[0].base != base.merged(by: function).value {
          throw SimulationFailure(
            invariant: "saves are based on what the zone has", detail: "\(change.id.low): \(new), replaces \(known), zone has \(base)")
        }
      }
    }
  }

  /// Returns whether versions contain what a device wrote whose model does not declare the function, or a later value of it.
  func includesFormer(_ property: PropertyID, of written: PendingChange, in save: Save, _ versions: ValueVersions) -> Bool {
    if versions.seen.contains(Stamp(save.lowestStamp.time, Counter.baseline)) || save.stamps.contains(where: versions.seen.contains) {
      return true
    }
    // With another rule, an earlier value can have replaced it. A later null is no version, and one without a rule has replaced it.
    if let object = baseline[written.id], object.values[property] != nil {
      let rule = baselineModels[written.id]?.merging(of: object.entity)[property] ?? .latest
      if rule != .latest, rule != .custom { return true }
    }
    return saves.contains { other in
      other.changes.contains { change in
        guard change.id == written.id, let value = change.values?[property] else { return false }
        let rule = change.rules[property] ?? .latest
        if rule == .latest {
          let latest = other.stamps.max() ?? other.lowestStamp
          return latest > save.lowestStamp && (value == .null || other.stamps.contains(where: versions.seen.contains))
        }
        return rule != .custom
      }
    }
  }
}
