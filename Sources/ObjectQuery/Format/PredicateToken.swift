// PredicateToken: the words of the format language.

/// A word with its place.
struct PredicateToken: Sendable {
  /// What a word is.
  enum Kind: Sendable, Hashable {
    /// A name, a keyword, or a function's name with its colons.
    case identifier(String)
    /// `#name`: a name that is no keyword.
    case escaped(String)
    /// `$name`.
    case variable(String)
    /// `@name`.
    case collectionOperator(String)
    /// A number as it was written, without a sign.
    case number(String)
    case string(String)
    /// `%@`, `%K`, `%d` ...
    case placeholder(Placeholder)
    /// An operator or a bracket.
    case symbol(String)
    case end
  }
  /// An argument's place.
  struct Placeholder: Sendable, Hashable {
    /// What it takes.
    enum Kind: Sendable, Hashable {
      case value, keyPath, integer, real, string, character
    }
    var kind: Kind
    /// The argument's number, from 1, where the place names it (`%2$@`); else it takes the next one.
    var position: Int?
  }

  var kind: Kind
  /// The place of its first scalar.
  var start: Int

  /// What errors call it.
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

  /// Whether a value may end here, so that a point behind it leads to a key.
  var endsValue: Bool {
    switch kind {
    case .identifier(let name): !Self.reserved.contains(name.uppercased())
    case .symbol(let symbol): [")", "]", "}"].contains(symbol)
    case .escaped, .variable, .collectionOperator, .number, .string, .placeholder: true
    case .end: false
    }
  }

  /// The words with a meaning of their own, in upper case; as keys they need `#` where an expression starts.
  static let reserved: Set<String> = [
    "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "TRUE",
    "YES",
    "FALSE", "NO", "NULL", "NIL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST", "TERNARY", "FUNCTION",
  ]

  /// Whether a text is a name that needs no quotes.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isNameStart(first) else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy(isNameContinuation)
  }

  /// Whether a name is a function's with the names of its arguments.
  // By bytes: Foundation's search for a text takes longer than reading the whole predicate.
  static func hasColon(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: ":")) }

  // What Unicode says of ASCII is known without its tables.
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
