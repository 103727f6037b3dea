// AttributeTypeChange: how stored values of one attribute type become values of another.
import Foundation

/// How stored values follow a change of their attribute's type.
package struct AttributeTypeChange: Sendable, Hashable {
  /// What has to be true of every stored value; nil where each has a counterpart.
  package let condition: String?
  /// Whether values are held in another way, or rounded, so that rows are written.
  package let writesValues: Bool
}

extension AttributeType {
  /// How stored values become values of another type in a migration that is inferred; nil where they cannot.
  ///
  /// Numbers become numbers of any other type, and URIs become strings. A value that the newer type does not hold is never changed silently: whole numbers stay
  /// exactly what they are. Only fractions are rounded, to the nearest value, where the newer type is binary and shorter.
  package func change(to other: AttributeType) -> AttributeTypeChange? {
    if self == other || self == .uri && other == .string { return AttributeTypeChange(condition: nil, writesValues: false) }
    guard isNumber, other.isNumber else { return nil }
    return AttributeTypeChange(
      condition: condition(of: other), writesValues: slotKind != other.slotKind || self == .double && other == .float)
  }

  /// A stored value as one of another type; nil where that type has none for it. Null stays null.
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

  /// A number that was recorded under another type, as one of this type where it has one; any other value is itself.
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

  /// The integers of an integer type.
  private var integers: ClosedRange<Int64>? {
    switch self {
    case .integer16: Int64(Int16.min)...Int64(Int16.max)
    case .integer32: Int64(Int32.min)...Int64(Int32.max)
    case .integer64: Int64.min...Int64.max
    case .boolean: 0...1
    default: nil
    }
  }

  /// The greatest integer up to which a binary type holds all of them.
  private var greatestExact: Int64 { self == .float ? 1 << 24 : 1 << 53 }

  private func condition(of other: AttributeType) -> String? {
    if let integers {
      if let newer = other.integers {
        if newer.contains(integers.lowerBound), newer.contains(integers.upperBound) { return nil }
        return other == .boolean ? "every value is 0 or 1" : "every value is one of \(other.rawValue)"
      }
      guard other != .decimal, integers.upperBound > other.greatestExact else { return nil }
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
      // Neither to infinity nor to zero.
      return value.isFinite && !float.isFinite || float == 0 && value != 0 ? nil : .real(Double(float))
    case .decimal:
      // The shortest decimal that reads as the value: a Double that was set to 0.1 becomes 0.1.
      let decimal = isFloat ? DecimalCoding.decimal(shortest: Float(value)) : DecimalCoding.decimal(shortest: value)
      return decimal.map { .bytes(DecimalCoding.encode($0)) }
    default: return Int64(exactly: value).flatMap { slot(from: $0) }
    }
  }

  private func slot(from value: Decimal) -> Slot? {
    // The description is exact, without an exponent.
    let text = value.description
    switch self {
    case .double: return Double(text).flatMap { $0.isFinite ? .real($0) : nil }
    case .float: return Float(text).flatMap { $0.isFinite && ($0 != 0 || value == 0) ? .real(Double($0)) : nil }
    case .decimal: return .bytes(DecimalCoding.encode(value))
    default: return Int64(text).flatMap { slot(from: $0) }
    }
  }
}
