package import Foundation
package import ObjectModel

/// The order of stored values. ``Slot/null`` and NaN are missing values, which callers exclude with ``isMissing(_:)`` first.
package enum SlotComparison {
  /// Returns whether a slot has no value: null or NaN, which SQLite stores as NULL.
  package static func isMissing(_ slot: Slot) -> Bool {
    switch slot {
    case .null: true
    case .real(let value): value.isNaN
    default: false
    }
  }

  /// Returns the order of two values: negative, zero or positive.
  ///
  /// Numbers of all kinds compare exactly: no integer is rounded to compare it with a double. Text and bytes compare byte by byte. Values
  /// of different kinds, which no resolved predicate compares, are ordered as in SQLite: numbers, text, bytes.
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

  /// Returns the order of an integer and a double other than NaN, without rounding.
  package static func compare(_ left: Int64, _ right: Double) -> Int {
    if right >= 0x1p63 { return -1 }
    if right < -0x1p63 { return 1 }
    // Within this range the double's integer part converts exactly.
    let whole = right.rounded(.towardZero)
    let integer = Int64(whole)
    if left != integer { return left < integer ? -1 : 1 }
    let fraction = right - whole
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  /// Returns the order of two numbers that may be coded decimals. A double is compared as the shortest decimal that parses to it, even if it is outside
  /// the range of decimals.
  package static func compareMixedDecimals(_ left: Slot, _ right: Slot) -> Int {
    switch (left, right) {
    case (.bytes(let left), .int(let right)): compare(left, DecimalCoding.encode(Decimal(right)))
    case (.int(let left), .bytes(let right)): compare(DecimalCoding.encode(Decimal(left)), right)
    case (.bytes(let left), .real(let right)): compare(left, right)
    case (.real(let left), .bytes(let right)): -compare(right, left)
    default: compare(left, right)
    }
  }

  /// Returns the order of a coded decimal and a double.
  private static func compare(_ left: Data, _ right: Double) -> Int {
    if let right = DecimalCoding.encode(shortest: right) { return compare(left, right) }
    // A stored decimal that is NaN is less than every number.
    return right > 0 || DecimalCoding.isNaN(left) ? -1 : 1
  }

  /// Returns a number as a decimal; nil if it is not a number or outside the range of decimals.
  package static func decimal(of slot: Slot) -> Decimal? {
    switch slot {
    case .int(let value): Decimal(value)
    case .real(let value): DecimalCoding.decimal(shortest: value)
    case .bytes(let data): DecimalCoding.decode(data)
    case .null, .text: nil
    }
  }

  /// Returns the order of two byte sequences. A prefix comes first.
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

/// The in-memory order of objects by a resolved fetch's sort keys.
package struct ObjectOrder<Resolver: ObjectResolver> {
  private let keys: [ResolvedSortKey]
  private let evaluator: PredicateEvaluator<Resolver>

  /// Creates the order of a resolved fetch.
  package init(_ fetch: ResolvedFetch, resolver: Resolver) {
    keys = fetch.sortKeys
    evaluator = PredicateEvaluator(predicate: .constant(true), constants: fetch.constants, resolver: resolver)
  }

  /// Returns the values that an object is sorted by.
  package func values(of object: Resolver.Object) throws -> [Slot] {
    try keys.map { try evaluator.value(of: $0.expression, for: object) }
  }

  /// Returns the order of two objects' values: negative, zero or positive.
  package func compare(_ left: [Slot], _ right: [Slot]) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[index], right[index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return 0
  }

  /// Returns the objects in order. The sort is stable, and reads each object's values once.
  package func sorted(_ objects: [Resolver.Object]) throws -> [Resolver.Object] {
    guard !keys.isEmpty else { return objects }
    let rows = try objects.enumerated().map { (position: $0, object: $1, values: try values(of: $1)) }
    return rows.sorted { left, right in
      let order = compare(left.values, right.values)
      return order == 0 ? left.position < right.position : order < 0
    }.map(\.object)
  }
}

/// The order of two values of one attribute in sort keys.
package enum SlotOrder {
  /// Returns the order of two values: negative, zero or positive. A missing value comes first. Strings that compare as equal are ordered by
  /// their bytes.
  package static func compare(_ left: Slot, _ right: Slot, by textOrder: TextOrder = .binary) -> Int {
    switch (SlotComparison.isMissing(left), SlotComparison.isMissing(right)) {
    case (true, true): return 0
    case (true, false): return -1
    case (false, true): return 1
    case (false, false): break
    }
    guard textOrder != .binary, case .text(let first) = left, case .text(let second) = right else {
      return SlotComparison.compare(left, right)
    }
    return textOrder.compare(first, second)
  }
}
