// InMemoryFilterTests: fetches whose predicates no store can answer alone (row P15).
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

final class InMemoryFilterTests: XCTestCase {
  func testABlockIsRefusedByNameUnlessTheRequestAllowsFiltering() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      try context.make("Author", ["name": "Ada"])
      var request = FetchRequest<Author>(entityName: "Author", predicate: .block("vowels") { (author: Author) in !author.name.isEmpty })
      XCTAssertThrowsError(try context.fetch(request)) { error in
        XCTAssertEqual(error as? FetchPredicateError, .blockPredicate(name: "vowels"))
        XCTAssertTrue("\(error)".contains("allowsInMemoryFiltering"), "\(error)")
      }
      XCTAssertEqual(request.predicate?.predicateFormat, "BLOCKPREDICATE(vowels)")
      request.predicate = .block { (author: Author) in author.name.isEmpty }
      XCTAssertTrue(request.predicate?.predicateFormat.hasPrefix("BLOCKPREDICATE(ObjectContextTests/InMemoryFilterTests.swift:") ?? false)
    }
  }
}
