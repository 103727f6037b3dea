import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Parsing, printing and resolving any text ends with a result or an error.
final class FormatFuzzTests: XCTestCase {
  private static let words = [
    "title", "pages", "author", "tags", "author.name", "books", "entity", "SELF", "$x", "$", "@count", "@sum", ".", ".", "(", ")", "{", "}",
    "[", "]",
    "[FIRST]", "[0]", ",", ",", "==", "!=", "<", "=>", "IN", "BETWEEN", "CONTAINS", "LIKE", "MATCHES", "[cd]", "AND", "OR", "NOT", "!",
    "ANY", "ALL", "NONE",
    "+", "-", "*", "/", "**", "%%", "&", "<<", "~", "1", "-2.5", "0x", "9e999", "'a'", "\"b", "'", "\\", "#in", "#", "TRUE", "nil",
    "SUBQUERY(", "TERNARY(",
    "CAST(", "FUNCTION(", "abs(", "max(", "coalesce(", "count(distinct ", "now()", "%@", "%K", "%d", "%2$@", "%", "é", "日本", "\n", "\t",
    "\u{0}", ":", "a:b:(",
    "'Int')", "UNION", "AS",
  ]
  private static let texts = [
    "title BEGINSWITH[cd] 'a' AND (pages > 5 OR NOT author.name IN {'x', nil})",
    "SUBQUERY(tags, $t, $t.name == 'x' AND ANY $t.books.pages > 3).@count > 0",
    "TERNARY(pages > 1, title, CAST(pages, 'String')) == coalesce(title, \"\\u00e9\")",
    "max({pages, 1, -2}) ** 2 << 1 >= abs(pages - 3) %% 2",
    "ALL tags.books[0].pages BETWEEN {1, 0x1F} && tags.@count == 2",
    "FUNCTION(title, 'length:') == 3 || distance({1, 2}, {rating, 4}) < 5.5e3",
  ]

  func testRandomTextsParseWithoutTraps() throws {
    let library = try Library()
    var random = PredicateMaker(seed: 99)
    var (parsed, resolved) = (0, 0)
    for round in 0..<20_000 {
      let text: String
      if round % 2 == 0 {
        text = (0..<(1 + random.next(12))).map { _ in Self.words[random.next(Self.words.count)] }.joined(
          separator: random.next(3) == 0 ? "" : " ")
      } else {
        // A valid text with a few scalars removed, inserted or replaced.
        var scalars = Array(Self.texts[random.next(Self.texts.count)].unicodeScalars)
        for _ in 0..<(random.next(3)) {
          let place = random.next(scalars.count)
          let other = Array(Self.words[random.next(Self.words.count)].unicodeScalars)
          scalars.replaceSubrange(place..<min(place + random.next(3), scalars.count), with: random.next(2) == 0 ? other : [])
        }
        text = String(String.UnicodeScalarView(scalars))
      }
      let predicate: FetchPredicate
      do {
        predicate = try FetchPredicate(format: text, argumentArray: text.contains("%") ? ["name", 1] : [])
      } catch {
        XCTAssertFalse(error.description.isEmpty)
        XCTAssertTrue((0...text.count).contains(error.position), text)
        continue
      }
      parsed += 1
      let printed = predicate.predicateFormat
      XCTAssertEqual(try FetchPredicate(format: printed), predicate, text)
      do {
        _ = try library.resolve("Book", predicate)
        resolved += 1
      } catch let error as FetchPredicateError { XCTAssertFalse(error.description.isEmpty) }
    }
    XCTAssertGreaterThan(parsed, 2_000)
    XCTAssertGreaterThan(resolved, 500)
  }
}
