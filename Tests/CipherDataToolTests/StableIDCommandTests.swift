import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// Stable IDs on the command line: switching them on, exports of a single entity, and what imports do with IDs.
final class StableIDCommandTests: XCTestCase {
  /// Tags have a key; tasks have none, and projects own them.
  private static var model: ManagedObjectModel {
    ManagedObjectModel {
      Entity("Project") {
        Attribute("name", .string)
        Relationship("tasks", toMany: "Task", inverse: "project").onDelete(.cascade)
      }
      Entity("Task") {
        Attribute("title", .string)
        Relationship("project", to: "Project", inverse: "tasks")
        Relationship("follows", to: "Task", inverse: "followers")
        Relationship("followers", toMany: "Task", inverse: "follows")
        Relationship("tags", toMany: "Tag", inverse: "tasks")
      }
      Entity("Milestone", parent: "Task") {
        Attribute("due", .integer64)
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("tasks", toMany: "Task", inverse: "tags")
        Unique("name")
      }
    }
  }

  private static let lines = """
    {"$entity":"Tag","name":"x"}
    {"$entity":"Tag","name":"y"}
    {"$entity":"Project","name":"House","tasks":[{"$id":"1","title":"a"},{"$entity":"Milestone","$id":"2","title":"m","due":3}]}
    {"$entity":"Task","$ref":"1","tags":[{"name":"x"}]}
    {"$entity":"Task","$ref":"2","tags":[{"name":"x"},{"name":"y"}],"follows":{"$ref":"1"}}

    """

