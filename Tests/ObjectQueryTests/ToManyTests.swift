import Foundation
import ObjectQuery
import XCTest

/// ANY, ALL, NONE, counts, aggregates and subqueries over collections in memory.
final class ToManyTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws {
    library = try Library()
    try library.add("Author", 1, ["name": "Ada"])
    try library.add("Author", 2, ["name": "Bo"], toOne: ["mentor": 1])
    try library.add("Author", 3, ["name": "Cy"])
    try library.add("Book", 10, ["title": "X", "pages": 100, "price": Decimal(10)], toOne: ["author": 1])
    try library.add("Book", 11, ["title": "Y", "pages": 300, "price": Decimal(20)], toOne: ["author": 1])
    try library.add("Book", 12, ["title": "Bo", "pages": 50], toOne: ["author": 2])
    try library.add("Tag", 20, ["name": "red"], toMany: ["books": [10, 12]])
    try library.add("Tag", 21, ["name": "blue"], toMany: ["books": [11]])
  }

  private func authors(_ predicate: FetchPredicate) throws -> [Int] { try library.fetch("Author", predicate) }

  private func ask(_ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchConstant) throws -> [Int] {
    try authors(.comparison(FetchComparison(left: left, op: op, right: .constant(right))))
  }

  func testAnyAllAndNoneTestMembers() throws {
    XCTAssertEqual(try authors(.compare("books.pages", .greater, 200, modifier: .any)), [1])
    XCTAssertEqual(try authors(.compare("books.pages", .greater, 40, modifier: .all)), [1, 2, 3])
    XCTAssertEqual(try authors(.compare("books.pages", .greater, 60, modifier: .all)), [1, 3])
    XCTAssertEqual(try authors(.compare("books.pages", .greater, 60, modifier: .none)), [2, 3])
    XCTAssertEqual(try authors(!.compare("books.pages", .greater, 60, modifier: .none)), [1])
    XCTAssertEqual(try authors(!.compare("books.pages", .greater, 200, modifier: .any)), [2, 3])
    XCTAssertEqual(try authors(!.compare("books.pages", .greater, 60, modifier: .all)), [2])
    // "Some member differs" is not "no member is equal".
    XCTAssertEqual(try authors(.compare("books.title", .notEqual, "X", modifier: .any)), [1, 2])
  }

  func testPathsMayCrossTwoCollections() throws {
    XCTAssertEqual(try authors(.compare("books.tags.name", .equal, "red", modifier: .any)), [1, 2])
    XCTAssertEqual(try authors(.compare("books.tags.name", .equal, "red", modifier: .all)), [2, 3])
    XCTAssertEqual(try authors(.compare("books.tags.name", .equal, "blue", modifier: .none)), [2, 3])
  }

  func testRightSideIsEvaluatedForTheOuterObject() throws {
    let comparison = FetchComparison(left: .keyPath("books.title"), op: .equal, right: .keyPath("name"), modifier: .any)
    XCTAssertEqual(try authors(.comparison(comparison)), [2])
  }

  func testMembersAreFoundByObject() throws {
    let book = library.objectID(of: 11)
    XCTAssertEqual(try authors(.compare("books", .contains, book)), [1])
    XCTAssertEqual(try authors(.compare("books", .equal, book, modifier: .any)), [1])
    XCTAssertEqual(try authors(.compare("books", .in, [book, library.objectID(of: 12)], modifier: .any)), [1, 2])
    XCTAssertEqual(try authors(.comparison(FetchComparison(left: .constant(.object(book)), op: .in, right: .keyPath("books")))), [1])
    XCTAssertEqual(try authors(.comparison(FetchComparison(left: .constant(.string("Y")), op: .in, right: .keyPath("books.title")))), [1])
  }

  func testCountsAndAggregates() throws {
    XCTAssertEqual(try authors(.compare("books.@count", .equal, 2)), [1])
    XCTAssertEqual(try authors(.compare("books.@count", .greater, 0)), [1, 2])
    XCTAssertEqual(try authors(.compare("books.@count", .equal, 0)), [3])
    XCTAssertEqual(try authors(.compare("books.@sum.pages", .equal, 400)), [1])
    XCTAssertEqual(try authors(.compare("books.@sum.pages", .equal, 0)), [3])
    XCTAssertEqual(try authors(.compare("books.@avg.pages", .equal, 200)), [1])
    XCTAssertEqual(try authors(.compare("books.@avg.pages", .equal, nil)), [3])
    XCTAssertEqual(try authors(.compare("books.@max.pages", .greaterOrEqual, 300)), [1])
    XCTAssertEqual(try authors(.compare("books.@min.title", .equal, "X")), [1])
    XCTAssertEqual(try authors(.compare("books.@sum.price", .equal, 30)), [1])
    XCTAssertEqual(try authors(.compare("books.tags.@count", .equal, 1, modifier: .any)), [1, 2])
    XCTAssertEqual(try ask(.function("sum:", [.keyPath("books.pages")]), .equal, .int(50)), [2])
    XCTAssertEqual(try ask(.element(.keyPath("books"), .size), .equal, .int(1)), [2])
  }

  func testSubqueriesTestSeveralConditionsOfOneMember() throws {
    let condition = FetchPredicate.and([
      .comparison(FetchComparison(left: .path(.variable("b"), ["pages"]), op: .greater, right: .constant(.int(90)))),
      .comparison(FetchComparison(left: .path(.variable("b"), ["title"]), op: .equal, right: .constant(.string("X")))),
    ])
    let subquery = FetchExpression.subquery(collection: .keyPath("books"), variable: "b", predicate: condition)
    XCTAssertEqual(try ask(.path(subquery, ["@count"]), .greater, .int(0)), [1])
    XCTAssertEqual(try ask(.path(subquery, ["@count"]), .equal, .int(0)), [2, 3])
    XCTAssertEqual(try ask(.path(subquery, ["@count"]), .equal, .int(1)), [1])
    XCTAssertEqual(try ask(.path(subquery, ["@sum", "pages"]), .equal, .int(100)), [1])
  }

  func testSubqueriesNestAndAccessTheOuterObject() throws {
    // A book of the author has a tag with the author's name.
    let tags = FetchExpression.subquery(
      collection: .path(.variable("b"), ["tags"]), variable: "t",
      predicate: .and([
        .comparison(FetchComparison(left: .path(.variable("t"), ["name"]), op: .equal, right: .constant(.string("red")))),
        .comparison(FetchComparison(left: .path(.variable("b"), ["title"]), op: .equal, right: .keyPath("name"))),
      ]))
    let books = FetchExpression.subquery(
      collection: .keyPath("books"), variable: "b",
      predicate: .comparison(FetchComparison(left: .path(tags, ["@count"]), op: .equal, right: .constant(.int(1)))))
    XCTAssertEqual(try ask(.path(books, ["@count"]), .greater, .int(0)), [2])
  }

  func testArithmeticAndConditionals() throws {
    func books(_ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchConstant) throws -> [Int] {
      try library.fetch("Book", .comparison(FetchComparison(left: left, op: op, right: .constant(right))))
    }
    let pages = FetchExpression.keyPath("pages")
    XCTAssertEqual(try books(.function("multiply:by:", [pages, .constant(.int(2))]), .equal, .int(600)), [11])
    XCTAssertEqual(try books(.function("divide:by:", [pages, .constant(.int(0))]), .equal, .null), [10, 11, 12])
    XCTAssertEqual(try books(.function("add:to:", [.keyPath("price"), .constant(.real(0.5))]), .equal, .real(20.5)), [11])
    XCTAssertEqual(try books(.function("lowercase:", [.keyPath("title")]), .equal, .string("bo")), [12])
    XCTAssertEqual(try books(.function("length:", [.keyPath("title")]), .equal, .int(2)), [12])
    let choice = FetchExpression.conditional(.compare("pages", .greater, 90), .keyPath("title"), .constant(.string("short")))
    XCTAssertEqual(try books(choice, .equal, .string("short")), [12])
  }
}
