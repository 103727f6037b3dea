import ObjectModel

/// Formats values as SQL text. Used only for conditions of partial indexes, whose constants come from the model.
enum SQLLiteral {
  static func text(_ slot: Slot) -> String {
    switch slot {
    case .null: "NULL"
    case .int(let value): value == .min ? "(-9223372036854775807 - 1)" : String(value)
    case .real(let value): value.isFinite ? "\(value)" : value > 0 ? "9e999" : "-9e999"
    case .text(let value):
      // A NUL character would end the statement.
      value.utf8.contains(0)
        ? "CAST(x'\(value.utf8.map(hex).joined())' AS TEXT)" : "'\(value.replacing("'", with: "''"))'"
    case .bytes(let value): "x'\(value.map(hex).joined())'"
    }
  }

  private static func hex(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return text.count == 1 ? "0" + text : text
  }
}
