import ObjectModel
import ObjectQuery
import ObjectStore

/// The order of results: by the request's sort keys, then by ID. It is total, so a change of values that are not sort values moves nothing.
struct ResultOrder {
  private let keys: [(order: TextOrder, isAscending: Bool)]
  /// The number of sort values of a result.
  var keyCount: Int { keys.count }

  init(_ keys: some Sequence<ResolvedSortKey>) { self.keys = keys.map { ($0.order, $0.isAscending) } }

  /// Compares two results: negative if the first precedes the second, positive if it follows it, and zero if they are the same.
  func compare(_ left: ArraySlice<Slot>, _ leftID: ManagedObjectID, _ right: ArraySlice<Slot>, _ rightID: ManagedObjectID) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[left.startIndex + index], right[right.startIndex + index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return Self.compare(leftID, rightID)
  }

  /// Returns whether results can be presorted by numeric prefixes of their first sort values. This is not possible for text in a locale's
  /// order.
  func hasWords(of kind: SlotKind) -> Bool {
    guard let key = keys.first else { return false }
    return kind == .int || kind == .real || kind == .text && key.order == .binary
  }

  /// Returns the positions of results in sorted order; nil if the results are already sorted.
  ///
  /// - Parameter values: The sort values of all results, concatenated.
  func positions(of ids: [ManagedObjectID], _ values: [Slot]) -> [Int]? {
    guard let first = keys.first else { return nil }
    var entries: ContiguousArray<(word: UInt64, position: Int)> = []
    entries.reserveCapacity(ids.count)
    // `isWhole`: the prefix is the complete sort value. `isByID`: results with equal prefixes are already in the order of their IDs.
    var (isWhole, isByID) = (keyCount == 1, true)
    let none = SortWord.none.directed(first.isAscending)
    for position in ids.indices {
      let word = Self.word(of: values[position * keyCount], first.order).directed(first.isAscending)
      if word == none { isWhole = isWhole && SlotComparison.isMissing(values[position * keyCount]) }
      if case .text = values[position * keyCount] { isWhole = false }
      if position > 0, Self.compare(ids[position - 1], ids[position]) > 0 { isByID = false }
      entries.append((word, position))
    }
    // Immutable copies, because the sort reads them in each comparison and captured variables would require exclusivity checks.
    let (saysAll, staysByID, width) = (isWhole, isByID, keyCount)
    func precedes(_ left: (word: UInt64, position: Int), _ right: (word: UInt64, position: Int)) -> Bool {
      if left.word != right.word { return left.word < right.word }
      if saysAll { return staysByID ? left.position < right.position : Self.compare(ids[left.position], ids[right.position]) < 0 }
      return compare(
        values[left.position * width..<(left.position + 1) * width], ids[left.position],
        values[right.position * width..<(right.position + 1) * width], ids[right.position]) < 0
    }
    if entries.indices.dropFirst().allSatisfy({ precedes(entries[$0 - 1], entries[$0]) }) { return nil }
    entries.sort(by: precedes)
    return entries.map(\.position)
  }

  /// Returns the numeric prefix of a value. Values are ordered by their prefixes; equal prefixes decide nothing.
  private static func word(of value: Slot, _ order: TextOrder) -> SortWord {
    switch value {
    case .int(let number): SortWord(number)
    case .real(let number): number.isNaN ? .none : SortWord(number)
    case .text(var text): order == .binary ? text.withUTF8 { SortWord(UnsafeRawBufferPointer($0)) } : .none
    case .null, .bytes: .none
    }
  }

  /// Compares IDs by key, as stores order equal results. Temporary IDs come last, in the order of their creation.
  private static func compare(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left.isTemporaryID != right.isTemporaryID { return left.isTemporaryID ? 1 : -1 }
    if left.space != right.space { return left.space < right.space ? -1 : 1 }
    if left.key == right.key { return 0 }
    return (left.key < right.key) != left.isTemporaryID ? -1 : 1
  }
}
