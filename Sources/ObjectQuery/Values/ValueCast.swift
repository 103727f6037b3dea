// ValueCast: CAST of values that are not known before the objects are read.
import Foundation
import ObjectModel

/// Conversions of values that are there. What is no value of the type asked becomes no value.
enum ValueCast {
  private static let posix = Locale(identifier: "en_US_POSIX")

  /// A decimal as it is written, without an exponent.
  static func text(of value: Decimal) -> String { NSDecimalNumber(decimal: value).description(withLocale: posix) }

  /// The decimal that a whole text is: digits with a sign, a point and an exponent at most.
  static func decimal(_ text: String) -> Decimal? {
    guard isNumber(text), let value = Decimal(string: text, locale: posix), !value.isNaN else { return nil }
    return value
  }

  /// The finite number that a whole text is.
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
    // Both parsers take a prefix or refuse what the other takes; Double's rule holds.
    return hasDigits && Double(text) != nil
  }
}
