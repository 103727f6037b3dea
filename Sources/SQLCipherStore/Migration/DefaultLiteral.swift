import Foundation
import ObjectModel

/// Formats default values of the model as SQL text.
enum DefaultLiteral {
  /// Returns an expression with exactly the value, or NULL if there is none.
  static func text(_ slot: Slot) -> String {
    if case .real(let value) = slot { exact(value) } else { SQLLiteral.text(slot) }
  }

  /// Returns the value as a literal, as a column's DEFAULT requires, or `nil` if only an expression is exact.
  static func plain(_ slot: Slot) -> String? {
    switch slot {
    case .null: nil
    case .real(let value): isWhole(value) ? text(slot) : nil
    case .text(let value): value.utf8.contains(0) ? nil : text(slot)
    // SQL has no literal for `Int64.min`.
    case .int(let value): value == .min ? nil : text(slot)
    case .bytes: text(slot)
    }
  }

  private static func isWhole(_ value: Double) -> Bool {
    value.rounded() == value && abs(value) < 1e15 && !(value == 0 && value.sign == .minus)
  }

  /// Returns an exact expression. Old versions of SQLite can parse decimal fractions with an error in the last bit, but not whole numbers
  /// and powers of two.
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
