import Foundation

/// The reason why a value is invalid for an attribute.
public enum AttributeFailure: Sendable, Hashable {
  /// A required value is missing.
  case missing
  /// The value's kind does not match the attribute's type.
  case wrongType
  /// The floating-point or decimal number is NaN.
  case notANumber
  /// The date is infinite or NaN.
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
  /// The string has fewer characters than the minimum length.
  case stringTooShort
  /// The string has more characters than the maximum length.
  case stringTooLong
  /// The string does not match the pattern as a whole.
  case patternMismatch
}

/// Validates values of one attribute. Each compiled attribute has one checker.
///
/// Lengths count characters, as `String.count` does. A pattern is an ICU regular expression that must match the whole string. Decimals are
/// compared exactly. NaN is invalid except for a transient attribute without bounds; dates must be finite.
public final class AttributeChecker: Sendable {
  private let traits: AttributeTypeTraits
  private let isOptional: Bool
  private let isTransient: Bool
  private let validation: AttributeValidation
  private let hasBounds: Bool
  private let expression: NSRegularExpression?

  /// Creates the checker of an attribute. A pattern that does not compile, which the validation of the model reports, is ignored.
  public init(_ attribute: AttributeDescription) {
    traits = attribute.type.traits
    isOptional = attribute.isOptional
    isTransient = attribute.isTransient
    validation = attribute.validation
    hasBounds = !attribute.validation.isEmpty
    expression = attribute.validation.pattern.flatMap { Self.expression(forWhole: $0) }
  }

  /// Returns an expression that matches whole strings only; nil if the pattern does not compile.
  static func expression(forWhole pattern: String) -> NSRegularExpression? {
    // The pattern must also be valid on its own: `a)|(b` is not.
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
  }

  /// Returns the first reason why a value cannot be saved; nil if it is valid. A missing optional value satisfies all bounds.
  public func failure(of slot: Slot) -> AttributeFailure? {
    if case .null = slot { return isOptional ? nil : .missing }
    if let failure = Self.typeFailure(of: slot, traits) ?? numberFailure(of: slot) { return failure }
    return hasBounds ? boundFailure(of: slot) : nil
  }

  /// Returns why a value does not match an attribute type, ignoring bounds; nil if it does. Null matches every type.
  public static func typeFailure(of slot: Slot, type: AttributeType) -> AttributeFailure? { typeFailure(of: slot, type.traits) }

  private static func typeFailure(of slot: Slot, _ traits: AttributeTypeTraits) -> AttributeFailure? {
    switch traits.mismatch(of: slot) {
    case nil: nil
    case .outOfRange: .integerOutOfRange
    case .wrongType: .wrongType
    }
  }

  /// Returns why a number cannot be stored. A transient attribute without bounds may be NaN.
  private func numberFailure(of slot: Slot) -> AttributeFailure? {
    switch slot {
    case .real(let value) where !value.isFinite:
      if traits.resolvedType == .date { return .invalidDate }
      return value.isNaN && (hasBounds || !isTransient) ? .notANumber : nil
    case .bytes(let data) where traits.resolvedType == .decimal:
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
      if case .real(let bound)? = validation.minimum, !(value >= bound) {
        return traits.resolvedType == .date ? .dateTooEarly : .numberTooSmall
      }
      if case .real(let bound)? = validation.maximum, !(value <= bound) {
        return traits.resolvedType == .date ? .dateTooLate : .numberTooLarge
      }
      return nil
    case .bytes(let data):
      // Encoded decimals are ordered like the numbers.
      guard traits.resolvedType == .decimal else { return nil }
      if case .bytes(let bound)? = validation.minimum, data.lexicographicallyPrecedes(bound) { return .numberTooSmall }
      if case .bytes(let bound)? = validation.maximum, bound.lexicographicallyPrecedes(data) { return .numberTooLarge }
      return nil
    case .text(let text): return textFailure(of: text)
    }
  }

  private func textFailure(of text: String) -> AttributeFailure? {
    // The number of UTF-8 bytes is an upper bound for the number of characters, so most strings need no counting.
    let bytes = text.utf8.count
    if let least = validation.minimumLength, bytes < least || text.count < least { return .stringTooShort }
    if let most = validation.maximumLength, bytes > most, text.count > most { return .stringTooLong }
    if let expression, expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) == nil {
      return .patternMismatch
    }
    return nil
  }
}
