/// A set of slot numbers. Entities with up to 64 slots need no heap memory.
public struct SlotMask: Sendable, Hashable {
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: [UInt64] = []

  /// Creates an empty set.
  @inlinable public init() {}

  /// Creates a set of slots below 64 from a bit mask.
  package init(low: UInt64) { self.low = low }

  /// Whether the set is empty.
  @inlinable public var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  /// Returns whether a slot is in the set.
  @inlinable public func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low &>> UInt64(slot) & 1 != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] &>> UInt64(slot % 64) & 1 != 0
  }

  /// Adds a slot.
  @inlinable public mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 &<< UInt64(slot)
    } else {
      let word = slot / 64 - 1
      while high.count <= word { high.append(0) }
      high[word] |= 1 &<< UInt64(slot % 64)
    }
  }

  /// Removes a slot.
  @inlinable public mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 &<< UInt64(slot))
    } else if slot / 64 - 1 < high.count {
      high[slot / 64 - 1] &= ~(1 &<< UInt64(slot % 64))
    }
  }

  /// Returns whether the sets have a slot in common.
  package func intersects(_ other: SlotMask) -> Bool {
    low & other.low != 0 || zip(high, other.high).contains { $0 & $1 != 0 }
  }

  /// Returns whether the set contains a slot that is not in another set.
  package func hasMore(than other: SlotMask) -> Bool {
    low & ~other.low != 0 || high.enumerated().contains { $1 & ~($0 < other.high.count ? other.high[$0] : 0) != 0 }
  }

  /// Adds the slots of another set.
  public mutating func formUnion(_ other: SlotMask) {
    low |= other.low
    for (word, bits) in other.high.enumerated() {
      if word < high.count { high[word] |= bits } else { high.append(bits) }
    }
  }

  /// Returns the slots of the set below a bound, in order.
  public func slots(below count: Int) -> [Int] { (0..<count).filter(contains) }
}
