import SyncCore

/// The invariant of counts: no object has more members than its relationships admit.
extension SimulationChecks {
  func checkCounts(_ device: SimulatedDevice) throws {
    struct Group: Hashable {
      let entity: EntityID?
      let property: PropertyID
      let owner: RecordID
    }
    if !device.model.hasCapacities { return }
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
}