  private func makeStore(tracked: Bool = true) async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let result = try fixture.run(["import", "test.store", "-"] + (tracked ? ["--stable-ids"] : []), input: Self.lines)
    XCTAssertEqual(result.status, 0, result.error)
    return fixture
  }

  private func count(_ entity: String, in store: String = "test.store", _ fixture: ToolFixture) throws -> String {
    try fixture.run(["fetch", store, "--entity", entity, "--count"]).output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func testTheCommandAssignsAndRemovesStableIDs() async throws {
    let fixture = try await makeStore(tracked: false)
    let refused = try fixture.run(["export", "test.store", "--stable-ids"])
    XCTAssertNotEqual(refused.status, 0)
    XCTAssertTrue(refused.error.contains("cipherdata stable-ids --enable"), refused.error)
    XCTAssertFalse(refused.error.contains("tracksObjectIdentity"), refused.error)
    for arguments in [[], ["--enable", "--disable"]] {
      XCTAssertEqual(try fixture.run(["stable-ids", "test.store"] + arguments, passphrase: nil).status, 64)
    }
    let enabled = try fixture.run(["stable-ids", "test.store", "--enable"])
    XCTAssertEqual(enabled.status, 0, enabled.error)
    let first = try fixture.run(["export", "test.store", "--stable-ids"]).output
    XCTAssertTrue(first.contains("$stableID"))
    XCTAssertEqual(try fixture.run(["stable-ids", "test.store", "--enable"]).status, 0)
    XCTAssertEqual(try fixture.run(["export", "test.store", "--stable-ids"]).output, first)
    XCTAssertEqual(try fixture.run(["stable-ids", "test.store", "--disable"]).status, 0)
    XCTAssertNotEqual(try fixture.run(["export", "test.store", "--stable-ids"]).status, 0)
    XCTAssertEqual(try fixture.run(["stable-ids", "test.store", "--enable"]).status, 0)
    XCTAssertNotEqual(try fixture.run(["export", "test.store", "--stable-ids"]).output, first)
  }

  func testAnExportOfOneEntityCanBeImportedIntoAStoreWithTheOtherObjects() async throws {
    let fixture = try await makeStore()
    let all = try fixture.run(["export", "test.store", "--stable-ids"]).output
    for entity in ["Tag", "Task", "Milestone", "Project"] {
      let part = try fixture.run(["export", "test.store", "--entity", entity, "--stable-ids"])
      XCTAssertEqual(part.status, 0, part.error)
      XCTAssertEqual(part.error, "")
      let again = try fixture.run(["import", "test.store", "-"], input: part.output)
      XCTAssertEqual(again.status, 0, "\(entity): \(again.error)\n\(part.output)")
      XCTAssertTrue(again.error.contains(" 0 objects inserted, 0 changed, 0 deleted"), "\(entity): \(again.error)\n\(part.output)")
      XCTAssertEqual(try fixture.run(["export", "test.store", "--stable-ids"]).output, all)
    }
  }

  func testADeletedObjectReturnsWithItsReferences() async throws {
    let fixture = try await makeStore()
    let before = try fixture.run(["export", "test.store", "--entity", "Milestone", "--stable-ids"]).output
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Milestone", "--where", "title == 'm'"]).status, 0)
    let result = try fixture.run(["import", "test.store", "-"], input: before)
    XCTAssertEqual(result.status, 0, result.error)
    // The identifiers in the file contain keys, which are not used again.
    func withoutKeys(_ text: String) -> String { text.replacing(#/Task\/[0-9]+/#, with: "") }
    let after = try fixture.run(["export", "test.store", "--entity", "Milestone", "--stable-ids"]).output
    XCTAssertEqual(withoutKeys(after), withoutKeys(before))
    XCTAssertTrue(before.contains("\"project\":{\"$stableID\""), before)
    XCTAssertTrue(before.contains("\"follows\":{\"$stableID\""), before)
  }

  func testAnExportOfOneEntityWithoutStableIDsReportsTheReferencesThatItLeavesOut() async throws {
    let fixture = try await makeStore(tracked: false)
    let tags = try fixture.run(["export", "test.store", "--entity", "Tag"])
    let tasks = try fixture.run(["export", "test.store", "--entity", "Task"])
    XCTAssertEqual(tasks.status, 0, tasks.error)
    XCTAssertTrue(tasks.error.contains("Task.project: 2 references to objects that are not exported left out"), tasks.error)
    XCTAssertFalse((tags.output + tasks.output.replacingOccurrences(of: "\"follows\":{\"$ref\"", with: "")).contains("House"))
    // The lines can be imported.
    try await fixture.makeStore(of: Self.model, at: "copy.store")
    let result = try fixture.run(["import", "copy.store", "-"], input: tags.output + tasks.output)
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(try count("Task", in: "copy.store", fixture), "2")
    XCTAssertEqual(try count("Tag", in: "copy.store", fixture), "2")
    XCTAssertEqual(try fixture.run(["export", "copy.store", "--entity", "Task"]).output.components(separatedBy: "follows").count, 2)
  }

  func testAReferenceByAnUnknownStableIDIsAnError() async throws {
    let fixture = try await makeStore()
    let line = #"{"$entity":"Task","title":"t","follows":{"$stableID":"7B0A0326-AFB8-8C16-B33B-000000000001"}}"#
    let result = try fixture.run(["import", "test.store", "-"], input: line)
    XCTAssertEqual(result.status, 65)
    XCTAssertTrue(result.error.contains("Task.$stableID: The store has no object with this ID."), result.error)
    XCTAssertEqual(try count("Task", fixture), "2")
    try await fixture.makeStore(of: Self.model, at: "plain.store")
    let plain = try fixture.run(["import", "plain.store", "-"], input: line)
    XCTAssertEqual(plain.status, 65)
    XCTAssertTrue(plain.error.contains("The store has no stable IDs"), plain.error)
  }

  func testStableIDsThatAreNotAssignedAreReported() async throws {
    let fixture = try await makeStore()
    let lines = """
      {"$entity":"Tag","$stableID":"7B0A0326-AFB8-8C16-B33B-000000000001","name":"x"}
      {"$entity":"Tag","$stableID":"7B0A0326-AFB8-8C16-B33B-000000000002","name":"z"}

      """
    let before = try fixture.run(["export", "test.store", "--entity", "Task", "--stable-ids"]).output
    let result = try fixture.run(["import", "test.store", "-"], input: lines)
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertTrue(
      result.error.contains("Tag: 1 found by values, with other stable IDs than in the input; they keep their own"), result.error)
    XCTAssertTrue(result.error.contains("; 1 stable ID not assigned"), result.error)
    XCTAssertEqual(try fixture.run(["export", "test.store", "--entity", "Task", "--stable-ids"]).output, before)
    let tags = try fixture.run(["export", "test.store", "--entity", "Tag", "--stable-ids"]).output
    XCTAssertTrue(tags.contains("000000000002\",\"name\":\"z\""), tags)
    XCTAssertFalse(tags.contains("B33B-000000000001"), tags)
    // Members of an owner that are found by their contents are reported too.
    let nested = #"{"$entity":"Tag","$stableID":"7B0A0326-AFB8-8C16-B33B-000000000002","name":"z"}"#
    XCTAssertFalse(try fixture.run(["import", "test.store", "-"], input: nested).error.contains("not assigned"))
    try await fixture.makeStore(of: Self.model, at: "plain.store")
    let plain = try fixture.run(["import", "plain.store", "-"], input: lines)
    XCTAssertEqual(plain.status, 0, plain.error)
    XCTAssertTrue(plain.error.contains("the stable IDs of the input are ignored"), plain.error)
  }

  func testIDsOfNestedObjectsThatAreFoundByTheirContentsAreReported() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore(
      of: ManagedObjectModel {
        Entity("Shelf") {
          Attribute("name", .string)
          Relationship("boxes", toMany: "Box", inverse: "shelf").onDelete(.cascade)
          Unique("name")
        }
        Entity("Box") {
          Attribute("label", .string)
          Relationship("shelf", to: "Shelf", inverse: "boxes")
          Relationship("items", toMany: "Item", inverse: "box").onDelete(.cascade)
        }
        Entity("Item") {
          Attribute("text", .string)
          Relationship("box", to: "Box", inverse: "items")
        }
      })
    func line(_ ids: [String]) -> String {
      func id(_ number: Int) -> String { ids.isEmpty ? "" : "\"$stableID\":\"7B0A0326-AFB8-8C16-B33B-0000000000\(ids[number])\"," }
      return "{\"$entity\":\"Shelf\",\(id(0))\"name\":\"s\",\"boxes\":[{\(id(1))\"label\":\"b\",\"items\":[{\(id(2))\"text\":\"i\"}]}]}"
    }
    XCTAssertEqual(try fixture.run(["import", "test.store", "--stable-ids", "-"], input: line([])).status, 0)
    let before = try fixture.run(["export", "test.store", "--stable-ids"]).output
    let result = try fixture.run(["import", "test.store", "-"], input: line(["01", "02", "03"]))
    XCTAssertEqual(result.status, 0, result.error)
    for entity in ["Shelf", "Box", "Item"] { XCTAssertTrue(result.error.contains("\(entity): 1 found by values"), result.error) }
    XCTAssertTrue(result.error.contains("0 objects inserted, 0 changed, 0 deleted; 3 stable IDs not assigned"), result.error)
    XCTAssertEqual(try fixture.run(["export", "test.store", "--stable-ids"]).output, before)
  }

  func testProcessesThatInsertAtOnceAssignDifferentIDs() async throws {
    let fixture = try await makeStore()
    try await withThrowingTaskGroup(of: Int32.self) { group in
      let (tool, folder) = (try ToolFixture.executable, fixture.folder.url)
      for worker in 0..<3 {
        group.addTask {
          let process = Process()
          process.executableURL = tool
          process.arguments = ["import", "test.store", "lines\(worker)", "--passphrase-file", "passphrase"]
          process.currentDirectoryURL = folder
          process.standardError = FileHandle.nullDevice
          let lines = (0..<50).map { "{\"$entity\":\"Tag\",\"name\":\"\(worker)-\($0)\"}\n" }.joined()
          try lines.write(to: folder.appendingPathComponent("lines\(worker)"), atomically: true, encoding: .utf8)
          try process.run()
          process.waitUntilExit()
          return process.terminationStatus
        }
      }
      for try await status in group { XCTAssertEqual(status, 0) }
    }
    let lines = try fixture.run(["export", "test.store", "--entity", "Tag", "--stable-ids"]).output.split(separator: "\n")
    XCTAssertEqual(lines.count, 152)
    XCTAssertEqual(Set(try lines.map { try JSONParser.parse(String($0))["$stableID"]?.plainText ?? "" }).count, 152)
  }

  func testAnObjectThatAReferenceInsertedReceivesTheStableIDOfItsLine() async throws {
    let fixture = try await makeStore()
    let lines = """
      {"$entity":"Task","title":"t","tags":[{"name":"z"}]}
      {"$entity":"Tag","$stableID":"7B0A0326-AFB8-8C16-B33B-000000000001","name":"z"}

      """
    let result = try fixture.run(["import", "test.store", "-"], input: lines)
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertFalse(result.error.contains("not assigned"), result.error)
    let tags = try fixture.run(["export", "test.store", "--entity", "Tag", "--stable-ids"]).output
    XCTAssertTrue(tags.contains("B33B-000000000001\",\"name\":\"z\""), tags)
  }
}
