import ObjectQuery
import XCTest
import _TestSupport

/// The language of SEARCH, its matches and their relevance.
final class TextQueryTests: XCTestCase {
  private let text = "The quick brown fox jumps over the lazy dog. Brownies, too: naïve Straße 東京タワー"

  private func assertFinds(_ query: String, _ isFound: Bool = true, line: UInt = #line) {
    do {
      let parsed = try TextQuery(query)
      XCTAssertEqual(parsed.matches(text), isFound, query, line: line)
      XCTAssertEqual(TextQuery(typed: query), parsed, query, line: line)
      XCTAssertEqual(try TextQuery(parsed.text), parsed, "\(query) is written \(parsed.text)", line: line)
    } catch {
      XCTFail("\(query): \(error)", line: line)
    }
  }

  func testAllWordsMustMatch() {
    assertFinds("quick")
    assertFinds("QUICK dog")
    assertFinds("dog quick")
    assertFinds("quick cat", false)
    assertFinds("quic", false)
    assertFinds("quick AND dog")
    assertFinds("naive strasse")
  }

  func testAsterisksMatchPrefixes() {
    assertFinds("quic*")
    assertFinds("bro* la*")
    assertFinds("uick*", false)
    assertFinds("\"brown fo*\"")
    assertFinds("\"brown fo\"*")
    assertFinds("\"brow fo*\"", false)
  }

  func testPhrasesMatchConsecutiveWords() {
    assertFinds("\"quick brown fox\"")
    assertFinds("\"brown quick\"", false)
    assertFinds("\"dog brownies\"")
    assertFinds("quick-brown")
    assertFinds("brown-quick", false)
    assertFinds("京タ")
    assertFinds("東タ", false)
  }

  func testExcludedWords() {
    assertFinds("quick -cat")
    assertFinds("quick -fox", false)
    assertFinds("quick NOT cat")
    assertFinds("-cat")
    assertFinds("-\"brown quick\" fox")
    assertFinds("-(cat OR mouse)")
    assertFinds("-(cat OR fox)", false)
    assertFinds("quick - cat", false)
  }

  func testAlternativesBindLooserThanAdjacentWords() {
    assertFinds("cat OR fox")
    assertFinds("cat mouse OR quick fox")
    assertFinds("cat fox OR mouse", false)
    assertFinds("quick (cat OR fox)")
    assertFinds("quick (cat OR mouse)", false)
    assertFinds("((quick) (fox))")
    // In lower case it is a word.
    assertFinds("cat or fox", false)
  }

  func testQueriesWithoutWordsMatchNothing() {
    for query in ["", "  ", "...", "()", "\"\"", "-\"!\""] { assertFinds(query) }
    XCTAssertTrue(TextQuery(typed: "?!").isEmpty)
    XCTAssertEqual(TextQuery.any([]), TextQuery.all([]))
    XCTAssertEqual(try TextQuery("fox ... dog"), try TextQuery("fox dog"))
  }

  func testQueryErrorsHavePositions() {
    for (query, position) in [
      ("quick \"brown fox", 6), ("quick (brown", 6), ("quick) brown", 5), ("OR fox", 0), ("fox OR", 5), ("fox AND", 4), ("*", 0),
      ("a ** b", 2),
      ("NOT", 0), ("(a OR ) b", 5),
    ] {
      do {
        _ = try TextQuery(query)
        XCTFail("\(query) is no query")
      } catch {
        XCTAssertEqual(error.position, position, "\(query): \(error)")
      }
      // User input is never an error.
      let typed = TextQuery(typed: query)
      XCTAssertEqual(try TextQuery(typed.text), typed, query)
    }
    XCTAssertEqual(TextQuery(typed: "quick \"brown fo"), try TextQuery("quick \"brown fo\""))
    XCTAssertEqual(TextQuery(typed: "fox OR"), try TextQuery("fox"))
    XCTAssertEqual(TextQuery(typed: "quick) (brown"), try TextQuery("quick brown"))
  }

  func testQueriesAreBuiltFromParts() throws {
    let query = (.word("Quick") || .prefix("bro")) && !.phrase("lazy cat") as TextQuery
    XCTAssertEqual(query.text, "(quick OR bro*) -\"lazy cat\"")
    XCTAssertEqual(query, try TextQuery("(QUICK OR bró*) -\"Lazy cat\""))
    XCTAssertTrue(query.matches(text))
    XCTAssertEqual(!(!query), query)
  }

  func testAnyTypedTextIsAQuery() {
    var random = SeededGenerator(seed: 11)
    let parts = [
      "a", "B", "\"", "(", ")", "-", "*", " ", " ", "OR", "AND", "NOT", "東", "é", "'", "0", "👍", "\u{301}", "\0", "--", " OR ", " NOT ",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      let query = TextQuery(typed: text)
      XCTAssertEqual(try TextQuery(query.text), query, "\(text) → \(query.text)")
      if let strict = try? TextQuery(text) { XCTAssertEqual(strict, query, text) }
    }
    let deep = String(repeating: "(", count: 100_000) + "fox"
    XCTAssertThrowsError(try TextQuery(deep))
    XCTAssertTrue(TextQuery(typed: deep).matches("fox"))
    XCTAssertTrue(TextQuery(typed: String(repeating: "-", count: 100_000) + "fox").matches("fox"))
  }

  func testRelevanceGrowsWithOccurrencesAndShrinksWithLength() throws {
    func relevance(_ text: String, _ query: String) -> Double { TextRelevance.of(TextQuery(typed: query), [text]) }
    XCTAssertEqual(relevance("no such word", "fox"), 0)
    XCTAssertGreaterThan(relevance("fox fox dog", "fox"), relevance("fox cat dog", "fox"))
    XCTAssertGreaterThan(relevance("fox", "fox"), relevance("fox and a lot of other words", "fox"))
    XCTAssertGreaterThan(relevance("fox dog", "fox OR dog"), relevance("fox fox", "fox OR dog"))
    XCTAssertGreaterThan(relevance("a red fox", "\"red fox\""), relevance("a red fox", "fox"))
    XCTAssertEqual(relevance("fox dog", "fox -cat"), relevance("fox dog", "fox"))
    XCTAssertEqual(TextRelevance.of(TextQuery(typed: "fox"), ["fox", "fox"]), 2 * relevance("fox", "fox"))
    XCTAssertEqual(
      relevance("a a a", "\"a a\""), 2 * relevance("a a b", "\"a a\"") * 2 / (2 + 1.2 * (0.25 + 0.0225)) * (1 + 1.2 * (0.25 + 0.0225)) / 2,
      accuracy: 1e-9)
  }
}
