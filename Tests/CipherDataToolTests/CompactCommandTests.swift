import CipherDataToolKit
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// `cipherdata compact` and `statistics`, run with the built tool.
final class CompactCommandTests: XCTestCase {
  private func store() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let stanzas = (0..<400).map {
      "Package: p\($0)\nVersion: 1.\($0)\nArchitecture: amd64\nDescription: \(String(repeating: "word ", count: 100))\n"
    }
    XCTAssertEqual(
      try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: stanzas.joined(separator: "\n")).status, 0)
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Package", "--where", "name != \"p7\""]).status, 0)
    return fixture
  }

  private func count(_ fixture: ToolFixture) throws -> String {
    try fixture.run(["fetch", "test.store", "--entity", "Package", "--count"]).output
  }

  func testSpaceOfDeletedObjectsIsReclaimedAndReported() async throws {
    let fixture = try await store()
    let before = try XCTUnwrap(FileManager.default.attributesOfItem(atPath: fixture.store)[.size] as? Int)
    let result = try fixture.run(["compact", "test.store", "--format", "json", "--statistics"])
    XCTAssertEqual(result.status, 0, result.error)
    let after = try XCTUnwrap(FileManager.default.attributesOfItem(atPath: fixture.store)[.size] as? Int)
    let reported = try JSONParser.parse(result.output)
    XCTAssertEqual(reported["bytesBefore"], .number("\(before)"))
    XCTAssertEqual(reported["bytesAfter"], .number("\(after)"))
    XCTAssertLessThan(after, before)
    XCTAssertEqual(try count(fixture), "1\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    let again = try fixture.run(["compact", "test.store"])
    XCTAssertTrue(again.output.hasSuffix("there was no unused space\n"), again.output)
    XCTAssertEqual(try fixture.run(["statistics", "test.store", "--remove"]).status, 0)
    XCTAssertTrue(try fixture.run(["compact", "test.store"]).output.hasSuffix(" released\n"))
  }

  func testStoresInUseAreRejected() async throws {
    let fixture = try await store()
    let description = PersistentStoreDescription(
      url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase))
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: TestStack.model("DebianArchive"))
    let open = try await coordinator.addPersistentStore(with: description)
    let refused = try fixture.run(["compact", "test.store"])
    XCTAssertEqual(refused.status, 75, refused.error)
    try coordinator.remove(open)
    XCTAssertEqual(try fixture.run(["compact", "test.store"]).status, 0)
  }
}
