import ObjectModel

/// The permanent IDs of objects, by temporary reference.
///
/// Temporary keys count down in the process, so those of one save are close together. They are stored in an array, and distant ones in a
/// dictionary.
struct PermanentIDTable {
  /// The IDs from the first key downward. An ID with the key 0 is an empty entry.
  private var near: ContiguousArray<ManagedObjectID> = []
  private var firstKey: Int64 = 0
  private var far: [Int64: ManagedObjectID] = [:]

  var isEmpty: Bool { near.isEmpty && far.isEmpty }

  subscript(reference: ObjectReference) -> ManagedObjectID? {
    get {
      let index = firstKey &- reference.key
      if index >= 0, index < Int64(near.count) {
        let objectID = near[Int(index)]
        if objectID.key != 0 { return objectID }
      }
      return far.isEmpty ? nil : far[reference.key]
    }
    set {
      if near.isEmpty { firstKey = reference.key }
      let index = firstKey &- reference.key
      guard index >= 0, index < Int64(near.count) * 2 + 4_096 else {
        far[reference.key] = newValue
        return
      }
      let none = ManagedObjectID(space: 0, entityNumber: 0, key: 0)
      while Int64(near.count) <= index { near.append(none) }
      near[Int(index)] = newValue ?? none
      if !far.isEmpty { far[reference.key] = nil }
    }
  }

  mutating func removeAll() { self = PermanentIDTable() }
}
