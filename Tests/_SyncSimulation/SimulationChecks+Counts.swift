import SyncCore

/// The invariant of counts: no object has more members than its relationships admit.
extension SimulationChecks {
  func checkCounts(_ device: SimulatedDevice, _ view: StateView) throws {
    struct Group: Hashable {
      let entity: EntityID?
      let property: PropertyID
      let owner: RecordID
    }
    if !device.model.hasCapacities { return }
    try checkAddedMembers(device, view)
    var counts: [Group: Int] = [:]
    for (id, object) in device.store.state.objects {
      guard let entity = device.model.entities[object.entity], !entity.capacities.isEmpty else { continue }
      var groups: Set<Group> = []
      for (property, capacity) in entity.capacities {
        guard let owner = object.values[property]?.reference else { continue }
        let group = Group(
          entity: object.isLink ? object.entity : nil, property: entity.isSymmetric ? .linkSource : property, owner: owner)
        guard groups.insert(group).inserted else { continue }
        counts[group, default: 0] += 1
        if counts[group] ?? 0 > capacity {
          throw SimulationFailure(
            invariant: "no object has more members than it admits",
            detail: "device \(device.number): more than \(capacity) refer to \(owner.low) through \(property.value), such as \(id.low)")
        }
      }
    }
  }

  /// Checks that a save within the maximum counts has added its members, unless other members count that the application did not see.
  private func checkAddedMembers(_ device: SimulatedDevice, _ view: StateView) throws {
    guard let (changes, former) = addedMembers.removeValue(forKey: device.number), !device.model.hasUniqueConstraints else { return }
    let objects = device.store.state.objects
    for change in changes {
      guard let entity = device.model.entities[change.entity], !entity.isLink || change.isAddition else { continue }
      // The deletion of a link with its end is final, also if the end has returned.
      if view.state(of: change.id)?.isTombstone ?? false { continue }
      let limited = (change.values ?? [:]).filter { entity.capacities[$0.key] != nil }
      if limited.isEmpty { continue }
      // The save has removed what denied the deletion of an end.
      if (change.values ?? [:]).values.contains(where: { $0.reference.map { objects[$0] == nil } ?? false }) { continue }
      // A record without an object counts for another reason, or the save has removed what an object of another group has waited for.
      let owners = Set(limited.values)
      let isUncertain = view.ids.contains { other in
        guard other != change.id, let state = view.state(of: other) else { return false }
        return state.fields.contains { field in
          guard owners.contains(field.value) else { return false }
          if objects[other] == nil { return !view.isSurplus(field.property, of: other) }
          return former[other]?.values[field.property] != field.value
        }
      }
      if isUncertain { continue }
      for (property, value) in limited {
        guard let owner = value.reference, !entity.trees.contains(property),
          entity.isLink || entity.references[property] ?? false || entity.capacities.count == 1
        else { continue }
        if objects[change.id]?.values[property] == value { continue }
        throw SimulationFailure(
          invariant: "a save within the counts adds its members", detail: "device \(device.number): \(change.id.low) to \(owner.low)")
      }
    }
  }
}
