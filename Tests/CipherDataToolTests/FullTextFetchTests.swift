import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import XCTest

/// `fetch` with a full-text search, sorted by relevance.
final class FullTextFetchTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string).required()
      Attribute("summary", .string)
      Index("words", fullText: "name", "summary")
      Unique("name")
    }
  }
  private static let lines = """
    {"name":"frotz","summary":"Interpreter of text adventures"}
    {"name":"zork","summary":"Adventure, adventure, adventure"}
    {"name":"adventure","summary":"The old text adventure"}
    {"name":"thing"}

    """

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let imported = try fixture.run(["import", "test.store", "--entity", "Item"], input: Self.lines)
    XCTAssertEqual(imported.status, 0, imported.error)
    return fixture
  }

  func testSearchResultsAreOrderedByRelevance() async throws {
    let fixture = try await fixture()
    func fetch(_ condition: String, _ more: String...) throws -> [String] {
      let result = try fixture.run(
        ["fetch", "test.store", "--entity", "Item", "--properties", "name", "--format", "csv", "--where", condition] + more)
      XCTAssertEqual(result.status, 0, result.error)
      return result.output.split(whereSeparator: \.isNewline).dropFirst().map(String.init)
    }
    XCTAssertEqual(try fetch(#"summary SEARCH "adventure*""#, "--sort", "relevance"), ["zork", "frotz", "adventure"])
    XCTAssertEqual(try fetch(#"summary SEARCH "adventure*""#, "--sort", "relevance asc"), ["frotz", "adventure", "zork"])
    XCTAssertEqual(try fetch(#"SELF SEARCH "text adventure""#, "--sort", "-relevance, name"), ["adventure"])
    XCTAssertEqual(try fetch(#"summary SEARCH "adventure -text OR interpreter""#, "--sort", "name"), ["frotz", "zork"])
    let explained = try fixture.run(
      ["fetch", "test.store", "--entity", "Item", "--explain", "--where", #"summary SEARCH "text""#, "--sort", "relevance"])
    XCTAssertTrue(explained.output.contains("full-text index “words” of Item (name, summary)"), explained.output)
  }

  func testSearchErrorsHavePositions() async throws {
    let fixture = try await fixture()
    let wrong = try fixture.run(["fetch", "test.store", "--entity", "Item", "--where", #"summary SEARCH "\"text""#])
    XCTAssertEqual(wrong.status, 64, wrong.error)
    XCTAssertTrue(wrong.error.contains("at character 1 of the query (column 16)"), wrong.error)
    let missing = try fixture.run(["fetch", "test.store", "--entity", "Item", "--where", "name == 'x'", "--sort", "relevance"])
    XCTAssertNotEqual(missing.status, 0)
    XCTAssertTrue(missing.error.contains("relevance"), missing.error)
  }
}
