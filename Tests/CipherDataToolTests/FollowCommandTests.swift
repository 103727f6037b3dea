import CipherDataToolKit
import Foundation
import ObjectModel
import ObjectStore
import XCTest

/// `cipherdata follow` prints results and then their changes, with the positions before and after each change.
final class FollowCommandTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Shelf") {
      Attribute("name", .string).required()
      Relationship("items", toMany: "Item", inverse: "shelf").onDelete(.cascade)
      Unique("name")
    }
    Entity("Item") {
      Attribute("name", .string).required()
      Attribute("size", .integer32).required().initially(Int32(0))
      Relationship("shelf", to: "Shelf", inverse: "items")
      Unique("name")
    }
  }

  private func fixture(history: Bool = true) async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    if history { XCTAssertEqual(try fixture.run(["history", "test.store", "--enable"]).status, 0) }
    try add([("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y")], fixture)
    return fixture
  }

  private func add(_ items: [(name: String, size: Int, shelf: String)], _ fixture: ToolFixture) throws {
    let lines = items.map { #"{"name":"\#($0.name)","size":\#($0.size),"shelf":{"name":"\#($0.shelf)"}}"# + "\n" }.joined()
    let result = try fixture.run(["import", "test.store", "--entity", "Item"], input: lines)
    XCTAssertEqual(result.status, 0, result.error)
  }

  private func update(_ condition: String, _ values: String, _ fixture: ToolFixture) throws {
    let result = try fixture.run(["update", "test.store", "--entity", "Item", "--where", condition, "--set", values])
    XCTAssertEqual(result.status, 0, result.error)
  }

  /// A process that runs `follow`, and its output.
  private final class Follower {
    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    private var unread = ""

    init(_ fixture: ToolFixture, _ options: [String]) throws {
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = fixture.folder.url
      // A line that never arrives is awaited until the process ends.
      process.arguments = ["follow", "test.store", "--passphrase-file", "passphrase", "--for", "60"] + options
      process.environment = ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }
      process.standardInput = FileHandle.nullDevice
      (process.standardOutput, process.standardError) = (output, errors)
      try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Waits for the next `count` lines, and returns them.
    func lines(_ count: Int) -> [String] {
      var lines: [String] = []
      while lines.count < count {
        if let end = unread.firstIndex(of: "\n") {
          lines.append(String(unread[..<end]))
          unread = String(unread[unread.index(after: end)...])
          continue
        }
        let bytes = output.fileHandleForReading.availableData
        if bytes.isEmpty { return lines + [String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)] }
        unread += String(decoding: bytes, as: UTF8.self)
      }
      return lines
    }

    /// Ends the process as Ctrl-C does.
    ///
    /// - Returns: Its exit status and its output to standard error.
    func interrupt() -> (status: Int32, error: String) {
      kill(process.processIdentifier, SIGINT)
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, text)
    }
  }

  func testChangesArePrintedWithTheirPositions() async throws {
    let fixture = try await fixture()
    let follower = try Follower(
      fixture, ["--entity", "Item", "--where", "size > 0", "--sort", "-size", "--section", "shelf.name", "--properties", "name,size"])
    XCTAssertEqual(
      follower.lines(6),
      ["= 3 results in 2 sections", "= section 0  x  (2)", "  0.0  b  2", "  0.1  a  1", "= section 1  y  (1)", "  1.0  c  3"])
    // Positions, values, and both.
    try update("name == 'a'", "size = 5", fixture)
    XCTAssertEqual(follower.lines(2), ["* 0 inserted, 0 removed, 1 moved, 0 updated: 3 results", "> 0.1 → 0.0  a  5"])
    try update("name == 'b'", "name = 'bb'", fixture)
    XCTAssertEqual(follower.lines(2), ["* 0 inserted, 0 removed, 0 moved, 1 updated: 3 results", "~ 0.1  bb  2"])
    try add([("d", 1, "w"), ("e", 0, "x")], fixture)
    XCTAssertEqual(
      follower.lines(3), ["* 1 inserted, 0 removed, 0 moved, 0 updated: 4 results", "+ section 0  w", "+ 0.0  d  1"])
    // A removed result, with its section.
    try update("name == 'c'", "size = 0", fixture)
    let gone = follower.lines(3)
    XCTAssertEqual(gone[0], "* 0 inserted, 1 removed, 0 moved, 0 updated: 3 results")
    XCTAssertEqual(gone[1], "- section 2  y")
    XCTAssertTrue(gone[2].hasPrefix("- 2.0  x-cipherdata://"), gone[2])
    // A change of another object's value, which names the sections.
    let renamed = try fixture.run(["update", "test.store", "--entity", "Shelf", "--where", "name == 'w'", "--set", "name = 'z'"])
    XCTAssertEqual(renamed.status, 0, renamed.error)
    XCTAssertEqual(
      follower.lines(4),
      ["* 0 inserted, 0 removed, 1 moved, 0 updated: 3 results", "- section 0  w", "+ section 1  z", "> 0.0 → 1.0  d  1"])
    let end = follower.interrupt()
    XCTAssertEqual(end.status, 130)
    let token = end.error.trimmingCharacters(in: .whitespacesAndNewlines)
    XCTAssertNotNil(PersistentHistoryToken(token), end.error)
    // There are no transactions after that token.
    let rest = try fixture.run(["history", "test.store", "--after", token, "--format", "jsonl"])
    XCTAssertEqual(rest.output, "", rest.error)
  }

  func testJSONLinesContainTheSameChanges() async throws {
    let fixture = try await fixture()
    let follower = try Follower(fixture, ["--entity", "Item", "--format", "jsonl"])
    let first = try follower.lines(4).map { try JSONParser.parse($0) }
    XCTAssertEqual(first[0]["count"], .integer(3))
    XCTAssertEqual(first[1]["event"], .string("result"))
    XCTAssertEqual(first[1]["at"], .array([.integer(0), .integer(0)]))
    XCTAssertEqual(first[1]["values"]?["name"], .string("a"))
    let deleted = try fixture.run(["delete", "test.store", "--entity", "Item", "--where", "name == 'b'"])
    XCTAssertEqual(deleted.status, 0, deleted.error)
    let change = try follower.lines(2).map { try JSONParser.parse($0) }
    XCTAssertEqual(change[0]["removed"], .integer(1))
    XCTAssertEqual(change[1]["event"], .string("removed"))
    XCTAssertEqual(change[1]["at"], .array([.integer(0), .integer(1)]))
    XCTAssertEqual(follower.interrupt().status, 130)
  }

  func testStoresWithoutAHistoryCanBeFollowed() async throws {
    let fixture = try await fixture(history: false)
    let follower = try Follower(fixture, ["--entity", "Item", "--where", "size < 3", "--limit", "2"])
    XCTAssertEqual(follower.lines(3), ["= 2 results", "  0.0  a", "  0.1  b"])
    try update("name == 'a'", "size = 9", fixture)
    let change = follower.lines(2)
    XCTAssertEqual(change[0], "* 0 inserted, 1 removed, 0 moved, 0 updated: 1 result")
    XCTAssertTrue(change[1].hasPrefix("- 0.0  "), change[1])
    let end = follower.interrupt()
    XCTAssertEqual(end.status, 130)
    XCTAssertEqual(end.error, "", "there is no place to go on from")
  }

  func testFollowErrorsAreReported() async throws {
    let fixture = try await fixture()
    for (options, status, text) in [
      (["--entity", "Nothing"], 64, "no entity"), (["--entity", "Item", "--where", "name =="], 64, "--where"),
      (["--entity", "Item", "--section", "shelf"], 64, "shelf"), (["--entity", "Item", "--properties", "none"], 64, "none"),
      (["--entity", "Item", "--section", "name, size"], 64, "one key"), (["--entity", "Item", "--limit", "0"], 64, "--limit"),
    ] as [([String], Int32, String)] {
      let result = try fixture.run(["follow", "test.store", "--for", "1"] + options)
      XCTAssertEqual(result.status, status, "\(options): \(result.error)")
      XCTAssertTrue(result.error.contains(text), "\(options): \(result.error)")
      XCTAssertEqual(result.output, "")
    }
  }

  func testTimeLimitEndsFollowingNormally() async throws {
    let fixture = try await fixture()
    let result = try fixture.run(["follow", "test.store", "--entity", "Shelf", "--for", "0.2"])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(result.output, "= 2 results\n  0.0  x\n  0.1  y\n")
    XCTAssertNotNil(PersistentHistoryToken(result.error.trimmingCharacters(in: .whitespacesAndNewlines)), result.error)
  }
}
