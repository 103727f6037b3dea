/// A compact set of records.
///
/// Objects that a device has inserted one after the other have consecutive IDs, each of which takes less than a byte here. Other IDs take as
/// much as in any set.
package struct RecordSet: Sequence, Sendable {
  /// 64 IDs that differ in their lowest bits only, as a bit for each, by the first one.
  private var words: [RecordID: UInt64] = [:]
  package private(set) var count = 0

  private static let mask: UInt64 = 63

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package func contains(_ id: RecordID) -> Bool { (words[Self.first(id)] ?? 0) & Self.bit(id) != 0 }

  /// Inserts a record.
  ///
  /// - Returns: Whether the set did not contain it.
  @discardableResult
  package mutating func insert(_ id: RecordID) -> Bool {
    let isNew = Self.set(Self.bit(id), in: &words[Self.first(id), default: 0])
    if isNew { count += 1 }
    return isNew
  }

  package mutating func formUnion(_ ids: some Sequence<RecordID>) { for id in ids { insert(id) } }

  /// Returns an iterator over the records in ascending order.
  package func makeIterator() -> Iterator { Iterator(words) }

  package struct Iterator: IteratorProtocol {
    private let words: [RecordID: UInt64]
    private var firsts: IndexingIterator<[RecordID]>
    private var first = RecordID(high: 0, low: 0)
    private var rest: UInt64 = 0

    fileprivate init(_ words: [RecordID: UInt64]) {
      self.words = words
      firsts = words.keys.sorted().makeIterator()
    }

    package mutating func next() -> RecordID? {
      while rest == 0 {
        guard let next = firsts.next() else { return nil }
        (first, rest) = (next, words[next] ?? 0)
      }
      defer { rest &= rest - 1 }
      return RecordID(high: first.high, low: first.low | UInt64(rest.trailingZeroBitCount))
    }
  }

  private static func first(_ id: RecordID) -> RecordID { RecordID(high: id.high, low: id.low & ~mask) }

  private static func bit(_ id: RecordID) -> UInt64 { 1 << (id.low & mask) }

  private static func set(_ bit: UInt64, in word: inout UInt64) -> Bool {
    defer { word |= bit }
    return word & bit == 0
  }
}
