import SyncCore

/// The states of a device's records and the objects that follow from them, computed from the definition.
struct StateView {
  let states: [RecordID: Record]
  private let entries: [RecordID: RecordEntry]
  /// The records that refer to a record by a one-to-one relationship.
  private let claims: [PropertyID: [RecordID: [(stamp: Stamp, id: RecordID)]]]
  /// The records that have no room next to others with the same destination, and the relationships by which they refer to it.
  private let surplus: [RecordID: Set<PropertyID>]
  let model: SyncModel
  /// Nil for real stores, whose objects have no serial numbers.
  private let simulated: SimulatedModel?
  private let unsynchronized: [RecordID: SyncedObject]
  /// The records that are neither deleted nor links that were removed.
  let live: Set<RecordID>

  init(_ state: SimulatedStore.State, _ simulated: SimulatedModel?, _ version: SyncModel) {
    (model, self.simulated) = (version, simulated)
    var states: [RecordID: Record] = [:]
    for (id, entry) in state.entries { states[id] = (entry.base?.record).applying(entry.held) }
    var pending: [RecordID: Record] = [:]
    for save in state.saves where save.number > state.zone.settledThrough {
      for change in save.changes { pending[change.id] = pending[change.id].applying(change.record(save.stamp)) }
    }
    for (id, changes) in pending { states[id] = states[id].applying(changes) }
    if simulated?.hasAssets ?? false { states = states.mapValues { $0.mapValues(\.value.content) } }
    self.states = states
    entries = state.entries
    let live = Self.live(states, version)
    self.live = live
    var claims: [PropertyID: [RecordID: [(stamp: Stamp, id: RecordID)]]] = [:]
    for (id, state) in states where live.contains(id) {
      for field in state.fields where model.isExclusive(field.property, of: state.entity) {
        guard let destination = field.value.reference else { continue }
        claims[field.property, default: [:]][destination, default: []].append((field.stamp, id))
      }
    }
    self.claims = claims
    let unsynchronized = state.objects.filter { states[$0.key] == nil && state.entries[$0.key] == nil }
    self.unsynchronized = unsynchronized
    surplus = Self.surplus(states.filter { live.contains($0.key) }, version) { live.contains($0) || unsynchronized[$0] != nil }
  }

  /// Returns the records that are live by their own states, and those whose deletion is denied by others.
  private static func live(_ states: [RecordID: Record], _ model: SyncModel) -> Set<RecordID> {
    var live: Set<RecordID> = []
    let merged = merged(states)
    for (id, state) in states where !isDeleted(state) && !lacksAddition(state, model) && !merged.contains(id) { live.insert(id) }
    var next = Array(live)
    while let id = next.popLast() {
      guard let state = states[id] else { continue }
      for field in state.fields where model.isDenying(field.property, of: state.entity) {
        guard let destination = field.value.reference, !live.contains(destination), !merged.contains(destination),
          let denied = states[destination], !denied.isTombstone,
          let mark = denied.deletionMark
        else { continue }
        let key = PropertyID.reference(field.property, of: id)
        if mark.entries.contains(where: {
          $0.property == key && $0.stamp.device == field.stamp.device && $0.stamp.time >= field.stamp.time
        }) {
          continue
        }
        live.insert(destination)
        next.append(destination)
      }
    }
    return live
  }

  /// Returns the record that has the object of a record: the last of its successors, or that with the smallest ID of a cycle.
  func successor(of id: RecordID) -> RecordID {
    var chain = [id]
    while let last = chain.last, let next = states[last]?[.successor]?.value.reference {
      if let start = chain.firstIndex(of: next) { return chain[start...].min() ?? id }
      chain.append(next)
    }
    return chain.last ?? id
  }

  /// Returns the records that were merged into others, apart from that with the smallest ID of a cycle.
  private static func merged(_ states: [RecordID: Record]) -> Set<RecordID> {
    Set(
      states.keys.filter { id in
        var (chain, last) = ([id], id)
        while let next = states[last]?[.successor]?.value.reference {
          if let start = chain.firstIndex(of: next) { return chain[start...].min() != id }
          chain.append(next)
          last = next
        }
        return chain.count > 1
      })
  }

  /// The records that were merged into others, with their successors.
  var successors: [(id: RecordID, successor: RecordID)] {
    states.compactMap { id, state in state[.successor]?.value.reference.map { (id, $0) } }
  }

  /// Returns whether the record of an object says that it was merged into another one.
  func hasSuccessor(_ id: RecordID) -> Bool { states[id]?[.successor] != nil }

