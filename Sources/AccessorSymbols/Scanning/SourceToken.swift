// SourceToken: a piece of a Swift source.

/// A piece of a Swift source, without blanks and comments.
struct SourceToken: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// A name or keyword; also `#selector` and the like.
    case word(String)
    /// A name between backticks, which is no keyword.
    case escaped(String)
    /// One byte of punctuation.
    case mark(UInt8)
    /// `->`.
    case arrow
    /// A number, text or regular expression.
    case literal
    /// `#if`, `#elseif`, `#else` and `#endif` with the condition.
    case directive(String, condition: String)
  }

  var kind: Kind
  /// Counted from 1.
  var line: Int
  /// Whether it is the first of its line.
  var beginsLine: Bool
  /// Whether nothing stands between the token before it and itself.
  var touchesFormer: Bool
  /// Its bytes.
  var range: Range<Int>

  /// The word, unless it is between backticks.
  var word: String? { if case .word(let word) = kind { word } else { nil } }
  /// The name.
  var name: String? {
    switch kind {
    case .word(let name), .escaped(let name): name
    default: nil
    }
  }

  func isMark(_ mark: Unicode.Scalar) -> Bool { kind == .mark(UInt8(ascii: mark)) }
}
