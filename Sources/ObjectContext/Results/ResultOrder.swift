// ResultOrder: the order of results: by what the request sorts by, and those that are equal in it by their IDs.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The order of results. It leaves no two of them equal: a change of what nobody sorts by moves nothing.
struct ResultOrder {
  private let keys: [(order: TextOrder, isAscending: Bool)]
  /// How many values a result is sorted by.
  var keyCount: Int { keys.count }

  init(_ keys: some Sequence<ResolvedSortKey>) { self.keys = keys.map { ($0.order, $0.isAscending) } }

  /// The order of two results: negative, zero or positive.
  func compare(_ left: ArraySlice<Slot>, _ leftID: ManagedObjectID, _ right: ArraySlice<Slot>, _ rightID: ManagedObjectID) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[left.startIndex + index], right[right.startIndex + index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return Self.compare(leftID, rightID)
  }

  /// Whether results can be sorted by the beginnings of what they are sorted by first, as numbers: not where these are texts in the order of a language.
  func hasWords(of kind: SlotKind) -> Bool {
    guard let key = keys.first else { return false }
    return kind == .int || kind == .real || kind == .text && key.order == .binary
  }

  /// The positions of results in their order.
  ///
  /// - Parameter values: The values of one result after the other.
  /// - Returns: Nil where they are in order.
  func positions(of ids: [ManagedObjectID], _ values: [Slot]) -> [Int]? {
    guard let first = keys.first else { return nil }
    var entries: ContiguousArray<(word: UInt64, position: Int)> = []
    entries.reserveCapacity(ids.count)
    // Whether a number says all there is to say, and what is equal in it is in the order of the IDs already.
    var (isWhole, isByID) = (keyCount == 1, true)
    let none = SortWord.none.directed(first.isAscending)
    for position in ids.indices {
      let word = Self.word(of: values[position * keyCount], first.order).directed(first.isAscending)
      if word == none { isWhole = isWhole && SlotComparison.isMissing(values[position * keyCount]) }
      if case .text = values[position * keyCount] { isWhole = false }
      if position > 0, Self.compare(ids[position - 1], ids[position]) > 0 { isByID = false }
      entries.append((word, position))
    }
    // The sort asks for them all the time: what does not change is not checked each time.
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

  /// The beginning of a value: values are in the order of these, and equal ones say nothing.
  private static func word(of value: Slot, _ order: TextOrder) -> SortWord {
    switch value {
    case .int(let number): SortWord(number)
    case .real(let number): number.isNaN ? .none : SortWord(number)
    case .text(var text): order == .binary ? text.withUTF8 { SortWord(UnsafeRawBufferPointer($0)) } : .none
    case .null, .bytes: .none
    }
  }

  /// As stores order what is equal: by keys. New objects come last, in the order in which they were made.
  private static func compare(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left.isTemporaryID != right.isTemporaryID { return left.isTemporaryID ? 1 : -1 }
    if left.space != right.space { return left.space < right.space ? -1 : 1 }
    if left.key == right.key { return 0 }
    return (left.key < right.key) != left.isTemporaryID ? -1 : 1
  }
}
