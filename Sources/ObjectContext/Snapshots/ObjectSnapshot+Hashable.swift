import ObjectModel
import ObjectStore

extension ObjectSnapshot: Hashable {
  /// Returns whether two snapshots are of the same version of the same object, or both without an object, and have equal values and equal
  /// changes.
  ///
  /// Large values in a store are not read for the comparison: a rewritten value counts as different.
  public static func == (left: ObjectSnapshot, right: ObjectSnapshot) -> Bool {
    guard left.base.objectID == right.base.objectID || left.objectID == nil && right.objectID == nil, left.version == right.version,
      left.entity === right.entity || left.isOfLayout(of: right.entity), left.members == right.members,
      left.changedMembers == right.changedMembers, left.changes == right.changes
    else { return false }
    if left.row.base == right.row.base { return true }
    return left.entity.slots.allSatisfy { $0.kind == .none || SaveConflicts.isSame($0, left.row, right.row) }
  }

  /// Hashes the compared values except large ones.
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

  /// Returns whether another entity has the same name and layout as the snapshot's.
  func isOfLayout(of other: CompiledEntity) -> Bool {
    entity.name == other.name && entity.layoutFingerprint == other.layoutFingerprint
  }
}

extension SnapshotValue: Hashable {
  static func == (left: SnapshotValue, right: SnapshotValue) -> Bool {
    switch (left, right) {
    // NaN does not equal itself; compare the bits.
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
