import CipherDataToolKit
import Foundation
import StoreKeys
import XCTest

/// Too few descriptors or too little memory: a message and an exit status, or at least an intact store.
final class LowResourceTests: XCTestCase {
  private func limited(_ limit: String) -> [String] {
    // A process that the system kills leaves no core file, and no crash report is made.
    ["/bin/sh", "-c", "ulimit -c 0; \(limit) || exit 99; exec timeout -s KILL 30 \"$@\"", "sh"]
  }

  private func run(_ fixture: ToolFixture, _ arguments: [String], _ limit: String, input: String? = nil) throws -> ToolResult {
    try fixture.run(
      arguments, input: input, environment: ["SWIFT_BACKTRACE": "enable=no"],
      passphrase: arguments[0] == "key" ? nil : "passphrase", through: limited(limit))
  }

  func testTooFewDescriptorsAreAnError() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    // With three descriptors, none is left to load the program's libraries.
    for count in 4...14 {
      for arguments in [["info", "test.store"], ["export", "test.store"], ["key", "list", "test.store"], ["verify", "test.store"]] {
        let result = try run(fixture, arguments, "ulimit -n \(count)")
        XCTAssertTrue([0, 74].contains(result.status), "\(count) \(arguments): \(result.status) \(result.error)")
        if result.status == 74 { XCTAssertTrue(result.error.contains("Too many open files"), "\(count) \(arguments): \(result.error)") }
        if count < 7 { XCTAssertEqual(result.status, 74) }
      }
    }
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
  }

  func testFailedAllocationsAreReportedAsOutOfMemory() async throws {
    let fixture = try ToolFixture()
    // The derivation of a real passphrase takes 128 MiB.
    try await StoreCreation.create(
      URL(fileURLWithPath: fixture.store), model: try TestStack.model("DebianArchive"),
      key: .passphrase(SecretBytes(utf8: ToolFixture.passphrase)))
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    var reported = 0
    for limit in [180_000, 200_000, 230_000, 260_000] {
      let result = try run(fixture, ["info", "test.store"], "ulimit -v \(limit)")
      XCTAssertNotEqual(result.status, 69, "\(limit): \(result.error)")
      if result.error.contains("Out of memory") { reported += 1 }
    }
    XCTAssertGreaterThan(reported, 0)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
  }

  /// Without memory, the Swift runtime ends the process or blocks, in which case the time limit ends it.
  func testLowMemoryNeverDamagesTheStore() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let lines = (0..<300).map { "{\"name\":\"\($0)\"}\n" }.joined()
    var ends: Set<Int32> = []
    for (number, limit) in [165_000, 180_000, 200_000, 230_000, 260_000, 300_000].enumerated() {
      let result = try run(fixture, ["import", "test.store", "--entity", "Tag"], "ulimit -v \(limit)", input: lines)
      ends.insert(result.status)
      // Every acknowledged change is present, and no other.
      let count = Int(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output.dropLast())
      XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n", "limit \(number)")
      XCTAssertTrue(count == 0 || count == 300 || result.status != 0, "\(limit): \(count ?? -1)")
      if result.status == 0 { XCTAssertEqual(count, 300) }
    }
    XCTAssertTrue(ends.contains { $0 != 0 }, "the limits are too generous: \(ends)")
  }
}
