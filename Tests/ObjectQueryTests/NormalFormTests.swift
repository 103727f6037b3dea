import ObjectModel
import ObjectQuery
import XCTest

/// The resolved form that the evaluator and the SQL generators share.
final class NormalFormTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws { library = try Library() }

  private func resolve(_ format: String) throws -> ResolvedFetch { try library.resolve("Book", FetchPredicate(format: format)) }

  private func shape(_ format: String) throws -> FetchShape {
    let specification = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format))
    return FetchShape(try FetchResolver(model: library.model).resolve(specification), specification: specification)
  }

  func testNotIsPushedToTheLeavesAndConjunctionsAreFlattened() throws {
    let left = try resolve("NOT (pages == 1 OR NOT (title == 'x' AND rating > 2))").predicate
    guard case .and(let items) = left else { return XCTFail("no AND") }
    XCTAssertEqual(items.count, 3)
    guard case .comparison(let first) = items[0], case .comparison(let third) = items[2] else { return XCTFail("no comparisons") }
    XCTAssertTrue(first.isNegated)
    XCTAssertFalse(third.isNegated)
  }

  func testConstantsAreFolded() throws {
    XCTAssertEqual(try resolve("TRUEPREDICATE AND 1 == 1 AND 'abc' CONTAINS 'b'").predicate, .constant(true))
    XCTAssertEqual(try resolve("pages == 1 AND 1 == 2").predicate, .constant(false))
    XCTAssertEqual(try resolve("pages == 1.5 OR pages IN {}").predicate, .constant(false))
    XCTAssertEqual(try resolve("nil == nil AND nil != 5 AND NOT (nil < 5)").predicate, .constant(true))
    XCTAssertEqual(try resolve("SELF == nil").predicate, .constant(false))
    // Conditions after a decisive one are still checked.
    XCTAssertThrowsError(try resolve("FALSEPREDICATE AND nosuch == 1"))
  }

  func testListsAreSortedAndFoldedAndHaveNoDuplicates() throws {
    XCTAssertEqual(try resolve("title IN[c] {'B', 'a', 'b', nil}").constants, [.slots([.text("a"), .text("b")])])
    XCTAssertEqual(try resolve("pages IN {3, 1.0, 2.5, 3}").constants, [.slots([.int(1), .int(3)])])
    XCTAssertEqual(try resolve("title BEGINSWITH[cd] 'É'").constants, [.slot(.text("e"))])
  }

  func testCountsAgainstZeroBecomeExistence() throws {
    for text in ["tags.@count > 0", "tags.@count >= 1", "tags.@count != 0", "SUBQUERY(tags, $t, TRUEPREDICATE).@count > 0"] {
      guard case .exists(let exists) = try resolve(text).predicate else { return XCTFail(text) }
      XCTAssertFalse(exists.isNegated, text)
      XCTAssertEqual(exists.condition, .constant(true), text)
    }
    guard case .exists(let none) = try resolve("tags.@count == 0").predicate else { return XCTFail("no existence") }
    XCTAssertTrue(none.isNegated)
  }

  func testFetchesThatDifferOnlyInConstantsHaveTheSameShape() throws {
    XCTAssertEqual(try shape("pages > 5 AND ANY tags.name == 'a'"), try shape("pages > 7 AND ANY tags.name == 'b'"))
    XCTAssertEqual(try shape("pages IN {1, 2, 3}"), try shape("pages IN {4, 5, 6, 7}"))
    XCTAssertNotEqual(try shape("pages IN {1, 2}"), try shape("pages IN {4, 5, 6, 7}"))
    XCTAssertNotEqual(try shape("pages > 5"), try shape("pages >= 5"))
    XCTAssertNotEqual(try shape("title == 'a'"), try shape("title ==[c] 'a'"))
    XCTAssertNotEqual(try shape("title == 'a'"), try shape("author.name == 'a'"))
    XCTAssertNotEqual(try shape("pages == 1"), try shape("pages == nil"))
    XCTAssertEqual(try shape("pages == 1").hashValue, try shape("pages == 2").hashValue)
  }
}
