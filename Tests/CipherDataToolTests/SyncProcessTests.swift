import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// `cipherdata sync run --watch`, next to other processes.
final class SyncProcessTests: XCTestCase {
  /// A process of the tool with its output and errors in files.
  private struct Watcher {
    let process = Process()
    let output: URL
    let errors: URL

    init(_ fixture: SyncFixture, _ store: String) throws { try self.init(fixture, ["run", store, "--watch"]) }

    init(_ fixture: SyncFixture, _ arguments: [String]) throws {
      let folder = fixture.tool.folder
      let name = UUID().uuidString
      (output, errors) = (try folder.file("\(name).out", ""), try folder.file("\(name).err", ""))
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = folder.url
      process.arguments = ["sync"] + arguments + ["--passphrase-file", "passphrase"]
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

  func testAMigrationEndsTheWatchersOfTheFormerModel() async throws {
    let fixture = try await SyncFixture.joined()
    let watcher = try Watcher(fixture, "A.store")
    defer { if watcher.process.isRunning { watcher.process.terminate() } }
    try wait(for: "the lease", watcher) { try fixture.sync(["run", "A.store"]).status == 75 }
    var model = SyncFixture.model
    model.entities[0].properties.append(.attribute(AttributeDescription(name: "color", type: .string, isOptional: true)))
    try fixture.tool.write(model, to: "New.xcdatamodel")
    let migrated = try fixture.tool.run(["migrate", "A.store", "--model", "New.xcdatamodel"])
    XCTAssertEqual(migrated.status, 0, migrated.error)
    try fixture.add(#"{"$entity":"Note","text":"after"}"#, to: "A.store")
    watcher.process.waitUntilExit()
    let errors = try text(watcher.errors)
    XCTAssertEqual(watcher.process.terminationStatus, 65, errors)
    XCTAssertTrue(errors.contains("migrated elsewhere"), errors)
    for store in ["A.store", "B.store"] { try fixture.succeed("run", store) }
    XCTAssertTrue(try fixture.contents("B.store").contains { $0.hasPrefix("after") })
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
      try text(watcher.errors).contains("creates a hub that was lost. The next attempt is in 1 s.")
    }
    try fixture.moveHub(back: "away")
    try wait(for: "the next round", watcher) { try text(watcher.output).split(separator: "\n").count == 2 }
    XCTAssertEqual(watcher.end(), 130)
    try fixture.succeed("run", "B.store")
    try fixture.assertEqualContents(count: 6)
  }

  // MARK: Several processes

  func testCase13OfTenProcessesOneSynchronizesAStoreAndAnotherOneTakesOver() async throws {
    let fixture = try await SyncFixture.joined()
    var watchers = try (0..<10).map { _ in try Watcher(fixture, "A.store") }
    defer { for watcher in watchers where watcher.process.isRunning { watcher.process.terminate() } }
    func waiting() throws -> [Int] {
      try watchers.indices.filter { try text(watchers[$0].errors).contains("takes over when that process ends") }
    }
    try wait(for: "nine waiting processes", watchers[0]) { try waiting().count == 9 }
    var holder = try XCTUnwrap(Set(watchers.indices).subtracting(waiting()).first)
    for number in 0..<3 {
      XCTAssertEqual(watchers.remove(at: holder).end(SIGKILL), SIGKILL)
      try fixture.add(#"{"$entity":"Note","text":"note \#(number)"}"#, to: "A.store")
      func working() throws -> [Int] { try watchers.indices.filter { try text(watchers[$0].output).contains("1 sent") } }
      try wait(for: "another process", watchers[0]) { try !working().isEmpty }
      XCTAssertEqual(try working().count, 1)
      holder = try XCTUnwrap(working().first)
      XCTAssertEqual(try fixture.status("A.store")["pendingSaves"], .integer(0))
    }
    for watcher in watchers { XCTAssertEqual(watcher.end(), 130) }
    try fixture.succeed("run", "B.store")
    try fixture.assertEqualContents(count: 7)
  }

  func testAStoppedProcessKeepsItsTurnAndContinues() async throws {
    let fixture = try await SyncFixture.joined()
    let watcher = try Watcher(fixture, "A.store")
    defer { if watcher.process.isRunning { watcher.process.terminate() } }
    try wait(for: "the lease", watcher) { try fixture.sync(["run", "A.store"]).status == 75 }
    kill(watcher.process.processIdentifier, SIGSTOP)
    try fixture.add(#"{"$entity":"Note","text":"meanwhile"}"#, to: "A.store")
    try fixture.fail(75, ["Try again when that process has ended"], "run", "A.store")
    XCTAssertEqual(try fixture.status("A.store")["pendingSaves"], .integer(1))
    kill(watcher.process.processIdentifier, SIGCONT)
    try wait(for: "the note", watcher) { try text(watcher.output).contains("1 sent") }
    XCTAssertEqual(watcher.end(), 130)
  }

  // MARK: Kills

  /// Runs a command of each round, the first time to its end, and then killed at several times, and repeats it.
  ///
  /// - Returns: The results of the repetitions.
  private func repeatKilled(
    _ fixture: SyncFixture, rounds: Int = 8, prepare: (Int) throws -> Void, arguments: (Int) -> [String]
  ) throws -> [ToolResult] {
    var duration = 0.0
    return try (0..<rounds).map { round in
      try prepare(round)
      let start = Date()
      let process = try Watcher(fixture, arguments(round))
      // The first round shows how long it takes.
      if round == 0 {
        process.process.waitUntilExit()
        let errors = try text(process.errors)
        XCTAssertEqual(process.process.terminationStatus, 0, errors)
        duration = -start.timeIntervalSinceNow
      } else {
        usleep(UInt32(duration * Double(round) / Double(rounds) * 1_000_000))
        _ = process.end(SIGKILL)
      }
      let repeated = try fixture.sync(arguments(round))
      XCTAssertEqual(repeated.status, 0, "round \(round): \(repeated.error)")
      return repeated
    }
  }

  private func copy(_ store: String, to name: String, _ fixture: SyncFixture) throws {
    for suffix in ["", ".keys"] {
      try FileManager.default.copyItem(atPath: fixture.tool.path(store + suffix), toPath: fixture.tool.path(name + suffix))
    }
  }

  /// Kills `sync start` at several times. The same command then completes, with a recovery key that is right, and leaves no other files.
  func testAStartThatWasKilledIsRepeated() async throws {
    let fixture = try await SyncFixture()
    let results = try repeatKilled(fixture) { round in
      try copy("A.store", to: "A\(round).store", fixture)
      try copy("B.store", to: "B\(round).store", fixture)
    } arguments: {
      ["start", "A\($0).store", "--hub", "hub\($0)", "--recovery", "recovery\($0)"]
    }
    for round in results.indices {
      let join = try fixture.sync(["join", "B\(round).store", "--hub", "hub\(round)", "--recovery", "recovery\(round)"])
      XCTAssertEqual(join.status, 0, "round \(round): \(join.error)")
      XCTAssertTrue(join.error.contains("4 changes received"), join.error)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.tool.folder.url.path)
    XCTAssertEqual(names.filter { $0.hasPrefix(".") && !$0.hasSuffix("-mark") || [".lock", ".new"].contains(where: $0.hasSuffix) }, [])
  }

  /// Kills `sync join` at several times. The same command then completes.
  func testAJoinThatWasKilledIsRepeated() async throws {
    let fixture = try await SyncFixture()
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    let results = try repeatKilled(fixture) { round in
      try copy("B.store", to: "B\(round).store", fixture)
      try fixture.add(#"{"$entity":"Note","text":"of B\#(round)"}"#, to: "B\(round).store")
    } arguments: {
      ["join", "B\($0).store", "--hub", "hub.store", "--recovery", "recovery"]
    }
    try fixture.succeed("run", "A.store")
    for round in results.indices {
      XCTAssertTrue(results[round].error.contains("B\(round).store has joined the account"), results[round].error)
      try fixture.succeed("run", "B\(round).store")
      XCTAssertEqual(try fixture.contents("B\(round).store"), try fixture.contents("A.store"), "round \(round)")
      try fixture.succeed("verify", "B\(round).store")
    }
    XCTAssertEqual(try fixture.contents("A.store").count, 4 + results.count)
  }
}
