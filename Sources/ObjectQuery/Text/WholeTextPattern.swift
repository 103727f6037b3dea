import Foundation

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
