// SlotComparison: the order of two stored values, exactly.
package import ObjectModel
package import Foundation

/// The order of stored values that are there (``Slot/null`` and NaN are "no value": callers tell them by ``isMissing(_:)`` first).
package enum SlotComparison {
  /// Whether a slot has no value: null, or a floating-point number that is not a number, which SQLite keeps as NULL.
  package static func isMissing(_ slot: Slot) -> Bool {
    switch slot {
    case .null: true
    case .real(let value): value.isNaN
    default: false
    }
  }

  /// The order of two values: negative, zero or positive.
  ///
  /// Numbers compare exactly whatever their kinds (no integer is rounded to compare it with a double), text and bytes by their bytes; values of
  /// different kinds, which no resolved predicate compares, in the order number, text, bytes, as SQLite does.
  package static func compare(_ left: Slot, _ right: Slot) -> Int {
    switch (left, right) {
    case (.int(let left), .int(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.real(let left), .real(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.int(let left), .real(let right)): compare(left, right)
    case (.real(let left), .int(let right)): -compare(right, left)
    case (.text(let left), .text(let right)): TextMatching.compare(left, right)
    case (.bytes(let left), .bytes(let right)): compare(left, right)
    default: rank(left) - rank(right)
    }
  }

  /// The order of an integer and a double, which is not NaN, without rounding.
  package static func compare(_ left: Int64, _ right: Double) -> Int {
    if right >= 0x1p63 { return -1 }
    if right < -0x1p63 { return 1 }
    // Inside the range the double's integer part converts exactly.
    let whole = right.rounded(.towardZero)
    let integer = Int64(whole)
    if left != integer { return left < integer ? -1 : 1 }
    let fraction = right - whole
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  /// The order of two numbers of which some may be coded decimals. A double counts as the shortest decimal that reads back as it, also if decimals do not
  /// hold that.
  package static func compareMixedDecimals(_ left: Slot, _ right: Slot) -> Int {
    switch (left, right) {
    case (.bytes(let left), .int(let right)): compare(left, DecimalCoding.encode(Decimal(right)))
    case (.int(let left), .bytes(let right)): compare(DecimalCoding.encode(Decimal(left)), right)
    case (.bytes(let left), .real(let right)): compare(left, right)
    case (.real(let left), .bytes(let right)): -compare(right, left)
    default: compare(left, right)
    }
  }

  /// The order of a coded decimal and a double.
  private static func compare(_ left: Data, _ right: Double) -> Int {
    if let right = DecimalCoding.encode(shortest: right) { return compare(left, right) }
    // A stored decimal that is NaN is less than every number.
    return right > 0 || DecimalCoding.isNaN(left) ? -1 : 1
  }

  /// A number as a decimal; nil for what is none or lies outside decimals' range.
  package static func decimal(of slot: Slot) -> Decimal? {
    switch slot {
    case .int(let value): Decimal(value)
    case .real(let value): DecimalCoding.decimal(shortest: value)
    case .bytes(let data): DecimalCoding.decode(data)
    case .null, .text: nil
    }
  }

  /// The order of bytes, a prefix first.
  package static func compare(_ left: Data, _ right: Data) -> Int {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        TextMatching.compare(left.assumingMemoryBound(to: UInt8.self), right.assumingMemoryBound(to: UInt8.self))
      }
    }
  }

  private static func rank(_ slot: Slot) -> Int {
    switch slot {
    case .null: 0
    case .int, .real: 1
    case .text: 2
    case .bytes: 3
    }
  }
}
