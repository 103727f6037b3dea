import SyncCore

/// The invariants of links: an addition wins over a removal that did not know it, and over nothing else.
extension SimulationChecks {
  /// Determines which additions the links had that a save removes: those that the device had pulled, and those of its own pending saves.
  func noteRemovals(_ save: Save, of device: SimulatedDevice) {
    for (position, change) in save.changes.enumerated() where change.isLink && change.isRemoval {
      save.removed[position] = additions(of: change.id, to: device, before: save.number)
    }
  }

  /// Returns the additions of a link that a device has, apart from those that it knows to be removed.
  private func additions(of id: RecordID, to device: SimulatedDevice, before number: Int64) -> Set<Stamp> {
    var (added, removed): (Set<Stamp>, Set<Stamp>) = ([], [])
    let entry = device.store.state.entries[id]
    for field in (entry?.base?.record.fields ?? []) + (entry?.held?.fields ?? []) {
      if field.value == .integer(1) { added.insert(field.stamp) } else if field.value == .superseded { removed.insert(field.stamp) }
    }
    for (other, save) in byDevice[device.number] ?? [:] where other > device.store.state.zone.settledThrough && other < number {
      for (position, change) in save.changes.enumerated() where change.id == id && change.isLink && !change.isMove {
        if change.isAddition { added.insert(save.tag(save.lastTime)) } else { removed.formUnion(save.removed[position] ?? []) }
      }
    }
    return added.filter { stamp in !removed.contains { $0.device == stamp.device && $0.time >= stamp.time } }
  }

  /// Returns whether a state contains a change of a link or a later one.
  func includesLink(_ change: PendingChange, of save: Save, _ state: Record) -> Bool {
    if state.isDeleted { return true }
    let ends = [PropertyID.linkSource, .linkDestination].compactMap { state[$0]?.value }
    guard let values = change.values, Set(values.filter(\.key.isLinkEnd).values) == Set(ends) else { return false }
    // The ends of a link without a direction can be the other way round, because they got other records.
    let isSwapped = values[.linkSource] != ends.first
    for (property, value) in change.positions {
      if !includes(value, of: isSwapped ? property.oppositeLinkPosition : property, save, state) { return false }
    }
    if change.isMove { return true }
    if change.isAddition {
      // A corrected clock can have lowered the stamp of an addition that was held.
      return save.tags.contains { tag in
        state[PropertyID(tag.device.value)].map { $0.stamp.time >= tag.time || $0.value == .integer(1) } ?? false
      }
    }
    guard let position = save.changes.firstIndex(where: { $0.id == change.id }) else { return false }
    return (save.removed[position] ?? []).allSatisfy { tag in
      guard let field = state[PropertyID(tag.device.value)] else { return false }
      let lowest = saves.lazy.filter { $0.tags.contains(tag) }.compactMap { $0.tags.min() }.min() ?? tag
      return field.stamp > lowest || field.stamp == lowest && field.value == .superseded
    }
  }

  /// What is known of a link from all saves.
  private struct LinkHistory {
    var values: [PropertyID: FieldValue] = [:]
    var additions: [Save] = []
    var removals: [(save: Save, removed: Set<Stamp>)] = []
    /// Whether it was there before synchronization began.
    var isBaseline = false

    /// Whether an addition remains that no removal knew, even of those that may have been lost.
    var mustExist: Bool {
      var known = Set(removals.flatMap(\.removed))
      if isBaseline, !known.contains(where: \.isOfBaseline) { return true }
      // A corrected clock can have given what was removed another stamp, which that of a lost addition does not exceed.
      known.formUnion(additions.filter { !$0.tags.isDisjoint(with: known) }.flatMap(\.tags))
      return additions.contains { save in
        !save.isLost && !known.contains { other in save.tags.contains { Self.is($0, upTo: other) } }
      }
    }

    /// Whether an addition remains that no removal, of those that were not lost, is sure to have known.
    var mayExist: Bool {
      let known = Set(removals.filter { !$0.save.isLost }.flatMap(\.removed))
      if isBaseline, !known.contains(where: \.isOfBaseline) { return true }
      return additions.contains { save in
        // A commit of former times may have arrived after the save got other ones.
        if save.acceptedTimes.contains(where: { $0 != save.lastTime }) { return true }
        return !known.contains { save.tags.contains($0) || Self.is(save.tag(save.lastTime), upTo: lowest($0)) }
      }
    }

    /// Returns the least stamp that an addition has had, as far as a corrected clock has lowered it.
    private func lowest(_ tag: Stamp) -> Stamp {
      additions.lazy.filter { $0.tags.contains(tag) }.compactMap { $0.tags.min() }.min() ?? tag
    }

