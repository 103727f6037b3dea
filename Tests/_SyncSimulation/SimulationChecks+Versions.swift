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
}
