import Foundation
import ObjectQuery
import XCTest

/// SEARCH as text and as JSON.
final class SearchFormatTests: XCTestCase {
  func testSearchIsAnOperatorAndMayBeAKey() throws {
    XCTAssertEqual(try FetchPredicate(format: "body SEARCH 'a b*'"), .compare("body", .search, "a b*"))
    XCTAssertEqual(
      try FetchPredicate(format: "body search[cd] %@", "a"),
      .compare("body", .search, "a", options: [.caseInsensitive, .diacriticInsensitive]))
    XCTAssertEqual(try FetchPredicate(format: "ANY chapters.body SEARCH 'a'"), .compare("chapters.body", .search, "a", modifier: .any))
    XCTAssertEqual(
      try FetchPredicate(format: "search SEARCH 'a' AND x.search == 1"), .compare("search", .search, "a") && .compare("x.search", .equal, 1)
    )
    XCTAssertEqual(
      try FetchPredicate(format: "{title, body} SEARCH 'a'"),
      .comparison(
        FetchComparison(left: .aggregate([.keyPath("title"), .keyPath("body")]), op: .search, right: .constant(.string("a")))))
    XCTAssertEqual(
      try FetchPredicate(format: "body SEARCH %@", TextQuery.phrase("a b") && !.word("c")), .compare("body", .search, "\"a b\" -c"))
  }

  func testPrintedSearchesAreParsed() throws {
    for query in ["a b*", "\"a b\" OR -c", "\"never ended", ") (", "*", "it's", ""] {
      let predicate = FetchPredicate.compare("body", .search, query) && .compare("search", .equal, query)
      XCTAssertEqual(try FetchPredicate(format: predicate.predicateFormat), predicate, predicate.predicateFormat)
      XCTAssertEqual(try JSONDecoder().decode(FetchPredicate.self, from: try JSONEncoder().encode(predicate)), predicate)
    }
    XCTAssertEqual(FetchPredicate.compare("body", .search, "a b").predicateFormat, "body SEARCH \"a b\"")
    let relevance = try FetchExpression(format: "relevance({title, SELF.body}, 'a')")
    XCTAssertEqual(try FetchExpression(format: relevance.description), relevance)
  }

  func testSearchArgumentsAreReadAsTypedQueries() throws {
    XCTAssertNoThrow(try FetchPredicate(format: "body SEARCH %@", "\"never ended"))
    XCTAssertThrowsError(try FetchPredicate(format: "body SEARCH '\"never ended'"))
    XCTAssertTrue(try FetchPredicate(format: "body SEARCH %@", "\"never ended").evaluate(with: ["body": "It never ended."]))
    XCTAssertFalse(try FetchPredicate(format: "body SEARCH %@", "\"ended never").evaluate(with: ["body": "It never ended."]))
    XCTAssertFalse(try FetchPredicate(format: "body SEARCH '-x'").evaluate(with: [:]))
    XCTAssertTrue(try FetchPredicate(format: "{title, body} SEARCH 'a b'").evaluate(with: ["body": "b", "title": "a"]))
    XCTAssertTrue(try FetchPredicate(format: "ANY words SEARCH 'b*'").evaluate(with: ["words": ["a", "bc"]]))
    XCTAssertTrue(try FetchPredicate(format: "relevance(body, 'a') > 0").evaluate(with: ["body": "a"]))
    XCTAssertTrue(try FetchPredicate(format: "relevance(body, 'a') == 0").evaluate(with: [:]))
  }
}
