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
