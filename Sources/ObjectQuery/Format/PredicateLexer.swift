/// A token of the format language, with its position.
struct PredicateToken: Sendable {
  enum Kind: Sendable, Hashable {
    /// A name, a keyword, or a function name with colons.
    case identifier(String)
    /// `#name`: a name that is not a keyword.
    case escaped(String)
    /// `$name`.
    case variable(String)
    /// `@name`.
    case collectionOperator(String)
    /// A number as written, without a sign.
    case number(String)
    case string(String)
    /// `%@`, `%K`, `%d`, …
    case placeholder(Placeholder)
    /// An operator or a bracket.
    case symbol(String)
    case end
  }
  /// A placeholder for an argument.
  struct Placeholder: Sendable, Hashable {
    /// The kind of argument that a placeholder accepts.
    enum Kind: Sendable, Hashable {
      case value, keyPath, integer, real, string, character
    }
    var kind: Kind
    /// The argument number, starting at 1, if the placeholder specifies it (`%2$@`); otherwise it takes the next argument.
    var position: Int?
  }

  var kind: Kind
  /// The offset of its first scalar.
  var start: Int

  var name: String {
    switch kind {
    case .identifier(let name): name
    case .escaped(let name): "#\(name)"
    case .variable(let name): "$\(name)"
    case .collectionOperator(let name): name
    case .number(let text): text
    case .string: "a string"
    case .placeholder: "a placeholder"
    case .symbol(let symbol): symbol
    case .end: "the end"
    }
  }

  /// Whether a value may end with this token, so that a following point starts a key.
  var endsValue: Bool {
    switch kind {
    case .identifier(let name): !Self.reserved.contains(name.uppercased())
    case .symbol(let symbol): [")", "]", "}"].contains(symbol)
    case .escaped, .variable, .collectionOperator, .number, .string, .placeholder: true
    case .end: false
    }
  }

  /// The reserved words, in upper case. As keys they need `#` at the start of an expression.
  static let reserved: Set<String> = [
    "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "TRUE",
    "YES",
    "FALSE", "NO", "NULL", "NIL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST", "TERNARY", "FUNCTION",
  ]

  /// Returns whether a text is a name that needs no quotes.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isNameStart(first) else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy(isNameContinuation)
  }

  /// Returns whether a name is that of a function with argument labels.
  // By bytes: Foundation's string search takes longer than parsing the whole predicate.
  static func hasColon(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: ":")) }

  // ASCII needs no lookup in the Unicode tables.
  static func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "_": true
    default: !scalar.isASCII && scalar.properties.isIDStart
    }
  }
  static func isNameContinuation(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: !scalar.isASCII && scalar.properties.isIDContinue
    }
  }
  static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? scalar == " " || (9...13).contains(scalar.value) : scalar.properties.isWhitespace
  }
}

/// Splits a format string into tokens. Complexity: O(*n*) in its length.
struct PredicateLexer {
  private let scalars: [Unicode.Scalar]
  private var index = 0

  private init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

  /// Returns the tokens of a text, followed by ``PredicateToken/Kind/end``.
  static func tokens(of scalars: [Unicode.Scalar]) throws(PredicateFormatError) -> [PredicateToken] {
    var lexer = PredicateLexer(scalars)
    var tokens: [PredicateToken] = []
    while true {
      let token = try lexer.next(after: tokens.last)
      tokens.append(token)
      if token.kind == .end { return tokens }
    }
  }

