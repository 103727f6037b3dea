/// A parser for dependency fields such as `a (>= 1) | b:any [amd64] <!nocheck>, c`.
package enum RelationField {
  /// A syntax error in a field.
  package struct SyntaxError: Error, Hashable {
    package var message: String
  }

  /// Parses a field, and passes the alternatives of each relation to a closure.
  ///
  /// Architecture qualifiers (`:any`), architecture lists (`[amd64]`), and build profiles (`<!nocheck>`) are parsed and ignored.
  package static func parse(_ field: ArraySlice<UInt8>, _ body: ([AlternativeRecord]) throws -> Void) throws {
    var scanner = Scanner(bytes: field, index: field.startIndex)
    var alternatives: [AlternativeRecord] = []
    while true {
      scanner.skipSpace()
      if scanner.take(0x2C) || scanner.isAtEnd {
        if !alternatives.isEmpty { throw SyntaxError(message: "The name of a package is expected after “|”.") }
        if scanner.isAtEnd { return }
        continue
      }
      alternatives.append(try scanner.alternative())
      scanner.skipSpace()
      if scanner.take(0x7C) { continue }
      guard scanner.take(0x2C) || scanner.isAtEnd else { throw SyntaxError(message: "A comma or “|” is expected after a package.") }
      try body(alternatives)
      alternatives.removeAll(keepingCapacity: true)
      if scanner.isAtEnd { return }
    }
  }

  private struct Scanner {
    let bytes: ArraySlice<UInt8>
    var index: Int

    var isAtEnd: Bool { index == bytes.endIndex }

    mutating func skipSpace() {
      while index < bytes.endIndex, ASCII.isSpace(bytes[index]) { index += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      guard index < bytes.endIndex, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func word(until isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
      let start = index
      while index < bytes.endIndex, !isEnd(bytes[index]) { index += 1 }
      return bytes[start..<index]
    }

    mutating func alternative() throws -> AlternativeRecord {
      var name = word { ASCII.isSpace($0) || [0x28, 0x2C, 0x3C, 0x5B, 0x7C].contains($0) }
      if let colon = name.firstIndex(of: 0x3A) { name = name[..<colon] }
      guard !name.isEmpty else { throw SyntaxError(message: "The name of a package is expected.") }
      var record = AlternativeRecord(packageName: String(decoding: name, as: UTF8.self))
      while true {
        skipSpace()
        if take(0x28) {
          skipSpace()
          record.comparison = try comparison()
          skipSpace()
          let version = word { ASCII.isSpace($0) || $0 == 0x29 }
          skipSpace()
          guard !version.isEmpty, take(0x29) else { throw SyntaxError(message: "A version and “)” are expected.") }
          record.version = String(decoding: version, as: UTF8.self)
        } else if take(0x5B) {
          _ = word { $0 == 0x5D }
          guard take(0x5D) else { throw SyntaxError(message: "“]” is expected.") }
        } else if take(0x3C) {
          _ = word { $0 == 0x3E }
          guard take(0x3E) else { throw SyntaxError(message: "“>” is expected.") }
        } else {
          return record
        }
      }
    }

    /// `<` and `>` are the obsolete spellings of `<=` and `>=`.
    mutating func comparison() throws -> String {
      let sign = word { $0 != 0x3C && $0 != 0x3D && $0 != 0x3E }
      switch String(decoding: sign, as: UTF8.self) {
      case "<<": return "<<"
      case "<=", "<": return "<="
      case "=": return "="
      case ">=", ">": return ">="
      case ">>": return ">>"
      default: throw SyntaxError(message: "One of <<, <=, =, >=, >> is expected.")
      }
    }
  }
}
