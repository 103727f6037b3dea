// ResultOrder: the order of results: by what the request sorts by, and those that are equal in it by their IDs.
import ObjectModel
import ObjectQuery

/// The order of results. It leaves no two of them equal: a change of what nobody sorts by moves nothing.
struct ResultOrder {
  private let keys: [(comparison: FetchSortDescriptor.Comparison, isAscending: Bool)]
  /// How many values a result is sorted by.
  var keyCount: Int { keys.count }

  init(_ keys: some Sequence<ResolvedSortKey>) { self.keys = keys.map { ($0.comparison, $0.isAscending) } }

  /// The order of two results: negative, zero or positive.
  func compare(_ left: ArraySlice<Slot>, _ leftID: ManagedObjectID, _ right: ArraySlice<Slot>, _ rightID: ManagedObjectID) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[left.startIndex + index], right[right.startIndex + index], by: key.comparison)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return Self.compare(leftID, rightID)
  }

  /// As stores order what is equal: by keys. New objects come last, in the order in which they were made.
  private static func compare(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left.isTemporaryID != right.isTemporaryID { return left.isTemporaryID ? 1 : -1 }
    if left.space != right.space { return left.space < right.space ? -1 : 1 }
    if left.key == right.key { return 0 }
    return (left.key < right.key) != left.isTemporaryID ? -1 : 1
  }
}
