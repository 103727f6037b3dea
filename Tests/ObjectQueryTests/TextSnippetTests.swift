import ObjectQuery
import XCTest
import _TestSupport

/// The positions of a query's words in a text, and the excerpt with most of them.
final class TextSnippetTests: XCTestCase {
  private func marked(_ query: String, _ text: String, words: Int = 100) -> String {
    TextQuery(typed: query).snippet(of: text, words: words).marked("[", "]")
  }

  func testMatchesAreMarked() {
    XCTAssertEqual(marked("fox", "The Fox, the fox; foxes"), "The [Fox], the [fox]; foxes")
    XCTAssertEqual(marked("fox*", "The Fox, foxes"), "The [Fox], [foxes]")
    XCTAssertEqual(marked("\"quick brown\" brown", "quick brown, brown quick"), "[quick brown], [brown] quick")
    XCTAssertEqual(marked("\"a b\" \"b c\"", "a b c"), "[a b c]")
    XCTAssertEqual(marked("fox -dog", "fox dog"), "[fox] dog")
    XCTAssertEqual(marked("strasse E\u{301}mile", "Große Straße von Emile"), "Große [Straße] von [Emile]")
    XCTAssertEqual(marked("京タ 🚀", "東京タワー 🚀!"), "東[京タ]ワー [🚀]!")
    XCTAssertEqual(marked("nothing", "The fox"), "The fox")
    XCTAssertEqual(marked("", ""), "")
  }

  func testSnippetsShowTheMostMatches() {
    let text = "one fox " + (0..<50).map { "w\($0)" }.joined(separator: " ") + " quick brown fox, end of it"
    XCTAssertEqual(marked("quick fox", text, words: 6), "…w49 [quick] brown [fox], end of…")
    XCTAssertEqual(marked("one", text, words: 6), "[one] fox w0 w1 w2 w3…")
    XCTAssertEqual(marked("nothing", text, words: 3), "one fox w0…")
    XCTAssertEqual(marked("it", text, words: 3), "…end of [it]")
    XCTAssertEqual(marked("fox", text, words: 0), "…[fox]…")
  }

  func testRangesAreThoseOfTheMatchedWords() throws {
    var random = SeededGenerator(seed: 5)
    let parts = ["a", "B", "ä", "ß", "東", "京", "👍🏽", "-", " ", " ", "\u{301}", "\u{AD}", "don't", "क्षि", "\r\n", "ﬁ"]
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 0...15, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      let typed = (0..<Int.random(in: 1...3, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      let query = TextQuery.phrase(typed, isPrefix: Bool.random(using: &random))
      guard !query.isEmpty else { continue }
      let ranges = query.ranges(in: text)
      XCTAssertEqual(!ranges.isEmpty, query.matches(text), "\(query) in \(text)")
      for range in ranges { XCTAssertTrue(query.matches(String(text[range])), "\(query) in \(text)") }
      let snippet = query.snippet(of: text, words: 3)
      for range in snippet.ranges { XCTAssertTrue(query.matches(String(snippet.text[range])), "\(query) in \(snippet.text)") }
    }
  }
}
