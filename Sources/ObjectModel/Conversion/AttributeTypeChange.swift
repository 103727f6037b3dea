import Foundation

/// The effect of a changed attribute type on stored values.
package struct AttributeTypeChange: Sendable, Hashable {
  /// The condition that all stored values must meet; nil if all values can be converted.
  package let condition: String?
  /// Whether values change their storage form or are rounded, so that rows must be rewritten.
  package let writesValues: Bool
}

extension AttributeType {
  /// Returns how an inferred migration converts stored values to another type; nil if it cannot.
  ///
  /// Numbers convert to any other numeric type, and URIs to strings. A value that the new type cannot hold is never changed silently: whole
  /// numbers stay exact. Only fractions are rounded, to the nearest value, if the new type is a shorter binary type.
  package func change(to other: AttributeType) -> AttributeTypeChange? {
    if self == other || self == .uri && other == .string { return AttributeTypeChange(condition: nil, writesValues: false) }
    guard isNumber, other.isNumber else { return nil }
    return AttributeTypeChange(
      condition: condition(of: other), writesValues: slotKind != other.slotKind || self == .double && other == .float)
  }

  /// Converts a stored value to another type; nil if that type cannot hold it. Null stays null.
  package func converted(_ slot: Slot, to other: AttributeType) -> Slot? {
    if slot.isNull || self == other || self == .uri && other == .string { return slot }
    guard isNumber, other.isNumber else { return nil }
    switch slot {
    case .int(let value): return other.slot(from: value)
    case .real(let value): return other.slot(from: value, isFloat: self == .float)
    case .bytes(let data): return DecimalCoding.decode(data).flatMap { $0.isNaN ? nil : other.slot(from: $0) }
    case .null, .text: return nil
    }
  }

  /// Converts a number that was recorded under another type to this type, if possible; returns any other value unchanged.
  package func adopting(_ slot: Slot) -> Slot {
    let older: AttributeType? =
      switch slot {
      case .int: .integer64
      case .real: .double
      case .bytes: .decimal
      case .null, .text: nil
      }
    guard isNumber, let older, older.slotKind != slotKind else { return slot }
    return older.converted(slot, to: self) ?? slot
  }

  private var isNumber: Bool { isNumeric || self == .boolean }

  private var integers: ClosedRange<Int64>? {
    switch self {
    case .integer16: Int64(Int16.min)...Int64(Int16.max)
    case .integer32: Int64(Int32.min)...Int64(Int32.max)
    case .integer64: Int64.min...Int64.max
    case .boolean: 0...1
    default: nil
    }
  }

  /// The largest integer up to which the binary floating-point type represents all integers.
  private var maximumExactInteger: Int64 { self == .float ? 1 << 24 : 1 << 53 }

  private func condition(of other: AttributeType) -> String? {
    if let integers {
      if let newer = other.integers {
        if newer.contains(integers.lowerBound), newer.contains(integers.upperBound) { return nil }
        return other == .boolean ? "every value is 0 or 1" : "every value is one of \(other.rawValue)"
      }
      guard other != .decimal, integers.upperBound > other.maximumExactInteger else { return nil }
      return "\(other.rawValue) holds every value exactly"
    }
    switch other {
    case .boolean: return "every value is 0 or 1"
    case .integer16, .integer32, .integer64: return "every value is a whole number of \(other.rawValue)"
    case .decimal: return "every value is finite and within the range of Decimal"
    case .double: return self == .decimal ? "every value is a number; fractions are rounded to a Double" : nil
    default: return "every value is within the range of Float; it is rounded to one"
    }
  }

  // MARK: Values

  private func slot(from value: Int64) -> Slot? {
    switch self {
    case .double: Double(exactly: value).map { .real($0) }
    case .float: Float(exactly: value).map { .real(Double($0)) }
    case .decimal: .bytes(DecimalCoding.encode(Decimal(value)))
    default: integers.flatMap { $0.contains(value) ? .int(value) : nil }
    }
  }

  private func slot(from value: Double, isFloat: Bool) -> Slot? {
    switch self {
    case .double: return .real(value)
    case .float:
      let float = Float(value)
      // Reject overflow to infinity and underflow to zero.
      return value.isFinite && !float.isFinite || float == 0 && value != 0 ? nil : .real(Double(float))
    case .decimal:
      // The shortest decimal that parses as the value: a Double set to 0.1 becomes 0.1.
      return (isFloat ? DecimalCoding.encode(representable: Float(value)) : DecimalCoding.encode(representable: value)).map { .bytes($0) }
    default: return Int64(exactly: value).flatMap { slot(from: $0) }
    }
  }

  private func slot(from value: Decimal) -> Slot? {
    // The description is exact and has no exponent.
    let text = value.description
    switch self {
    case .double: return Double(text).flatMap { $0.isFinite ? .real($0) : nil }
    case .float: return Float(text).flatMap { $0.isFinite && ($0 != 0 || value == 0) ? .real(Double($0)) : nil }
    case .decimal: return .bytes(DecimalCoding.encode(value))
    default: return Int64(text).flatMap { slot(from: $0) }
    }
  }
}
