// AttributeChecker: an attribute's type, range and bounds checked against a value, with everything prepared once.
import Foundation

/// Why a value does not fit an attribute.
public enum AttributeFailure: Sendable, Hashable {
  /// There is no value, and the attribute is required.
  case missing
  /// The value is of another kind than the attribute's type.
  case wrongType
  /// The floating-point number or decimal is not a number.
  case notANumber
  /// The date is infinite, or not a number.
  case invalidDate
  /// The integer does not fit into the 16 or 32 bits of the attribute's type.
  case integerOutOfRange
  /// The number is below the minimum.
  case numberTooSmall
  /// The number is above the maximum.
  case numberTooLarge
  /// The date is before the minimum.
  case dateTooEarly
  /// The date is after the maximum.
  case dateTooLate
  /// The string has fewer characters than the least length.
  case stringTooShort
  /// The string has more characters than the greatest length.
  case stringTooLong
  /// The string does not match the pattern as a whole.
  case patternMismatch
}

/// Checks values of one attribute. Each compiled attribute has one checker.
///
/// Lengths count characters, as `String.count` does. A pattern is an ICU regular expression that the whole string must match. Decimals are compared
/// exactly. NaN is a failure, except for a transient attribute, which no store keeps; dates must be finite.
public final class AttributeChecker: Sendable {
  private let type: AttributeType
  private let isOptional: Bool
  private let isTransient: Bool
  private let validation: AttributeValidation
  private let hasBounds: Bool
  private let expression: NSRegularExpression?

  /// Prepares the checks of an attribute. A pattern that does not compile, which validation of the model reports, is not checked.
  public init(_ attribute: AttributeDescription) {
    type = attribute.type
    isOptional = attribute.isOptional
    isTransient = attribute.isTransient
    validation = attribute.validation
    hasBounds = !attribute.validation.isEmpty
    expression = attribute.validation.pattern.flatMap { Self.expression(forWhole: $0) }
  }

  /// The expression that matches whole strings only; nil when the pattern does not compile.
  static func expression(forWhole pattern: String) -> NSRegularExpression? {
    // The pattern must be one on its own too: `a)|(b` is not.
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
  }

  /// The first reason why the value may not be saved; nil when it may. A missing value passes every bound.
  public func failure(of slot: Slot) -> AttributeFailure? {
    if case .null = slot { return isOptional ? nil : .missing }
    if let failure = Self.typeFailure(of: slot, type: type) ?? numberFailure(of: slot) { return failure }
    return hasBounds ? boundFailure(of: slot) : nil
  }

  /// Whether a value is one of an attribute type at all, bounds aside; nil when it is. Null is a value of every type.
  public static func typeFailure(of slot: Slot, type: AttributeType) -> AttributeFailure? {
    switch type.mismatch(of: slot) {
    case nil: nil
    case .outOfRange: .integerOutOfRange
    case .wrongType: .wrongType
    }
  }

  /// Whether a number is a value that stores keep. A transient attribute may be NaN, if it has no bounds.
  private func numberFailure(of slot: Slot) -> AttributeFailure? {
    switch slot {
    case .real(let value) where !value.isFinite:
      if type == .date { return .invalidDate }
      return value.isNaN && (hasBounds || !isTransient) ? .notANumber : nil
    case .bytes(let data) where type == .decimal:
      return DecimalCoding.isNaN(data) && (hasBounds || !isTransient) ? .notANumber : nil
    default: return nil
    }
  }

  private func boundFailure(of slot: Slot) -> AttributeFailure? {
    switch slot {
    case .null: return nil
    case .int(let value):
      if case .int(let bound)? = validation.minimum, value < bound { return .numberTooSmall }
      if case .int(let bound)? = validation.maximum, value > bound { return .numberTooLarge }
      return nil
    case .real(let value):
      if case .real(let bound)? = validation.minimum, !(value >= bound) { return type == .date ? .dateTooEarly : .numberTooSmall }
      if case .real(let bound)? = validation.maximum, !(value <= bound) { return type == .date ? .dateTooLate : .numberTooLarge }
      return nil
    case .bytes(let data):
      // The bytes of decimals are ordered as the numbers are.
      guard type == .decimal else { return nil }
      if case .bytes(let bound)? = validation.minimum, data.lexicographicallyPrecedes(bound) { return .numberTooSmall }
      if case .bytes(let bound)? = validation.maximum, bound.lexicographicallyPrecedes(data) { return .numberTooLarge }
      return nil
    case .text(let text): return textFailure(of: text)
    }
  }

  private func textFailure(of text: String) -> AttributeFailure? {
    // A string has at most as many characters as UTF-8 bytes, so that most strings need no counting.
    let bytes = text.utf8.count
    if let least = validation.minimumLength, bytes < least || text.count < least { return .stringTooShort }
    if let most = validation.maximumLength, bytes > most, text.count > most { return .stringTooLong }
    if let expression, expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) == nil {
      return .patternMismatch
    }
    return nil
  }
}
