import SyncCore

extension ObjectEditor {
  /// A list of an object.
  private struct List: Hashable, Comparable {
    let owner: RecordID
    let property: PropertyID
    static func < (one: List, other: List) -> Bool { (one.owner, one.property) < (other.owner, other.property) }
  }

  /// Returns the members of all lists, in their order.
  private var lists: [List: [RecordID]] {
    var lists: [List: [RecordID]] = [:]
    for (id, object) in objects {
      for property in model.ordered(object.entity) {
        guard let owner = object.values[property]?.reference else { continue }
        lists[List(owner: owner, property: property), default: []].append(id)
      }
    }
    for (list, members) in lists { lists[list] = members.sorted { isBefore($0, $1, list.property) } }
    return lists
  }

  /// Returns whether a member is before another one. Members without a position are last.
  private func isBefore(_ one: RecordID, _ other: RecordID, _ property: PropertyID) -> Bool {
    switch (key(of: one, property), key(of: other, property)) {
    case (let mine?, let theirs?): mine == theirs ? one < other : mine < theirs
    case (_?, nil): true
    case (nil, _?): false
    case (nil, nil): one < other
    }
  }

  private func key(of id: RecordID, _ property: PropertyID) -> PositionKey? {
    objects[id]?.values[.position(through: property)]?.position
  }

  /// Moves members of a list, or one of them to the end.
  mutating func move(_ random: inout SimulationRandom) {
    let lists = lists.filter { $0.value.count > 1 }
    guard let list = random.element(of: lists.keys.sorted()), let members = lists[list] else { return }
    let start = random.number(below: members.count)
    let run = Array(members[start..<min(members.count, start + 1 + random.number(below: 3))])
    let rest = members.filter { !run.contains($0) }
    place(run, in: rest, at: random.number(below: rest.count + 1), list.property)
  }

  /// Gives positions to objects and links that were added to lists, mostly at the end. Without one, as in a save of an earlier version of the
  /// model, they are last.
  mutating func addPositions(_ random: inout SimulationRandom) {
    for (list, members) in lists.sorted(by: { $0.key < $1.key }) {
      for id in members.sorted() where original[id]?.values[list.property] != objects[id]?.values[list.property] {
        if random.chance(0.1) { continue }
        let rest = (lists[list] ?? []).filter { $0 != id }
        place([id], in: rest, at: random.chance(0.6) ? rest.count : random.number(below: rest.count + 1), list.property)
      }
    }
  }

  private mutating func place(_ run: [RecordID], in rest: [RecordID], at position: Int, _ property: PropertyID) {
    let keys = rest.map { key(of: $0, property) }
    let before = keys[..<position].compactMap { $0 }.max()
    let after = keys[position...].compactMap { $0 }.filter { key in before.map { $0 < key } ?? true }.min()
    for (id, key) in zip(run, PositionKey.run(of: run.count, after: before, before: after, by: device)) {
      objects[id]?.values[.position(through: property)] = .position(key)
    }
  }
}

extension SyncedObject {
  /// The positions in the lists of other objects.
  var positions: [PropertyID: FieldValue] { values.filter { $0.value.position != nil } }
}
