/// A token of a Swift source.
struct SourceToken: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// An identifier or keyword; also `#selector` and the like.
    case word(String)
    /// An identifier in backticks, which is not a keyword.
    case escaped(String)
    /// One byte of punctuation.
    case mark(UInt8)
    /// `->`.
    case arrow
    /// A number, string, or regular expression.
    case literal
    /// `#if`, `#elseif`, `#else`, or `#endif`, with the condition.
    case directive(String, condition: String)
  }

  var kind: Kind
  /// The line number, from 1.
  var line: Int
  /// Whether the token is the first one on its line.
  var beginsLine: Bool
  /// Whether nothing separates the token from the preceding one.
  var touchesPrevious: Bool
  /// The token's bytes.
  var range: Range<Int>

  /// The word, unless it is in backticks.
  var word: String? { if case .word(let word) = kind { word } else { nil } }
  /// The identifier, with or without backticks.
  var name: String? {
    switch kind {
    case .word(let name), .escaped(let name): name
    default: nil
    }
  }

  func isMark(_ mark: Unicode.Scalar) -> Bool { kind == .mark(UInt8(ascii: mark)) }
}

/// A lexer for Swift. It omits comments and skips string literals, including interpolated code.
struct SourceLexer {
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var beginsLine = true
  private var end = -1
  private var tokens: [SourceToken] = []

