/// A use of a construct that the compiler or the runtime does not check, or that ends the process, with the reason given there.
struct UncheckedUse {
  let file: String
  /// The line number, from 0.
  let line: Int
  let word: String
  /// The comment on the line or directly above it; nil if missing. In documentation, the reason follows "`word`: ".
  let reason: String?

  private static let words = [
    "@unchecked Sendable", "@exclusivity(unchecked)", "Unmanaged", "precondition", "preconditionFailure", "unsafe", "unsafeBitCast",
    "unsafeDowncast",
  ]

  /// The uses in files, in order.
  static func all(in files: [(file: String, text: SwiftText)]) -> [UncheckedUse] {
    files.flatMap { file, text in
      text.code.indices.flatMap { line in
        words.filter { isUsed($0, in: text.code[line]) }.sorted()
          .map { UncheckedUse(file: file, line: line, word: $0, reason: reason(of: $0, at: line, in: text)) }
      }
    }
  }

  private static func isUsed(_ word: String, in code: Substring) -> Bool {
    guard code.occurrences(of: word) > 0 else { return false }
    // An enumeration case may have this name.
    return word != "unsafe"
      || code.ranges(of: word).contains { range in
        let before = code[..<range.lowerBound]
        return before.last != "." && !before.hasSuffix("case ") && code.occurrences(of: word) > 0
      }
  }

  private static func reason(of word: String, at line: Int, in text: SwiftText) -> String? {
    if let comment = comment(on: line, in: text) { return comment }
    var line = line - 1
    // Consecutive declarations share a reason; their documentation and attributes may come between. Documentation is for users, and counts
    // as the reason only if it names the word.
    var documentation: [Substring] = []
    while line >= 0,
      isDocumentation(text.lines[line]) || isAttribute(text.code[line]) || isUsed(word, in: text.code[line])
        || (word.hasPrefix("@exclusivity") && isProperty(text.code[line]))
    {
      if isDocumentation(text.lines[line]) { documentation.insert(text.lines[line].drop { $0 == " " || $0 == "/" }, at: 0) }
      line -= 1
    }
    let named = documentation.joined(separator: " ").ranges(of: "`\(word)`: ").first.map { $0.upperBound }
    if let named { return String(documentation.joined(separator: " ")[named...]) }
    var comments: [String] = []
    while line >= 0, let comment = comment(on: line, in: text), text.code[line].allSatisfy(\.isWhitespace) {
      comments.append(comment)
      line -= 1
    }
    return comments.isEmpty ? nil : comments.reversed().joined(separator: " ")
  }

  /// The text of a comment other than documentation, alone on its line or after code.
  private static func comment(on line: Int, in text: SwiftText) -> String? {
    let code = text.code[line]
    let end = code.lastIndex { !$0.isWhitespace }.map { code.distance(from: code.startIndex, to: $0) + 1 } ?? 0
    let rest = text.lines[line].dropFirst(end).drop(while: \.isWhitespace)
    guard rest.hasPrefix("//"), !rest.hasPrefix("///") else { return nil }
    let words = rest.dropFirst(2).drop(while: \.isWhitespace)
    return words.isEmpty || words.hasPrefix("MARK:") ? nil : String(words)
  }

  private static func isDocumentation(_ line: Substring) -> Bool { line.drop(while: \.isWhitespace).hasPrefix("///") }

  private static func isProperty(_ code: Substring) -> Bool {
    code.split(whereSeparator: \.isWhitespace).prefix { !$0.hasSuffix(":") }.contains { $0 == "var" || $0 == "let" }
  }

  private static func isAttribute(_ code: Substring) -> Bool {
    let words = code.split(whereSeparator: \.isWhitespace)
    return !words.isEmpty && words.allSatisfy { $0.hasPrefix("@") }
  }
}