  /// Returns whether a record was merged into another one, or may have been: a deleted or removed record does not say it.
  func mayHaveSuccessor(_ id: RecordID) -> Bool {
    hasSuccessor(id) || model.hasUniqueConstraints && states[id]?.isTombstone ?? true
  }

  /// Returns whether the device knows a state of a record on the hub.
  func hasBase(_ id: RecordID) -> Bool { entries[id]?.base != nil }

  /// Returns whether the state of a record on the hub that the device knows is deleted.
  func hasDeletedBase(_ id: RecordID) -> Bool { entries[id]?.base?.record.isDeleted ?? false }

  /// Returns whether the record of an object says that it was deleted.
  private static func isDeleted(_ state: Record) -> Bool {
    if state.isTombstone { return true }
    guard let mark = state.deletionMark else { return false }
    func isSeen(_ property: PropertyID, _ stamp: Stamp) -> Bool {
      mark.entries.contains { entry in
        // What a counter has begun with has the time of the value that it was before.
        if stamp.device == Counter.baseline, entry.property == property, entry.stamp.time == stamp.time { return true }
        return entry.stamp.device == stamp.device && entry.stamp.time >= stamp.time
          && (entry.property == property || entry.property == .deletion && property != .revival)
      }
    }
    return state.fields.allSatisfy { field in
      if field.property == .deletion || field.stamp.isDerived && field.property != .revival { return true }
      return field.writers.allSatisfy { isSeen(field.property, $0) }
    }
  }

  /// Returns the value of versions, as ``ValueVersions/merged(by:)`` does.
  private static func merged(_ state: ValueVersions, _ function: MergeFunction?) -> FieldValue {
    func times(_ version: ValueVersions.Version, withOwn: Bool) -> [DeviceID: HybridTime] {
      var times = Dictionary(uniqueKeysWithValues: version.baseSeen.entries.map { ($0.device, $0.time) })
      if withOwn { times[version.stamp.device] = max(times[version.stamp.device] ?? .zero, version.stamp.time) }
      return times
    }
    func isSubset(_ one: [DeviceID: HybridTime], _ other: [DeviceID: HybridTime]) -> Bool {
      one.allSatisfy { device, time in other[device].map { time <= $0 } ?? false }
    }
    let versions = state.versions.sorted { $0.stamp < $1.stamp }
    guard var value = versions.first?.value, let last = versions.last else { return .null }
    for (index, next) in versions.enumerated().dropFirst() {
      let before = versions[..<index]
      let known = before.map { times($0, withOwn: true) }.reduce(into: [:]) { $0.merge($1) { max($0, $1) } }
      var base = FieldValue.null
      if isSubset(times(next, withOwn: false), known) {
        base = next.base
      } else {
        var best: [DeviceID: HybridTime]?
        for version in before where isSubset(times(version, withOwn: false), times(next, withOwn: true)) {
          if let best, !isSubset(best, times(version, withOwn: false)) { continue }
          (best, base) = (times(version, withOwn: false), version.base)
        }
      }
      if value == base || value == next.value {
        value = next.value
      } else if next.value != base {
        // The result of a function alone, whatever it returns for one pair.
        let pair = ValueVersions(
          validating: [.init(Stamp(.zero, DeviceID(1)), value, base: base), .init(Stamp(.zero, DeviceID(2)), next.value, base: base)],
          seen: ValueVersions.Seen(validating: [.init(DeviceID(1), .zero), .init(DeviceID(2), .zero)]) ?? .init())
        guard let merged = pair?.merged(by: function), merged.failure == nil else { return last.value }
        value = merged.value
      }
    }
    return value
  }

  var ids: [RecordID] { Array(states.keys) }
  func state(of id: RecordID) -> Record? { states[id] }

  /// Returns which object a record is; nil if it is deleted.
  func serial(of id: RecordID) -> Int64? {
    guard let simulated, let state = states[id], !simulated.isLink(state.entity), let field = state[simulated.entity(state.entity).serial],
      case .integer(let serial) = field.value
    else {
      return nil
    }
    return serial
  }

  /// Returns whether a record must be deleted on the hub: it is there, has no object, and requires what is deleted there.
  func isOrphan(_ id: RecordID, in objects: [RecordID: SyncedObject]) -> Bool {
    guard let base = entries[id]?.base?.record, !base.isDeleted, objects[id] == nil, let state = states[id] else { return false }
    return state.fields.contains { field in
      guard let destination = field.value.reference, model.isRequired(field.property, of: state.entity) else { return false }
      return entries[destination]?.base?.record.isTombstone ?? false
    }
  }