  static func tokens(of source: String) -> [SourceToken] {
    var lexer = SourceLexer(bytes: Array(source.utf8))
    lexer.run()
    return lexer.tokens
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func byte(_ offset: Int = 0) -> UInt8 { position + offset < bytes.count ? bytes[position + offset] : 0 }

  private func isAt(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    return position + count <= bytes.count
      && text.withUTF8Buffer { buffer in (0..<count).allSatisfy { bytes[position + $0] == buffer[$0] } }
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where position < bytes.count {
      if bytes[position] == UInt8(ascii: "\n") { line += 1 }
      position += 1
    }
  }

  private mutating func run() {
    if isAt("\u{FEFF}") { position += 3 }
    if isAt("#!") { skipLine() }
    while position < bytes.count {
      if skipBlank() { continue }
      let (first, start) = (line, position)
      let kind = next()
      tokens.append(SourceToken(kind: kind, line: first, beginsLine: beginsLine, touchesPrevious: start == end, range: start..<position))
      beginsLine = false
      end = position
    }
  }

  // MARK: What is left out

  private mutating func skipBlank() -> Bool {
    switch byte() {
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"): beginsLine = true
    case UInt8(ascii: " "), UInt8(ascii: "\t"), 0, 11, 12: break
    case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
      skipLine()
      return true
    case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
      skipComment()
      return true
    default: return false
    }
    advance()
    return true
  }

  private mutating func skipLine() {
    while position < bytes.count, byte() != UInt8(ascii: "\n"), byte() != UInt8(ascii: "\r") { advance() }
  }

  /// Skips a `/* … */` comment, which can contain nested ones.
  private mutating func skipComment() {
    var depth = 0
    while position < bytes.count {
      if isAt("/*") {
        depth += 1
        advance(2)
      } else if isAt("*/") {
        depth -= 1
        advance(2)
        if depth == 0 { return }
      } else {
        if byte() == UInt8(ascii: "\n") { beginsLine = true }
        advance()
      }
    }
  }

  // MARK: Tokens

  private mutating func next() -> SourceToken.Kind {
    let first = byte()
    if Self.isNameStart(first) || first == UInt8(ascii: "$") { return .word(takeName()) }
    if first == UInt8(ascii: "`") { return takeEscaped() }
    if first.isASCIIDigit { return takeNumber() }
    if first == UInt8(ascii: "\"") {
      skipText(hashes: 0)
      return .literal
    }
    if first == UInt8(ascii: "#") { return takeHash() }
    if first == UInt8(ascii: "/"), let count = lengthOfExpression() {
      advance(count)
      return .literal
    }
    if isAt("->") {
      advance(2)
      return .arrow
    }
    advance()
    return .mark(first)
  }

  private static func isNameStart(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte == UInt8(ascii: "_") || byte >= 128 }

  private mutating func takeName() -> String {
    let start = position
    advance()
    while Self.isNameStart(byte()) || byte().isASCIIDigit || byte() == UInt8(ascii: "$") { advance() }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func takeEscaped() -> SourceToken.Kind {
    advance()
    let start = position
    while position < bytes.count, byte() != UInt8(ascii: "`"), byte() != UInt8(ascii: "\n") { advance() }
    let name = String(decoding: bytes[start..<position], as: UTF8.self)
    advance()
    return .escaped(name)
  }

  private mutating func takeNumber() -> SourceToken.Kind {
    while Self.isNameStart(byte()) || byte().isASCIIDigit || byte() == UInt8(ascii: ".") && byte(1).isASCIIDigit { advance() }
    return .literal
  }

  private mutating func takeHash() -> SourceToken.Kind {
    var hashes = 0
    while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
    if byte(hashes) == UInt8(ascii: "\"") {
      advance(hashes)
      skipText(hashes: hashes)
      return .literal
    }
    if byte(hashes) == UInt8(ascii: "/") {
      skipExpression(hashes: hashes)
      return .literal
    }
    guard Self.isNameStart(byte(1)) else {
      advance()
      return .mark(UInt8(ascii: "#"))
    }
    advance()
    let name = takeName()
    guard beginsLine, ["if", "elseif", "else", "endif"].contains(name) else { return .word("#" + name) }
    return .directive(name, condition: takeCondition())
  }

  /// Reads the rest of the line, and of the following lines while a parenthesis is open.
  private mutating func takeCondition() -> String {
    var (text, depth): ([UInt8], Int) = ([], 0)
    while position < bytes.count {
      if isAt("//") {
        skipLine()
      } else if isAt("/*") {
        skipComment()
        // The comment ends on this line, or the condition continues after it.
        beginsLine = false
      } else if byte() == UInt8(ascii: "\n") || byte() == UInt8(ascii: "\r") {
        if depth <= 0 { break }
        text.append(UInt8(ascii: " "))
        advance()
      } else {
        if byte() == UInt8(ascii: "(") { depth += 1 }
        if byte() == UInt8(ascii: ")") { depth -= 1 }
        text.append(byte())
        advance()
      }
    }
    return String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  // MARK: Texts

  /// Skips a string literal from its first quotation mark, which can end with number signs.
  private mutating func skipText(hashes: Int) {
    let quotes = isAt("\"\"\"") ? 3 : 1
    // Three quotation marks could also be an empty literal and the start of another, which Swift does not allow.
    advance(quotes)
    while position < bytes.count {
      if byte() == UInt8(ascii: "\\"), hasHashes(hashes, at: 1) {
        advance(1 + hashes)
        if byte() == UInt8(ascii: "(") { skipInterpolation() } else { advance() }
      } else if byte() == UInt8(ascii: "\""), (1..<quotes).allSatisfy({ byte($0) == UInt8(ascii: "\"") }), hasHashes(hashes, at: quotes) {
        return advance(quotes + hashes)
      } else if quotes == 1, byte() == UInt8(ascii: "\n") {
        // The compiler rejects this literal; the next line is code again.
        return
      } else {
        advance()
      }
    }
  }

  private func hasHashes(_ count: Int, at offset: Int) -> Bool { (0..<count).allSatisfy { byte(offset + $0) == UInt8(ascii: "#") } }

  /// Skips the code in a string literal, from its parenthesis.
  private mutating func skipInterpolation() {
    var depth = 0
    while position < bytes.count {
      if skipBlank() { continue }
      switch next() {
      case .mark(UInt8(ascii: "(")): depth += 1
      case .mark(UInt8(ascii: ")")): depth -= 1
      default: break
      }
      if depth == 0 { return }
    }
  }

  // MARK: Regular expressions

  /// Returns the length of the regular expression that begins here; `nil` if the slash is an operator.
  private func lengthOfExpression() -> Int? {
    guard mayBeginExpression, byte(1) != UInt8(ascii: " "), byte(1) != UInt8(ascii: "\t") else { return nil }
    var (offset, isInClass) = (1, false)
    while position + offset < bytes.count {
      switch byte(offset) {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return nil
      case UInt8(ascii: "\\"): offset += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      case UInt8(ascii: "/") where !isInClass: return offset + 1
      default: break
      }
      offset += 1
    }
    return nil
  }

  /// Whether an expression can begin after the last token.
  private var mayBeginExpression: Bool {
    guard let last = tokens.last else { return true }
    switch last.kind {
    case .word(let word): return ["return", "in", "case", "where", "if", "while", "guard", "try", "await", "else"].contains(word)
    case .mark(let mark): return "([{,:=;&|?!<>+-*".utf8.contains(mark)
    case .escaped, .literal: return false
    case .arrow, .directive: return true
    }
  }

  private mutating func skipExpression(hashes: Int) {
    advance(hashes + 1)
    while position < bytes.count {
      if byte() == UInt8(ascii: "\\") {
        advance(2)
      } else if byte() == UInt8(ascii: "/"), hasHashes(hashes, at: 1) {
        return advance(1 + hashes)
      } else {
        advance()
      }
    }
  }
}
