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
