// KeySet: keys that were met, a bit for each.
import ObjectModel

/// Keys of one entity tree that were met on the way through many: a bit for each while keys are low, as they are in nearly every store.
package struct KeySet {
  /// 2²² keys lie in the bits, which then take 512 KiB.
  private static let bitLimit: Int64 = 1 << 22

  private var bits: ContiguousArray<UInt64> = []
  private var others: Set<Int64> = []

  package init() {}

  /// Notes a key; false when it was met before.
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
    // Twice as many, so that ascending keys do not copy what is there each time.
    let count = min(max(word + 1, bits.count * 2, 8), Int(Self.bitLimit >> 6))
    bits.append(contentsOf: repeatElement(0, count: count - bits.count))
  }

  /// Forgets all keys.
  package mutating func removeAll() {
    bits = []
    others = []
  }
}
