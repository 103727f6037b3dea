import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// `cipherdata history` lists, filters, switches and purges, run with the built tool.
final class HistoryCommandTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string).required()
      Attribute("size", .integer64)
      Relationship("shelf", to: "Shelf", inverse: "items")
      Relationship("tags", toMany: "Tag", inverse: "items")
      Unique("name")
    }
    Entity("Shelf") {
      Attribute("label", .string).required()
      Relationship("items", toMany: "Item", inverse: "shelf")
      Unique("label")
    }
    Entity("Tag") {
      Attribute("word", .string).required()
      Relationship("items", toMany: "Item", inverse: "tags")
      Unique("word")
    }
  }

  private func fixture(_ options: String...) async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let enabled = try fixture.run(["history", "test.store", "--enable"] + options)
    XCTAssertEqual(enabled.status, 0, enabled.error)
    return fixture
  }

  private func importItems(_ fixture: ToolFixture, _ numbers: Range<Int>, _ options: String...) throws {
    let lines = numbers.map { #"{"name":"item \#($0)","size":\#($0),"shelf":{"label":"shelf \#($0 % 3)"},"tags":[{"word":"red"}]}"# + "\n" }
    let imported = try fixture.run(["import", "test.store", "--entity", "Item"] + options, input: lines.joined())
    XCTAssertEqual(imported.status, 0, imported.error)
  }

  /// The JSON lines of a listing.
  private func lines(_ fixture: ToolFixture, _ options: String...) throws -> [JSONValue] {
    let result = try fixture.run(["history", "test.store", "--format", "jsonl"] + options)
    XCTAssertEqual(result.status, 0, result.error)
    return try result.output.split(separator: "\n").map { try JSONParser.parse(String($0)) }
  }

  private func text(_ value: JSONValue?) -> String? { if case .string(let text)? = value { text } else { nil } }
  private func changes(_ line: JSONValue) -> [JSONValue] { if case .array(let items)? = line["changes"] { items } else { [] } }

  func testChangesOfAMigrationArePrinted() async throws {
    let fixture = try await fixture("--values")
    try importItems(fixture, 0..<2)
    let newer = ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string).required()
        Attribute("state", .string).required().initially("new")
        Relationship("shelf", to: "Shelf", inverse: "items")
        Unique("name")
      }
      Entity("Shelf") {
        Attribute("title", .string).required().renamed(from: "label")
        Relationship("items", toMany: "Item", inverse: "shelf").ordered()
        Unique("title")
      }
    }
    try fixture.write(newer, to: "New.xcdatamodel")
    let migrated = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--author", "release"])
    XCTAssertEqual(migrated.status, 0, migrated.error)
    let line = try XCTUnwrap(lines(fixture, "--author", "release", "--values").first)
    guard case .array(let changes)? = line["schema"] else { return XCTFail(line.serialized()) }
    XCTAssertEqual(
      Set(changes.map { $0.serialized() }),
      [
        #"{"change":"filled","entity":"Item","property":"state","value":"new"}"#,
        #"{"change":"propertyRemoved","entity":"Item","property":"size"}"#,
        #"{"change":"propertyRemoved","entity":"Item","property":"tags"}"#,
        #"{"change":"rewritten","entity":"Shelf","property":"items"}"#, #"{"change":"objectsRemoved","entity":"Tag"}"#,
      ])
    let table = try fixture.run(["history", "test.store", "--author", "release", "--values"])
    for words in [["filled", "Item", "state", "new"], ["objectsRemoved", "Tag"], ["rewritten", "Shelf", "items"]] {
      XCTAssertTrue(
        table.output.split(separator: "\n").contains { line in words.allSatisfy { line.contains($0) } }, "\(words): \(table.output)")
    }
  }

  func testTransactionsArePrintedAsJSONLinesWithTheirChanges() async throws {
    let fixture = try await fixture()
    try importItems(fixture, 0..<4, "--author", "importer")
    let updated = try fixture.run([
      "update", "test.store", "--entity", "Item", "--where", "size > 1", "--set", "size = size * 2", "--author", "editor",
    ])
    XCTAssertEqual(updated.status, 0, updated.error)
    XCTAssertEqual(try lines(fixture).filter { $0["changes"] == nil }.map { text($0["kind"]) }, ["import", "batch"])
    let all = try lines(fixture, "--beginning")
    let headers = all.filter { $0["changes"] == nil }
    XCTAssertEqual(headers.map { text($0["kind"]) }, ["begin", "import", "batch"])
    XCTAssertEqual(headers.map { text($0["author"]) }, [nil, "importer", "editor"])
    XCTAssertEqual(headers[1]["inserted"], .integer(8))
    XCTAssertEqual(headers[2]["updated"], .integer(2))
    XCTAssertEqual(headers[0]["whole"], .bool(true))
    let edits = changes(try XCTUnwrap(all.last))
    XCTAssertEqual(edits.map { text($0["type"]) }, ["update", "update"])
    XCTAssertEqual(edits.first?["properties"], .array([.string("size")]))
    XCTAssertNil(edits.first?["old"])
    let editor = try lines(fixture, "--author", "editor")
    XCTAssertEqual(editor.count, 2)
    XCTAssertEqual(try lines(fixture, "--entity", "Shelf").compactMap { changes($0).count }.reduce(0, +), 3)
    let object = try XCTUnwrap(text(edits.first?["object"]))
    XCTAssertEqual(try lines(fixture, "--object", object).flatMap(changes).compactMap { text($0["type"]) }.prefix(1), ["insert"])
    let place = try XCTUnwrap(text(headers[1]["token"]))
    XCTAssertEqual(try lines(fixture, "--after", place).count, 2)
    XCTAssertEqual(try lines(fixture, "--after", "2001-01-01T00:00:00Z").filter { $0["changes"] == nil }.count, 2)
    XCTAssertEqual(try lines(fixture, "--after", "2101-01-01T00:00:00Z").count, 0)
    XCTAssertEqual(try lines(fixture, "--limit", "1", "--beginning").count, 1)
    XCTAssertEqual(text(try lines(fixture, "--limit", "1").first?["kind"]), "import")
  }

  func testValuesAreShownWhereTheHistoryKeepsThem() async throws {
    let fixture = try await fixture("--values")
    try importItems(fixture, 0..<2)
    XCTAssertEqual(try fixture.run(["update", "test.store", "--entity", "Item", "--all", "--set", "size = 7"]).status, 0)
    let edit = try XCTUnwrap(lines(fixture, "--values").last.map(changes)?.last)
    XCTAssertEqual(edit["old"]?["size"], .integer(1))
    XCTAssertEqual(edit["new"]?["size"], .integer(7))
    let table = try fixture.run(["history", "test.store", "--values"])
    XCTAssertTrue(table.output.contains("Item item 1"), table.output)
    XCTAssertTrue(table.output.contains(#"{"size":7}"#), table.output)
  }

  func testTheTableNamesObjectsByTheirConstraint() async throws {
    let fixture = try await fixture()
    try importItems(fixture, 0..<2)
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Item", "--where", "size == 1"]).status, 0)
    let table = try fixture.run(["history", "test.store", "--beginning"])
    XCTAssertEqual(table.status, 0, table.error)
    XCTAssertTrue(table.output.contains("Item item 0"), table.output)
    XCTAssertTrue(table.output.contains("tags +1"), table.output)
    XCTAssertTrue(table.output.contains("delete"), table.output)
    XCTAssertTrue(table.output.contains("(anything)"), table.output)
    XCTAssertTrue(table.error.contains("the last token is "), table.error)
  }

  func testInvalidTokensAreInvalidData() async throws {
    let fixture = try await fixture()
    try importItems(fixture, 0..<1)
    let nonsense = try fixture.run(["history", "test.store", "--after", "yesterday"], passphrase: nil)
    XCTAssertEqual(nonsense.status, 65, nonsense.error)
    XCTAssertTrue(nonsense.error.contains("yesterday"), nonsense.error)
    let first = try XCTUnwrap(text(lines(fixture).first?["token"]))
    try importItems(fixture, 1..<2)
    let purge = try fixture.run(["history", "test.store", "--purge-before", "2101-01-01T00:00:00Z"])
    XCTAssertEqual(purge.status, 0, purge.error)
    XCTAssertEqual(try lines(fixture).filter { $0["changes"] == nil }.count, 1)
    let expired = try fixture.run(["history", "test.store", "--after", first])
    XCTAssertEqual(expired.status, 65)
    let oldest = try XCTUnwrap(text(lines(fixture).first?["token"]))
    XCTAssertTrue(expired.error.contains(oldest), "the error names the oldest remaining position: \(expired.error)")
    let strange = try fixture.run(["history", "test.store", "--after", "\(UUID().uuidString)/1/2"])
    XCTAssertEqual(strange.status, 65, strange.error)
    XCTAssertEqual(try fixture.run(["history", "test.store", "--object", "x-cipherdata://nowhere/Item/p1"]).status, 65)
  }

  func testHistoryCanBeDisabledAndConflictingOptionsAreUsageErrors() async throws {
    let fixture = try await fixture()
    let off = try fixture.run(["history", "test.store", "--disable"])
    XCTAssertEqual(off.status, 0, off.error)
    let none = try fixture.run(["history", "test.store"])
    XCTAssertEqual(none.status, 65, none.error)
    XCTAssertTrue(none.error.contains("keeps no history"), none.error)
    for options in [
      ["--enable", "--disable"], ["--enable", "--after", "2001-01-01"], ["--force"], ["--disable", "--values"], ["--limit", "0"],
      ["--enable", "--beginning"],
    ] {
      XCTAssertEqual(try fixture.run(["history", "test.store"] + options, passphrase: nil).status, 64, "\(options)")
    }
    XCTAssertEqual(try fixture.run(["history", "test.store", "--enable"]).status, 0)
    let consumers = try fixture.run(["history", "test.store", "--consumers", "--format", "jsonl"])
    XCTAssertEqual(consumers.output, "")
  }

  func testManyChangesArePrintedAThousandPerLine() async throws {
    let fixture = try await fixture()
    try importItems(fixture, 0..<2_500)
    let all = try lines(fixture)
    XCTAssertEqual(all[0]["inserted"], .integer(2_504))
    XCTAssertLessThanOrEqual(all.map { changes($0).count }.max() ?? 0, 1_000)
    XCTAssertGreaterThanOrEqual(all.map { changes($0).count }.reduce(0, +), 2_504)
  }

  func testThousandsOfTransactionsAreListedOnceEach() async throws {
    let fixture = try await fixture()
    try importItems(fixture, 0..<3)
    var description = PersistentStoreDescription(
      url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase, .cheapForTests()))
    description.durability = .fast
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
    let store = try await coordinator.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: coordinator)
    let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item").sorted(by: "name"))
    try context.performTransaction {
      for number in 0..<2_500 {
        // Consecutive requests of one author would form one transaction.
        context.transactionAuthor = number.isMultiple(of: 2) ? "even" : "odd"
        try items[number % 3].setValue(Int64(number + 10), forKey: "size")
        try context.save()
      }
    }
    try coordinator.remove(store)
    let headers = try lines(fixture).filter { $0["changes"] == nil }
    XCTAssertEqual(Set(headers.compactMap { text($0["token"]) }).count, 2_501)
    XCTAssertEqual(headers.count, 2_501)
    XCTAssertEqual(try lines(fixture, "--author", "odd").filter { $0["changes"] == nil }.count, 1_250)
    let table = try fixture.run(["history", "test.store", "--author", "even"])
    let rows = table.output.split(separator: "\n").filter { $0.contains("update") }
    XCTAssertEqual(rows.count, 1_250)
    for number in 0..<3 {
      XCTAssertEqual(rows.filter { $0.contains("Item item \(number) ") }.count, number == 0 ? 417 : number == 1 ? 416 : 417)
    }
    XCTAssertTrue(table.error.contains("1250 transactions"), table.error)
  }
}
