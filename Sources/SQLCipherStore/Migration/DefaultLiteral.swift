import Foundation
import ObjectModel

/// Values of the model, not of the user, as SQL text.
enum DefaultLiteral {
  /// An expression with the value; NULL for none.
  static func text(_ slot: Slot) -> String {
    if case .real(let value) = slot { exact(value) } else { SQLLiteral.text(slot) }
  }

  /// The value as a plain literal, which a column's DEFAULT may be; nil where only an expression is exact.
  static func plain(_ slot: Slot) -> String? {
    switch slot {
    case .null: nil
    case .real(let value): isWhole(value) ? text(slot) : nil
    case .text(let value): value.utf8.contains(0) ? nil : text(slot)
    // The least number has no literal of its own.
    case .int(let value): value == .min ? nil : text(slot)
    case .bytes: text(slot)
    }
  }

  private static func isWhole(_ value: Double) -> Bool {
    value.rounded() == value && abs(value) < 1e15 && !(value == 0 && value.sign == .minus)
  }

  /// Old versions of SQLite read a decimal fraction with an error in the last bit; whole numbers and powers of two they do not.
  private static func exact(_ value: Double) -> String {
    if !value.isFinite { return value.isNaN ? "NULL" : value < 0 ? "-9e999" : "9e999" }
    if isWhole(value) { return "\(Int64(value)).0" }
    guard value != 0 else { return "-0.0" }
    var significand = value.significand.magnitude
    var exponent = Int(value.exponent)
    while significand != significand.rounded() {
      significand *= 2
      exponent -= 1
    }
    var text = "CAST(\(value < 0 ? "-" : "")\(Int64(significand)) AS REAL)"
    while exponent != 0 {
      let step = min(abs(exponent), 62)
      text += " \(exponent < 0 ? "/" : "*") CAST(\(Int64(1) << Int64(step)) AS REAL)"
      exponent += exponent < 0 ? step : -step
    }
    return "(\(text))"
  }
}
