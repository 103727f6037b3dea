import CipherDataToolKit
import Foundation
import XCTest

/// `cipherdata sync run --watch`, next to other processes.
final class SyncProcessTests: XCTestCase {
  /// A process of the tool with its output and errors in files.
  private struct Watcher {
    let process = Process()
    let output: URL
    let errors: URL

    init(_ fixture: SyncFixture, _ store: String) throws {
      let folder = fixture.tool.folder
      let name = UUID().uuidString
      (output, errors) = (try folder.file("\(name).out", ""), try folder.file("\(name).err", ""))
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = folder.url
      process.arguments = ["sync", "run", store, "--watch", "--passphrase-file", "passphrase"]
      process.environment = ToolFixture.keptEnvironment
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = try FileHandle(forUpdating: output)
      process.standardError = try FileHandle(forUpdating: errors)
      try process.run()
    }

    func end(_ signal: Int32 = SIGINT) -> Int32 {
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private func text(_ url: URL) throws -> String { String(decoding: try Data(contentsOf: url), as: UTF8.self) }

  /// Waits until a condition holds.
  private func wait(
    for what: String, _ watcher: Watcher, seconds: Double = 30, file: StaticString = #filePath, line: UInt = #line,
    _ condition: () throws -> Bool
  ) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while try !condition() {
      guard Date() < end, watcher.process.isRunning else {
        return XCTFail("\(what) did not come: \(try text(watcher.output)) \(try text(watcher.errors))", file: file, line: line)
      }
      usleep(20_000)
    }
  }

  func testSavesOfOtherProcessesReachTheOtherStoreWhileBothAreWatched() async throws {
    let fixture = try await SyncFixture.joined()
    let watchers = [try Watcher(fixture, "A.store"), try Watcher(fixture, "B.store")]
    defer { for watcher in watchers where watcher.process.isRunning { watcher.process.terminate() } }
    try fixture.add(#"{"$entity":"Note","text":"live"}"#, to: "A.store")
    try wait(for: "the sent note", watchers[0]) { try text(watchers[0].output).contains("0 changes received, 1 sent") }
    try wait(for: "the received note", watchers[1]) { try text(watchers[1].output).contains("1 change received, 0 sent") }
    // The state can be read meanwhile.
    XCTAssertEqual(try fixture.status("B.store")["pendingSaves"], .integer(0))
    try fixture.add(#"{"$entity":"Note","text":"back"}"#, to: "B.store")
    try wait(for: "the second note", watchers[0]) { try text(watchers[0].output).contains("1 change received, 0 sent") }
    for watcher in watchers { XCTAssertEqual(watcher.end(), 130) }
    try fixture.assertEqualContents(count: 6)
  }

  func testOneProcessSynchronizesAStoreAndTheNextOneTakesOver() async throws {
    let fixture = try await SyncFixture.joined()
    let first = try Watcher(fixture, "A.store")
    defer { if first.process.isRunning { first.process.terminate() } }
    try wait(for: "the lease", first) { try fixture.sync(["run", "A.store"]).status == 75 }
    try fixture.fail(75, ["Another process synchronizes the store"], "run", "A.store")
    try fixture.fail(75, ["Another process"], "leave", "A.store")
    let second = try Watcher(fixture, "A.store")
    defer { if second.process.isRunning { second.process.terminate() } }
    try wait(for: "the note", second) { try text(second.errors).contains("takes over when that process ends") }
    XCTAssertEqual(first.end(SIGKILL), SIGKILL)
    try fixture.add(#"{"$entity":"Note","text":"after"}"#, to: "A.store")
    try wait(for: "the takeover", second) { try text(second.output).contains("1 sent") }
    XCTAssertEqual(second.end(), 130)
    try fixture.succeed("run", "B.store")
    try fixture.assertEqualContents(count: 5)
  }

  func testAHubThatIsAwayIsUsedAgainWhenItIsBack() async throws {
    let fixture = try await SyncFixture.joined()
    let watcher = try Watcher(fixture, "A.store")
    defer { if watcher.process.isRunning { watcher.process.terminate() } }
    try fixture.add(#"{"$entity":"Note","text":"before"}"#, to: "A.store")
    try wait(for: "a round", watcher) { try text(watcher.output).contains("1 sent") }
    try fixture.moveHub(to: "away")
    try fixture.add(#"{"$entity":"Note","text":"meanwhile"}"#, to: "A.store")
    try wait(for: "the error", watcher) {
      try text(watcher.errors).contains("Check the path, or create a hub there. The next attempt is in 1 s.")
    }
    try fixture.moveHub(back: "away")
    try wait(for: "the next round", watcher) { try text(watcher.output).split(separator: "\n").count == 2 }
    XCTAssertEqual(watcher.end(), 130)
    try fixture.succeed("run", "B.store")
    try fixture.assertEqualContents(count: 6)
  }
}
