import Foundation
package import ObjectModel

/// Computes an aggregate over values, for the evaluator and for stores' SQL functions. The result does not depend on the order of the
/// values.
package struct Statistic: Sendable {
  private let function: ResolvedAggregate.Function
  private var count: Int64 = 0
  private var integers = IntegerSum()
  private var reals = ExactSum()
  private var hasReals = false
  /// All values, for functions that need them.
  private var values: [Slot] = []
  private var best: Slot = .null

  /// Creates an aggregate without values.
  package init(_ function: ResolvedAggregate.Function) { self.function = function }

  /// Adds a value. Missing values are ignored.
  package mutating func add(_ value: Slot) {
    guard !SlotComparison.isMissing(value) else { return }
    count += 1
    switch function {
    case .count: break
    case .only: if count == 1 { best = value }
    case .minimum: if count == 1 || SlotComparison.compareMixedDecimals(value, best) < 0 { best = value }
    case .maximum: if count == 1 || SlotComparison.compareMixedDecimals(value, best) > 0 { best = value }
    case .median, .mode, .standardDeviation: values.append(value)
    case .sum, .average:
      switch value {
      case .int(let number): integers.add(number)
      case .real(let number):
        hasReals = true
        reals.add(number)
      case .bytes: values.append(value)
      case .null, .text: break
      }
    }
  }

  /// Adds values that were already counted and, for a sum or a mean, summed.
  package mutating func add(sum: Int64, ofValues number: Int64) {
    count += number
    integers.add(sum)
  }

  /// Whether no values were added.
  package var isEmpty: Bool { count == 0 }

  /// The result. Without values it is missing, except for the count, which is 0.
  ///
  /// A decimal sum or mean can be NaN, because of a NaN that older versions stored or because it is out of range. For doubles such a result
  /// is missing, since SQLite has no NaN.
  package var result: Slot {
    if function == .count { return .int(count) }
    guard count > 0 else { return .null }
    switch function {
    case .count, .only, .minimum, .maximum: return best
    case .sum:
      if !values.isEmpty { return .bytes(DecimalCoding.encode(decimalSum)) }
      if !hasReals, let total = integers.integer { return .int(total) }
      return Statistic.number(hasReals ? realSum : integers.double)
    case .average:
      if !values.isEmpty { return .bytes(DecimalCoding.encode(decimalSum / Decimal(count))) }
      return Statistic.number((hasReals ? realSum : integers.double) / Double(count))
    case .median: return median
    case .mode: return mode
    case .standardDeviation: return deviation
    }
  }

  private var realSum: Double {
    var total = reals
    if let integer = integers.integer {
      // Both halves are exact.
      total.add(Double(integer >> 32) * 0x1p32)
      total.add(Double(integer & 0xFFFF_FFFF))
    } else {
      total.add(integers.double)
    }
    return total.value
  }

  /// The sum of decimals, added in sorted order because each addition may round. Numbers of other kinds are added as decimals.
  private var decimalSum: Decimal {
    var total = Decimal(0)
    for value in sorted { total += SlotComparison.decimal(of: value) ?? .nan }
    if hasReals { return total + (DecimalCoding.decimal(shortest: realSum) ?? .nan) }
    return total + (integers.integer.map { Decimal($0) } ?? DecimalCoding.decimal(shortest: integers.double) ?? .nan)
  }

  private var sorted: [Slot] { values.sorted { SlotComparison.compareMixedDecimals($0, $1) < 0 } }

  private var median: Slot {
    let values = sorted
    var middle = Statistic(.average)
    middle.add(values[(values.count - 1) / 2])
    middle.add(values[values.count / 2])
    return middle.result
  }

  /// The most frequent value, or the smallest of several.
  private var mode: Slot {
    var (most, length): (Slot, Int) = (.null, 0)
    var run = 0
    var last: Slot = .null
    for value in sorted {
      run = run > 0 && SlotComparison.compareMixedDecimals(last, value) == 0 ? run + 1 : 1
      last = value
      if run > length { (most, length) = (value, run) }
    }
    return most
  }

  /// The population standard deviation.
  private var deviation: Slot {
    let numbers = values.compactMap { ExpressionFunctions.double($0) }
    var total = ExactSum()
    for number in numbers { total.add(number) }
    let mean = total.value / Double(numbers.count)
    var squares = ExactSum()
    for number in numbers { squares.add((number - mean) * (number - mean)) }
    return Statistic.number((squares.value / Double(numbers.count)).squareRoot())
  }

  private static func number(_ value: Double) -> Slot { value.isNaN ? .null : .real(value) }
}

extension ResolvedAggregate.Function {
  /// Returns the result of the function without values of a type.
  package func emptyResult(of type: ResolvedType) -> Slot {
    switch self {
    case .count: .int(0)
    case .sum:
      switch type {
      case .decimal: .bytes(DecimalCoding.encode(0))
      case .real: .real(0)
      default: .int(0)
      }
    default: .null
    }
  }

  /// Returns the type of the result for values of a type.
  package func type(of value: ResolvedType) -> ResolvedType {
    switch self {
    case .count: .integer
    case .average, .median: value == .decimal ? .decimal : .real
    case .standardDeviation: .real
    case .sum: value == .boolean ? .integer : value
    case .minimum, .maximum, .mode, .only: value
    }
  }

  /// Returns whether the function supports a type.
  package func accepts(_ type: ResolvedType) -> Bool {
    switch self {
    case .count, .only: true
    case .minimum, .maximum, .mode: type.isNumeric || [.text, .uri, .date].contains(type)
    case .sum, .average, .median, .standardDeviation: type.isNumeric
    }
  }
}

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
