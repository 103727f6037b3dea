import ObjectModel

/// An ordered set of references.
///
/// Short lists are searched linearly. Longer ones use binary search if the references were added in the order of their numbers, as in a
/// bulk insertion, and otherwise a hash index. Removing a reference from an indexed list leaves a hole; holes are removed when they make up
/// more than half of the list.
struct OrderedReferenceSet {
  /// The order of the references by number. Ordered lists have no holes.
  private enum Order { case ascending, descending, mixed }

  /// The references; null where one was removed.
  private var items: [ObjectReference] = []
  /// A hash index with open addressing: the position in `items` plus 1, 0 for an empty slot, -1 for a removed reference. The references are
  /// numbers that the library assigns, so a multiplication is a sufficient hash. A `Dictionary` takes several times as long.
  private var slots: [Int32] = []
  private var usedSlots: Int32 = 0
  private var holeCount: Int32 = 0
  private var order = Order.ascending
  private static let unindexedCount = 8

  init() {}

  init(_ references: some Sequence<ObjectReference>) {
    for reference in references { append(reference) }
  }

  @inline(__always) var count: Int { items.count &- Int(holeCount) }
  @inline(__always) var isEmpty: Bool { count == 0 }

  var elements: [ObjectReference] { holeCount == 0 ? items : items.filter { !$0.isNull } }

  private func position(of reference: ObjectReference) -> Int? {
    if items.count <= Self.unindexedCount { return items.firstIndex(of: reference) }
    if order != .mixed { return sortedPosition(of: reference) }
    return slot(of: reference).map { Int(slots[$0]) - 1 }
  }

  private func sortedPosition(of reference: ObjectReference) -> Int? {
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if follows(items[middle], reference) || items[middle] == reference { high = middle } else { low = middle + 1 }
    }
    return low < items.count && items[low] == reference ? low : nil
  }

  @inline(__always) private func follows(_ reference: ObjectReference, _ other: ObjectReference) -> Bool {
    order == .ascending ? reference.rawValue > other.rawValue : reference.rawValue < other.rawValue
  }

  private static func firstSlot(_ reference: ObjectReference, _ count: Int) -> Int {
    let hash = UInt64(bitPattern: reference.rawValue) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: hash >> 32) & (count - 1)
  }

  private func slot(of reference: ObjectReference) -> Int? {
    var slot = Self.firstSlot(reference, slots.count)
    while slots[slot] != 0 {
      if slots[slot] > 0, items[Int(slots[slot]) - 1] == reference { return slot }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private mutating func indexLast() {
    if Int(usedSlots) * 2 >= slots.count { return reindex() }
    enter(items.count - 1)
  }

  private mutating func enter(_ position: Int) {
    var slot = Self.firstSlot(items[position], slots.count)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = Int32(truncatingIfNeeded: position + 1)
    usedSlots += 1
  }

  func contains(_ reference: ObjectReference) -> Bool { position(of: reference) != nil }

  /// Appends a reference; returns `false` if the list already contains it.
  @discardableResult
  mutating func append(_ reference: ObjectReference) -> Bool {
    if let last = items.last {
      // A reference that follows the last one of an ordered list cannot be in the list.
      if order == .mixed || !follows(reference, last) {
        if contains(reference) { return false }
        loseOrder(for: reference)
      }
    } else {
      order = .ascending
      items.reserveCapacity(4)
    }
    items.append(reference)
    guard order == .mixed, items.count > Self.unindexedCount else { return true }
    if slots.isEmpty { reindex() } else { indexLast() }
    return true
  }

  /// Updates the order before a reference is appended that does not follow the last one.
  private mutating func loseOrder(for reference: ObjectReference) {
    if items.count == 1, reference.rawValue < items[0].rawValue { order = .descending } else { order = .mixed }
  }

  /// Removes a reference; returns `false` if the list does not contain it.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> Bool {
    guard let position = position(of: reference) else { return false }
    if order != .mixed {
      // Beyond this distance the list becomes an indexed one, since closing the gap on each removal would take quadratic time.
      if items.count - position <= 256 {
        items.remove(at: position)
        return true
      }
      order = .mixed
      reindex()
    }
    if items.count > Self.unindexedCount, let slot = slot(of: reference) { slots[slot] = -1 }
    items[position] = ObjectReference(rawValue: 0)
    holeCount += 1
    if count < items.count / 2 || items.count <= Self.unindexedCount { removeAll { _ in false } }
    return true
  }

  mutating func removeAll(where condition: (ObjectReference) -> Bool) {
    items = items.filter { !$0.isNull && !condition($0) }
    holeCount = 0
    reindex()
  }

  /// Empties the list and returns its references, with those of new objects replaced.
  mutating func take(replacing saved: (ObjectReference) -> ObjectReference) -> [ObjectReference] {
    let hasNewObjects = hasNewObjects
    // Swapped, so that an array without other references is modified in place.
    var taken: [ObjectReference] = []
    if holeCount == 0 { swap(&taken, &items) } else { taken = elements }
    self = OrderedReferenceSet()
    if hasNewObjects {
      for position in taken.indices { taken[position] = saved(taken[position]) }
    }
    return taken
  }

  /// Whether some reference belongs to a new object.
  var hasNewObjects: Bool { items.contains { $0.key < 0 } }

  /// Replaces the references of new objects. The references must remain unique.
  ///
  /// - Parameter saved: Returns the replacement of a reference; called once for each.
  mutating func replaceNewObjects(_ saved: (ObjectReference) throws -> ObjectReference) rethrows {
    if !hasNewObjects { return }
    var (isAscending, isDescending) = (true, true)
    var previous: ObjectReference?
    for position in items.indices where !items[position].isNull {
      let reference = try saved(items[position])
      items[position] = reference
      if let previous {
        if previous.rawValue < reference.rawValue { isDescending = false } else { isAscending = false }
      }
      previous = reference
    }
    // Ordered lists have no holes.
    order = holeCount > 0 ? .mixed : isAscending ? .ascending : isDescending ? .descending : .mixed
    reindex()
  }

  private mutating func reindex() {
    slots = []
    usedSlots = 0
    guard order == .mixed, items.count > Self.unindexedCount else { return }
    var capacity = 32
    while capacity < items.count * 4 { capacity *= 2 }
    slots = Array(repeating: 0, count: capacity)
    for position in items.indices where !items[position].isNull { enter(position) }
  }
}

#if CIPHERDATA_CHECKS
  extension OrderedReferenceSet {
    /// Checks that each reference is contained once and found at its position, and that the counts match.
    func _checkInvariants() {
      let elements = elements
      checkInvariant(elements.count == count, "\(elements.count) references in a list that counts \(count)")
      checkInvariant(!elements.contains { $0.isNull }, "a hole is taken for a reference")
      checkInvariant(Set(elements).count == count, "a reference stands twice")
      for (place, reference) in items.enumerated() where !reference.isNull {
        checkInvariant(position(of: reference) == place, "reference \(reference) is not found")
      }
      if order != .mixed {
        let isOrdered = zip(items, items.dropFirst()).allSatisfy { follows($1, $0) }
        checkInvariant(isOrdered && items.count == count, "the references are not in the order that is searched")
      }
      let used = slots.count { $0 != 0 }
      checkInvariant(Int(usedSlots) == used && (slots.isEmpty || used < slots.count), "the index counts wrongly")
    }
  }
#endif
