import Foundation

/// A sum of floating-point numbers that is rounded once, so that it does not depend on their order.
///
/// It consists of numbers that do not overlap (Shewchuk's expansions). Large numbers are kept scaled to avoid intermediate overflow, so
/// that large numbers that cancel each other leave the small ones.
package struct ExactSum: Sendable {
  private var parts: [Double] = []
  private var largeParts: [Double] = []
  private var special: Double?

  private static let large = 0x1p900
  private static let scale = 0x1p-128

  package init() {}

  /// Adds a number.
  package mutating func add(_ value: Double) {
    guard value.isFinite else {
      special = (special ?? 0) + value
      return
    }
    if abs(value) < ExactSum.large {
      ExactSum.add(value, to: &parts)
    } else {
      ExactSum.add(value * ExactSum.scale, to: &largeParts)
    }
  }

  private static func add(_ value: Double, to parts: inout [Double]) {
    var value = value
    var kept = 0
    for part in parts {
      let (big, small) = abs(value) < abs(part) ? (part, value) : (value, part)
      let sum = big + small
      let rest = small - (sum - big)
      if rest != 0 {
        parts[kept] = rest
        kept += 1
      }
      value = sum
    }
    parts.removeSubrange(kept...)
    parts.append(value)
  }

  /// The sum; NaN if infinities cancel each other.
  package var value: Double {
    if let special { return special }
    var all = parts
    for part in largeParts where part != 0 {
      let unscaled = part / ExactSum.scale
      // Parts do not overlap, so one out of range determines the result.
      guard unscaled.isFinite else { return unscaled }
      ExactSum.add(unscaled, to: &all)
    }
    return ExactSum.rounded(all)
  }

  /// Returns the number nearest to the sum of parts that do not overlap, sorted from the smallest.
  private static func rounded(_ parts: [Double]) -> Double {
    var rest = parts
    guard var high = rest.popLast() else { return 0 }
    var low = 0.0
    while let part = rest.popLast() {
      let before = high
      high = before + part
      low = part - (high - before)
      if low != 0 { break }
    }
    // The next lower part decides ties.
    if let next = rest.last, (low < 0 && next < 0) || (low > 0 && next > 0) {
      let doubled = low * 2
      let candidate = high + doubled
      if doubled == candidate - high { high = candidate }
    }
    return high
  }
}

/// A sum of integers that cannot overflow. It sums the high and low 32 bits separately.
package struct IntegerSum: Sendable {
  private var high: Int64 = 0
  private var low: Int64 = 0

  package init() {}

  /// Creates a sum from separate sums of `>> 32` and `& 0xFFFFFFFF` of the integers.
  package init(high: Int64, low: Int64) {
    self.high = high
    self.low = low
  }

  /// Adds an integer.
  package mutating func add(_ value: Int64) {
    high += value >> 32
    low += value & 0xFFFF_FFFF
  }

  private var parts: (high: Int64, low: Int64) { (high &+ (low >> 32), low & 0xFFFF_FFFF) }

  /// The sum; nil if it does not fit in 64 bits.
  package var integer: Int64? {
    let (high, low) = parts
    return Int32(exactly: high).map { Int64($0) << 32 | low }
  }

  /// The sum as the nearest double.
  package var double: Double {
    let (high, low) = parts
    return Double(high) * 0x1p32 + Double(low)
  }
}
