public import Foundation
package import ObjectModel

/// An error in a format string or its arguments, with its position.
public struct PredicateFormatError: Error, Sendable, Hashable {
  /// A description of the error or the expected input.
  public let message: String
  /// The position of the error, in characters from the start of the string.
  public let position: Int
  /// The line number, starting at 1.
  public let line: Int
  /// The column in the line, in characters starting at 1.
  public let column: Int
  /// The text of the line.
  public let lineText: String

  init(_ message: String, at offset: Int, in scalars: [Unicode.Scalar]) {
    self.message = message
    let offset = min(offset, scalars.count)
    func characters(_ range: Range<Int>) -> Int {
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars[range])
      return String(text).count
    }
    position = characters(0..<offset)
    let start = scalars[..<offset].lastIndex(of: "\n").map { $0 + 1 } ?? 0
    let end = scalars[offset...].firstIndex(of: "\n") ?? scalars.count
    line = scalars[..<offset].count { $0 == "\n" } + 1
    column = characters(start..<offset) + 1
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[start..<end])
    if text.last == "\r" { text.removeLast() }
    lineText = String(text)
  }
}

extension PredicateFormatError: CustomStringConvertible {
  /// The message, the line, and a caret below the position of the error.
  public var description: String {
    let location = line > 1 ? "line \(line), column \(column)" : "column \(column)"
    return "\(message) (\(location))\n\(lineText)\n\(indentation)^"
  }

  /// White space as wide as the text before the error in a monospaced font. Tabs are kept, and wide characters take two columns.
  private var indentation: String {
    lineText.prefix(column - 1).map { character in
      guard let scalar = character.unicodeScalars.first else { return "" }
      return scalar == "\t" ? "\t" : PredicateFormatError.isWide(scalar) ? "  " : " "
    }.joined()
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6: true
    case 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD: true
    default: false
    }
  }
}

// MARK: - Advice

extension PredicateFormatError: LocalizedError {}

extension PredicateFormatError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "This search is not possible.",
      developer: "Correct the format at the caret, and pass values as arguments instead of inserting them into the text.")
  }
}
