/// A set of row keys. 64 consecutive keys share a word, so a set of dense keys takes less than a byte for each.
package struct RowKeySet: Sendable {
  private var words: [Int64: UInt64] = [:]
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package func contains(_ key: Int64) -> Bool { words[key >> 6].map { $0 & Self.bit(key) != 0 } ?? false }

  /// Inserts a key.
  ///
  /// - Returns: Whether the set did not contain it.
  @discardableResult
  package mutating func insert(_ key: Int64) -> Bool {
    let isNew = Self.set(Self.bit(key), of: &words[key >> 6, default: 0])
    if isNew { count += 1 }
    return isNew
  }

  /// Calls a closure with each key, in ascending order.
  package func forEach(_ body: (Int64) throws -> Void) rethrows {
    for index in words.keys.sorted() {
      guard var word = words[index] else { continue }
      while word != 0 {
        try body(index << 6 + Int64(word.trailingZeroBitCount))
        word &= word - 1
      }
    }
  }

  /// Calls a closure with the keys in ascending order, in lists of limited length.
  package func forEachList(_ body: (ArraySlice<Int64>) throws -> Void) rethrows {
    var list: [Int64] = []
    list.reserveCapacity(min(count, Self.listLength))
    try forEach { key in
      list.append(key)
      guard list.count == Self.listLength else { return }
      try body(list[...])
      list.removeAll(keepingCapacity: true)
    }
    if !list.isEmpty { try body(list[...]) }
  }

  private static var listLength: Int { 1 << 16 }

  @inline(__always) private static func bit(_ key: Int64) -> UInt64 { 1 << UInt64(key & 63) }

  @inline(__always) private static func set(_ bit: UInt64, of word: inout UInt64) -> Bool {
    defer { word |= bit }
    return word & bit == 0
  }
}
