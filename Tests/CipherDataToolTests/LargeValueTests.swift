import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import XCTest

/// Large values in the built tool: exported, imported again, decrypted and encrypted, with their files.
final class LargeValueTests: XCTestCase {
  private func files(_ fixture: ToolFixture, _ store: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: fixture.path(".\(store)_SUPPORT"))) ?? []
    return names.filter { $0.count == 32 }
  }

  private func makeStore(_ fixture: ToolFixture, _ name: String) async throws {
    let model = ManagedObjectModel {
      Entity("Photo") {
        Attribute("title", .string)
        Attribute("image", .binary).externalStorage()
        Unique("title")
      }
    }
    try await fixture.makeStore(of: model, at: name)
  }

  func testLargeValuesAreExportedAndImportedIntoFiles() async throws {
    let fixture = try ToolFixture()
    try await makeStore(fixture, "test.store")
    let lines = (0..<5).map { number in
      let image = Data(repeating: UInt8(number), count: number == 0 ? 100 : 200_000 + number).base64EncodedString()
      return "{\"$entity\":\"Photo\",\"title\":\"\(number)\",\"image\":\"\(image)\"}\n"
    }
    XCTAssertEqual(try fixture.run(["import", "test.store", "-"], input: lines.joined()).status, 0)
    XCTAssertEqual(files(fixture, "test.store").count, 4)
    let exported = try fixture.run(["export", "test.store"]).output
    XCTAssertEqual(exported.split(separator: "\n").count, 5)

    try await makeStore(fixture, "copy.store")
    XCTAssertEqual(try fixture.run(["import", "copy.store", "-"], input: exported).status, 0)
    XCTAssertEqual(try fixture.run(["decrypt", "test.store", "plain.sqlite"]).status, 0)
    XCTAssertEqual(try fixture.run(["encrypt", "plain.sqlite", "back.store"]).status, 0)
    for store in ["copy.store", "back.store"] {
      XCTAssertEqual(files(fixture, store).count, 4, store)
      XCTAssertTrue(try fixture.run(["export", store]).output == exported, store)
      XCTAssertEqual(try fixture.run(["verify", store]).output, "ok\n", store)
    }
    // Importing again changes nothing; deletion removes all files.
    let again = try fixture.run(["import", "copy.store", "-"], input: exported)
    XCTAssertTrue(again.error.contains("0 objects inserted, 0 changed, 0 deleted"), again.error)
    XCTAssertEqual(try fixture.run(["delete", "copy.store", "--entity", "Photo", "--where", "title > '1'"]).status, 0)
    XCTAssertEqual(files(fixture, "copy.store").count, 1)
    XCTAssertEqual(try fixture.run(["verify", "copy.store"]).output, "ok\n")
  }

  func testLeftoversOfKilledSavesAreNotDamageAndAreRemovedOnRequest() async throws {
    let fixture = try ToolFixture()
    try await makeStore(fixture, "test.store")
    let image = Data(repeating: 7, count: 200_000).base64EncodedString()
    let line = "{\"$entity\":\"Photo\",\"title\":\"a\",\"image\":\"\(image)\"}\n"
    XCTAssertEqual(try fixture.run(["import", "test.store", "-"], input: line).status, 0)
    let support = fixture.path(".test.store_SUPPORT")
    let orphan = support + "/" + String(repeating: "0a", count: 16)
    try Data("half a value".utf8).write(to: URL(fileURLWithPath: orphan))
    let found = try fixture.run(["verify", "test.store"])
    XCTAssertEqual(found.status, 0, found.error)
    let lines = found.output.split(separator: "\n")
    XCTAssertEqual(lines.count, 2, found.output)
    XCTAssertTrue(lines[0].hasPrefix("left over: the file 0a0a"), found.output)
    XCTAssertEqual(lines.last, "ok")
    // A damaged store is not swept.
    let file = try XCTUnwrap(files(fixture, "test.store").first { !$0.hasPrefix("0a0a") })
    try FileManager.default.moveItem(atPath: support + "/" + file, toPath: fixture.path("kept"))
    let damaged = try fixture.run(["verify", "test.store", "--sweep"])
    XCTAssertEqual(damaged.status, 74)
    XCTAssertTrue(damaged.output.contains("is missing"), damaged.output)
    XCTAssertTrue(FileManager.default.fileExists(atPath: orphan))
    try FileManager.default.moveItem(atPath: fixture.path("kept"), toPath: support + "/" + file)
    let swept = try fixture.run(["verify", "test.store", "--sweep"])
    XCTAssertEqual(swept.output, "ok\n")
    XCTAssertTrue(swept.error.contains("Removed 1 left-over file."), swept.error)
    XCTAssertEqual(files(fixture, "test.store"), [file])
  }

  func testObjectsWithUnreadableValuesAreNotExported() async throws {
    let fixture = try ToolFixture()
    try await makeStore(fixture, "test.store")
    var known: Set<String> = []
    var file = ""
    for number in 0..<4 {
      let image = Data(repeating: UInt8(number), count: 200_000).base64EncodedString()
      let line = "{\"$entity\":\"Photo\",\"title\":\"\(number)\",\"image\":\"\(image)\"}\n"
      XCTAssertEqual(try fixture.run(["import", "test.store", "-"], input: line).status, 0)
      let now = Set(files(fixture, "test.store"))
      if number == 2 { file = now.subtracting(known).first ?? "" }
      known = now
    }
    try FileManager.default.removeItem(atPath: fixture.path(".test.store_SUPPORT/" + file))
    let fetch = ["fetch", "test.store", "--entity", "Photo", "--sort", "title", "--format"]
    for arguments in [
      ["export", "test.store"], ["export", "test.store", "--entity", "Photo"], fetch + ["jsonl"], fetch + ["csv"], fetch + ["json"],
    ] {
      let result = try fixture.run(arguments)
      XCTAssertEqual(result.status, 74, "\(arguments): \(result.error)")
      XCTAssertFalse(result.output.contains("\"2\"") || result.output.contains("\n2,"), "\(arguments)")
      XCTAssertFalse(result.output.contains("\"3\"") || result.output.contains("\n3,"), "\(arguments)")
    }
    // Missing files of properties that are not selected do not matter.
    let titles = try fixture.run([
      "fetch", "test.store", "--entity", "Photo", "--select", "title", "--sort", "title", "--format", "csv",
    ])
    XCTAssertEqual(titles.output, "title\r\n0\r\n1\r\n2\r\n3\r\n")
  }
}