    /// Returns whether an addition is not after another one of the same device.
    private static func `is`(_ tag: Stamp, upTo other: Stamp) -> Bool { tag.device == other.device && tag.time <= other.time }

    /// Whether a removal knew an addition with a stamp that no save is known to have had.
    var isUncertain: Bool {
      let tags = Set(additions.flatMap(\.tags))
      return removals.contains { $0.removed.contains { !$0.isOfBaseline && !tags.contains($0) } }
    }
  }

  /// Checks that each link exists exactly if both ends exist and some addition was not known to any removal.
  func checkLinks(_ simulation: Simulation, _ view: StateView) throws {
    if !simulation.setup.hasLinks { return }
    let objects = simulation.devices[0].store.state.objects
    var links: [RecordID: LinkHistory] = [:]
    for (id, object) in baseline where object.isLink {
      links[id, default: LinkHistory()].isBaseline = true
      links[id, default: LinkHistory()].values = object.values
    }
    for save in saves {
      for (position, change) in save.changes.enumerated() where change.isLink && !change.isMove {
        links[change.id, default: LinkHistory()].values = change.values ?? [:]
        if change.isAddition {
          links[change.id, default: LinkHistory()].additions.append(save)
        } else {
          links[change.id, default: LinkHistory()].removals.append((save, save.removed[position] ?? []))
        }
      }
    }
    let merged = Set(view.successors.flatMap { [$0.id, $0.successor] })
    for (id, history) in links.sorted(by: { $0.key < $1.key }) {
      // The links of objects that have become one are joined.
      if history.values.values.contains(where: { $0.reference.map(merged.contains) ?? false }) { continue }
      if !history.values.values.allSatisfy({ $0.reference.map { objects[$0] != nil } ?? false }) { continue }
      // An end is there again, because the hub has removed its deletion, and perhaps that of the link too.
      let state = view.state(of: id)
      let isOfReturned = history.values.values.contains { $0.reference.map(hasReturned) ?? false }
      if state?.isDeleted ?? true, isOfReturned { continue }
      if state?.isDeleted ?? isRemoved(id) {
        throw SimulationFailure(invariant: "links are deleted with their ends only", detail: describe(id, history, view))
      }
      if history.isUncertain { continue }
      // A link that is there again with its ends may have lost the additions that were deleted with them.
      let hasNoRoom = view.isSurplus(.linkSource, of: id) || view.isSurplus(.linkDestination, of: id)
      if history.mustExist, objects[id] == nil, !hasReturned(id), !isOfReturned, !hasNoRoom {
        throw SimulationFailure(invariant: "additions of links win", detail: describe(id, history, view))
      }
      // It was joined with that of an object that was merged and then deleted.
      let others = (state?.additions ?? []).filter { addition in
        !(addition.isOfBaseline && history.isBaseline) && !history.additions.contains { $0.tags.contains(addition) }
      }
      if !others.isEmpty, simulation.model.syncModel.hasUniqueConstraints { continue }
      if objects[id] != nil, !history.mayExist, !hasReturned(id) {
        throw SimulationFailure(invariant: "removed links are gone", detail: describe(id, history, view))
      }
    }
    for (id, object) in objects where object.isLink {
      guard let link = simulation.model.link(object), simulation.hashing.id(of: link) == id else {
        throw SimulationFailure(invariant: "the record of a link follows from its ends", detail: "\(id.low): \(object)")
      }
      guard simulation.model.syncModel.entities[object.entity]?.isSymmetric ?? false, link.source != link.destination else { continue }
      // Both directions are one link.
      let opposite = Link(link.relationship, from: link.destination, to: link.source, isSymmetric: false)
      if objects[simulation.hashing.id(of: opposite)] != nil {
        throw SimulationFailure(invariant: "symmetric links have no direction", detail: "\(id.low): \(object)")
      }
    }
  }

  private func describe(_ id: RecordID, _ history: LinkHistory, _ view: StateView) -> String {
    let additions = history.additions.map { "save \($0.number) of device \($0.device) \($0.tags)\($0.isLost ? " lost" : "")" }
    let removals = history.removals.map { save, removed in
      "save \(save.number) of device \(save.device) of \(removed)\(save.isLost ? " lost" : "")"
    }
    return "\(id.low): added by \(additions), removed by \(removals), \(String(describing: view.state(of: id)))"
  }
}

extension Stamp {
  /// Whether it is of what was there before synchronization began.
  fileprivate var isOfBaseline: Bool { time == HybridTime(value: 1) }
}
