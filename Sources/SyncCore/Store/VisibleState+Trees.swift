/// Relationships to parents (``SyncModel/Entity/trees``): no object is its own ancestor.
///
/// Two devices can move two objects into each other. Their references then form a cycle, of which no object has a root any more. The one with
/// the greatest stamp does not count: that relationship is nil, and its object is a root. Live records count, whether or not they have objects.
/// As soon as all references of the cycle are on the hub, the replaced one is sent as ``FieldValue/superseded``: it does not come back when
/// another one changes.
///
/// A record has one reference of a relationship, so it is in one cycle at most, and its ancestors lead back to it.
extension VisibleState {
  /// A reference in a cycle.
  private typealias Member = (stamp: Stamp, id: RecordID)

  /// Returns whether a reference is the one in its cycle that does not count.
  func closesCycle(_ field: Field, _ id: RecordID) throws -> Bool {
    let members = try cycle(of: id, through: field.property) { try isLive($0) ? state(of: $0) : nil }
    return members.max(by: <).map { $0.id == id } ?? false
  }

  /// Returns the references of the cycle that a record is in; empty if it is in none.
  private func cycle(of id: RecordID, through property: PropertyID, _ state: (RecordID) throws -> Record?) throws -> [Member] {
    // Most objects of a tree have no children.
    if try store.referrers(of: id, through: property).isEmpty { return [] }
    var (members, visited, next): ([Member], Set<RecordID>, RecordID) = ([], [id], id)
    while let record = try state(next), model.isTree(property, of: record.entity), let field = record[property] {
      guard let destination = field.value.reference else { return [] }
      members.append((field.stamp, next))
      if destination == id { return members }
      // Its ancestors are in a cycle without it.
      guard visited.insert(destination).inserted else { return [] }
      next = destination
    }
    return []
  }

  /// Returns the records in the same cycles as a record, and prepares that a reference that does not count is nil on the hub too.
  func updateTrees(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id), try isLive(id) else { return [] }
    var affected: [RecordID] = []
    for property in model.entities[state.entity]?.trees.sorted() ?? [] {
      guard let field = state[property], field.value.reference != nil else { continue }
      let members = try cycle(of: id, through: property) { try isLive($0) ? self.state(of: $0) : nil }
      affected += members.map(\.id)
      guard members.max(by: <)?.id == id, try store.entry(of: id)?.base?.record[property] == field,
        try cycle(of: id, through: property, { try liveBase(of: $0) }).max(by: <)?.id == id
      else { continue }
      replaced.append((id, field))
    }
    return affected
  }
}

extension SyncStore {
  /// Returns the ancestors of a record in trees, whose references may count again if it leaves a cycle.
  func ancestors(of record: Record, _ model: SyncModel) throws -> [RecordID] {
    let settled = try zone().settledThrough
    var found: [RecordID] = []
    for property in model.entities[record.entity]?.trees.sorted() ?? [] {
      var (next, visited) = (record[property]?.value.reference, Set<RecordID>())
      while let id = next, visited.insert(id).inserted {
        found.append(id)
        next = (try entry(of: id)?.state).applying(try pendingChanges(of: id, after: settled))?[property]?.value.reference
      }
    }
    return found
  }
}
