import ObjectModel

/// A record of one aspect of an object's state before a group of changes. Undoing the group restores it.
///
/// A record identifies the object by reference and does not retain it, so that it takes little memory.
struct UndoRecord {
  /// The kind of state that was recorded.
  enum Kind: UInt8 {
    /// The value of a slot.
    case value
    /// The large value of a slot, which is in the group's list.
    case external
    /// A member was added.
    case added
    /// A member was removed.
    case removed
    /// The order of members, which is in the group's list.
    case order
    /// The object was inserted.
    case inserted
    /// The object was deleted. It is in the group's list.
    case deleted
    /// An action of the application, which is in the group's list.
    case action
    /// A nested group, which is in the group's list.
    case group
  }

  /// Additional information about a member or a transient value.
  struct Marks: OptionSet {
    let rawValue: UInt8
    /// The stored members were not loaded: it was unknown whether the reference was one of them.
    static let isUnread = Marks(rawValue: 1)
    /// The reference was among the additions.
    static let wasAdded = Marks(rawValue: 2)
    /// The reference was among the removals.
    static let wasRemoved = Marks(rawValue: 4)
    /// The change was saved since.
    static let isSaved = Marks(rawValue: 8)
    /// The change turned out to change nothing: an added reference was a stored member already, or a removed one was not.
    static let isIneffective = Marks(rawValue: 16)
    /// A transient value was unchanged since the last save, which cannot be determined from a row later.
    static let wasClean = Marks(rawValue: 32)
  }

  /// The object; null for an action or a group.
  var reference: ObjectReference
  var space: UInt32
  /// The slot, or the to-many index.
  let property: UInt16
  let kind: Kind
  var marks: Marks
  /// The value, the member's reference, or an index in a list of the group.
  var former: Slot

  /// The number of bytes to count for a record, including its entry in the table of an open group.
  static let byteCount = MemoryLayout<UndoRecord>.stride + 8

  /// Whether only the first record for its object and property is needed.
  @inline(__always) var isValueOrOrder: Bool { kind == .value || kind == .external || kind == .order }

  /// The index in the group's list for this kind of record.
  var position: Int {
    if case .int(let position) = former { Int(position) } else { 0 }
  }

  var member: ObjectReference {
    if case .int(let word) = former { ObjectReference(rawValue: word) } else { ObjectReference(rawValue: 0) }
  }
}

extension Slot {
  /// The number of bytes of a value that are stored outside its record.
  var bytesOutsideRecord: Int {
    switch self {
    case .null, .int, .real: 0
    // Texts of up to 15 bytes and data of up to 14 bytes are stored inline.
    case .text(let text): text.utf8.count > 15 ? text.utf8.count + 32 : 0
    case .bytes(let bytes): bytes.count > 14 ? bytes.count + 64 : 0
    }
  }
}
