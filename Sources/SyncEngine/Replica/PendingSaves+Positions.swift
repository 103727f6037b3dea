import ObjectModel
import SyncCore

/// The positions that saves give to members of ordered relationships.
extension PendingSaves {
  /// Adds the positions of the members that the save being read has moved or added to its changes.
  ///
  /// - Parameter isNew: Whether the save was never read before. Otherwise its members have their present positions: whatever has replaced
  ///   those that the save gave them is later.
  func placeMembers(_ device: DeviceID, isNew: Bool) throws {
    let schema = replica.schema
    if schema.lists.isEmpty { return }
    var placed: Set<ListMember> = []
    for move in moves {
      // A list that is read for the first time has the order of all saves already.
      let hasPositions = try replica.number(move.list) || !isNew
      let members = replica.listMembers(move.members.map(\.id), of: move.list)
      let previous = move.previous.flatMap { replica.listMembers([$0], of: move.list).first }
      let keys = hasPositions ? [] : try replica.place(members, after: previous, in: move.list, by: device)
      for (index, member) in members.enumerated() {
        let before = index > 0 ? members[index - 1] : previous
        let key = try keys.isEmpty ? presentKey(of: member, after: before, in: move.list, device) : keys[index]
        try add(key, of: member, move.members[index], in: move.list)
        placed.insert(member)
      }
    }
    for (member, list) in try unplacedMembers(placed) {
      let hasPositions = try replica.number(list) || !isNew
      let known = try hasPositions ? replica.position(of: member) : nil
      let key = try known?.owner == list.owner ? known?.key : replica.append([member], to: list, by: device)[0]
      if let key, let change = try currentChange(of: member.id) { try add([member.property: .position(key)], to: change) }
    }
  }

  private func presentKey(of member: ListMember, after previous: ListMember?, in list: MemberList, _ device: DeviceID) throws -> PositionKey
  {
    if let known = try replica.position(of: member), known.owner == list.owner { return known.key }
    return try replica.place([member], after: previous, in: list, by: device)[0]
  }

  /// Returns the members that the save has added to lists without saying where, such as by a batch request.
  private func unplacedMembers(_ placed: Set<ListMember>) throws -> [(member: ListMember, list: MemberList)] {
    var found: [(member: ListMember, list: MemberList)] = []
    try forEachCurrentChange { change in
      guard let values = change.values, !change.isLink || change.isAddition else { return }
      for (number, reference) in replica.schema.memberships(of: change.entity) {
        let member = ListMember(id: change.id, reference: reference)
        guard let owner = values[reference]?.reference, !placed.contains(member) else { continue }
        found.append((member, MemberList(owner: owner, number: number)))
      }
    }
    return found
  }

  /// Adds the position of a member to its change by the save that is being read.
  private func add(_ key: PositionKey, of member: ListMember, _ object: HistoryChangeReader.Move.Member, in list: MemberList) throws {
    let positions: [PropertyID: FieldValue] = [member.property: .position(key)]
    if let known = try currentChange(of: member.id) { return try add(positions, to: known) }
    guard let link = replica.link(of: object.id, in: list) else {
      return try addCurrentChange(PendingChange(member.id, entity: object.entity, positions), object.object)
    }
    // A link from before synchronization, which the move does not add.
    if try replica.row(of: member.id) == nil, try changes(of: member.id) == nil {
      try Baseline.add(replica.linkObject(link), of: member.id, in: replica)
    }
    try addCurrentChange(.move(of: link, member.id, positions))
  }

  private func add(_ positions: [PropertyID: FieldValue], to known: PendingChange) throws {
    guard known.values != nil, !known.isRemoval else { return }
    let values = known.isLink ? known.values : [:]
    try addCurrentChange(PendingChange(known.id, entity: known.entity, values).positioned(positions))
  }
}
