import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Filtered aggregates on disk: what the triggers observe, when values are recomputed, and the cost of a save.
final class DerivedFilterTests: XCTestCase {
  private func model(_ filter: String?, key: String = "canonical:(text)", expression: String = "messages.@count") throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel {
        Entity("Thread") {
          Attribute("title", .string)
          Attribute("hits", .integer64).derived(expression, where: filter)
          Relationship("messages", toMany: "Message", inverse: "thread")
        }
        Entity("Message") {
          Attribute("text", .string)
          Attribute("textKey", .string).derived(key)
          Attribute("isRead", .boolean)
          Attribute("weight", .integer64)
          Relationship("thread", to: "Thread", inverse: "messages")
          Index("words", fullText: "text", "textKey")
        }
      })
  }

  /// Reads a stored value in a separate snapshot.
  private func hits(_ open: OpenStore, _ id: ManagedObjectID) throws -> Slot {
    let row = try open.rows(FetchSpecification(entityName: id.entityName)).first { $0.reference == id.reference }
    return try open.value(XCTUnwrap(row), "hits")
  }

  private func triggers(_ store: TestStore) throws -> [String] { try store.ddl().filter { $0.contains("TRIGGER \"t_Thread_hits") } }

  private func fill(_ open: OpenStore) throws -> (thread: ManagedObjectID, messages: [ManagedObjectID]) {
    let thread = try open.insert("Thread", ["title": .text("A")])
    let messages = try ["Émile", "emile", "Zoë"].enumerated().map { number, text in
      try open.insert(
        "Message", ["thread": thread.slot, "text": .text(text), "isRead": .int(number == 0 ? 1 : 0), "weight": .int(Int64(number))])
    }
    return (thread, messages)
  }

  func testTriggersObserveTheColumnsOfTheFilter() throws {
    let store = try TestStore()
    try store.open(model("isRead == NO AND thread != nil AND weight > 1", expression: "messages.@sum.weight")).close()
    let identity = "'Thread.hits: messages.@sum.weight where isRead == NO AND thread != nil AND weight > 1'"
    let watching = try triggers(store).filter { $0.contains("UPDATE OF") && !$0.contains("OLD.\"thread\");") }
    XCTAssertEqual(
      watching.map { text in text.range(of: "AFTER").map { range in String(text[range.lowerBound...]) } ?? text },
      ["weight", "isRead", "thread"].map {
        "AFTER UPDATE OF \"\($0)\" ON \"Message\" WHEN NEW.\"\($0)\" IS NOT OLD.\"\($0)\" BEGIN SELECT cd_derive(\(identity), 1, NEW.\"_pk\"); END"
      })
    let other = try TestStore()
    try other.open(model("text BEGINSWITH[c] 'e'")).close()
    XCTAssertTrue(try triggers(other).allSatisfy { $0.contains("where text BEGINSWITH[c] ''e'' (\(ExpressionFunctions.version))'") })
  }

  func testChangedFilterKeepsTheVersionAndRecomputesValues() throws {
    let store = try TestStore()
    let first = try store.open(model(nil))
    let (thread, messages) = try fill(first)
    XCTAssertEqual(try hits(first, thread), .int(3))
    try first.close()
    for (filter, count) in [("isRead == NO", 2), ("isRead == YES", 1), ("text BEGINSWITH[cd] 'E'", 2), ("weight > 5", 0)]
      as [(String, Int64)]
    {
      let open = try store.open(model(filter))
      XCTAssertEqual(try hits(open, thread), .int(count), filter)
      try open.close()
      let bytes = try Data(contentsOf: store.url)
      try store.open(model(filter)).close()
      XCTAssertEqual(try Data(contentsOf: store.url), bytes, "the next opening changes nothing")
    }
    let last = try store.open(model(nil))
    XCTAssertEqual(try hits(last, thread), .int(3))
    try last.save { try $0.update(messages[0], ["weight": .int(9)]) }
    XCTAssertEqual(try hits(last, thread), .int(3))
  }

  func testChangedDerivationReevaluatesFiltersThatUseIt() throws {
    let store = try TestStore()
    let filter = "textKey == 'emile'"
    let first = try store.open(model(filter))
    let (thread, messages) = try fill(first)
    XCTAssertEqual(try hits(first, thread), .int(2))
    try first.close()
    let basis = "(Message.textKey: canonical:(text); \(ExpressionFunctions.version))"
    XCTAssertTrue(try triggers(store).allSatisfy { $0.contains(basis) }, "another folding is another basis")
    let open = try store.open(model(filter, key: "lowercase:(text)"))
    XCTAssertEqual(try hits(open, thread), .int(1))
    try open.save { try $0.update(messages[2], ["text": .text("EMILE")]) }
    XCTAssertEqual(try hits(open, thread), .int(2))
  }

  func testProcessWithAnotherFilterCannotWrite() throws {
    let store = try TestStore()
    let old = try store.open(model("isRead == NO"))
    let (thread, messages) = try fill(old)
    let new = try store.open(model("isRead == YES"))
    XCTAssertThrowsError(try old.save { try $0.update(messages[1], ["isRead": .int(1)]) }) { error in
      XCTAssertTrue("\(error)".contains("open it again"), "\(error)")
    }
    try new.save { try $0.update(messages[1], ["isRead": .int(1)]) }
    XCTAssertEqual(try hits(new, thread), .int(2))
  }

  func testStoreKeepsTheModelOfItsDerivedValues() throws {
    let store = try TestStore()
    try store.open(model("isRead == NO")).close()
    for filter in ["isRead == YES", nil] {
      let changed = try model(filter)
      let open = try store.open(changed)
      let kept = try XCTUnwrap((open.store as? SQLCipherIncrementalStore)?.storedModel())
      XCTAssertEqual(kept.derivations.map(\.identity), changed.derivations.map(\.identity))
      XCTAssertEqual(kept.versionHashes, changed.versionHashes)
      try open.close()
    }
    var description = store.description
    description.isReadOnly = true
    let reading = try OpenStore(description, model: model("isRead == NO"))
    XCTAssertEqual(try (reading.store as? SQLCipherIncrementalStore)?.storedModel()?.derivations.compactMap(\.filter), [])
  }

  func testInvalidFilterLeavesTheFileUnchanged() throws {
    let store = try TestStore()
    try store.open(model("isRead == NO")).close()
    let bytes = try Data(contentsOf: store.url)
    let (good, bad) = (try model("isRead == NO"), try model("isread == NO"))
    let error = assertStoreError(.invalidRequest) { try store.open(bad) }
    XCTAssertEqual(error?.entityName, "Thread")
    XCTAssertEqual(try Data(contentsOf: store.url), bytes)
    XCTAssertNoThrow(try store.open(good).close())
    let none = try TestStore()
    assertStoreError(.invalidRequest) { try none.open(bad) }
    XCTAssertFalse(FileManager.default.fileExists(atPath: none.url.path))
  }

  func testSaveOfOtherAttributesRecomputesNothing() throws {
    let store = try TestStore()
    let open = try store.open(model("isRead == NO"))
    let (_, messages) = try fill(open)
    try open.save { try $0.update(messages[0], ["weight": .int(3)]) }
    let plain = try store.statements { try open.save { try $0.update(messages[0], ["weight": .int(4)]) } }
    XCTAssertFalse(plain.contains { $0.contains("hits") }, "\(plain)")
    let filtered = try store.statements {
      try open.save { save in for message in messages { try save.update(message, ["isRead": .int(1)]) } }
    }
    XCTAssertEqual(
      filtered.filter { $0.contains("hits") }.count, 3, "the number is computed, written and read for the answer once: \(filtered)")
  }

  func testDeepestFilterWorksWithEverySQLiteLibrary() throws {
    var (nested, other) = ("weight == 0", "weight")
    for level in 1...10 { nested = level % 2 == 0 ? "weight == \(-level) OR (\(nested))" : "weight != \(-level) AND (\(nested))" }
    for _ in 1...10 { other = "abs(\(other))" }
    for (filter, count) in [(nested, 1), ("\(other) == 2", 1), ((0..<200).map { "weight > \($0) + weight" }.joined(separator: " OR "), 0)]
      as [(String, Int64)]
    {
      let store = try TestStore()
      let open = try store.open(model(filter))
      let (thread, messages) = try fill(open)
      XCTAssertEqual(try hits(open, thread), .int(count), String(filter.prefix(40)))
      try open.save { try $0.delete(messages[0]) }
      try open.close()
    }
  }
}
