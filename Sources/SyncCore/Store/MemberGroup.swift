/// The members of an object by a to-many relationship with a maximum count: the records that refer to the object by the inverse, or its links.
///
/// Two devices can each add members within the maximum, and exceed it together. Then those that were added first remain, by the stamps of
/// the references, or by the earliest addition of each link that was not removed. As with one-to-one relationships (``Claim``), live records
/// count, whether or not they have objects; links count only if both ends are live, because nothing removes the links of a deleted object.
///
/// The others are no members: their relationship is nil, and as soon as the surplus is on the hub, that is sent too, as
/// ``FieldValue/superseded``. What requires the relationship has no object, and neither has a link. They stay in the zone, and appear when a
/// member goes. They are marked (``PropertyID/waiting``), and no longer come before what is added later: if an application replaces a member,
/// its new one remains.
struct MemberGroup: Hashable {
  /// The entity of the links; nil for references, whose property identifies the relationship.
  let relationship: EntityID?
  /// The reference, or the end of the links.
  let property: PropertyID
  let owner: RecordID
}

/// A set of groups, as compact as a ``RecordSet``.
struct MemberGroups {
  private struct Kind: Hashable {
    let relationship: EntityID?
    let property: PropertyID
  }

  private var owners: [Kind: RecordSet] = [:]

  /// Inserts a group.
  ///
  /// - Returns: Whether the set did not contain it.
  mutating func insert(_ group: MemberGroup) -> Bool {
    owners[Kind(relationship: group.relationship, property: group.property), default: RecordSet()].insert(group.owner)
  }
}

extension Record {
  /// A reference of a record to an object that admits a limited number of them.
  struct Membership: Hashable {
    let group: MemberGroup
    let capacity: Int
    /// The reference, or the end of a link.
    let field: Field
    /// When the member was added.
    let stamp: Stamp
    /// Whether the addition has exceeded the maximum count.
    let hasWaited: Bool

    /// Returns the order in which members are admitted.
    func order(_ id: RecordID) -> (Int, Stamp, RecordID) { (hasWaited ? 1 : 0, stamp, id) }
  }

  /// The groups that the record is in, if it is live.
  func memberships(_ model: SyncModel) -> [Membership] {
    guard let entity = model.entities[entity], !entity.capacities.isEmpty else { return [] }
    let added = entity.isLink ? additions.min() : nil
    if entity.isLink, added == nil { return [] }
    let waited = self[.waiting]?.stamp.time
    return fields.compactMap { field in
      guard let capacity = entity.capacities[field.property], let owner = field.value.reference else { return nil }
      // The links of an object without a direction are of one group, whichever end it is.
      let property = entity.isSymmetric ? .linkSource : field.property
      let group = MemberGroup(relationship: entity.isLink ? self.entity : nil, property: property, owner: owner)
      let stamp = added ?? field.stamp
      return Membership(
        group: group, capacity: capacity, field: field, stamp: stamp, hasWaited: waited.map { $0 >= stamp.time } ?? false)
    }
  }
}

extension SyncStore {
  /// Returns the records that can be in a group.
  func members(of group: MemberGroup, _ model: SyncModel) throws -> [RecordID] {
    let members = try referrers(of: group.owner, through: group.property)
    guard let links = group.relationship.flatMap({ model.entities[$0] }), links.isSymmetric else { return members }
    return try members + referrers(of: group.owner, through: .linkDestination).filter { !members.contains($0) }
  }

  /// Returns the records that can be in the same groups as a record with memberships.
  func fellowMembers(in memberships: [Record.Membership], _ model: SyncModel) throws -> [RecordID] {
    try memberships.flatMap { try members(of: $0.group, model) }
  }
}

extension PropertyID {
  /// The property of a record that has exceeded a maximum count. Its stamp follows from that of the reference or of the link's addition. No other
  /// property has this ID.
  package static let waiting = PropertyID(.max - 7)
}