  private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    index + distance < scalars.count ? scalars[index + distance] : nil
  }

  private func error(_ message: String, at offset: Int) -> PredicateFormatError { PredicateFormatError(message, at: offset, in: scalars) }

  private mutating func next(after previous: PredicateToken?) throws(PredicateFormatError) -> PredicateToken {
    while let scalar = peek(), PredicateToken.isSpace(scalar) { index += 1 }
    let start = index
    guard let scalar = peek() else { return PredicateToken(kind: .end, start: start) }
    let kind: PredicateToken.Kind
    switch scalar {
    case "'", "\"": kind = .string(try string())
    case "0"..."9": kind = .number(try number())
    case "." where isDigit(1) && previous?.endsValue != true: kind = .number(try number())
    case "%": kind = try placeholder()
    case "$":
      index += 1
      if let quote = peek(), quote == "'" || quote == "\"" {
        kind = .variable(try string())
      } else {
        kind = .variable(try name("the name of a variable after $"))
      }
    case "@":
      index += 1
      kind = .collectionOperator("@" + (try name("the name of a collection operator after @")))
    case "#":
      index += 1
      if let quote = peek(), quote == "'" || quote == "\"" {
        kind = .escaped(try string())
      } else {
        kind = .escaped(try name("a name after #"))
      }
    case _ where PredicateToken.isNameStart(scalar): kind = .identifier(try functionName())
    default: kind = .symbol(try symbol())
    }
    return PredicateToken(kind: kind, start: start)
  }

  private mutating func name(_ expected: String) throws(PredicateFormatError) -> String {
    guard let first = peek(), PredicateToken.isNameStart(first) else { throw error("Expected \(expected)", at: index) }
    var name = String.UnicodeScalarView()
    while let scalar = peek(), PredicateToken.isNameContinuation(scalar) {
      name.append(scalar)
      index += 1
    }
    return String(name)
  }

  /// Reads a name. It includes colons and further parts, as in `raise:toPower:`.
  private mutating func functionName() throws(PredicateFormatError) -> String {
    var result = try name("a name")
    while peek() == ":" {
      index += 1
      result += ":"
      if let scalar = peek(), PredicateToken.isNameStart(scalar) { result += try name("a name") }
    }
    return result
  }

  private static let pairs: Set<String> = ["**", "&&", "||", "==", "!=", "<>", "<=", "=<", ">=", "=>", "<<", ">>"]

  private mutating func symbol() throws(PredicateFormatError) -> String {
    let first = scalars[index]
    switch first {
    case "(", ")", "{", "}", "[", "]", ",", ".", "+", "-", "/", "^", "~":
      index += 1
      return String(first)
    case "=", "<", ">", "!", "*", "&", "|":
      if let second = peek(1), PredicateLexer.pairs.contains(String(first) + String(second)) {
        index += 2
        return String(first) + String(second)
      }
      index += 1
      return String(first)
    default: throw error("This character has no meaning here", at: index)
    }
  }

  private mutating func number() throws(PredicateFormatError) -> String {
    let start = index
    if peek() == "0", let x = peek(1), x == "x" || x == "X" {
      index += 2
      guard digits(where: { $0.properties.isASCIIHexDigit }) else { throw error("Expected hexadecimal digits", at: index) }
    } else if peek() == "0", let o = peek(1), "oObB".unicodeScalars.contains(o) {
      index += 2
      let isBinary = o == "b" || o == "B"
      guard digits(where: { ("0"..."7").contains($0) && (!isBinary || $0 <= "1") }) else {
        throw error("Expected \(isBinary ? "binary" : "octal") digits", at: index)
      }
      if let digit = peek(), ("0"..."9").contains(digit) { throw error("This digit is too large", at: index) }
    } else {
      _ = digits { ("0"..."9").contains($0) }
      // As in C, digits before or after the decimal point are optional. A point before a name starts a key.
      if peek() == ".", isDigit(1) || !beginsKey(1) || isExponent(1) {
        index += 1
        _ = digits { ("0"..."9").contains($0) }
      }
      if isExponent() {
        index += peek(1) == "+" || peek(1) == "-" ? 2 : 1
        _ = digits { ("0"..."9").contains($0) }
      }
    }
    if let scalar = peek(), PredicateToken.isNameStart(scalar) { throw error("A number cannot go on with a letter", at: index) }
    return scalars[start..<index].reduce(into: "") { $0.unicodeScalars.append($1) }
  }

  private func isDigit(_ distance: Int) -> Bool {
    guard let scalar = peek(distance) else { return false }
    return ("0"..."9").contains(scalar)
  }

  /// Returns whether an exponent such as `e-3` starts at a distance.
  private func isExponent(_ distance: Int = 0) -> Bool {
    guard let e = peek(distance), e == "e" || e == "E" else { return false }
    let isSigned = peek(distance + 1) == "+" || peek(distance + 1) == "-"
    return isDigit(distance + (isSigned ? 2 : 1))
  }

  /// Returns whether a key of a path may start at a distance.
  private func beginsKey(_ distance: Int) -> Bool {
    var distance = distance
    while let scalar = peek(distance), PredicateToken.isSpace(scalar) { distance += 1 }
    guard let scalar = peek(distance) else { return false }
    if scalar == "%" { return peek(distance + 1) != "%" }
    // Words such as AND are operators only after a space.
    return scalar == "@" || scalar == "#" || (distance == 1 && PredicateToken.isNameStart(scalar))
  }

  private mutating func digits(where isDigit: (Unicode.Scalar) -> Bool) -> Bool {
    let start = index
    while let scalar = peek(), isDigit(scalar) { index += 1 }
    return index > start
  }

  private mutating func string() throws(PredicateFormatError) -> String {
    let start = index
    let quote = scalars[index]
    index += 1
    var text = String.UnicodeScalarView()
    while let scalar = peek() {
      index += 1
      if scalar == quote { return String(text) }
      if scalar == "\\" { text.append(try escape()) } else { text.append(scalar) }
    }
    throw error("The string that starts here has no end", at: start)
  }

  private mutating func escape() throws(PredicateFormatError) -> Unicode.Scalar {
    guard let scalar = peek() else { throw error("Expected a character after the backslash", at: index) }
    index += 1
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "0": return "\0"
    case "u", "U", "x":
      let length = scalar == "u" ? 4 : scalar == "U" ? 8 : 2
      let start = index
      var value: UInt32 = 0
      while index < start + length {
        guard let digit = peek(), digit.properties.isASCIIHexDigit, let number = UInt32(String(digit), radix: 16) else {
          throw error("Expected \(length) hexadecimal digits", at: start)
        }
        value = value << 4 | number
        index += 1
      }
      guard let result = Unicode.Scalar(value) else { throw error("This is no Unicode scalar", at: start) }
      return result
    default: return scalar
    }
  }

  private mutating func placeholder() throws(PredicateFormatError) -> PredicateToken.Kind {
    let start = index
    index += 1
    let position = try position(at: start)
    var modifiers = 0
    while let scalar = peek(), "hlqLzjt".unicodeScalars.contains(scalar), modifiers < 2 {
      index += 1
      modifiers += 1
    }
    let expected = "Expected @, K, d, f or % after the percent sign"
    guard let scalar = peek() else { throw error(expected, at: start) }
    index += 1
    let kind: PredicateToken.Placeholder.Kind
    switch scalar {
    case "@" where modifiers == 0: kind = .value
    case "K" where modifiers == 0: kind = .keyPath
    case "%" where modifiers == 0 && position == nil: return .symbol("%")
    case "s", "S": kind = .string
    case "c", "C": kind = .character
    case "d", "i", "u", "D", "U", "x", "X", "o", "O": kind = .integer
    case "f", "F", "e", "E", "g", "G", "a", "A": kind = .real
    default: throw error(expected, at: start)
    }
    return .placeholder(PredicateToken.Placeholder(kind: kind, position: position))
  }

  private mutating func position(at start: Int) throws(PredicateFormatError) -> Int? {
    var end = index
    while end < scalars.count, ("0"..."9").contains(scalars[end]) { end += 1 }
    guard end > index else { return nil }
    let number = Int(String(String.UnicodeScalarView(scalars[index..<end]))) ?? 0
    guard end < scalars.count, scalars[end] == "$", number > 0 else {
      throw error("Expected the number of an argument and $, as in %1$@; widths and precisions mean nothing here", at: start)
    }
    index = end + 1
    return number
  }
}
