import ObjectModel

/// A set of keys of one entity tree. Low keys, which are typical of nearly every store, take one bit each.
package struct KeySet {
  /// The bits cover 2²² keys, and then take 512 KiB.
  private static let bitLimit: Int64 = 1 << 22

  private var bits: ContiguousArray<UInt64> = []
  private var others: Set<Int64> = []

  package init() {}

  /// Inserts a key; returns `false` if the set already contains it.
  @discardableResult
  @inline(__always) package mutating func insert(_ key: Int64) -> Bool {
    guard key >= 0, key < Self.bitLimit else { return others.insert(key).inserted }
    let word = Int(key >> 6)
    if word >= bits.count { grow(to: word) }
    let bit: UInt64 = 1 << UInt64(key & 63)
    if bits[word] & bit != 0 { return false }
    bits[word] |= bit
    return true
  }

  private mutating func grow(to word: Int) {
    // Doubled, so that ascending keys do not copy the bits each time.
    let count = min(max(word + 1, bits.count * 2, 8), Int(Self.bitLimit >> 6))
    bits.append(contentsOf: repeatElement(0, count: count - bits.count))
  }

  package mutating func removeAll() {
    bits = []
    others = []
  }
}
