/// Runs simulations by seed, and shortens those that fail.
package enum SimulationRun {
  /// Returns the setup and the events of a seed.
  package static func plan(_ seed: UInt64) -> (Simulation.Setup, [SimulationEvent]) {
    var random = SimulationRandom(seed)
    var setup = Simulation.Setup(
      seed: random.next(), deviceCount: 2 + random.number(below: random.chance(0.2) ? 7 : 3),
      loss: [0, 0.1, 0.3][random.number(below: 3)])
    // A run has restored hubs or restored devices: if both lose a save, it is lost.
    let restoresHub = random.chance(0.5)
    // A change that waits for a key is only on its device.
    setup.losesKeys = restoresHub && random.chance(0.4)
    // The journals can be checked only if it is certain what each device has known when it saved, and the hub removes deletions only if it
    // has what all devices have pulled.
    let restoresNothing = random.chance(setup.truncates ? 0.6 : setup.hasCertainJournals ? 0.4 : 0)
    // Often the same device, which has made a copy of its store before.
    let restored = random.number(below: setup.deviceCount)
    var events: [SimulationEvent] = []
    for _ in 0..<(40 + random.number(below: 240)) {
      let choice = random.number(below: 1_000)
      let kind: SimulationEvent.Kind =
        switch choice {
        case 940... where restoresNothing: .deliver
        case ..<250: .save
        case ..<790: .deliver
        case ..<820: setup.losesKeys ? .setKeys : .deliver
        case ..<900: setup.truncates && random.chance(0.5) ? .leave : .remoteChange
        case ..<940: setup.losesKeys && random.chance(0.6) ? .setKeys : .kill
        case ..<960: .setClock
        case ..<985: restoresHub ? .restoreHub : .restoreDevice
        default: restoresHub ? .deliver : .restoreDevice
        }
      let isSameDevice = kind == .restoreDevice && random.chance(0.7)
      events.append(SimulationEvent(kind, isSameDevice ? restored : random.number(below: setup.deviceCount), random.next()))
    }
    return (setup, events)
  }

  /// Runs events from a new state. Returns the failure, or nil if all invariants hold.
  package static func failure(_ setup: Simulation.Setup, _ events: [SimulationEvent]) -> SimulationFailure? {
    do {
      try Simulation(setup).run(events)
      return nil
    } catch let failure as SimulationFailure { return failure } catch {
      return SimulationFailure(invariant: "no error", detail: "\(error)")
    }
  }

  /// Removes events as long as the same invariant is violated.
  package static func shortened(
    _ setup: Simulation.Setup, _ events: [SimulationEvent], _ failure: SimulationFailure
  ) -> (events: [SimulationEvent], failure: SimulationFailure) {
    var (events, failure) = (events, failure)
    if let last = failure.event { events = Array(events.prefix(last + 1)) }
    var size = max(events.count / 2, 1)
    while true {
      var (start, isShorter) = (0, false)
      while start < events.count {
        var fewer = events
        fewer.removeSubrange(start..<min(start + size, events.count))
        if let found = Self.failure(setup, fewer), found.invariant == failure.invariant {
          (events, failure, isShorter) = (fewer, found, true)
        } else {
          start += size
        }
      }
      if size > 1 { size /= 2 } else if !isShorter { return (events, failure) }
    }
  }

  /// Returns a failing run as the body of a test.
  package static func test(_ setup: Simulation.Setup, _ events: [SimulationEvent]) -> String {
    let lines = events.map { "  \($0)," }.joined(separator: "\n")
    return "try Simulation(\(setup)).run([\n\(lines)\n])"
  }
}
