public import Foundation
package import ObjectModel

/// A syntax error in the text of a query.
public struct TextQueryError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A description of the error and its fix.
  public let message: String
  /// The position of the error, in characters from the start of the text.
  public let position: Int

  /// The message and the position.
  public var description: String { "\(message) (column \(position + 1))" }
}

extension TextQuery {
  /// Creates a query from text, and rejects syntax errors.
  ///
  /// - Throws: ``TextQueryError`` for an unbalanced quotation mark or parenthesis, and for an operator or star that no word accompanies.
  public init(_ text: String) throws(TextQueryError) {
    var parser = TextQueryParser(text)
    let query = parser.parse()
    if let error = parser.error { throw error }
    self = query
  }

  /// Creates a query from user input, for example of a search field. Syntax errors are ignored.
  ///
  /// - Parameter typed: Any text. Operators have the same meaning as in other queries.
  public init(typed: String) {
    var parser = TextQueryParser(typed)
    self = parser.parse()
  }
}

/// Parses a text, with at most ``maximumDepth`` nested parentheses. It continues after errors, and records the first.
// Inlining these functions into each other would take the optimizer a tenth of the module's build time.
private struct TextQueryParser {
  private static let maximumDepth = 40

  private let characters: [Character]
  private var index = 0
  private var depth = 0
  private(set) var error: TextQueryError?

  init(_ text: String) { characters = Array(text) }

  @inline(never)
  mutating func parse() -> TextQuery {
    var query = parseAny()
    while index < characters.count {
      // Only an unbalanced closing parenthesis ends a query early.
      recordError("This parenthesis has no opening parenthesis", at: index)
      index += 1
      query = query && parseAny()
    }
    return query
  }

  private mutating func recordError(_ message: String, at position: Int) {
    if error == nil { error = TextQueryError(message: message, position: position) }
  }

  private mutating func skipSpace() {
    while index < characters.count, characters[index].isWhitespace { index += 1 }
  }

  /// Skips a keyword at the current position, and returns whether there was one.
  @inline(never)
  private mutating func skip(_ keyword: String) -> Bool {
    let end = index + keyword.count
    guard end <= characters.count, String(characters[index..<end]) == keyword else { return false }
    guard end == characters.count || characters[end].isWhitespace || "()\"".contains(characters[end]) else { return false }
    index = end
    return true
  }

  @inline(never)
  private mutating func parseAny() -> TextQuery {
    var queries: [TextQuery] = []
    while true {
      let start = index
      let query = parseAll()
      if query == nil, !queries.isEmpty || isAtOr {
        recordError("Expected a word next to OR", at: start < characters.count ? start : max(start - 1, 0))
      }
      queries.append(query ?? .all([]))
      skipSpace()
      guard index < characters.count, skip("OR") else { return .any(queries) }
    }
  }

  @inline(never)
  private var isAtOr: Bool {
    var copy = self
    copy.skipSpace()
    return copy.skip("OR")
  }

  /// Parses adjacent queries; returns nil if there are no queries.
  @inline(never)
  private mutating func parseAll() -> TextQuery? {
    var queries: [TextQuery] = []
    while true {
      skipSpace()
      guard index < characters.count, characters[index] != ")", !isAtOr else { break }
      let start = index
      if skip("AND") {
        skipSpace()
        if queries.isEmpty || index == characters.count || characters[index] == ")" || isAtOr {
          recordError("Expected a word next to AND", at: start)
        }
        continue
      }
      queries.append(parsePart())
    }
    return queries.isEmpty ? nil : .all(queries)
  }

  @inline(never)
  private mutating func parsePart() -> TextQuery {
    let start = index
    var isNegated = false
    while index < characters.count {
      if isAtDash { index += 1 } else if !skip("NOT") { break }
      skipSpace()
      isNegated.toggle()
    }
    let query: TextQuery
    if index == characters.count || characters[index] == ")" || isAtOr {
      recordError(isNegated ? "Expected a word after NOT" : "Expected a word", at: start)
      return .all([])
    }
    switch characters[index] {
    case "(": query = parseParenthesis()
    case "\"": query = parsePhrase()
    default: query = parseWord()
    }
    return isNegated ? !query : query
  }

  /// Whether a dash directly precedes a query. A dash between spaces is punctuation.
  private var isAtDash: Bool {
    index + 1 < characters.count && characters[index] == "-" && !characters[index + 1].isWhitespace
  }

  @inline(never)
  private mutating func parseParenthesis() -> TextQuery {
    let start = index
    index += 1
    guard depth < Self.maximumDepth else {
      recordError("Parentheses are nested deeper than \(Self.maximumDepth) levels", at: start)
      return .all([])
    }
    depth += 1
    let query = parseAny()
    depth -= 1
    skipSpace()
    if index < characters.count, characters[index] == ")" { index += 1 } else { recordError("This parenthesis is not closed", at: start) }
    return query
  }

  @inline(never)
  private mutating func parsePhrase() -> TextQuery {
    let start = index
    index += 1
    var text = ""
    while index < characters.count, characters[index] != "\"" {
      text.append(characters[index])
      index += 1
    }
    if index < characters.count { index += 1 } else { recordError("This quotation mark is not closed", at: start) }
    let isPrefix = skipStar() || text.last == "*"
    return phrase(text, isPrefix: isPrefix, at: start)
  }

  @inline(never)
  private mutating func parseWord() -> TextQuery {
    let start = index
    var text = ""
    while index < characters.count, !characters[index].isWhitespace, !"()\"*".contains(characters[index]) {
      text.append(characters[index])
      index += 1
    }
    return phrase(text, isPrefix: skipStar(), at: start)
  }

  private mutating func skipStar() -> Bool {
    guard index < characters.count, characters[index] == "*" else { return false }
    index += 1
    return true
  }

  @inline(never)
  private mutating func phrase(_ text: String, isPrefix: Bool, at start: Int) -> TextQuery {
    let query = TextQuery.phrase(text, isPrefix: isPrefix)
    if isPrefix, query.isEmpty { recordError("Expected a word before the star", at: start) }
    return query
  }
}

// MARK: - Advice

extension TextQueryError: LocalizedError {}

extension TextQueryError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The search text is not valid.",
      developer: "Show the message and the position, or parse user input with TextQuery(typed:), which ignores syntax errors.")
  }
}
