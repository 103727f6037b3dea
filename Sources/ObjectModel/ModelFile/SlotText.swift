import Foundation

/// Converts default values and bounds between slots and the text in model files.
enum SlotText {
  /// Returns the text of a value of a type; nil if the value is null.
  @_optimize(none) static func text(_ slot: Slot, type: AttributeType) -> String? {
    let traits = type.traits
    switch (slot, traits.resolvedType) {
    case (.null, _): return nil
    case (.int(let value), .boolean): return value == 0 ? "NO" : "YES"
    case (.int(let value), _): return String(value)
    case (.real(let value), _) where traits.number == .single:
      let narrow = Float(value)
      return Double(narrow) == value ? number("\(narrow)") : number("\(value)")
    case (.real(let value), _): return number("\(value)")
    case (.text(let value), _): return value
    case (.bytes(let data), .decimal):
      return DecimalCoding.decode(data).map { NSDecimalNumber(decimal: $0).description(withLocale: Locale(identifier: "en_US_POSIX")) }
    case (.bytes, .uuid): return UUID(slot: slot)?.uuidString
    case (.bytes(let data), _): return data.base64EncodedString()
    }
  }

  /// Returns the value of a text; nil if it is not a value of the type.
  @_optimize(none) static func slot(_ text: String, type: AttributeType) -> Slot? {
    switch type.traits.resolvedType {
    // Editors occasionally write whole numbers as `1.0`.
    case .integer: (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }).map { .int($0) }
    case .boolean: boolean(text).map { .int($0 ? 1 : 0) }
    case .real where type.traits.number == .single: Float(text)?.slot
    case .real, .date: Double(text)?.slot
    case .decimal: decimal(text).map(\.slot)
    case .text, .uri: .text(text)
    case .uuid: UUID(uuidString: text).map(\.slot)
    case .binary, .opaque: type.slotKind == .bytes ? Data(base64Encoded: text).map { .bytes($0) } : nil
    case .object, .entity: nil
    }
  }

  /// Returns the substitute for an invalid value, as in Core Data: the number at the beginning of the text or 0, NO, or null for other
  /// types.
  @_optimize(none) static func substitute(for text: String, type: AttributeType) -> Slot {
    let number = leadingNumber(of: text) ?? 0
    switch type.traits.number {
    case .integer(let range):
      guard type.isInteger, let whole = Int64(exactly: number.rounded(.towardZero)), range.contains(whole) else { return .int(0) }
      return .int(whole)
    case .double: return .real(number)
    case .single: return .real(Double(Float(number)))
    case .decimal: return (decimal("\(number)") ?? 0).slot
    case nil: return .null
    }
  }

  /// Returns the boolean for a spelling of YES or NO, or for a number, where 0 is NO; nil for other texts.
  static func boolean(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "y", "t": true
    case "no", "false", "n", "f": false
    default: Double(text).flatMap { $0.isNaN ? nil : $0 != 0 }
    }
  }

  /// Returns the finite number at the beginning of a text; nil if there is none.
  static func leadingNumber(of text: String) -> Double? {
    let number = text.drop(while: \.isWhitespace).prefix(64).prefix { $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }
    // The longest prefix that is a number: `1.2.3` begins with 1.2.
    return number.indices.reversed().lazy.compactMap { Double(number[...$0]) }.first { $0.isFinite }
  }

  /// Returns the decimal for a text of digits, sign, point and exponent; nil for other characters.
  @_optimize(none) private static func decimal(_ text: String) -> Decimal? {
    let allowed = text.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "e"),
        UInt8(ascii: "E"):
        true
      default: false
      }
    }
    guard allowed, !text.isEmpty, text.utf8.count <= 400 else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }

  /// Removes the fraction of a whole number: `1` instead of `1.0`.
  private static func number(_ text: String) -> String {
    text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
