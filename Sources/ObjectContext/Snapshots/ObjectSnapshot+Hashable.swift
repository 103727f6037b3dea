// ObjectSnapshot+Hashable: snapshots with the same values are equal.
import ObjectModel
import ObjectStore

extension ObjectSnapshot: Hashable {
  /// Whether two snapshots are of one version of one object, or of none, and have the same values, those set included.
  ///
  /// Large values that a store keeps are not read for it: one that was written anew is another.
  public static func == (left: ObjectSnapshot, right: ObjectSnapshot) -> Bool {
    guard left.base.objectID == right.base.objectID || left.objectID == nil && right.objectID == nil, left.version == right.version,
      left.entity === right.entity || left.isOfLayout(of: right.entity), left.members == right.members,
      left.changedMembers == right.changedMembers, left.changes == right.changes
    else { return false }
    if left.row.base == right.row.base { return true }
    return left.entity.slots.allSatisfy { $0.kind == .none || SaveConflicts.isSame($0, left.row, right.row) }
  }

  /// Hashes what is compared, but for large values.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(objectID)
    hasher.combine(version)
    for slot in entity.slots {
      if let change = changes[slot.index] { hasher.combine(change) }
      if row.isNull(slot.index) { continue }
      switch slot.kind {
      case .int, .reference: hasher.combine(row.word(slot.index))
      case .real: hasher.combine(row.real(slot.index))
      case .text: hasher.combine(bytes: row.bytes(slot.index))
      case .bytes, .none: break
      }
    }
    hasher.combine(members)
    hasher.combine(changedMembers)
  }

  /// Whether an entity has the properties of the snapshot's in the same places.
  func isOfLayout(of other: CompiledEntity) -> Bool {
    entity.name == other.name && entity.layoutFingerprint == other.layoutFingerprint
  }
}

extension SnapshotValue: Hashable {
  static func == (left: SnapshotValue, right: SnapshotValue) -> Bool {
    switch (left, right) {
    // A number that is none equals nothing, not even itself.
    case (.slot(.real(let left)), .slot(.real(let right))): left == right || left.bitPattern == right.bitPattern
    case (.slot(let left), .slot(let right)): left == right
    case (.external(let left), .external(let right)): left.isIdentical(to: right)
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .slot(let value): hasher.combine(value)
    case .external: hasher.combine(1)
    case .object(let id): hasher.combine(id)
    }
  }
}
