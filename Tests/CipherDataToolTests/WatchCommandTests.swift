import CipherDataToolKit
import Foundation
import ObjectModel
import ObjectStore
import StoreKeys
import XCTest

/// `cipherdata watch` prints the changes of other processes, and resumes where it stopped.
final class WatchCommandTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string).required()
      Unique("name")
    }
    Entity("Other") { Attribute("name", .string) }
  }

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let enabled = try fixture.run(["history", "test.store", "--enable"])
    XCTAssertEqual(enabled.status, 0, enabled.error)
    return fixture
  }

  private func add(_ names: [String], _ fixture: ToolFixture, entity: String = "Item", author: String = "writer") throws {
    let result = try fixture.run(
      ["import", "test.store", "--entity", entity, "--author", author], input: names.map { #"{"name":"\#($0)"}"# + "\n" }.joined())
    XCTAssertEqual(result.status, 0, result.error)
  }

  /// Starts `watch` with its output and errors in files.
  private func watch(_ fixture: ToolFixture, _ options: String...) throws -> (process: Process, output: URL, errors: URL) {
    let process = Process()
    process.executableURL = try ToolFixture.executable
    process.currentDirectoryURL = fixture.folder.url
    process.arguments = ["watch", "test.store", "--passphrase-file", "passphrase"] + options
    process.environment = ToolFixture.keptEnvironment
    let name = UUID().uuidString
    let (output, errors) = (try fixture.folder.file("\(name).out", ""), try fixture.folder.file("\(name).err", ""))
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forUpdating: output)
    process.standardError = try FileHandle(forUpdating: errors)
    try process.run()
    return (process, output, errors)
  }

  private func text(_ url: URL) throws -> String { String(decoding: try Data(contentsOf: url), as: UTF8.self) }

  /// Waits until a file contains a text.
  private func wait(for part: String, in url: URL, seconds: Double = 20) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while try !text(url).contains(part) {
      if Date() > end { return XCTFail("“\(part)” did not come: \(try text(url))") }
      usleep(10_000)
    }
  }

  func testWritesOfAnotherProcessArePrintedAsTheyOccur() async throws {
    let fixture = try await fixture()
    // Starts after a token, so that the time of its start does not matter.
    try add(["zero"], fixture)
    let list = try fixture.run(["history", "test.store", "--format", "jsonl"])
    let line = try XCTUnwrap(list.output.split(separator: "\n").first, "no transaction")
    let place = try XCTUnwrap(JSONParser.parse(String(line))["token"])
    guard case .string(let token) = place else { return XCTFail("no token") }
    let (process, output, errors) = try watch(fixture, "--after", token, "--entity", "Item", "--format", "jsonl")
    defer { if process.isRunning { process.terminate() } }
    try add(["one"], fixture)
    try wait(for: "\"inserted\":1", in: output)
    try add(["unseen"], fixture, entity: "Other")
    try add(["two"], fixture, author: "second")
    try wait(for: "second", in: output)
    // Ctrl-C ends it, with the last token on standard error.
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 130)
    let last = try text(errors).trimmingCharacters(in: .whitespacesAndNewlines)
    XCTAssertNotNil(PersistentHistoryToken(last), last)
    XCTAssertFalse(try text(output).contains("Other"))
    // Changes made in between are not missed.
    try add(["three"], fixture, author: "third")
    let (next, more, _) = try watch(fixture, "--after", last, "--for", "2", "--format", "jsonl")
    next.waitUntilExit()
    XCTAssertEqual(next.terminationStatus, 0)
    XCTAssertTrue(try text(more).contains("third"))
    XCTAssertFalse(try text(more).contains("second"), "nothing comes twice")
  }

  func testMissingHistoryAndInvalidTokensAreReported() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let none = try fixture.run(["watch", "test.store", "--for", "1"])
    XCTAssertEqual(none.status, 65, none.error)
    XCTAssertTrue(none.error.contains("keeps no history"), none.error)
    XCTAssertEqual(try fixture.run(["watch", "test.store", "--after", "x"], passphrase: nil).status, 65)
    XCTAssertEqual(try fixture.run(["watch", "test.store", "--for", "0"], passphrase: nil).status, 64)
  }

  func testLargeTransactionsArePrintedOnOneLine() async throws {
    let fixture = try await fixture()
    try add((0..<2_500).map { "item \($0)" }, fixture)
    let (process, output, errors) = try watch(fixture, "--format", "jsonl", "--entity", "Item")
    defer { process.terminate() }
    // It starts with the changes after it is ready, which a first transaction confirms.
    let end = Date(timeIntervalSinceNow: 20)
    var number = 0
    while try text(output).isEmpty {
      if Date() > end { return XCTFail("nothing came: \(try text(errors))") }
      number += 1
      try add(["first \(number)"], fixture)
      usleep(50_000)
    }
    let result = try fixture.run(["delete", "test.store", "--entity", "Item", "--where", "name BEGINSWITH 'item'", "--author", "cleaner"])
    XCTAssertEqual(result.status, 0, result.error)
    let sentinel = try fixture.run(["import", "test.store", "--entity", "Item", "--author", "last"], input: #"{"name":"end"}"# + "\n")
    XCTAssertEqual(sentinel.status, 0, sentinel.error)
    try wait(for: "\"last\"", in: output)
    let lines = try text(output).split(separator: "\n").map(String.init)
    let heads = lines.filter { $0.contains("\"cleaner\"") }
    XCTAssertEqual(heads.count, 1)
    XCTAssertTrue(heads.first?.contains("\"deleted\":2500") ?? false, heads.first ?? "")
    let begin = try XCTUnwrap(lines.firstIndex { $0.contains("\"cleaner\"") })
    let deletions = lines[(begin + 1)...].prefix { $0.contains("\"changes\"") }
    XCTAssertEqual(deletions.map { $0.components(separatedBy: "\"type\":\"delete\"").count - 1 }.reduce(0, +), 2_500)
    XCTAssertEqual(deletions.count, 3)
  }
}
