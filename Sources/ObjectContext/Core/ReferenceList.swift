// ReferenceList: references in order, each once, found and removed in constant time.
import ObjectModel

/// References in order, each once. A few are searched one by one; more have an index. Removing leaves a hole, and holes are closed when they prevail.
struct ReferenceList {
  /// The references; null where one was removed.
  private var items: [ObjectReference] = []
  /// Where the references lie in `items`, found by open addressing: 1 more than the position, 0 for nothing, -1 for one that was removed. The
  /// references are our own numbers, so that a multiplication spreads them well enough; a `Dictionary` takes several times as long.
  private var slots: [Int32] = []
  private var usedSlots = 0
  private(set) var count = 0
  private static let unindexedCount = 8

  init() {}

  init(_ references: some Sequence<ObjectReference>) {
    for reference in references { append(reference) }
  }

  var isEmpty: Bool { count == 0 }

  /// The references in order.
  var elements: [ObjectReference] { count == items.count ? items : items.filter { !$0.isNull } }

  private func position(of reference: ObjectReference) -> Int? {
    if items.count <= Self.unindexedCount { return items.firstIndex(of: reference) }
    return slot(of: reference).map { Int(slots[$0]) - 1 }
  }

  private static func firstSlot(_ reference: ObjectReference, _ count: Int) -> Int {
    let hash = UInt64(bitPattern: reference.rawValue) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: hash >> 32) & (count - 1)
  }

  /// The slot that names a reference.
  private func slot(of reference: ObjectReference) -> Int? {
    var slot = Self.firstSlot(reference, slots.count)
    while slots[slot] != 0 {
      if slots[slot] > 0, items[Int(slots[slot]) - 1] == reference { return slot }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Enters the last reference.
  private mutating func indexLast() {
    if usedSlots * 2 >= slots.count { return reindex() }
    enter(items.count - 1)
  }

  private mutating func enter(_ position: Int) {
    var slot = Self.firstSlot(items[position], slots.count)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = Int32(truncatingIfNeeded: position + 1)
    usedSlots += 1
  }

  func contains(_ reference: ObjectReference) -> Bool { position(of: reference) != nil }

  /// Adds a reference at the end; false when it is there already.
  @discardableResult
  mutating func append(_ reference: ObjectReference) -> Bool {
    if contains(reference) { return false }
    items.append(reference)
    count += 1
    if items.count == Self.unindexedCount + 1 {
      reindex()
    } else if items.count > Self.unindexedCount {
      indexLast()
    }
    return true
  }

  /// Removes a reference; false when it is not there.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> Bool {
    guard let position = position(of: reference) else { return false }
    if items.count > Self.unindexedCount, let slot = slot(of: reference) { slots[slot] = -1 }
    items[position] = ObjectReference(rawValue: 0)
    count -= 1
    if count < items.count / 2 || items.count <= Self.unindexedCount { removeAll { _ in false } }
    return true
  }

  /// Removes the references that meet a condition.
  mutating func removeAll(where condition: (ObjectReference) -> Bool) {
    items = items.filter { !$0.isNull && !condition($0) }
    count = items.count
    reindex()
  }

  private mutating func reindex() {
    slots = []
    usedSlots = 0
    guard items.count > Self.unindexedCount else { return }
    var capacity = 32
    while capacity < items.count * 4 { capacity *= 2 }
    slots = Array(repeating: 0, count: capacity)
    for position in items.indices where !items[position].isNull { enter(position) }
  }
}

#if CIPHERDATA_CHECKS
  extension ReferenceList {
    /// Each reference stands here once and is found where it stands, and what is counted is there.
    func _checkInvariants() {
      let elements = elements
      checkInvariant(elements.count == count, "\(elements.count) references in a list that counts \(count)")
      checkInvariant(!elements.contains { $0.isNull }, "a hole is taken for a reference")
      checkInvariant(Set(elements).count == count, "a reference stands twice")
      for (place, reference) in items.enumerated() where !reference.isNull {
        checkInvariant(position(of: reference) == place, "reference \(reference) is not found")
      }
      checkInvariant(usedSlots == slots.count { $0 != 0 } && (slots.isEmpty || usedSlots < slots.count), "the index counts wrongly")
    }
  }
#endif
