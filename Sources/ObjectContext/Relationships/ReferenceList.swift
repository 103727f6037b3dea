// ReferenceList: references in order, each once, found and removed in constant time.
import ObjectModel

/// References in order, each once. A few are searched one by one; more have an index. Removing leaves a hole, and holes are closed when they prevail.
struct ReferenceList {
  /// The references; null where one was removed.
  private var items: [ObjectReference] = []
  private var positions: [ObjectReference: Int] = [:]
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
    items.count <= Self.unindexedCount ? items.firstIndex(of: reference) : positions[reference]
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
      positions[reference] = items.count - 1
    }
    return true
  }

  /// Removes a reference; false when it is not there.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> Bool {
    guard let position = position(of: reference) else { return false }
    positions[reference] = nil
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
    positions.removeAll(keepingCapacity: true)
    guard items.count > Self.unindexedCount else { return }
    for (position, reference) in items.enumerated() where !reference.isNull { positions[reference] = position }
  }
}
