import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// `fetch --statements` reports the number of executions of each statement, and rows read one by one.
final class FetchStatementsTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string).required()
      Relationship("shelf", to: "Shelf", inverse: "items")
      Unique("name")
    }
    Entity("Shelf") {
      Attribute("label", .string).required()
      Relationship("items", toMany: "Item", inverse: "shelf")
      Unique("label")
    }
  }

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let lines = (0..<100).map { #"{"name":"item \#($0)","shelf":{"label":"shelf \#($0 % 7)"}}"# + "\n" }.joined()
    let imported = try fixture.run(["import", "test.store", "--entity", "Item"], input: lines)
    XCTAssertEqual(imported.status, 0, imported.error)
    return fixture
  }

  func testStatementsArePrintedInsteadOfResults() async throws {
    let fixture = try await fixture()
    let result = try fixture.run(["fetch", "test.store", "--entity", "Item", "--properties", "name,shelf.label", "--statements"])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertFalse(result.output.contains("item 1"), result.output)
    XCTAssertTrue(result.output.hasPrefix("times  statement\n"), result.output)
    XCTAssertTrue(result.output.contains("    1  SELECT"), result.output)
    XCTAssertTrue(result.output.contains("rows of Shelf"), result.output)
    XCTAssertTrue(result.output.contains("(? × ") && !result.output.contains("?, ?, ?, ?, ?"), result.output)
    let members = try fixture.run(["fetch", "test.store", "--entity", "Shelf", "--properties", "label,items.name", "--statements"])
    XCTAssertTrue(members.output.contains("members of Shelf.items"), members.output)
    XCTAssertFalse(members.output.contains("one by one "), members.output)
  }

  func testACountIsOneStatement() async throws {
    let result = try await fixture().run(["fetch", "test.store", "--entity", "Item", "--count", "--statements"])
    XCTAssertEqual(result.output.split(separator: "\n").count, 3, result.output)
    XCTAssertTrue(result.output.contains("count("), result.output)
  }

  func testExplainPrintsNoResults() async throws {
    let result = try await fixture().run(["fetch", "test.store", "--entity", "Item", "--explain", "--statements"])
    XCTAssertEqual(result.status, ExitStatus.usage.rawValue)
    XCTAssertTrue(result.error.contains("--explain cannot be combined with --statements"), result.error)
  }

  func testRepeatedSingleReadsAreReportedWithAdvice() async throws {
    let fixture = try await fixture()
    let observer = SQLObserver()
    var description = PersistentStoreDescription(
      url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase, .cheapForTests()))
    description.sqlObserver = observer
    let container = try PersistentContainer(
      name: "test", managedObjectModel: Self.model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    try await container.performBackgroundTask { context in
      for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
        for _ in 0..<10 {
          // A way of reading that leaves the library nothing to prefetch.
          let alone = context.object(with: shelf.objectID)
          _ = try alone.value(forKey: "items")
          context.refresh(alone, mergeChanges: false)
        }
      }
    }
    let sink = OutputSink(descriptor: nil)
    try StatementReport(observer).write(to: sink)
    try container.close()
    XCTAssertTrue(sink.text.contains("members of Shelf.items were read one by one "), sink.text)
    XCTAssertTrue(sink.text.contains("prefetch “items” for all of them"), sink.text)
  }
}
