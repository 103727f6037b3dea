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
    if keepsValues(as: other) { return AttributeTypeChange(condition: nil, writesValues: false) }
    guard let number = traits.number, let newer = other.traits.number else { return nil }
    return AttributeTypeChange(
      condition: condition(number, newer, of: other),
      writesValues: slotKind != other.slotKind || number == .double && newer == .single)
  }

  /// Converts a stored value to another type; nil if that type cannot hold it. Null stays null.
  package func converted(_ slot: Slot, to other: AttributeType) -> Slot? {
    if slot.isNull || keepsValues(as: other) { return slot }
    guard let number = traits.number, let newer = other.traits.number else { return nil }
    switch slot {
    case .int(let value): return newer.slot(from: value)
    case .real(let value): return newer.slot(from: value, isFloat: number == .single)
    case .bytes(let data): return DecimalCoding.decode(data).flatMap { $0.isNaN ? nil : newer.slot(from: $0) }
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
    guard traits.number != nil, let older, older.slotKind != slotKind else { return slot }
    return older.converted(slot, to: self) ?? slot
  }

  /// Returns whether every value is also a value of another type.
  private func keepsValues(as other: AttributeType) -> Bool {
    self == other || traits.resolvedType == .uri && other.traits.resolvedType == .text
  }

  private func condition(_ older: NumberForm, _ newer: NumberForm, of other: AttributeType) -> String? {
    switch (older, newer) {
    case (.integer(let integers), .integer(let range)):
      if range.contains(integers.lowerBound), range.contains(integers.upperBound) { return nil }
    case (.integer(let integers), _):
      guard let maximum = newer.maximumExactInteger, integers.upperBound > maximum else { return nil }
      return "\(other.rawValue) holds every value exactly"
    case (_, .decimal): return "every value is finite and within the range of Decimal"
    case (_, .double): return older == .decimal ? "every value is a number; fractions are rounded to a Double" : nil
    case (_, .single): return "every value is within the range of Float; it is rounded to one"
    case (_, .integer): break
    }
    if other.traits.resolvedType == .boolean { return "every value is 0 or 1" }
    return traits.resolvedType == .integer || traits.resolvedType == .boolean
      ? "every value is one of \(other.rawValue)" : "every value is a whole number of \(other.rawValue)"
  }
}

extension NumberForm {
  /// The largest integer up to which a binary floating-point form represents all integers; nil for other forms.
  fileprivate var maximumExactInteger: Int64? {
    switch self {
    case .single: 1 << 24
    case .double: 1 << 53
    case .integer, .decimal: nil
    }
  }

  fileprivate func slot(from value: Int64) -> Slot? {
    switch self {
    case .double: Double(exactly: value).map { .real($0) }
    case .single: Float(exactly: value).map { .real(Double($0)) }
    case .decimal: .bytes(DecimalCoding.encode(Decimal(value)))
    case .integer(let range): range.contains(value) ? .int(value) : nil
    }
  }

  fileprivate func slot(from value: Double, isFloat: Bool) -> Slot? {
    switch self {
    case .double: return .real(value)
    case .single:
      let float = Float(value)
      // Reject overflow to infinity and underflow to zero.
      return value.isFinite && !float.isFinite || float == 0 && value != 0 ? nil : .real(Double(float))
    case .decimal:
      // The shortest decimal that parses as the value: a Double set to 0.1 becomes 0.1.
      return (isFloat ? DecimalCoding.encode(representable: Float(value)) : DecimalCoding.encode(representable: value)).map { .bytes($0) }
    case .integer: return Int64(exactly: value).flatMap { slot(from: $0) }
    }
  }

  fileprivate func slot(from value: Decimal) -> Slot? {
    // The description is exact and has no exponent.
    let text = value.description
    switch self {
    case .double: return Double(text).flatMap { $0.isFinite ? .real($0) : nil }
    case .single: return Float(text).flatMap { $0.isFinite && ($0 != 0 || value == 0) ? .real(Double($0)) : nil }
    case .decimal: return .bytes(DecimalCoding.encode(value))
    case .integer: return Int64(text).flatMap { slot(from: $0) }
    }
  }
}
