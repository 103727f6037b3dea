import SyncCore

extension StateView {
  /// Returns the references that exceed the maximum counts of their destinations: all but the earliest ones.
  ///
  /// - Parameters:
  ///   - states: The states of live records.
  ///   - isThere: Returns whether the end of a link is live.
  static func surplus(
    _ states: [RecordID: Record], _ model: SyncModel, isThere: (RecordID) -> Bool
  ) -> [RecordID: Set<PropertyID>] {
    struct Member {
      let order: Int
      let stamp: Stamp
      let id: RecordID
      let property: PropertyID
    }
    // Links of two relationships can have the same ends.
    struct Destination: Hashable {
      let entity: EntityID?
      let property: PropertyID
      let id: RecordID
    }
    var (members, capacities): ([Destination: [Member]], [Destination: Int]) = ([:], [:])
    for (id, state) in states {
      guard let entity = model.entities[state.entity], !entity.capacities.isEmpty else { continue }
      let additions = state.fields.filter { entity.isLink && $0.property.isAddition && $0.value != .superseded }.map(\.stamp)
      let ends = state.fields.filter(\.property.isLinkEnd).compactMap(\.value.reference)
      if entity.isLink, additions.isEmpty || !ends.allSatisfy(isThere) { continue }
      for field in state.fields {
        guard let owner = field.value.reference, let capacity = entity.capacities[field.property] else { continue }
        let destination = Destination(
          entity: entity.isLink ? state.entity : nil, property: entity.isSymmetric ? .linkSource : field.property, id: owner)
        capacities[destination] = capacity
        // A link of an object with itself is one.
        if members[destination]?.contains(where: { $0.id == id }) ?? false { continue }
        let stamp = additions.min() ?? field.stamp
        // What has exceeded the count before comes last.
        let hasWaited = state[.waiting].map { $0.stamp.time >= stamp.time } ?? false
        members[destination, default: []].append(Member(order: hasWaited ? 1 : 0, stamp: stamp, id: id, property: field.property))
      }
    }
    var surplus: [RecordID: Set<PropertyID>] = [:]
    for (destination, all) in members {
      let sorted = all.sorted { ($0.order, $0.stamp, $0.id) < ($1.order, $1.stamp, $1.id) }
      for member in sorted.dropFirst(capacities[destination] ?? .max) { surplus[member.id, default: []].insert(member.property) }
    }
    return surplus
  }
}
