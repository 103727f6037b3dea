// UndoRecord: one thing about one object as it was before a group of changes.
import ObjectModel

/// One thing about one object as it was before a group of changes: what the group's undoing brings back.
///
/// It names the object by its reference and does not hold it: what is held is as many bytes as a number and a few marks.
struct UndoRecord {
  /// What there was.
  enum Kind: UInt8 {
    /// A value of a slot.
    case value
    /// A large value of a slot, which stands in the group's list.
    case external
    /// A member came: it was none.
    case added
    /// A member went: it was one.
    case removed
    /// The order of members, which stands in the group's list.
    case order
    /// The object came: it was not there.
    case inserted
    /// The object went: it was there, and stands in the group's list.
    case deleted
    /// An action of the application, which stands in the group's list.
    case action
    /// A group of changes, which stands in the group's list.
    case group
  }

  /// Further facts about a member or a transient value.
  struct Marks: OptionSet {
    let rawValue: UInt8
    /// The stored members were not read: whether it is one of them was not known.
    static let isUnread = Marks(rawValue: 1)
    /// It was among the additions.
    static let wasAdded = Marks(rawValue: 2)
    /// It was among the removals.
    static let wasRemoved = Marks(rawValue: 4)
    /// The change was saved since.
    static let isSaved = Marks(rawValue: 8)
    /// It has turned out that nothing was changed: what was added was a stored member, or what was removed was none.
    static let isVoid = Marks(rawValue: 16)
    /// A transient value was not changed since the last save: no row says so afterwards.
    static let wasClean = Marks(rawValue: 32)
  }

  /// The object; of an action or a group nothing.
  var reference: ObjectReference
  var space: UInt32
  /// The slot, or the to-many index.
  let property: UInt16
  let kind: Kind
  var marks: Marks
  /// The value, the member's reference, or a place in a list of the group.
  var former: Slot

  /// The bytes that a record counts with, and its place in the table of an open group.
  static let byteCount = MemoryLayout<UndoRecord>.stride + 8

  /// Whether the first record of its object and property counts.
  @inline(__always) var isOfValueOrOrder: Bool { kind == .value || kind == .external || kind == .order }

  /// The place in the list of the group that the kind says.
  var place: Int {
    if case .int(let place) = former { Int(place) } else { 0 }
  }

  /// The member.
  var member: ObjectReference {
    if case .int(let word) = former { ObjectReference(rawValue: word) } else { ObjectReference(rawValue: 0) }
  }
}

extension Slot {
  /// The bytes of a value outside the record that has it.
  var bytesBesideRecord: Int {
    switch self {
    case .null, .int, .real: 0
    // Texts of up to fifteen bytes and bytes of up to fourteen have no memory of their own.
    case .text(let text): text.utf8.count > 15 ? text.utf8.count + 32 : 0
    case .bytes(let bytes): bytes.count > 14 ? bytes.count + 64 : 0
    }
  }
}
