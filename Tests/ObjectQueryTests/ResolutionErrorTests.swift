import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Mismatches with the model are reported before anything is read.
final class ResolutionErrorTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws { library = try Library() }

  private func error(_ format: String, entity: String = "Book") throws -> FetchPredicateError {
    let predicate = try FetchPredicate(format: format)
    var thrown: (any Error)?
    XCTAssertThrowsError(try predicate.validate(entity: entity, in: library.model), format) { thrown = $0 }
    return try XCTUnwrap(thrown as? FetchPredicateError, format)
  }

  func testUnknownKeysAreNamedWithASuggestion() throws {
    XCTAssertEqual(try error("titel == 'x'"), .unknownKey(key: "titel", keyPath: "titel", entity: "Book", suggestion: "title"))
    XCTAssertEqual(try error("author.nam == 'x'"), .unknownKey(key: "nam", keyPath: "author.nam", entity: "Author", suggestion: "name"))
    XCTAssertTrue(try error("genre == 'x'").description.contains("subentity Novel"))
    XCTAssertEqual(try error("title.size == 1"), .keyBehindAttribute(key: "size", keyPath: "title.size", attribute: "title"))
    XCTAssertEqual(try error("a == 1", entity: "Bok"), .unknownEntity(name: "Bok"))
    XCTAssertNoThrow(try FetchPredicate(format: "genre == 'x' AND title == 'y'").validate(entity: "Novel", in: library.model))
  }

  func testToManyKeysNeedAModifier() throws {
    XCTAssertEqual(try error("tags.name == 'x'"), .toManyKeyNotAllowed(key: "tags", keyPath: "tags.name", entity: "Book"))
    XCTAssertEqual(try error("tags == nil"), .toManyKeyNotAllowed(key: "tags", keyPath: "tags", entity: "Book"))
    XCTAssertEqual(try error("ANY author.name == 'x'"), .modifierNeedsToManyKey(modifier: "ANY", expression: "author.name"))
  }

  func testTransientKeysAreRejectedUnlessAllowed() throws {
    XCTAssertEqual(try error("draft == 'x'"), .transientKey(keyPath: "draft", entity: "Book"))
    try library.add("Book", 1, ["draft": "x"])
    XCTAssertTrue(try FetchPredicate(format: "draft == 'x'").evaluate(with: 1, in: library.model, resolver: library))
  }

  func testTypesMustMatch() throws {
    XCTAssertEqual(try error("pages == 'x'"), .typeMismatch(expression: "pages", type: "integer", other: "a string"))
    XCTAssertEqual(try error("title == 5"), .typeMismatch(expression: "title", type: "string", other: "an integer"))
    XCTAssertEqual(try error("published > '2020-01-01'"), .typeMismatch(expression: "published", type: "date", other: "a string"))
    XCTAssertEqual(try error("isbn == 'nope'"), .typeMismatch(expression: "isbn", type: "UUID", other: "a string that is no UUID"))
    XCTAssertEqual(
      try error("title == pages"), .typeMismatch(expression: "title", type: "string", other: "pages, which is of type integer"))
    XCTAssertEqual(try error("author == 'x'"), .typeMismatch(expression: "author", type: "object", other: "a string"))
    XCTAssertEqual(try error("pages IN {1, 'x'}"), .typeMismatch(expression: "pages", type: "integer", other: "a string"))
    XCTAssertEqual(try error("pages CONTAINS 'x'"), .operatorNotSupported(op: "CONTAINS", expression: "pages", type: "integer"))
    XCTAssertEqual(try error("author < author"), .operatorNotSupported(op: "<", expression: "author", type: "object"))
    XCTAssertEqual(
      try error("extra == 'x'"), .operatorNotSupported(op: "==", expression: "extra", type: "transformable or undefined"))
    XCTAssertNoThrow(try FetchPredicate(format: "extra != nil").validate(entity: "Book", in: library.model))
    XCTAssertEqual(try error("title MATCHES '('"), .invalidPattern(expression: "title"))
    XCTAssertEqual(
      try error("title + 1 == 2"), .operatorNotSupported(op: "add:to:", expression: "title and an integer", type: "string and integer"))
  }

  func testErrorsNameConstantsByTypeOnce() throws {
    XCTAssertEqual(try error("5 BEGINSWITH 'x'").description, "BEGINSWITH does not apply to an integer.")
    XCTAssertEqual(try error("pages BEGINSWITH 'x'").description, "BEGINSWITH does not apply to pages, which is of type integer.")
  }

  func testMeaninglessFormsAreRejected() throws {
    XCTAssertEqual(try error("title == $x"), .unsubstitutedVariable(name: "x"))
    XCTAssertEqual(try error("title == $x.name"), .unsubstitutedVariable(name: "x"))
    XCTAssertEqual(try error("pages BETWEEN {1}"), .invalidRightSide(op: "BETWEEN", expression: "pages", expected: "a list of two values"))
    XCTAssertEqual(
      try error("pages IN 5"), .invalidRightSide(op: "IN", expression: "pages", expected: "a list, a to-many relationship or a text"))
    XCTAssertEqual(try error("pages == {1}"), .invalidRightSide(op: "==", expression: "pages", expected: "one value, not a list"))
    guard case .unsupported = try error("random:(pages) == 1") else { return XCTFail("a function that there is not") }
    guard case .unsupported = try error("tags.@distinctUnionOfObjects.name == 1") else { return XCTFail("an operator that there is not") }
  }

  func testNestingIsBounded() throws {
    var predicate = FetchPredicate.compare("pages", .equal, 1)
    for _ in 0..<150 { predicate = .not(predicate) }
    XCTAssertThrowsError(try predicate.validate(entity: "Book", in: library.model)) {
      XCTAssertEqual($0 as? FetchPredicateError, .nestingTooDeep(limit: 100))
    }
    XCTAssertTrue(predicate.predicateFormat.contains("nested"))
    // Conditions added one by one do not nest.
    var growing = FetchPredicate.compare("pages", .equal, 0)
    for number in 1..<1000 { growing = growing || .compare("pages", .equal, number) }
    XCTAssertNoThrow(try growing.validate(entity: "Book", in: library.model))
  }

  func testErrorsNeverContainValues() throws {
    for text in [
      "pages == 'sec' ", "isbn == 'sec'", "pages IN {'sec'}", "title MATCHES '(sec'", "pages BETWEEN {'sec', 1}", "abs('sec') == 1",
    ] {
      XCTAssertFalse(try error(text).description.contains("sec"), text)
    }
  }
}
