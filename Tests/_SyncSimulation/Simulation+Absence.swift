package import SyncCore

/// Devices that are away for so long that the hub has removed deletions.
extension Simulation {
  /// Lets a device that was away continue.
  func resume(_ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    device.isAway = false
    for event in [SyncClient.Event.pullFailed, .pushFailed, .verificationFailed, .remoteChange] {
      try handle(event, on: device, &random)
    }
  }

  /// Whether the hub has the commits that a device has pulled.
  func isInChain(_ device: SimulatedDevice) -> Bool {
    let states = [device.store.state, device.copy].compactMap { $0 }
    return states.allSatisfy { state in
      let zone = state.zone
      // A state from before the first pull can contain saves that a lost state has sent.
      if zone.base.sequence == 0, !state.saves.isEmpty { return false }
      if zone.incarnation ?? storage.incarnation() != storage.incarnation() { return false }
      return [zone.base, zone.accepted, zone.staging?.head].allSatisfy { $0.map { storage.chainHead(at: $0.sequence) == $0.head } ?? true }
    }
  }
}

extension Simulation {
  /// A digest of all objects and of the hub.
  package var digest: Digest {
    var words = storage.head().head.allWords
    for device in devices {
      for (id, object) in device.store.state.objects.sorted(by: { $0.key < $1.key }) {
        words += [id.high, id.low, object.entity.value]
        let record = Record(entity: object.entity, object.values, Stamp(.zero, DeviceID(0)))
        words += RecordCoding.encode(record, of: id).map(UInt64.init)
      }
    }
    return hashing.digest(of: words)
  }
}
