import SyncCore

extension StateView {
  /// Returns whether a live record's reference is the latest one of those that lead from the record back to itself.
  func closesCycle(_ field: Field, of id: RecordID) -> Bool {
    var (stamps, next): ([(Stamp, RecordID)], RecordID) = ([], id)
    for _ in 0...states.count {
      guard live.contains(next), let state = states[next], model.isTree(field.property, of: state.entity),
        let parent = state[field.property], let destination = parent.value.reference
      else { return false }
      stamps.append((parent.stamp, next))
      if destination == id { return stamps.allSatisfy { $0 <= (field.stamp, id) } }
      next = destination
    }
    return false
  }
}

extension SimulationChecks {
  /// Checks that no object is its own ancestor.
  func checkTrees(_ device: SimulatedDevice) throws {
    let objects = device.store.state.objects
    for (id, object) in objects {
      for property in object.values.keys where device.model.isTree(property, of: object.entity) {
        var (next, count) = (object.values[property]?.reference, 0)
        while let ancestor = next, ancestor != id, count < objects.count {
          (next, count) = (objects[ancestor]?.values[property]?.reference, count + 1)
        }
        if next == id {
          throw SimulationFailure(invariant: "no object is its own ancestor", detail: "device \(device.number): \(id.low)")
        }
      }
    }
  }
}
