import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Operands in every order and position that Core Data's parser accepts: lists on the left, values as keys, expressions as arguments.
final class OperandOrderTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws { library = try Library() }

  private func resolved(_ format: String, _ arguments: (any FetchConstantConvertible)?...) throws -> ResolvedPredicate {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    let printed = try FetchPredicate(format: predicate.predicateFormat)
    XCTAssertEqual(printed, predicate, format)
    return try FetchResolver(model: library.model).resolve(FetchSpecification(entityName: "Book", predicate: printed)).predicate
  }

  func testContainsOnAListIsEquivalentToIn() throws {
    for (contains, isIn) in [
      ("{1, 2} CONTAINS pages", "pages IN {1, 2}"), ("NOT {1, 2} CONTAINS pages", "NOT pages IN {1, 2}"),
      ("{1, 2} NOT CONTAINS pages", "NOT pages IN {1, 2}"), ("{pages, copies} CONTAINS 1", "1 IN {pages, copies}"),
      ("{pages, 7} CONTAINS copies", "copies IN {pages, 7}"), ("{'a'} CONTAINS[cd] title", "title IN[cd] {'a'}"),
      ("{} CONTAINS pages", "pages IN {}"), ("{1} CONTAINS pages", "pages IN {1}"), ("{nil, 1} CONTAINS pages", "pages IN {nil, 1}"),
      ("{'a', 'b'} CONTAINS author.name", "author.name IN {'a', 'b'}"), ("{1, 2} CONTAINS 2", "2 IN {1, 2}"),
      ("{1} CONTAINS pages + copies", "pages + copies IN {1}"), ("{2} CONTAINS tags.@count", "tags.@count IN {2}"),
      ("SUBQUERY(tags, $t, {'a'} CONTAINS $t.name).@count > 0", "SUBQUERY(tags, $t, $t.name IN {'a'}).@count > 0"),
      ("ANY {1, 2} == pages", "1 == pages OR 2 == pages"), ("SOME {1, 2} > pages", "1 > pages OR 2 > pages"),
      ("ALL {1, 2} < pages", "1 < pages AND 2 < pages"), ("NONE {1, 2} == pages", "NOT (1 == pages OR 2 == pages)"),
      ("NOT ANY {pages, copies} == 1", "NOT (pages == 1 OR copies == 1)"),
      ("ANY {'a', 'b'} IN tags.name", "'a' IN tags.name OR 'b' IN tags.name"),
      ("ALL {} == pages", "TRUEPREDICATE"), ("ANY {} == pages", "FALSEPREDICATE"), ("nil == author", "author == nil"),
      ("nil != title", "title != nil"), ("5 < pages", "pages > 5"), ("5 BETWEEN {pages, copies}", "pages <= 5 AND copies >= 5"),
      ("nil CONTAINS title", "FALSEPREDICATE"), ("TRUE == inPrint", "inPrint == TRUE"),
      ("0 < SUBQUERY(tags, $t, $t.name == 'a').@count", "SUBQUERY(tags, $t, $t.name == 'a').@count > 0"),
    ] {
      XCTAssertEqual(try resolved(contains), try resolved(isIn), contains)
    }
    XCTAssertEqual(try resolved("%@ CONTAINS pages", [1, 2]), try resolved("pages IN %@", [1, 2]))
    XCTAssertEqual(try resolved("NOT %@ CONTAINS author.name", ["a"]), try resolved("NOT author.name IN %@", ["a"]))
    XCTAssertEqual(try resolved("%@ CONTAINS[c] title", ["a", "B"]), try resolved("title IN[c] %@", ["a", "B"]))
    XCTAssertEqual(try resolved("NONE %@ == pages", [1, 2]), try resolved("NOT (1 == pages OR 2 == pages)"))
    let template = try FetchPredicate(format: "$list CONTAINS pages").withSubstitutionVariables(["list": [1, 2]])
    XCTAssertEqual(
      try FetchResolver(model: library.model).resolve(FetchSpecification(entityName: "Book", predicate: template)).predicate,
      try resolved("pages IN {1, 2}"))
  }

  func testPlaceholdersAfterADotAreKeys() throws {
    XCTAssertEqual(try resolved("SELF.%@ == %@", "title", "x"), try resolved("SELF.title == 'x'"))
    XCTAssertEqual(try resolved("self.%@.%@ == %@", "author", "name", "x"), try resolved("author.name == 'x'"))
    XCTAssertEqual(try resolved("SELF.%@ == 'x'", "author.name"), try resolved("author.name == 'x'"))
    XCTAssertEqual(try resolved("author.%@ CONTAINS[cd] %@", "name", "x"), try resolved("author.name CONTAINS[cd] 'x'"))
    XCTAssertEqual(try resolved("author.%K == 'x'", "name"), try resolved("author.name == 'x'"))
    XCTAssertEqual(try resolved("%K.name == 'x'", "author"), try resolved("author.name == 'x'"))
    XCTAssertEqual(try resolved("%K.%K.%@ == 'x'", "author", "mentor", "name"), try resolved("author.mentor.name == 'x'"))
    XCTAssertEqual(try resolved("SELF.%s == 1", "pages"), try resolved("pages == 1"))
    XCTAssertEqual(try resolved("SELF.%2$@ == %1$@", 1, "pages"), try resolved("pages == 1"))
    XCTAssertEqual(try resolved("ANY tags.%@ == 'x'", "name"), try resolved("ANY tags.name == 'x'"))
    XCTAssertEqual(
      try resolved("SUBQUERY(tags, $t, $t.%@ == 'x').@count > 0", "name"), try resolved("SUBQUERY(tags, $t, $t.name == 'x').@count > 0"))
    // At the start of a path it is a value, as elsewhere.
    XCTAssertEqual(try FetchPredicate(format: "%@ == 'x'", "title").predicateFormat, #""title" == "x""#)
    for argument in [5, nil, "", ["title"]] as [(any FetchConstantConvertible)?] {
      XCTAssertThrowsError(try FetchPredicate(format: "SELF.%@ == 1", argument)) { error in
        XCTAssertEqual((error as? PredicateFormatError)?.message, "Argument 1, for a key, has to be a key path in a string")
      }
    }
  }

  func testExpressionsAreArguments() throws {
    XCTAssertEqual(
      try FetchPredicate(format: "%@ CONTAINS %@", arguments: [.constant(.list([.int(1)])), .keyPath("pages")]),
      try FetchPredicate(format: "{1} CONTAINS pages"))
    XCTAssertEqual(
      try FetchPredicate(format: "SELF.%@ == %@ AND %@ > 2", arguments: [.keyPath("pages"), .variable("x"), .keyPath("copies")]),
      try FetchPredicate(format: "SELF.pages == $x AND copies > 2"))
    var deep = FetchExpression.keyPath("pages")
    for _ in 0..<60 { deep = .function("abs:", [deep]) }
    XCTAssertNoThrow(try FetchPredicate(format: "%@ == 1", arguments: [deep]))
    for _ in 0..<60 { deep = .function("abs:", [deep]) }
    XCTAssertThrowsError(try FetchPredicate(format: "%@ == 1", arguments: [deep]))
  }

  func testDictionariesAndValuesEvaluateAlike() throws {
    let book: [String: Any] = ["title": "a", "pages": 2, "copies": 9, "tags": ["x", "y"]]
    for (format, answer) in [
      ("{1, 2} CONTAINS pages", true), ("NOT {1, 2} CONTAINS pages", false), ("{pages, copies} CONTAINS 9", true),
      ("{pages, copies} CONTAINS 3", false), ("ANY {1, 2} == pages", true), ("ALL {1, 2} == pages", false), ("NONE {5} == pages", true),
      ("{1} CONTAINS missing", false), ("nil == missing", true), ("ANY {'x', 'z'} IN tags", true), ("ALL {'x', 'z'} IN tags", false),
    ] {
      XCTAssertEqual(try FetchPredicate(format: format).evaluate(with: book), answer, format)
    }
    XCTAssertTrue(try FetchPredicate(format: "SELF.%@ == %@", "title", "a").evaluate(with: book))
    XCTAssertTrue(try FetchPredicate(format: "%@ CONTAINS SELF", [1, 2]).evaluate(with: 2))
    XCTAssertFalse(try FetchPredicate(format: "%@ CONTAINS SELF", ["a"]).evaluate(with: "b"))
  }

  func testOtherComparisonsOfListsAreRejectedWithAdvice() throws {
    for op in ["==", "<", "IN", "BEGINSWITH", "BETWEEN"] {
      let right = op == "IN" || op == "BETWEEN" ? "{1, 2}" : "pages"
      XCTAssertThrowsError(try resolved("{1, 2} \(op) \(right)"), op) { error in
        XCTAssertTrue("\(error)".hasPrefix("A list on the left side of "), "\(error)")
        XCTAssertTrue("\(error)".contains("ANY, ALL or NONE"), "\(error)")
      }
    }
  }
}
