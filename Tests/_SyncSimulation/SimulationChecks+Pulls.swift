import SyncCore

extension SimulationChecks {
  /// Checks that a device knows each record that the zone had at the point that it has pulled, or has put it aside.
  func checkPulledRecords(_ device: SimulatedDevice, _ simulation: Simulation) throws {
    let (state, storage) = (device.store.state, simulation.storage)
    let base = state.zone.base
    // The device has later states than that point if the hub has lost a commit that it had accepted.
    guard simulation.setup.losesKeys, state.zone.isJoined, state.zone.incarnation == storage.incarnation(),
      !(state.zone.mustReconcile ?? false),
      [base, state.zone.accepted ?? base].allSatisfy({ storage.chainHead(at: $0.sequence) == $0.head })
    else { return }
    let known = Set(state.entries.values.compactMap(\.base?.version) + state.quarantined.values.map(\.version))
    // A comparison can have fetched what a restored hub has lost since.
    let lost = Set(
      state.entries.filter { ($0.value.base?.sequence ?? 0) > base.sequence }.map { simulation.hashing.name(of: $0.key) }
        + state.quarantined.filter { $0.value.sequence > base.sequence }.keys)
    for record in storage.state.records.values where !record.isDeleted && record.sequence <= base.sequence {
      if known.contains(record.version) || lost.contains(record.name) { continue }
      throw SimulationFailure(
        invariant: "pulled records are known", detail: "device \(device.number): version of commit \(record.sequence), \(state.zone)")
    }
  }
}
