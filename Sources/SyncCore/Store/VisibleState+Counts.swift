/// What is known of groups since the last batch.
struct KnownMembers {
  /// Those that remain of a group.
  struct Members {
    var count = 0
    var admitted: Set<RecordID> = []
  }

  fileprivate var byStates: [MemberGroup: Members] = [:]
  fileprivate var byBases: [MemberGroup: Members] = [:]
}

/// To-many relationships with a maximum count (``MemberGroup``).
extension VisibleState {
  /// Returns whether the destination of a reference has room for it, or the end of a link for that.
  func isAdmitted(_ field: Field, _ id: RecordID, _ state: Record) throws -> Bool {
    guard model.capacity(field.property, of: state.entity) != nil,
      let membership = state.memberships(model).first(where: { $0.field.property == field.property })
    else { return true }
    return try members(membership).admitted.contains(id)
  }

  /// Returns the other members of the groups of a record that may depend on it, and prepares that a reference that finds no room is nil on the
  /// hub too.
  func updateMemberships(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id) else { return [] }
    var affected: [RecordID] = []
    for membership in state.memberships(model) {
      let (members, isMember) = (try members(membership), try isMember(id, state))
      if members.count > membership.capacity || !isMember, evaluatedGroups.insert(membership.group) {
        affected += try store.members(of: membership.group, model)
      }
      guard isMember, !members.admitted.contains(id), let base = try liveBase(of: id),
        let known = base.memberships(model).first(where: { $0.group == membership.group && $0.stamp == membership.stamp })
      else { continue }
      let isHidden = model.isLink(state.entity) || model.isRequired(known.field.property, of: state.entity)
      if !isHidden, try !membersOnHub(membership).admitted.contains(id) {
        replaced.append((id, known.field))
      } else if !membership.hasWaited, isHidden || state.memberships(model).count == 1 {
        exceeding.append((id, membership.stamp))
      }
    }
    return affected
  }

  /// Marks members that exceed a maximum count, on the hub too.
  ///
  /// - Returns: Records that come before them now, in other groups.
  func markExceeding() throws -> [RecordID] {
    var affected: [RecordID] = []
    for (id, stamp) in exceeding {
      guard var entry = try store.entry(of: id), let base = entry.base?.record else { continue }
      let memberships = base.memberships(model)
      if memberships.count > 1 { affected += try store.fellowMembers(in: memberships, model) }
      entry.held = entry.held.joined(with: Record(entity: base.entity, [.waiting: .null], stamp.ofReplacement))
      try store.setEntry(entry, of: id)
    }
    exceeding = []
    return affected
  }

  /// Returns whether a record counts as a member.
  private func isMember(_ id: RecordID, _ state: Record) throws -> Bool {
    guard try isLive(id) else { return false }
    if !model.isLink(state.entity) { return true }
    return try [PropertyID.linkSource, .linkDestination].allSatisfy { try state[$0]?.value.reference.map(isLive) ?? false }
  }

  /// Returns the members of a group by the states of records.
  private func members(_ membership: Record.Membership) throws -> KnownMembers.Members {
    if let known = members.byStates[membership.group] { return known }
    let found = try members(membership) { id in try state(of: id).flatMap { try isMember(id, $0) ? $0 : nil } }
    members.byStates[membership.group] = found
    return found
  }

  /// Returns the members of a group by the states on the hub.
  private func membersOnHub(_ membership: Record.Membership) throws -> KnownMembers.Members {
    if let known = members.byBases[membership.group] { return known }
    let found = try members(membership) { try liveBase(of: $0) }
    members.byBases[membership.group] = found
    return found
  }

  private func members(_ membership: Record.Membership, _ state: (RecordID) throws -> Record?) throws -> KnownMembers.Members {
    var found: [(Int, Stamp, id: RecordID)] = []
    for id in try store.members(of: membership.group, model) {
      guard let other = try state(id)?.memberships(model).first(where: { $0.group == membership.group }) else { continue }
      found.append(other.order(id))
    }
    found.sort { $0 < $1 }
    return KnownMembers.Members(count: found.count, admitted: Set(found.prefix(membership.capacity).map(\.id)))
  }

  /// Returns the records that may have a reference if a replaced one is nil: one of a tree can be in a cycle and exceed a maximum count.
  func freedByReplacing(_ field: Field, of record: Record) throws -> [RecordID] {
    guard model.isTree(field.property, of: record.entity) else { return [] }
    let memberships = record.memberships(model).filter { $0.field.property == field.property }
    if memberships.isEmpty { return [] }
    return try store.fellowMembers(in: memberships, model) + store.ancestors(of: record, model)
  }
}
