import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Predicates survive a JSON round trip, and invalid JSON is rejected with its name.
final class PredicateCodingTests: XCTestCase {
  private func json(_ predicate: FetchPredicate) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(predicate), as: UTF8.self)
  }

  private func decode(_ text: String) throws -> FetchPredicate {
    try JSONDecoder().decode(FetchPredicate.self, from: Data(text.utf8))
  }

  func testRandomPredicatesRoundTripThroughCoding() throws {
    var maker = PredicateMaker(seed: 20_260_102)
    for _ in 0..<1000 {
      let predicate = maker.predicate(depth: 4)
      let text = try json(predicate)
      XCTAssertEqual(try decode(text), predicate, text)
    }
  }

  func testCodedFormMatchesTheDocumentation() throws {
    let cases: [(String, String)] = [
      ("TRUEPREDICATE", #"{"constant":true}"#),
      (
        "pages > 5 AND NOT (title BEGINSWITH[cd] \"a\")",
        #"{"and":[{"compare":{"left":{"key":["pages"]},"operator":">","right":{"value":{"int":5}}}},"#
          + #"{"not":{"compare":{"left":{"key":["title"]},"operator":"BEGINSWITH","options":"cd","right":{"value":{"string":"a"}}}}}]}"#
      ),
      (
        "ANY tags.name IN {1.5, NULL}",
        #"{"compare":{"left":{"key":["tags","name"]},"modifier":"ANY","operator":"IN","right":{"value":{"list":[{"real":1.5},{"null":true}]}}}}"#
      ),
      (
        "SUBQUERY(books, $x, $x.pages > length(name)).@count == CAST(\"2\", \"Decimal\")",
        #"{"compare":{"left":{"keys":["@count"],"path":{"subquery":{"key":["books"]},"variable":"x","#
          + #""where":{"compare":{"left":{"keys":["pages"],"path":{"variable":"x"}},"operator":">","#
          + #""right":{"arguments":[{"key":["name"]}],"function":"length:"}}}}},"operator":"==","right":{"value":{"decimal":"2"}}}}"#
      ),
      (
        "TERNARY(a == SELF, chapters[FIRST], {b, c[2]}) != CAST(12.5, \"Date\")",
        #"{"compare":{"left":{"else":{"list":[{"key":["b"]},{"at":2,"element":{"key":["c"]}}]},"#
          + #""if":{"compare":{"left":{"key":["a"]},"operator":"==","right":{"object":"SELF"}}},"#
          + #""then":{"at":"FIRST","element":{"key":["chapters"]}}},"operator":"!=","right":{"value":{"date":12.5}}}}"#
      ),
    ]
    for (format, text) in cases {
      let predicate = try FetchPredicate(format: format)
      XCTAssertEqual(try json(predicate), text)
      XCTAssertEqual(try decode(text), predicate)
    }
  }

  func testObjectsAreWrittenByTheirURI() throws {
    let library = try Library()
    let space = ObjectIDSpace.register(storeIdentifier: "7D2C6A0E-5B57-4C69-9A0C-3F0E7B0B9A12", model: library.model)
    let predicate = FetchPredicate.compare("author", .equal, ManagedObjectID(space: space.number, entityNumber: 1, key: 42))
    XCTAssertEqual(try decode(json(predicate)), predicate)
    let unsaved = FetchPredicate.compare("author", .equal, ManagedObjectID(space: space.number, entityNumber: 1, key: -1))
    XCTAssertThrowsError(try json(unsaved)) { XCTAssertTrue($0 is EncodingError, "\($0)") }
  }

  func testBlockPredicatesAreRejectedByName() {
    let predicate = FetchPredicate.and([.constant(true), .block(BlockPredicate("is prime") { _ in true })])
    XCTAssertThrowsError(try json(predicate)) {
      guard case EncodingError.invalidValue(_, let context)? = $0 as? EncodingError else { return XCTFail("\($0)") }
      XCTAssertTrue(context.debugDescription.contains("is prime"))
      XCTAssertEqual(context.codingPath.last?.stringValue, "Index 1")
    }
  }

  func testInvalidPredicatesAreRejectedWithTheirPath() {
    let cases: [(String, [String])] = [
      ("{}", []), (#"{"and":[{"constant":true},{"nor":[]}]}"#, ["and", "Index 1"]),
      (#"{"compare":{"left":{"key":["a"]},"operator":"~~","right":{"value":{"int":1}}}}"#, ["compare", "operator"]),
      (#"{"compare":{"left":{"key":["a"]},"operator":"==","right":{"value":{"int":"1"}}}}"#, ["compare", "right", "value", "int"]),
      (#"{"compare":{"left":{"key":["a"]},"operator":"==","options":"x","right":{"value":{"int":1}}}}"#, ["compare", "options"]),
      (#"{"compare":{"left":{"key":["a"]},"operator":"==","right":{"value":{"uuid":"no"}}}}"#, ["compare", "right", "value", "uuid"]),
      (
        #"{"compare":{"left":{"key":["a"]},"operator":"==","right":{"value":{"list":[{"list":[]}]}}}}"#,
        ["compare", "right", "value", "list", "Index 0", "list"]
      ),
      (#"{"compare":{"left":{"element":{"key":["a"]},"at":-1},"operator":"==","right":{"value":{"int":1}}}}"#, ["compare", "left", "at"]),
    ]
    for (text, path) in cases {
      XCTAssertThrowsError(try decode(text), text) {
        let found: [any CodingKey]
        switch $0 as? DecodingError {
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context): found = context.codingPath
        case .keyNotFound(_, let context): found = context.codingPath
        default: return XCTFail("\($0)")
        }
        XCTAssertEqual(found.map(\.stringValue), path, "\(text): \($0)")
      }
    }
  }

  func testNestedListsAreRejectedInBothDirections() throws {
    let predicate = try FetchPredicate(format: "a == {{1}}")
    XCTAssertThrowsError(try json(predicate)) { XCTAssertTrue($0 is EncodingError, "\($0)") }
  }

  func testNestingIsLimitedInBothDirections() throws {
    var predicate = FetchPredicate.constant(true)
    for _ in 0..<99 { predicate = .not(predicate) }
    let text = try json(predicate)
    XCTAssertEqual(try decode(text), predicate)
    XCTAssertThrowsError(try json(.not(predicate))) { XCTAssertTrue($0 is EncodingError, "\($0)") }
    XCTAssertThrowsError(try decode(#"{"not":"# + text + "}")) {
      guard case DecodingError.dataCorrupted(let context)? = $0 as? DecodingError else { return XCTFail("\($0)") }
      XCTAssertTrue(context.debugDescription.contains("100 levels"), context.debugDescription)
    }
  }

  func testRequestsRoundTripAndOmitDefaults() throws {
    var request = FetchRequest<[String: Any]>(entityName: "Book", predicate: .compare("pages", .greater, 5))
    request.sortDescriptors = [
      FetchSortDescriptor("title", ascending: false, comparison: .localized, locale: Locale(identifier: "sv_SE")), FetchSortDescriptor("n"),
    ]
    request.propertiesToFetch = ["author.name", .expression(try FetchExpression(format: "count(title)"), as: "n", resultType: .integer64)]
    request.propertiesToGroupBy = ["author.name"]
    request.havingPredicate = .compare("n", .greater, 2)
    request.fetchLimit = 7
    request.fetchOffset = 1
    request.fetchBatchSize = 3
    request.includesSubentities = false
    request.includesPendingChanges = false
    request.allowsInMemoryFiltering = true
    request.includesPropertyValues = false
    request.returnsObjectsAsFaults = false
    request.shouldRefreshRefetchedObjects = true
    request.relationshipKeyPathsForPrefetching = ["author"]
    request.returnsDistinctResults = true
    request.affectedStores = ["a"]
    let data = try JSONEncoder().encode(request)
    XCTAssertEqual(try JSONDecoder().decode(FetchRequest<[String: Any]>.self, from: data), request)
    // Every property of a specification is encoded if it differs from its default.
    let written = try XCTUnwrap(JSONSerialization.jsonObject(with: data) as? [String: Any])
    XCTAssertEqual(Set(written.keys), Set(Mirror(reflecting: request.specification).children.compactMap(\.label)))

    let plain = FetchSpecification(entityName: "Book")
    XCTAssertEqual(String(decoding: try JSONEncoder().encode(plain), as: UTF8.self), #"{"entityName":"Book"}"#)
    XCTAssertEqual(try JSONDecoder().decode(FetchSpecification.self, from: Data(#"{"entityName":"Book"}"#.utf8)), plain)
  }
}
