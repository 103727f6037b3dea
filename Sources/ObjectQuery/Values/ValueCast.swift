import Foundation
import ObjectModel

/// Type conversions for CAST of values that are known only when objects are read. A value that cannot be converted becomes null.
enum ValueCast {
  private static let posix = Locale(identifier: "en_US_POSIX")

  /// Returns a decimal as text, without an exponent.
  static func text(of value: Decimal) -> String { NSDecimalNumber(decimal: value).description(withLocale: posix) }

  /// Returns the decimal that the whole text represents: digits with an optional sign, decimal point and exponent.
  static func decimal(_ text: String) -> Decimal? {
    guard isNumber(text), let value = Decimal(string: text, locale: posix), !value.isNaN else { return nil }
    return value
  }

  static func real(_ text: String) -> Slot? {
    guard isNumber(text), let value = Double(text), value.isFinite else { return nil }
    return .real(value)
  }

  private static func isNumber(_ text: String) -> Bool {
    var hasDigits = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigits = true
      case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): break
      default: return false
      }
    }
    // `Decimal` and `Double` differ: both parsers accept a prefix or reject text that the other accepts. The rule of `Double` applies.
    return hasDigits && Double(text) != nil
  }
}
