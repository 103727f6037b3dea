import ObjectQuery
import XCTest

/// Every comparison is true or false, even with missing values.
final class NilLogicTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws {
    library = try Library()
    try library.add("Author", 1, ["name": "Ada"])
    try library.add("Book", 10, ["title": "A", "pages": 5], toOne: ["author": 1])
    try library.add("Book", 11, ["title": "B", "pages": 7])
    try library.add("Book", 12)
  }

  private func books(_ predicate: FetchPredicate) throws -> [Int] { try library.fetch("Book", predicate) }

  func testEqualityWithNilTestsPresence() throws {
    XCTAssertEqual(try books(.compare("pages", .equal, nil)), [12])
    XCTAssertEqual(try books(.compare("pages", .notEqual, nil)), [10, 11])
    XCTAssertEqual(try books(.compare("author", .equal, nil)), [11, 12])
    XCTAssertEqual(try books(.compare("author", .notEqual, nil)), [10])
  }

  func testAMissingValueIsUnequalToEveryValue() throws {
    XCTAssertEqual(try books(.compare("pages", .equal, 5)), [10])
    XCTAssertEqual(try books(.compare("pages", .notEqual, 5)), [11, 12])
    XCTAssertEqual(try books(!.compare("pages", .equal, 5)), [11, 12])
  }

  func testOrderingAMissingValueIsFalseAndItsNegationTrue() throws {
    XCTAssertEqual(try books(.compare("pages", .less, 100)), [10, 11])
    XCTAssertEqual(try books(!.compare("pages", .less, 100)), [12])
    XCTAssertEqual(try books(.compare("pages", .between, [1, 6])), [10])
    XCTAssertEqual(try books(!.compare("pages", .between, [1, 6])), [11, 12])
    XCTAssertEqual(try books(.compare("pages", .less, nil)), [])
    XCTAssertEqual(try books(!.compare("pages", .less, nil)), [10, 11, 12])
  }

  func testStringOperatorsAreFalseForAMissingTextAndTrueNegated() throws {
    for op in [ComparisonOperator.beginsWith, .endsWith, .contains] {
      XCTAssertEqual(try books(.compare("title", op, "")), [10, 11], op.rawValue)
      XCTAssertEqual(try books(!.compare("title", op, "")), [12], op.rawValue)
      XCTAssertEqual(try books(.compare("title", op, nil)), [], op.rawValue)
    }
    XCTAssertEqual(try books(.compare("title", .like, "*")), [10, 11])
    XCTAssertEqual(try books(.compare("title", .matches, ".*")), [10, 11])
  }

  func testListsNeverContainAMissingValue() throws {
    let list = FetchConstant.list([.int(5), .null])
    XCTAssertEqual(try books(.compare("pages", .in, list)), [10])
    XCTAssertEqual(try books(!.compare("pages", .in, list)), [11, 12])
    XCTAssertEqual(try books(.compare("pages", .in, FetchConstant.list([]))), [])
    XCTAssertEqual(try books(!.compare("pages", .in, FetchConstant.list([]))), [10, 11, 12])
  }

  func testAPathThroughNoObjectHasNoValue() throws {
    XCTAssertEqual(try books(.compare("author.name", .equal, "Ada")), [10])
    XCTAssertEqual(try books(.compare("author.name", .notEqual, "Ada")), [11, 12])
    XCTAssertEqual(try books(.compare("author.name", .equal, nil)), [11, 12])
    XCTAssertEqual(try books(.compare("author.mentor.name", .equal, nil)), [10, 11, 12])
  }

  func testTwoMissingValuesAreEqual() throws {
    let same = FetchComparison(left: .keyPath("title"), op: .equal, right: .keyPath("author.name"))
    XCTAssertEqual(try books(.comparison(same)), [12])
    var different = same
    different.op = .notEqual
    XCTAssertEqual(try books(.comparison(different)), [10, 11])
  }

  func testEmptyCollectionsSatisfyAllAndNoneButNotAny() throws {
    XCTAssertEqual(try library.fetch("Author", .compare("students.name", .equal, "X", modifier: .any)), [])
    XCTAssertEqual(try library.fetch("Author", .compare("students.name", .equal, "X", modifier: .all)), [1])
    XCTAssertEqual(try library.fetch("Author", .compare("students.name", .equal, "X", modifier: .none)), [1])
    // The same holds for a path to a collection through a missing object.
    XCTAssertEqual(try books(.compare("author.books.pages", .greater, 0, modifier: .any)), [10])
    XCTAssertEqual(try books(.compare("author.books.pages", .less, 0, modifier: .all)), [11, 12])
    XCTAssertEqual(try books(.compare("author.books.@count", .equal, 0)), [11, 12])
  }
}
