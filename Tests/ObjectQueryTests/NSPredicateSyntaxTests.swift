import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Predicate forms from other systems, and predicates on plain values.
final class NSPredicateSyntaxTests: XCTestCase {
  private func assert(_ format: String, isReadAs other: String, line: UInt = #line) throws {
    XCTAssertEqual(try FetchPredicate(format: format), try FetchPredicate(format: other), line: line)
  }

  // MARK: NOT after the value

  func testNotMayPrecedeAComparisonOperator() throws {
    try assert("title NOT IN {'a', 'b'}", isReadAs: "NOT title IN {'a', 'b'}")
    try assert(
      "title not in {'a'} AND pages not between {1, 2} OR title not like[c] 'x*'",
      isReadAs:
        "NOT title IN {'a'} AND NOT pages BETWEEN {1, 2} OR NOT title LIKE[c] 'x*'")
    try assert("NOT title NOT CONTAINS 'a'", isReadAs: "NOT (NOT title CONTAINS 'a')")
    XCTAssertEqual(try FetchPredicate(format: "title NOT IN %@", argumentArray: [["a"]]).evaluate(with: ["title": "b"]), true)
    XCTAssertEqual(try FetchPredicate(format: "title NOT IN %@", argumentArray: [["a"]]).evaluate(with: ["title": "a"]), false)
    for format in ["title NOT", "title NOT 5", "title NOT title IN {1}", "title NOT AND 1 == 1"] {
      XCTAssertThrowsError(try FetchPredicate(format: format), format) { XCTAssertTrue($0 is PredicateFormatError, "\($0)") }
    }
  }

  // MARK: The last index

  func testCountMinusOneIsTheLastIndex() throws {
    try assert("books[count:(books) - 1].title == 'a'", isReadAs: "books[LAST].title == 'a'")
    try assert("books[count(books)-1].title == 'a'", isReadAs: "books[LAST].title == 'a'")
    try assert("author.books[count:(author.books) - 1].pages > 1", isReadAs: "author.books[LAST].pages > 1")
    for format in ["books[count:(others) - 1].a == 1", "books[count:(books) - 2].a == 1", "books[count:(books)].a == 1"] {
      XCTAssertThrowsError(try FetchPredicate(format: format), format) { XCTAssertTrue("\($0)".contains("LAST"), "\($0)") }
    }
    let book: [String: Any] = ["tags": [["name": "a"], ["name": "b"]]]
    XCTAssertTrue(try FetchPredicate(format: "tags[count:(tags) - 1].name == 'b'").evaluate(with: book))
  }

  // MARK: The length of a text

  func testTextsHaveALength() throws {
    let library = try Library()
    func resolved(_ format: String) throws -> ResolvedFetch {
      try FetchResolver(model: library.model).resolve(FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format)))
    }
    XCTAssertEqual(try resolved("title.length > 3").predicate, try resolved("length(title) > 3").predicate)
    XCTAssertEqual(try resolved("author.name.length == 0").predicate, try resolved("length(author.name) == 0").predicate)
    for format in ["pages.length > 3", "title.length.length > 3", "title.size > 1"] {
      XCTAssertThrowsError(try resolved(format), format) { error in
        guard case .keyBehindAttribute? = error as? FetchPredicateError else { return XCTFail("\(format): \(error)") }
      }
    }
    XCTAssertTrue(
      try FetchPredicate(format: "title.length == 4 AND author.name.length == 3").evaluate(with: [
        "title": "Emma", "author": ["name": "Zoë"],
      ]))
  }

  // MARK: SELF

  func testPredicatesEvaluateTextsAndNumbers() throws {
    func meets(_ value: some FetchConstantConvertible, _ format: String, line: UInt = #line) throws -> Bool {
      try FetchPredicate(format: format).evaluate(with: value)
    }
    XCTAssertTrue(try meets("Ada", "SELF BEGINSWITH[c] 'a' AND SELF.length == 3 AND length(SELF) == 3"))
    XCTAssertTrue(try meets("Ada", "SELF MATCHES '[A-Z][a-z]+' AND SELF IN {'Ada', 'Bob'} AND self != nil"))
    XCTAssertFalse(try meets("Ada", "SELF == 'ada'"))
    XCTAssertTrue(try meets(7, "SELF > 5 AND SELF BETWEEN {7, 9} AND SELF * 2 == 14"))
    XCTAssertTrue(try meets(7.5, "SELF > 7"))
    XCTAssertTrue(try meets(Decimal(string: "19.99") ?? 0, "SELF == 19.99"))
    XCTAssertTrue(try meets(true, "SELF == TRUE"))
    XCTAssertTrue(try meets([1, 2, 3], "ANY SELF > 2 AND SELF.@count == 3 AND SELF CONTAINS 2"))
    XCTAssertThrowsError(try meets("Ada", "name == 'x'")) { XCTAssertTrue("\($0)".contains("SELF"), "\($0)") }
    XCTAssertThrowsError(try meets(7, "SELF == 'seven'")) { XCTAssertTrue("\($0)".contains("cannot be compared with a string"), "\($0)") }
  }

  func testListsAreFiltered() throws {
    let long = try FetchPredicate(format: "SELF.length > 3")
    XCTAssertEqual(try ["Ada", "Grace", "Jo", "Alan"].filtered(using: long), ["Grace", "Alan"])
    XCTAssertEqual(try [5, 3, 8].filtered(using: try FetchPredicate(format: "SELF > 4")), [5, 8])
    let books: [[String: Any]] = [["title": "a", "pages": 3], ["title": "b", "pages": 30]]
    let found = try books.filtered(using: try FetchPredicate(format: "pages > 10"))
    XCTAssertEqual(found.map { $0["title"] as? String }, ["b"])
  }

  // MARK: Advice

  func testInvalidComparisonsAreReportedWithAdvice() throws {
    let library = try Library()
    func error(_ format: String) -> String {
      do {
        let predicate = try FetchPredicate(format: format)
        _ = try FetchResolver(model: library.model).resolve(FetchSpecification(entityName: "Book", predicate: predicate))
        return ""
      } catch { return "\(error)" }
    }
    XCTAssertEqual(
      error("pages == '5'"),
      "pages is of type integer and cannot be compared with a string. Give a number, without quotation marks, or as an argument (%d, %f, %@)."
    )
    XCTAssertTrue(error("author.born > '2020-01-01'").hasSuffix("Give a Date as an argument (%@) instead of its text."))
    XCTAssertTrue(error("title == 5").hasSuffix("Put the value into quotation marks, or give a String as an argument (%@)."))
    XCTAssertTrue(error("author == 'Ada'").hasSuffix("or give an object or its ID as an argument (%@)."), error("author == 'Ada'"))
  }
}
