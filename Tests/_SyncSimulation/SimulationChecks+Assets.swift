import SyncCore

extension SimulatedHub {
  /// The chunks that a record names.
  private var namedChunks: Set<ChunkID> {
    Set(state.records.values.flatMap { (try? SimulatedHashing().open($0).record.chunks) ?? [] })
  }

  /// Records since when no record names a chunk.
  func noteChunks(at time: Int64) {
    let named = namedChunks
    let unused = state.chunks.keys.filter { !named.contains($0) }
    state.unusedSince = Dictionary(uniqueKeysWithValues: unused.map { ($0, state.unusedSince[$0] ?? time) })
  }

  /// Checks the chunks after a push.
  ///
  /// - Parameter former: The state before it.
  func checkChunks(since former: State, _ limits: Hub.Limits, at time: Int64) throws {
    let named = namedChunks
    if let id = named.first(where: { state.chunks[$0] == nil }) {
      throw SimulationFailure(invariant: "no record names a missing chunk", detail: "\(id)")
    }
    let removed = former.chunks.keys.filter { state.chunks[$0] == nil }
    let deadline = time - limits.chunkLifetime
    if let id = removed.first(where: { former.unusedSince[$0].map { $0 >= deadline } ?? true }) {
      throw SimulationFailure(invariant: "chunks are kept for a time", detail: "\(id)")
    }
    noteChunks(at: time)
    let remaining = state.unusedSince.values.contains { $0 < deadline }
    if state.commits.count > former.commits.count, remaining, removed.count < limits.removedChunksInCommit {
      throw SimulationFailure(invariant: "unused chunks are removed", detail: "after commit \(state.commits.count)")
    }
  }

  /// Checks the chunks at the end, when those that are not named were removed.
  func checkChunks() throws {
    let named = namedChunks
    if let id = state.chunks.keys.first(where: { !named.contains($0) }) {
      throw SimulationFailure(invariant: "unused chunks are removed", detail: "\(id) at the end")
    }
    for stored in state.records.values {
      guard let (id, record) = try? SimulatedHashing().open(stored) else { continue }
      for (property, asset) in record.assets {
        guard let sealed = asset.sealed else {
          throw SimulationFailure(invariant: "large values on the hub have chunks", detail: "\(id.low) \(property)")
        }
        for (index, chunk) in sealed.chunks.enumerated() {
          let expected = SimulatedChunks.chunk(index, of: asset, sealed.key)
          if chunk != expected.id || state.chunks[chunk]?.bytes != expected.bytes {
            throw SimulationFailure(invariant: "chunks have the right bytes", detail: "\(id.low) \(property)")
          }
        }
      }
    }
  }
}

extension SimulationChecks {
  /// Records that a device cannot send a large value whose bytes the hub does not have. Another device may have them.
  func noteLost(_ asset: AssetReference, _ key: SimulatedStore.AssetKey, of device: SimulatedDevice, in simulation: Simulation) {
    let isElsewhere = simulation.devices.contains { $0 !== device && $0.store.hasBytes(of: asset, key) }
    if !isElsewhere { lostAssets[PropertyKey(id: key.id, property: key.property), default: []].insert(asset.content) }
  }

  /// Checks that a device that uploads nothing has sent all that need not wait for that.
  func checkDelayed(_ device: SimulatedDevice) throws {
    let (store, state) = (device.store, device.store.state)
    func waits(_ id: RecordID, _ record: Record?) -> Bool {
      record?.fields.contains { field in
        let present = store.known(of: id)?[field.property]?.value
        guard field.value.isUnsealed, let asset = present?.asset, asset.sealed == nil else { return false }
        let key = SimulatedStore.AssetKey(id: id, property: field.property)
        return store.hasBytes(of: asset, key) && state.assets[key]?.location != .both
      } ?? false
    }
    for (id, entry) in state.entries where entry.isUnsent && !waits(id, entry.state) {
      throw SimulationFailure(
        invariant: "only records with missing uploads wait", detail: "device \(device.number): \(id.low) \(entry)")
    }
    var pending: [RecordID: Record] = [:]
    guard let save = state.saves.first(where: { $0.number > state.zone.settledThrough }) else { return }
    for change in save.changes { pending[change.id] = pending[change.id].applying(change.record(save.stamp)) }
    if !pending.contains(where: { waits($0, (state.entries[$0]?.state).applying($1)) }) {
      throw SimulationFailure(invariant: "only saves with missing uploads wait", detail: "device \(device.number): \(save)")
    }
  }

  /// Checks that the large values of all devices are those that were saved last.
  func checkAssets(_ simulation: Simulation, _ view: StateView) throws {
    guard simulation.setup.hasAssets else { return }
    // What no record names is removed after its time.
    let end = simulation.latestTime + 2 * simulation.hub.limits.chunkLifetime
    while try simulation.hub.removeUnusedChunks(from: simulation.storage, at: end) > 0 {}
    try simulation.storage.checkChunks()
    for id in view.ids {
      // Of an object that is there again after its deletion was removed, values were not sent.
      guard let state = view.state(of: id), !state.isDeleted, !hasReturned(id), !isRemoved(id) else { continue }
      for field in state.fields where simulation.model.isAsset(field.property) {
        let writers = (byStamp[field.stamp] ?? []).filter { save in
          save.changes.contains { $0.id == id && $0.values?[field.property] != nil }
        }
        if writers.isEmpty || writers.contains(where: { $0.has(written: field, of: id) || $0.isReplaced }) { continue }
        let key = SimulatedStore.AssetKey(id: id, property: field.property)
        var lost = lostAssets[PropertyKey(id: id, property: field.property)] ?? []
        for device in simulation.devices { lost.formUnion(device.store.abandonedAssets[key] ?? []) }
        let values = writers.flatMap(\.changes).filter { $0.id == id }.compactMap { $0.values?[field.property]?.asset }
        if values.contains(where: lost.contains) { continue }
        // A later save, which was lost with its store, had replaced the value or deleted the object before it was sent.
        let isReplaced = saves.contains { save in
          save.isReplaced && writers.contains { $0.device == save.device }
            && save.changes.contains { $0.values.map { $0[field.property] != nil } ?? ($0.id == id) }
        }
        if isReplaced { continue }
        throw SimulationFailure(
          invariant: "large values are the last ones",
          detail: "\(id.low) \(field): \(writers.map { "save \($0.number) of device \($0.device)" })")
      }
    }
  }
}
