/// A compact set of row keys.
///
/// Keys that share all but their lowest 16 bits form a page. A page with few keys takes 2 bytes for each of them, any other one 8 KB: ten
/// million neighboring keys take 1.3 MB.
package struct RowKeySet: Sendable {
  private var pages: [Int64: Page] = [:]
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// The approximate size in memory, in bytes.
  package var byteCount: Int { pages.values.reduce(0) { $0 + $1.byteCount + MemoryLayout<(Int64, Page)>.stride } }

  package func contains(_ key: Int64) -> Bool { pages[key >> Page.bitCount]?.contains(UInt16(truncatingIfNeeded: key)) ?? false }

  /// Inserts a key.
  ///
  /// - Returns: Whether the set did not contain it.
  @discardableResult
  package mutating func insert(_ key: Int64) -> Bool {
    let isNew = pages[key >> Page.bitCount, default: Page()].insert(UInt16(truncatingIfNeeded: key))
    if isNew { count += 1 }
    return isNew
  }

  /// Calls a closure with each key, in ascending order.
  package func forEach(_ body: (Int64) throws -> Void) rethrows {
    for number in pages.keys.sorted() {
      let first = number << Page.bitCount
      try pages[number]?.forEach { try body(first + Int64($0)) }
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

  /// Calls a closure with ascending ranges that together contain all keys, and each at most a given number of them.
  package func forEachRange(of size: Int, _ body: (ClosedRange<Int64>) throws -> Void) rethrows {
    var (first, last, found): (Int64, Int64, Int) = (0, 0, 0)
    try forEach { key in
      if found == size {
        try body(first...last)
        found = 0
      }
      if found == 0 { first = key }
      (last, found) = (key, found + 1)
    }
    if found > 0 { try body(first...last) }
  }

  private static var listLength: Int { 1 << 16 }
}

extension RowKeySet {
  /// 65,536 neighboring keys, by their lowest 16 bits.
  private struct Page: Sendable {
    static let bitCount: Int64 = 16
    /// The maximum number of keys in a list. More keys take less memory as bits.
    private static let maximumListCount = 4_096
    /// The ascending keys, or one bit for each possible key.
    private var list: [UInt16] = []
    private var words: [UInt64] = []

    var byteCount: Int { list.capacity * 2 + words.capacity * 8 }

    func contains(_ key: UInt16) -> Bool {
      if !words.isEmpty { return words[Int(key >> 6)] & Self.bit(key) != 0 }
      let position = position(of: key)
      return position < list.count && list[position] == key
    }

    mutating func insert(_ key: UInt16) -> Bool {
      if !words.isEmpty { return set(key) }
      // Keys usually arrive in ascending order.
      if let last = list.last, last >= key {
        let position = position(of: key)
        if list[position] == key { return false }
        list.insert(key, at: position)
      } else {
        list.append(key)
      }
      guard list.count > Self.maximumListCount else { return true }
      words = Array(repeating: 0, count: 1 << (Self.bitCount - 6))
      for key in list { _ = set(key) }
      list = []
      return true
    }

    func forEach(_ body: (UInt16) throws -> Void) rethrows {
      for key in list { try body(key) }
      for (number, bits) in words.enumerated() {
        var rest = bits
        while rest != 0 {
          try body(UInt16(number << 6 + rest.trailingZeroBitCount))
          rest &= rest - 1
        }
      }
    }

    /// Returns the position of the first key in the list that is not less than a key.
    private func position(of key: UInt16) -> Int {
      var (low, high) = (0, list.count)
      while low < high {
        let middle = (low + high) / 2
        if list[middle] < key { low = middle + 1 } else { high = middle }
      }
      return low
    }

    private mutating func set(_ key: UInt16) -> Bool {
      let (word, bit) = (Int(key >> 6), Self.bit(key))
      defer { words[word] |= bit }
      return words[word] & bit == 0
    }

    @inline(__always) private static func bit(_ key: UInt16) -> UInt64 { 1 << UInt64(key & 63) }
  }
}
