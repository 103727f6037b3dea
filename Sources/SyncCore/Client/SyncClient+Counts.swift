extension SyncClient {
  /// Returns the records that are in the same groups (``MemberGroup``) as a record, or wait for room there.
  func fellowMembers(of record: Record?, in store: some SyncStore) throws -> [RecordID] {
    var groups = MemberGroups()
    return try fellowMembers(of: record, in: store, except: &groups)
  }

  /// Returns the same, apart from those of groups that are known already, and adds the groups to these.
  func fellowMembers(of record: Record?, in store: some SyncStore, except groups: inout MemberGroups) throws -> [RecordID] {
    try (record?.memberships(model) ?? []).flatMap { groups.insert($0.group) ? try store.members(of: $0.group, model) : [] }
  }

  /// Returns the records that may find room in a group because the state of a record changes.
  func fellowMembers(of record: Record?, replacedBy new: Record?, in store: some SyncStore) throws -> [RecordID] {
    guard let record, let new else { return [] }
    let remaining = new.isDeleted || new.successor != nil ? [] : new.memberships(model)
    let left = record.memberships(model).filter { former in
      !remaining.contains { $0.group == former.group && $0.stamp == former.stamp && $0.hasWaited == former.hasWaited }
    }
    return try store.fellowMembers(in: left, model)
  }
}
