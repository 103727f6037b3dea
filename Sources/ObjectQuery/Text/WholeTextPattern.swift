// WholeTextPattern: the regular expressions of MATCHES.
import Foundation

/// A regular expression that a text has to match as a whole.
///
/// The expressions are Foundation's. They can backtrack: an expression such as `(a+)+b` from an untrusted source can take very long.
package struct WholeTextPattern: Sendable {
  private let expression: NSRegularExpression
  private let options: ComparisonOptions

  /// Compiles a pattern; nil when it is no regular expression.
  ///
  /// - Parameters:
  ///   - pattern: A regular expression.
  ///   - options: `caseInsensitive` is left to the expression; under `diacriticInsensitive` marks are dropped from pattern and text.
  package init?(_ pattern: String, _ options: ComparisonOptions) {
    self.options = options.intersection(.diacriticInsensitive)
    let pattern = TextFolding.fold(pattern, self.options)
    let flags: NSRegularExpression.Options = options.contains(.caseInsensitive) ? [.caseInsensitive] : []
    // The pattern has to be one by itself: "a)|(b" is none, though it would be inside the group. The empty one is refused by itself only.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: flags)) != nil,
      let expression = try? NSRegularExpression(pattern: "\\A(?:" + pattern + ")\\z", options: flags)
    else { return nil }
    self.expression = expression
  }

  /// Whether a text matches as a whole.
  package func matches(_ text: String) -> Bool {
    let text = TextFolding.fold(text, options)
    return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
  }
}
