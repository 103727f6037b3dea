import SyncCore

/// The invariants of objects that were merged because they had the same unique values, and of objects that got other records.
extension SimulationChecks {
  /// Checks that what pending saves have written, and no later value replaces, refers to no record that was merged into another one.
  func checkSuccessors(_ view: StateView, _ device: SimulatedDevice) throws {
    if !device.model.hasUniqueConstraints { return }
    let state = device.store.state
    for save in state.saves where save.number > state.zone.settledThrough {
      for change in save.changes {
        let present = view.state(of: change.id)
        for (property, value) in change.values ?? [:] where present?[property]?.value == value {
          guard let destination = value.reference, view.successor(of: destination) != destination else { continue }
          throw SimulationFailure(
            invariant: "pending saves refer to successors",
            detail: "device \(device.number): \(change.id.low) to \(destination.low) in save \(save.number)")
        }
      }
    }
  }

  /// Checks that the links of pending saves have their positions in the lists of the same objects as when they were saved.
  func checkMovedPositions(_ device: SimulatedDevice) throws {
    let state = device.store.state
    for pending in state.saves where pending.number > state.zone.settledThrough {
      guard let save = byDevice[device.number]?[pending.number], save.changes.count == pending.changes.count else { continue }
      for (former, new) in zip(save.changes, pending.changes) where new.isLink && !new.positions.isEmpty {
        let owners = former.listOwners
        for (owner, position) in new.listOwners
        where !owners.contains(where: { $0.position == position && isSame($0.owner, owner, device) }) {
          throw SimulationFailure(
            invariant: "positions stay in the lists of their objects",
            detail: "device \(device.number): \(position) of \(owner.low) in save \(save.number), before \(owners)")
        }
      }
    }
  }

  /// Returns whether a record is another one, has become it, or was merged into it.
  private func isSame(_ former: RecordID, _ new: RecordID, _ device: SimulatedDevice) -> Bool {
    var (known, next): (Set<RecordID>, [RecordID]) = ([former], [former])
    while let id = next.popLast() {
      if id == new { return true }
      let renewed = device.store.state.renewals.filter { $0.former == id }.map(\.new)
      for other in (device.store.successors[id] ?? []).union(renewed) where known.insert(other).inserted { next.append(other) }
    }
    return false
  }

  /// Checks that the links of merged objects are joined with those of their successors.
  func checkMergedLinks(_ simulation: Simulation, _ view: StateView) throws {
    let objects = simulation.devices[0].store.state.objects
    for id in view.ids.sorted() {
      guard let state = view.state(of: id), state.isLink, let source = state[.linkSource]?.value.reference,
        let destination = state[.linkDestination]?.value.reference
      else { continue }
      let ends = (view.successor(of: source), view.successor(of: destination))
      if ends == (source, destination) || objects[ends.0] == nil || objects[ends.1] == nil { continue }
      let link = simulation.model.syncModel.link(state.entity, from: ends.0, to: ends.1)
      let joined = view.state(of: simulation.hashing.id(of: link))
      if joined?.isTombstone ?? false { continue }
      for field in state.fields where !field.property.isLinkEnd {
        // Both ends can have become one.
        if !field.property.isAddition, ends.0 == ends.1 { continue }
        var property = field.property
        if property.isLinkPosition, link.source != ends.0 {
          let ends = [PropertyID.linkSource, .linkDestination].map(PropertyID.position)
          property = property == ends[0] ? ends[1] : ends[0]
        }
        guard let other = joined?[property], other.stamp >= field.stamp,
          other.stamp > field.stamp || other.value >= field.value
        else {
          throw SimulationFailure(
            invariant: "links of merged objects are joined", detail: "\(id.low): \(state), \(String(describing: joined))")
        }
      }
    }
  }
}

extension PendingChange {
  /// The objects in whose lists a link has positions.
  fileprivate var listOwners: [(owner: RecordID, position: FieldValue)] {
    [PropertyID.linkSource, .linkDestination].compactMap { end in
      guard let owner = values?[end]?.reference, let position = values?[.position(through: end)] else { return nil }
      return (owner, position)
    }
  }
}
