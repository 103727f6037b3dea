import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Comparison of values of every type in memory.
final class ComparisonTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws { library = try Library() }

  private func books(_ keyPath: String, _ op: ComparisonOperator, _ value: any FetchConstantConvertible) throws -> [Int] {
    try library.fetch("Book", .compare(keyPath, op, value))
  }

  func testIntegersCompareWithFractionsExactly() throws {
    try library.add("Book", 1, ["copies": Int64.max])
    try library.add("Book", 2, ["copies": 9_007_199_254_740_993])
    try library.add("Book", 3, ["copies": 5])
    XCTAssertEqual(try books("copies", .equal, 9_007_199_254_740_992.0), [])
    XCTAssertEqual(try books("copies", .greater, 9_007_199_254_740_992.0), [1, 2])
    XCTAssertEqual(try books("copies", .less, 5.5), [3])
    XCTAssertEqual(try books("copies", .greaterOrEqual, 4.5), [1, 2, 3])
    XCTAssertEqual(try books("copies", .equal, 5.5), [])
    XCTAssertEqual(try books("copies", .notEqual, 5.5), [1, 2, 3])
    XCTAssertEqual(try books("copies", .less, 1e30), [1, 2, 3])
    XCTAssertEqual(try books("copies", .greater, -Double.infinity), [1, 2, 3])
    XCTAssertEqual(try books("copies", .between, [4.5, 5.5]), [3])
    XCTAssertEqual(try books("copies", .in, [5.0, 5.5]), [3])
    XCTAssertEqual(try books("copies", .greater, try XCTUnwrap(Decimal(string: "9007199254740992.5"))), [1, 2])
  }

  func testDoublesCompareWithIntegersExactly() throws {
    try library.add("Book", 1, ["rating": 9_007_199_254_740_992.0])
    try library.add("Book", 2, ["rating": 4.5])
    XCTAssertEqual(try books("rating", .equal, 9_007_199_254_740_993), [])
    XCTAssertEqual(try books("rating", .less, 9_007_199_254_740_993), [1, 2])
    XCTAssertEqual(try books("rating", .greater, 4), [1, 2])
    XCTAssertEqual(try books("rating", .equal, Decimal(4.5)), [2])
  }

  func testFloatsEqualTheConstantTheyWereSetTo() throws {
    try library.add("Book", 1, ["weight": Float(0.1)])
    XCTAssertEqual(try books("weight", .equal, 0.1), [1])
    XCTAssertEqual(try books("weight", .lessOrEqual, 0.1), [1])
    XCTAssertEqual(try books("weight", .in, [0.1, 0.2]), [1])
  }

  func testDecimalsCompareExactly() throws {
    let price = try XCTUnwrap(Decimal(string: "19.99"))
    try library.add("Book", 1, ["price": price])
    try library.add("Book", 2, ["price": Decimal(20)])
    try library.add("Book", 3, ["price": Decimal(-3)])
    XCTAssertEqual(try books("price", .equal, 19.99), [1])
    XCTAssertEqual(try books("price", .equal, price), [1])
    XCTAssertEqual(try books("price", .equal, 20), [2])
    XCTAssertEqual(try books("price", .less, 20), [1, 3])
    XCTAssertEqual(try books("price", .less, 1e300), [1, 2, 3])
    XCTAssertEqual(try books("price", .in, FetchConstant.list([.int(20), .real(19.99), .real(1e300)])), [1, 2])
    XCTAssertEqual(try books("price", .between, [0, 20]), [1, 2])
  }

  func testColumnsOfDifferentNumericTypesCompare() throws {
    try library.add("Book", 1, ["price": Decimal(20), "pages": 20, "rating": 20.0, "copies": 19])
    func compare(_ left: String, _ op: ComparisonOperator, _ right: String) throws -> [Int] {
      try library.fetch("Book", .comparison(FetchComparison(left: .keyPath(left), op: op, right: .keyPath(right))))
    }
    XCTAssertEqual(try compare("price", .equal, "pages"), [1])
    XCTAssertEqual(try compare("pages", .equal, "price"), [1])
    XCTAssertEqual(try compare("rating", .equal, "price"), [1])
    XCTAssertEqual(try compare("rating", .equal, "pages"), [1])
    XCTAssertEqual(try compare("copies", .less, "price"), [1])
  }

  func testBooleansCompareAsZeroAndOne() throws {
    try library.add("Book", 1, ["inPrint": true, "pages": 1])
    try library.add("Book", 2, ["inPrint": false, "pages": 0])
    XCTAssertEqual(try books("inPrint", .equal, true), [1])
    XCTAssertEqual(try books("inPrint", .equal, 1), [1])
    XCTAssertEqual(try books("inPrint", .notEqual, true), [2])
    XCTAssertEqual(try books("pages", .equal, false), [2])
  }

  func testDatesUUIDsURLsAndBytesCompare() throws {
    let uuid = UUID()
    let date = Date(timeIntervalSinceReferenceDate: 1000)
    let site = try XCTUnwrap(URL(string: "https://example.org/a"))
    try library.add("Book", 1, ["isbn": uuid, "published": date, "site": site, "cover": Data([1, 2])])
    XCTAssertEqual(try books("isbn", .equal, uuid), [1])
    XCTAssertEqual(try books("isbn", .equal, uuid.uuidString.lowercased()), [1])
    XCTAssertEqual(try books("isbn", .in, [uuid, UUID()]), [1])
    XCTAssertEqual(try books("published", .less, date + 1), [1])
    XCTAssertEqual(try books("published", .between, [date, date]), [1])
    XCTAssertEqual(try books("site", .equal, site), [1])
    XCTAssertEqual(try books("site", .equal, "https://example.org/a"), [1])
    XCTAssertEqual(try books("site", .beginsWith, "https://"), [1])
    XCTAssertEqual(try books("cover", .equal, Data([1, 2])), [1])
    XCTAssertEqual(try books("cover", .less, Data([1, 2, 0])), [1])
  }

  func testComparisonsWithAValueOnTheLeftAreReversed() throws {
    try library.add("Book", 1, ["title": "Sea", "pages": 5])
    func ask(_ left: FetchConstant, _ op: ComparisonOperator, _ right: String) throws -> [Int] {
      try library.fetch("Book", .comparison(FetchComparison(left: .constant(left), op: op, right: .keyPath(right))))
    }
    XCTAssertEqual(try ask(.int(4), .less, "pages"), [1])
    XCTAssertEqual(try ask(.int(5), .equal, "pages"), [1])
    XCTAssertEqual(try ask(.string("The Sea"), .endsWith, "title"), [1])
    XCTAssertEqual(try ask(.string("ea"), .in, "title"), [1])
  }

  func testObjectsAreComparedByIdentity() throws {
    try library.add("Author", 1)
    try library.add("Author", 2, toOne: ["mentor": 1])
    try library.add("Book", 3, toOne: ["author": 1])
    let first = library.objectID(of: 1)
    XCTAssertEqual(try books("author", .equal, first), [3])
    XCTAssertEqual(try books("author", .in, [first, library.objectID(of: 2)]), [3])
    XCTAssertEqual(try books("author", .notEqual, library.objectID(of: 2)), [3])
    XCTAssertEqual(try library.fetch("Author", .compare("SELF", .in, [first])), [1])
    XCTAssertEqual(try library.fetch("Author", .compare("objectID", .equal, first)), [1])
    // The key of an object of another entity does not match.
    XCTAssertEqual(try books("author", .equal, ManagedObjectID(space: 0, entityNumber: library.objectID(of: 3).entityNumber, key: 1)), [])
  }

  func testEntitiesAreTestedByName() throws {
    try library.add("Book", 1)
    try library.add("Novel", 2, ["genre": "crime"])
    XCTAssertEqual(try books("entity", .equal, FetchConstant.entity("Novel")), [2])
    XCTAssertEqual(try books("entity", .equal, "Book"), [1])
    XCTAssertEqual(try books("entity", .in, ["Book", "Novel"]), [1, 2])
  }
}
