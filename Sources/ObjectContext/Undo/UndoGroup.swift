import ObjectModel
import ObjectStore

/// A group of changes that are undone together: records of the state before each change, in order.
///
/// For a value, or for the order of members, only the first record is needed. An open group has a hash table of these records to avoid
/// duplicates. Data that few records need is stored in separate lists.
final class UndoGroup {
  /// An action of the application. It does not retain its target.
  struct Action {
    weak var target: AnyObject?
    let run: (AnyObject) -> Void
  }

  /// The order of an object's members that were not loaded when one of them was deleted.
  struct KeptOrder {
    let owner: ManagedObjectID
    let index: Int
    let members: [ObjectReference]
  }

  var name = ""
  // Written by every recorded change, in the context's isolation, which admits one access at a time; no call made during an access reenters
  // the group. The same applies to the other properties that such a change writes.
  @exclusivity(unchecked) private(set) var records = ContiguousArray<UndoRecord>()
  /// Deleted objects with all their values, which the group retains.
  private(set) var objects: [ManagedObject] = []
  private(set) var orders: [[ObjectReference]] = []
  private(set) var externals: [ExternalData] = []
  /// The application's actions; `nil` for an action that was removed.
  private(set) var actions: [Action?] = []
  private(set) var groups: [UndoGroup] = []
  /// Orders that are restored after everything else.
  private(set) var keptOrders: [KeptOrder] = []
  /// The size of the group in bytes, including nested groups.
  @exclusivity(unchecked) var byteCount = 0
  /// Whether saves no longer affect the group: no record refers to an object by a temporary ID, and no value exists only in a store.
  @exclusivity(unchecked) var isSettled = false
  /// A hash table with open addressing for the records of values and orders: the index in `records` plus 1, or 0.
  @exclusivity(unchecked) private var positions = ContiguousArray<Int32>()
  @exclusivity(unchecked) private var enteredCount = 0
  /// The number of records that were examined for the table.
  @exclusivity(unchecked) private var seenCount = 0

  /// Whether there is nothing to undo.
  var isEmpty: Bool {
    records.isEmpty
      || records.allSatisfy { record in
        switch record.kind {
        case .action: actions[record.position] == nil
        case .group: groups[record.position].isEmpty
        default: false
        }
      }
  }

  // MARK: Recording

  @inline(__always) func append(_ record: UndoRecord) {
    isSettled = false
    records.append(record)
  }

  /// Appends a record of a value or an order.
  @inline(__always) func append(
    _ object: ObjectReference, _ space: UInt32, _ property: Int, _ kind: UndoRecord.Kind, _ former: Slot, _ marks: UndoMarks = []
  ) {
    append(
      UndoRecord(
        reference: object, space: space, property: UInt16(truncatingIfNeeded: property), kind: kind, marks: marks, former: former))
  }

  func add(_ order: [ObjectReference]) -> Slot {
    orders.append(order)
    return .int(Int64(orders.count - 1))
  }

  func add(_ external: ExternalData) -> Slot {
    externals.append(external)
    return .int(Int64(externals.count - 1))
  }

  func add(_ object: ManagedObject) -> Slot {
    objects.append(object)
    return .int(Int64(objects.count - 1))
  }

  func add(_ action: Action) -> Slot {
    actions.append(action)
    return .int(Int64(actions.count - 1))
  }

  func add(_ group: UndoGroup) -> Slot {
    groups.append(group)
    return .int(Int64(groups.count - 1))
  }

  func keep(_ order: KeptOrder) { keptOrders.append(order) }

  /// Removes the last record and returns its group; `nil` if the last record is not a group.
  func removeLastGroup() -> UndoGroup? {
    guard records.last?.kind == .group, let group = groups.last else { return nil }
    records.removeLast()
    seenCount = min(seenCount, records.count)
    groups.removeLast()
    byteCount -= group.byteCount
    return group
  }

  func removeActions(of target: AnyObject) {
    for position in actions.indices where actions[position]?.target === target { actions[position] = nil }
    for group in groups { group.removeActions(of: target) }
  }

  func removeAll() {
    records = []
    (objects, orders, externals, actions, groups, keptOrders) = ([], [], [], [], [], [])
    byteCount = 0
    removeTable()
  }

  /// Releases the table and unused memory, after the last record was added.
  func close() {
    removeTable()
    if records.capacity > records.count + records.count / 4 {
      let all = records
      records = []
      records.reserveCapacity(all.count)
      records.append(contentsOf: all)
    }
  }

  // MARK: Lookup

  /// Returns whether the group has a record of a value or an order.
  func has(_ object: ObjectReference, _ space: UInt32, _ property: Int, isOrder: Bool) -> Bool {
    while seenCount < records.count { enterNext() }
    if positions.isEmpty { return false }
    var position = firstPosition(object, property)
    while positions[position] != 0 {
      let number = Int(positions[position]) - 1
      if records[number].reference == object, records[number].property == UInt16(truncatingIfNeeded: property),
        records[number].space == space, (records[number].kind == .order) == isOrder
      {
        return true
      }
      position = (position &+ 1) & (positions.count &- 1)
    }
    return false
  }

  /// Adds the next record to the table if it is of a value or an order.
  private func enterNext() {
    let number = seenCount
    seenCount += 1
    guard records[number].isValueOrOrder else { return }
    if enteredCount * 2 >= positions.count {
      let former = positions
      positions = ContiguousArray(repeating: 0, count: max(16, former.count * 2))
      for entry in former where entry != 0 { enter(Int(entry) - 1) }
    }
    enter(number)
    enteredCount += 1
  }

  private func enter(_ number: Int) {
    var position = firstPosition(records[number].reference, Int(records[number].property))
    while positions[position] != 0 { position = (position &+ 1) & (positions.count &- 1) }
    positions[position] = Int32(truncatingIfNeeded: number + 1)
  }

  @inline(__always) private func firstPosition(_ object: ObjectReference, _ property: Int) -> Int {
    let key = UInt64(bitPattern: object.rawValue) ^ UInt64(truncatingIfNeeded: property) &<< 40
    return Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) &>> 32) & (positions.count &- 1)
  }

  private func removeTable() { (positions, enteredCount, seenCount) = ([], 0, 0) }

  // MARK: Saves

  /// Calls a closure with each record, which it may change.
  func update(_ body: (inout UndoRecord) -> Void) {
    // The table hashes the object references, which the closure may replace.
    removeTable()
    for number in records.indices { body(&records[number]) }
  }

  /// Replaces the references of new objects in the orders.
  func updateOrders(_ saved: (ObjectReference) -> ObjectReference) {
    for number in orders.indices where orders[number].contains(where: { $0.key < 0 }) { orders[number] = orders[number].map(saved) }
  }

  /// Replaces a large value by its loaded bytes.
  func replaceExternal(_ number: Int, with bytes: ExternalData) { externals[number] = bytes }
}

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

  /// The object; null for an action or a group.
  var reference: ObjectReference
  var space: UInt32
  /// The slot, or the to-many index.
  let property: UInt16
  let kind: Kind
  var marks: UndoMarks
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
