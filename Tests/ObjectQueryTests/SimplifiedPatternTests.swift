import XCTest
import _TestSupport

@testable import ObjectQuery

/// Simplified patterns match the same texts.
final class SimplifiedPatternTests: XCTestCase {
  func testLikePatternsAreSimplified() {
    let cases: [(String, SimplifiedPattern)] = [
      ("abc", .comparison(.equal, "abc")), ("", .comparison(.equal, "")), ("abc*", .comparison(.beginsWith, "abc")),
      ("abc**", .comparison(.beginsWith, "abc")), ("*abc", .comparison(.endsWith, "abc")), ("**abc*", .comparison(.contains, "abc")),
      ("*", .comparison(.beginsWith, "")), ("a\\*b", .comparison(.equal, "a*b")), ("a\\*", .comparison(.equal, "a*")),
      ("a\\\\*", .comparison(.beginsWith, "a\\")), ("a\\", .comparison(.equal, "a\\")), ("\\**", .comparison(.beginsWith, "*")),
      ("a*b", .beginning("a")), ("ab?", .beginning("ab")), ("?ab", .pattern), ("*a*b", .pattern), ("?", .pattern), ("*?", .pattern),
    ]
    for (pattern, meaning) in cases { XCTAssertEqual(SimplifiedPattern(like: pattern), meaning, pattern) }
  }

  func testSimplifiedPatternsAreEquivalent() {
    var random = SeededGenerator(seed: 8)
    func text(_ letters: [String], _ count: Int) -> String {
      (0..<Int.random(in: 0...count, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
    }
    for _ in 0..<20_000 {
      let pattern = text(["a", "b", "*", "?", "\\", "é"], 5)
      let candidate = text(["a", "b", "*", "\\", "é", "e\u{301}"], 5)
      let matches = LikePattern(pattern, []).matches(candidate)
      switch SimplifiedPattern(like: pattern) {
      case .comparison(let op, let text):
        XCTAssertEqual(TextMatching.matches(candidate, op, text, []), matches, "\(pattern) \(candidate)")
      case .beginning(let text):
        if matches { XCTAssertTrue(TextMatching.matches(candidate, .beginsWith, text, []), "\(pattern) \(candidate)") }
      case .pattern: break
      }
    }
  }

  func testLiteralPrefixesOfRegularExpressions() {
    let cases: [(String, SimplifiedPattern)] = [
      ("abc", .beginning("abc")), ("ab.*", .beginning("ab")), ("ab*", .beginning("a")), ("ab?c", .beginning("a")),
      ("ab{2}", .beginning("a")),
      ("ab+", .beginning("a")), ("a|b", .pattern), ("ab(c|d)", .pattern), ("(?i)ab", .pattern), ("[ab]", .pattern), ("\\d", .pattern),
      ("lib-x[0-9]+", .beginning("lib-x")), ("ae\u{301}", .beginning("a")), ("é", .pattern), ("^ab", .pattern), ("", .pattern),
    ]
    for (pattern, meaning) in cases { XCTAssertEqual(SimplifiedPattern(matches: pattern), meaning, pattern) }
    var random = SeededGenerator(seed: 9)
    for _ in 0..<4_000 {
      func text(_ letters: [String]) -> String {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
      }
      let pattern = text(["a", "b", ".", "*", "?", "+", "[ab]", "(a)", "|", "{1,2}", "\u{301}", "^", "\\Qb\\E"])
      guard let expression = WholeTextPattern(pattern, []), case .beginning(let start) = SimplifiedPattern(matches: pattern) else {
        continue
      }
      for _ in 0..<8 {
        let candidate = text(["a", "b", "c", "\u{301}"])
        if expression.matches(candidate) {
          XCTAssertTrue(TextMatching.matches(candidate, .beginsWith, start, []), "\(pattern) \(candidate)")
        }
      }
    }
  }
}