  /// Returns whether the destination of a reference admits no further one.
  func isSurplus(_ property: PropertyID, of id: RecordID) -> Bool { surplus[id]?.contains(property) ?? false }

  /// Returns whether no other live record has a later reference to a destination that admits one referrer only.
  private func isLatest(_ field: Field, of id: RecordID) -> Bool {
    if isSurplus(field.property, of: id) { return false }
    if let entity = states[id]?.entity, model.isTree(field.property, of: entity) { return !closesCycle(field, of: id) }
    guard let destination = field.value.reference, let entity = states[id]?.entity, model.isExclusive(field.property, of: entity) else {
      return true
    }
    if model.isMutual(field.property, of: entity) {
      let value = states[destination].map { $0[field.property]?.value } ?? unsynchronized[destination]?.values[field.property]
      return value == .reference(id)
    }
    return (claims[field.property]?[destination] ?? []).allSatisfy { ($0.stamp, $0.id) <= (field.stamp, id) }
  }

  /// Returns whether a record, or one that it requires, requires an object that another record refers to.
  func lacksDestination(_ id: RecordID, depth: Int = 0) -> Bool {
    guard let state = states[id], depth < 20 else { return false }
    return state.fields.contains { field in
      guard let destination = field.value.reference, model.isRequired(field.property, of: state.entity) else { return false }
      return !isLatest(field, of: id) || lacksDestination(destination, depth: depth + 1)
    }
  }

  /// Returns a record whose optional one-to-one relationship was replaced by that of another record, although its state still has it.
  func unresolvedReference() -> RecordID? {
    states.keys.sorted().first { id in
      guard let state = states[id], live.contains(id) else { return false }
      return state.fields.contains { field in
        if model.isRequired(field.property, of: state.entity) || isLatest(field, of: id) { return false }
        guard model.isMutual(field.property, of: state.entity) else { return true }
        // A destination that was deleted, or was merged into another object, has not replaced it.
        return field.value.reference.flatMap { states[$0]?[field.property] }.map { $0.stamp >= field.stamp } ?? false
      }
    }
  }

  /// Returns a live record, and one that it requires and whose record is missing: it could never be visible.
  func missingDestination() -> (RecordID, RecordID)? {
    for id in states.keys.sorted() where live.contains(id) {
      guard let state = states[id], !isLink(state) else { continue }
      for field in state.fields where model.isRequired(field.property, of: state.entity) {
        if let destination = field.value.reference, states[destination] == nil { return (id, destination) }
      }
    }
    return nil
  }

  private func isLink(_ state: Record) -> Bool { model.entities[state.entity]?.isLink ?? false }

  /// Returns whether a record is a link of which all additions were removed.
  private static func lacksAddition(_ state: Record, _ model: SyncModel) -> Bool {
    model.isLink(state.entity) && !state.fields.contains { $0.value == .integer(1) }
  }

  func objects() -> [RecordID: SyncedObject] {
    var present = Set(states.filter { live.contains($0.key) && model.entities[$0.value.entity] != nil }.keys)
    present.formUnion(unsynchronized.keys)
    var requiring: [(id: RecordID, destinations: [RecordID])] = []
    for id in present {
      guard let state = states[id], let references = model.entities[state.entity]?.references else { continue }
      let required = state.fields.filter { $0.value.reference != nil && references[$0.property] ?? false }
      if !required.allSatisfy({ isLatest($0, of: id) }) {
        present.remove(id)
      } else if !required.isEmpty {
        requiring.append((id, required.compactMap(\.value.reference)))
      }
    }
    while true {
      let missing = requiring.filter { id, destinations in present.contains(id) && !destinations.allSatisfy(present.contains) }
      if missing.isEmpty { break }
      present.subtract(missing.map(\.id))
    }
    var result = unsynchronized
    for id in present {
      guard let state = states[id] else { continue }
      var values: [PropertyID: FieldValue] = [:]
      let isLink = isLink(state)
      for field in state.fields where isLink ? !field.property.isAddition : !field.property.isOfRecordOnly {
        if field.property == .waiting { continue }
        if field.value == .superseded {
          values[field.property] = .null
        } else if let destination = field.value.reference, !present.contains(destination) || !isLatest(field, of: id) {
          values[field.property] = .null
        } else if field.rule == .counter {
          values[field.property] = Counter(field.value).sum
        } else if case .versions(let versions) = field.value {
          values[field.property] = Self.merged(versions, model.function(for: field.property, of: state.entity))
        } else {
          values[field.property] = field.value
        }
      }
      result[id] = SyncedObject(entity: state.entity, values)
    }
    return result
  }
}
