// UndoGroup: the changes that are undone together, as records of what was before them.
import ObjectModel
import ObjectStore

/// Changes that are undone together: what was before them, in the order in which they came.
///
/// Of a value, and of the order of members, the first record counts: an open group that is asked has a table of what it has records of. What few records need
/// stands in lists beside them.
final class UndoGroup {
  /// An action of the application. It does not hold its target.
  struct Action {
    weak var target: AnyObject?
    let run: (AnyObject) -> Void
  }

  /// The order of members of an object that nobody had read when one of them was deleted.
  struct KeptOrder {
    let owner: ManagedObjectID
    let index: Int
    let members: [ObjectReference]
  }

  /// The name of what was done.
  var name = ""
  // Written by every recorded change, in its context's isolation, which admits one access at a time; nothing under an access calls back. So it is for what
  // else such a change writes.
  @exclusivity(unchecked) private(set) var records = ContiguousArray<UndoRecord>()
  /// Objects that went, each held, with all that it had.
  private(set) var objects: [ManagedObject] = []
  private(set) var orders: [[ObjectReference]] = []
  private(set) var externals: [ExternalData] = []
  /// The application's actions; nil for one that was taken out.
  private(set) var actions: [Action?] = []
  private(set) var groups: [UndoGroup] = []
  /// Orders that are restored once everything else is there again.
  private(set) var keptOrders: [KeptOrder] = []
  /// The bytes that it counts with, those of its groups among them.
  // Unchecked for the reason above.
  @exclusivity(unchecked) var byteCount = 0
  /// Whether a save has nothing to do with it any more: no record names an object by a temporary ID, and no value is only in a store.
  // Unchecked for the reason above.
  @exclusivity(unchecked) var isSettled = false
  /// Where the records of values and orders stand in `records`, found by open addressing: 1 more than the place, 0 for nothing.
  // Unchecked for the reason above.
  @exclusivity(unchecked) private var places = ContiguousArray<Int32>()
  // Unchecked for the reason above.
  @exclusivity(unchecked) private var enteredCount = 0
  /// How many records were looked at for the table.
  // Unchecked for the reason above.
  @exclusivity(unchecked) private var seenCount = 0

  /// Whether there is nothing to undo.
  var isEmpty: Bool {
    records.isEmpty
      || records.allSatisfy { record in
        switch record.kind {
        case .action: actions[record.place] == nil
        case .group: groups[record.place].isEmpty
        default: false
        }
      }
  }

  // MARK: Adding

  @inline(__always) func append(_ record: UndoRecord) {
    isSettled = false
    records.append(record)
  }

  /// Adds a value or an order.
  @inline(__always) func append(
    _ object: ObjectReference, _ space: UInt32, _ property: Int, _ kind: UndoRecord.Kind, _ former: Slot, _ marks: UndoRecord.Marks = []
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

  /// Takes the last record out, which is that of a group.
  func removeLastGroup() -> UndoGroup? {
    guard records.last?.kind == .group, let group = groups.last else { return nil }
    records.removeLast()
    seenCount = min(seenCount, records.count)
    groups.removeLast()
    byteCount -= group.byteCount
    return group
  }

  /// Takes actions out.
  func removeActions(of target: AnyObject) {
    for place in actions.indices where actions[place]?.target === target { actions[place] = nil }
    for group in groups { group.removeActions(of: target) }
  }

  /// Forgets everything.
  func removeAll() {
    records = []
    (objects, orders, externals, actions, groups, keptOrders) = ([], [], [], [], [], [])
    byteCount = 0
    removeTable()
  }

  /// Nothing is added any more: the table goes, and memory that is not used.
  func close() {
    removeTable()
    if records.capacity > records.count + records.count / 4 {
      let all = records
      records = []
      records.reserveCapacity(all.count)
      records.append(contentsOf: all)
    }
  }

  // MARK: What was recorded already

  /// Whether there is a record of a value or an order.
  func has(_ object: ObjectReference, _ space: UInt32, _ property: Int, isOrder: Bool) -> Bool {
    while seenCount < records.count { enterNext() }
    if places.isEmpty { return false }
    var place = firstPlace(object, property)
    while places[place] != 0 {
      let number = Int(places[place]) - 1
      if records[number].reference == object, records[number].property == UInt16(truncatingIfNeeded: property),
        records[number].space == space, (records[number].kind == .order) == isOrder
      {
        return true
      }
      place = (place &+ 1) & (places.count &- 1)
    }
    return false
  }

  /// Enters the next record in the table, if it is of a value or an order.
  private func enterNext() {
    let number = seenCount
    seenCount += 1
    guard records[number].isOfValueOrOrder else { return }
    if enteredCount * 2 >= places.count {
      let former = places
      places = ContiguousArray(repeating: 0, count: max(16, former.count * 2))
      for entry in former where entry != 0 { enter(Int(entry) - 1) }
    }
    enter(number)
    enteredCount += 1
  }

  private func enter(_ number: Int) {
    var place = firstPlace(records[number].reference, Int(records[number].property))
    while places[place] != 0 { place = (place &+ 1) & (places.count &- 1) }
    places[place] = Int32(truncatingIfNeeded: number + 1)
  }

  @inline(__always) private func firstPlace(_ object: ObjectReference, _ property: Int) -> Int {
    let key = UInt64(bitPattern: object.rawValue) ^ UInt64(truncatingIfNeeded: property) &<< 40
    return Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) &>> 32) & (places.count &- 1)
  }

  private func removeTable() { (places, enteredCount, seenCount) = ([], 0, 0) }

  // MARK: Over saves

  /// Visits the records, which may be changed.
  func update(_ body: (inout UndoRecord) -> Void) {
    // It finds them by what they name.
    removeTable()
    for number in records.indices { body(&records[number]) }
  }

  /// Puts other references into the orders.
  func updateOrders(_ saved: (ObjectReference) -> ObjectReference) {
    for number in orders.indices where orders[number].contains(where: { $0.key < 0 }) { orders[number] = orders[number].map(saved) }
  }

  /// A large value is bytes from now on.
  func replaceExternal(_ number: Int, with bytes: ExternalData) { externals[number] = bytes }
}
