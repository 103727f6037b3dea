import Foundation

/// A pattern of LIKE: `*` matches any text, `?` a single Unicode scalar, and a backslash escapes the next character.
///
/// Matching backtracks over at most one `*`. It takes O(*n* · *m*) time, where *n* and *m* are the lengths of the text and the pattern.
package struct LikePattern: Sendable, Hashable {
  private enum Atom: Sendable, Hashable {
    case byte(UInt8)
    case anyScalar
  }
  /// The segments between the stars; one more than there are stars.
  private var segments: [[Atom]] = [[]]
  private let options: ComparisonOptions

  /// Compiles a pattern.
  ///
  /// - Parameters:
  ///   - pattern: The pattern. A trailing backslash is literal.
  ///   - options: The options; only `caseInsensitive` and `diacriticInsensitive` apply.
  package init(_ pattern: String, _ options: ComparisonOptions) {
    self.options = options.intersection(TextFolding.folding)
    var isEscaped = false
    for byte in TextFolding.fold(pattern, options).utf8 {
      switch byte {
      case UInt8(ascii: "\\") where !isEscaped:
        isEscaped = true
        continue
      case UInt8(ascii: "*") where !isEscaped: segments.append([])
      case UInt8(ascii: "?") where !isEscaped: segments[segments.count - 1].append(.anyScalar)
      default: segments[segments.count - 1].append(.byte(byte))
      }
      isEscaped = false
    }
    if isEscaped { segments[segments.count - 1].append(.byte(UInt8(ascii: "\\"))) }
    // Consecutive stars are equivalent to one.
    if segments.count > 2 {
      let inner = segments[1..<(segments.count - 1)].filter { !$0.isEmpty }
      segments = [segments[0]] + inner + [segments[segments.count - 1]]
    }
  }

  /// Returns whether the whole text matches.
  package func matches(_ text: String) -> Bool {
    withUTF8(of: text) { matches(utf8: $0) }
  }

  /// Returns whether the whole UTF-8 text matches.
  package func matches(utf8 text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !options.isEmpty else { return matchesFolded(text) }
    var folded: [UInt8] = []
    TextFolding.fold(utf8: text, options, into: &folded)
    return folded.withUnsafeBufferPointer { matchesFolded($0) }
  }

  private func matchesFolded(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard var position = match(segments[0], in: text, at: 0, before: text.count) else { return false }
    guard segments.count > 1 else { return position == text.count }
    guard let end = matchBackwards(segments[segments.count - 1], in: text, from: text.count), end >= position else { return false }
    for segment in segments[1..<(segments.count - 1)] {
      // The leftmost position leaves the most text for the rest.
      var start = position
      var found: Int?
      while start <= end {
        found = match(segment, in: text, at: start, before: end)
        if found != nil { break }
        start += 1
      }
      guard let found else { return false }
      position = found
    }
    return true
  }

  /// Returns the end of a segment that starts at a position; nil if it does not match there.
  private func match(_ segment: [Atom], in text: UnsafeBufferPointer<UInt8>, at start: Int, before end: Int) -> Int? {
    var position = start
    for atom in segment {
      guard position < end else { return nil }
      switch atom {
      case .byte(let byte):
        guard text[position] == byte else { return nil }
        position += 1
      case .anyScalar:
        guard !LikePattern.isContinuation(text[position]) else { return nil }
        position += 1
        while position < end, LikePattern.isContinuation(text[position]) { position += 1 }
      }
    }
    return position
  }

  /// Returns the start of a segment that ends at a position; nil if it does not match there.
  private func matchBackwards(_ segment: [Atom], in text: UnsafeBufferPointer<UInt8>, from end: Int) -> Int? {
    var position = end
    for atom in segment.reversed() {
      guard position > 0 else { return nil }
      position -= 1
      switch atom {
      case .byte(let byte): guard text[position] == byte else { return nil }
      case .anyScalar: while position > 0, LikePattern.isContinuation(text[position]) { position -= 1 }
      }
    }
    return position
  }

  private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}

/// A regular expression of MATCHES, which must match the whole text.
///
/// The syntax is Foundation's. Expressions can backtrack: one such as `(a+)+b` from an untrusted source can take very long.
package struct WholeTextPattern: Sendable {
  private let expression: NSRegularExpression
  private let options: ComparisonOptions

  /// Compiles a pattern; nil if it is not a valid regular expression.
  ///
  /// - Parameters:
  ///   - pattern: A regular expression.
  ///   - options: The regular expression handles `caseInsensitive`. With `diacriticInsensitive`, marks are removed from the pattern and the
  ///     text.
  package init?(_ pattern: String, _ options: ComparisonOptions) {
    self.options = options.intersection(.diacriticInsensitive)
    let pattern = TextFolding.fold(pattern, self.options)
    let flags: NSRegularExpression.Options = options.contains(.caseInsensitive) ? [.caseInsensitive] : []
    // The pattern must be valid on its own: "a)|(b" is not, but would be inside the group. Foundation rejects the empty pattern only on its
    // own.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: flags)) != nil,
      let expression = try? NSRegularExpression(pattern: "\\A(?:" + pattern + ")\\z", options: flags)
    else { return nil }
    self.expression = expression
  }

  /// Returns whether the whole text matches.
  package func matches(_ text: String) -> Bool {
    let text = TextFolding.fold(text, options)
    return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
  }
}
