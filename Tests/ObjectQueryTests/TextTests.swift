import Foundation
import ObjectQuery
import XCTest

/// Folding, string operators and patterns.
final class TextTests: XCTestCase {
  private let both: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]

  func testCaseFoldingIsUnicodesFullFolding() {
    for (left, right) in [
      ("STRASSE", "straße"), ("ẞ", "ss"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("K", "k"), ("Å", "å"), ("ÀÉ", "àé"), ("ЖЩ", "жщ"), ("Ǆ", "ǆ"),
      ("ﬃ", "ffi"),
      ("Ա", "ա"),
    ] {
      XCTAssertEqual(bytes(TextFolding.fold(left, .caseInsensitive)), bytes(TextFolding.fold(right, .caseInsensitive)), "\(left) \(right)")
    }
    XCTAssertNotEqual(TextFolding.fold("é", .caseInsensitive), TextFolding.fold("e", .caseInsensitive))
    XCTAssertNotEqual(TextFolding.fold("ı", .caseInsensitive), TextFolding.fold("i", .caseInsensitive))
  }

  func testDiacriticFoldingDropsAccentsAndKeepsVowelSigns() {
    for (left, right) in [("Ångström", "Angstrom"), ("ệ", "e"), ("й", "и"), ("ά", "α"), ("שָׁלוֹם", "שלום"), ("e\u{301}\u{323}", "e")] {
      XCTAssertEqual(bytes(TextFolding.fold(left, .diacriticInsensitive)), bytes(right), left)
    }
    XCTAssertNotEqual(TextFolding.fold("が", both), TextFolding.fold("か", both))
    XCTAssertEqual(bytes(TextFolding.fold("कि", both)), bytes("कि"))
    XCTAssertEqual(bytes(TextFolding.fold("ÉCOLE", both)), bytes("ecole"))
  }

  func testNormalFormsAreEqualUnderAnyFoldingAndDifferWithout() {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    XCTAssertFalse(TextMatching.matches(composed, .equal, decomposed, []))
    XCTAssertTrue(TextMatching.matches(composed, .equal, decomposed, .caseInsensitive))
    XCTAssertTrue(TextMatching.matches(composed, .equal, decomposed, .diacriticInsensitive))
  }

  func testFastFoldingMatchesTheDefinition() {
    // A letter followed by a combining mark uses the general algorithm; a letter alone can use the table.
    for value in [0x20..<0x600, 0x1E00..<0x2100, 0x3040..<0x3100, 0xAC00..<0xAC20].joined() {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      for options in [ComparisonOptions.caseInsensitive, .diacriticInsensitive, both] {
        let letter = String(Character(scalar))
        let alone = TextFolding.fold(letter, options)
        let slow = TextFolding.fold("\u{1ACE}\u{180E}" + letter, options)
        let prefix = TextFolding.fold("\u{1ACE}\u{180E}", options)
        if scalar.properties.canonicalCombiningClass == .notReordered {
          XCTAssertEqual(bytes(prefix + alone), bytes(slow), String(value, radix: 16))
        }
        XCTAssertEqual(bytes(TextFolding.fold(alone, options)), bytes(alone), String(value, radix: 16))
      }
    }
  }

  func testEmptyNeedlesMatchEveryText() {
    for op in [ComparisonOperator.beginsWith, .endsWith, .contains] {
      XCTAssertTrue(TextMatching.matches("", op, "", []))
      XCTAssertTrue(TextMatching.matches("a", op, "", both))
      XCTAssertFalse(TextMatching.matches("", op, "a", []))
    }
  }

  func testContainsFindsEveryPosition() {
    XCTAssertTrue(TextMatching.matches("aaab", .contains, "aab", []))
    XCTAssertTrue(TextMatching.matches("xyz", .contains, "z", []))
    XCTAssertFalse(TextMatching.matches("aaaa", .contains, "ab", []))
    XCTAssertTrue(TextMatching.matches("Große Straße", .contains, "STRASSE", both))
  }

  func testTextsSortByBytes() {
    XCTAssertLessThan(TextMatching.compare("Z", "a"), 0)
    XCTAssertLessThan(TextMatching.compare("a", "ab"), 0)
    XCTAssertLessThan(TextMatching.compare("\u{FFFD}", "\u{10000}"), 0)
  }

  func testLikePatterns() {
    let cases: [(String, String, Bool)] = [
      ("abc", "abc", true), ("abc", "a*", true), ("abc", "*c", true), ("abc", "*b*", true), ("abc", "a?c", true), ("abc", "??", false),
      ("", "*", true), ("", "", true), ("", "?", false), ("a*b", "a\\*b", true), ("axb", "a\\*b", false), ("a\\", "a\\", true),
      ("aXbXc", "a*b*c", true), ("abab", "*ab", true), ("aba", "ab*ba", false), ("é", "?", true), ("日本語", "?本?", true),
      ("日本語", "*?語", true),
      ("aaa", "a**a", true), ("ab", "a*?*b", false), ("abcbd", "*bc*b?", true), ("?", "\\?", true),
    ]
    for (text, pattern, answer) in cases { XCTAssertEqual(LikePattern(pattern, []).matches(text), answer, "\(text) LIKE \(pattern)") }
    XCTAssertTrue(LikePattern("É*", both).matches("eCole"))
    XCTAssertTrue(LikePattern("stra?e", .caseInsensitive).matches("STRAKE"))
  }

  func testHostileLikePatternsTerminate() {
    let text = String(repeating: "a", count: 2000)
    XCTAssertFalse(LikePattern(String(repeating: "*a", count: 1000) + "*b", []).matches(text))
  }

  func testMatchesComparesTheWholeText() {
    XCTAssertTrue(TextMatching.matches("ab", .matches, "a|ab", []))
    XCTAssertFalse(TextMatching.matches("abc", .matches, "ab", []))
    XCTAssertTrue(TextMatching.matches("ABC", .matches, "a.c", .caseInsensitive))
    XCTAssertTrue(TextMatching.matches("Été", .matches, "\\Dte", .diacriticInsensitive))
    XCTAssertNil(WholeTextPattern("a)|(b", []))
    XCTAssertNil(WholeTextPattern("(", []))
  }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
