// PredicateFormatError: where a predicate's text is wrong, and what should stand there.

/// A mistake in the text of a predicate or in the arguments given with it.
public struct PredicateFormatError: Error, Sendable, Hashable {
  /// What was expected, or what is wrong.
  public let message: String
  /// The mistake's place as a number of characters from the text's start.
  public let position: Int
  /// The number of the line, from 1.
  public let line: Int
  /// The number of the character in its line, from 1.
  public let column: Int
  /// The line.
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
    lineText = String(text)
  }
}

extension PredicateFormatError: CustomStringConvertible {
  /// The mistake, the line, and a caret below its place.
  public var description: String {
    let place = line > 1 ? "line \(line), column \(column)" : "column \(column)"
    return "\(message) (\(place))\n\(lineText)\n\(String(repeating: " ", count: column - 1))^"
  }
}
