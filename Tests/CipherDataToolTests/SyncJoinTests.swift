import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCrypto
import SyncEngine
import XCTest

/// `cipherdata sync join` without a recovery key and `cipherdata sync approve`, as processes of two devices.
final class SyncJoinTests: XCTestCase {
  /// A process of the tool with an open standard input, and its output and errors in files.
  private final class Running {
    let process = Process()
    private let input = Pipe()
    private let output: URL
    private let errors: URL

    init(_ fixture: SyncFixture, _ arguments: String...) throws {
      let folder = fixture.tool.folder
      let name = UUID().uuidString
      (output, errors) = (try folder.file("\(name).out", ""), try folder.file("\(name).err", ""))
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = folder.url
      process.arguments = ["sync"] + arguments + ["--passphrase-file", "passphrase"]
      process.environment = ToolFixture.keptEnvironment
      process.standardInput = input
      process.standardOutput = try FileHandle(forUpdating: output)
      process.standardError = try FileHandle(forUpdating: errors)
      try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    var printed: String { Self.text(output) }
    var error: String { Self.text(errors) }
    private static func text(_ file: URL) -> String { String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self) }

    func answer(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((text + "\n").utf8)) }
    func closeInput() throws { try input.fileHandleForWriting.close() }

    /// Waits until the process ends.
    func status() -> Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }

    func end(_ signal: Int32) -> Int32 {
      kill(process.processIdentifier, signal)
      return status()
    }

    /// Waits until the process has printed something.
    func wait(for condition: (_ printed: String, _ error: String) -> Bool, file: StaticString = #filePath, line: UInt = #line) throws {
      let end = Date(timeIntervalSinceNow: 60)
      while !condition(printed, error) {
        guard Date() < end, process.isRunning else {
          return XCTFail("It did not come: \(printed) \(error)", file: file, line: line)
        }
        usleep(20_000)
      }
    }

    /// Waits for the code that a joining device prints.
    func code(file: StaticString = #filePath, line: UInt = #line) throws -> String {
      try wait(for: { printed, _ in printed.hasSuffix("\n") }, file: file, line: line)
      let match = try XCTUnwrap(printed.wholeMatch(of: #/Code: (\d{3} \d{3})\n/#), file: file, line: line)
      return String(match.1)
    }

    /// Waits for the question about a code.
    func question(_ code: String, file: StaticString = #filePath, line: UInt = #line) throws {
      try wait(for: { _, error in error.contains(code) && error.hasSuffix("[y/N] ") }, file: file, line: line)
    }
  }

  private func started() async throws -> SyncFixture {
    let fixture = try await SyncFixture()
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    return fixture
  }

  private func join(_ fixture: SyncFixture, _ store: String = "B.store", timeout: String = "600") throws -> Running {
    try Running(fixture, "join", store, "--hub", "hub.store", "--device", "tablet \(store)", "--timeout", timeout)
  }

  /// Whether no request is on the hub.
  private func assertNoRequest(_ fixture: SyncFixture, file: StaticString = #filePath, line: UInt = #line) throws {
    try fixture.fail(75, ["No device has requested to join"], "approve", "A.store", "--list", "--timeout", "2", file: file, line: line)
  }

  func testADeviceJoinsAfterTheQuestionOnBothDevices() async throws {
    let fixture = try await started()
    try fixture.add(#"{"$entity":"Note","text":"of B"}"#, to: "B.store")
    let joining = try join(fixture)
    let approving = try Running(fixture, "approve", "A.store")
    let code = try joining.code()
    try approving.question(code)
    XCTAssertTrue(approving.error.contains("“tablet B.store” wants to join, with the code \(code)."), approving.error)
    try joining.question(code)
    try approving.answer("y")
    XCTAssertEqual(approving.status(), 0)
    XCTAssertTrue(approving.error.contains("was admitted to the account of A.store"), approving.error)
    try joining.answer("Yes")
    XCTAssertEqual(joining.status(), 0, joining.error)
    XCTAssertTrue(joining.error.contains("B.store has joined the account on hub.store as “tablet B.store”: 1 object added"), joining.error)
    try fixture.succeed("run", "A.store")
    try fixture.assertEqualContents(count: 5)
    XCTAssertEqual(try fixture.status("A.store")["account"], try fixture.status("B.store")["account"])
    try assertNoRequest(fixture)
  }

  func testAScriptApprovesTheDeviceWithACode() async throws {
    let fixture = try await started()
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    let (first, second) = (try join(fixture), try join(fixture, "C.store"))
    var codes: Set<String> = []
    while codes.count < 2 {
      let lines = try fixture.succeed("approve", "A.store", "--list").output.split(separator: "\n")
      codes = Set(lines.map { String($0.prefix(7)) })
      XCTAssertTrue(lines.allSatisfy { $0.contains("  tablet ") }, "\(lines)")
    }
    XCTAssertEqual(codes, [try first.code(), try second.code()])
    guard case .array(let listed) = try JSONParser.parse(try fixture.succeed("approve", "A.store", "--list", "--format", "json").output),
      case .object(let fields) = listed.first
    else { return XCTFail("no list") }
    XCTAssertEqual(fields.map(\.key), ["code", "device", "expires"])
    let wanted = try second.code().replacing(" ", with: "-")
    try fixture.succeed("approve", "A.store", "--code", wanted)
    try second.answer("y")
    XCTAssertEqual(second.status(), 0, second.error)
    XCTAssertEqual(try fixture.contents("C.store"), try fixture.contents("A.store"))
    // The other one still waits, for another device of the account too.
    XCTAssertTrue(first.process.isRunning)
    try fixture.succeed("approve", "C.store", "--code", try first.code())
    try first.answer("y")
    XCTAssertEqual(first.status(), 0, first.error)
    try fixture.assertEqualContents(count: 4)
    let number = try XCTUnwrap((0..<3).map { "00000\($0)" }.first { !codes.contains("000 00\($0.suffix(1))") })
    try fixture.fail(75, ["No device with the code \(number)"], "approve", "A.store", "--code", number, "--timeout", "1")
  }

  func testARefusedDeviceDoesNotJoin() async throws {
    let fixture = try await started()
    let joining = try join(fixture)
    let approving = try Running(fixture, "approve", "A.store")
    let code = try joining.code()
    try approving.question(code)
    try approving.answer("n")
    XCTAssertEqual(approving.status(), 1)
    XCTAssertTrue(approving.error.contains("“tablet B.store” was refused."), approving.error)
    // The question need not be answered.
    XCTAssertEqual(joining.status(), 77)
    XCTAssertTrue(joining.error.contains("was refused on the other device"), joining.error)
    try fixture.fail(65, ["not synchronized"], "status", "B.store")
    try assertNoRequest(fixture)
    // The store can join later.
    try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
  }

  func testADeviceWhoseUserSeesAnotherCodeDoesNotJoin() async throws {
    let fixture = try await started()
    for input in ["n", nil] {
      let joining = try join(fixture)
      let approving = try Running(fixture, "approve", "A.store")
      let code = try joining.code()
      try approving.question(code)
      if let input { try joining.answer(input) } else { try joining.closeInput() }
      XCTAssertEqual(joining.status(), input == nil ? 66 : 1)
      XCTAssertTrue(joining.error.contains("othing was changed."), joining.error)
      // The question on the other device ends.
      try approving.wait { _, error in error.contains("“tablet B.store” has canceled its request.") }
      XCTAssertEqual(approving.end(SIGINT), 130)
      try fixture.fail(65, ["not synchronized"], "status", "B.store")
    }
    try assertNoRequest(fixture)
  }

  func testAnUnansweredQuestionRefusesNoDevice() async throws {
    let fixture = try await started()
    let joining = try join(fixture)
    let approving = try Running(fixture, "approve", "A.store")
    try approving.closeInput()
    XCTAssertEqual(approving.status(), 66)
    let code = try joining.code()
    try fixture.succeed("approve", "A.store", "--code", code)
    try joining.answer("y")
    XCTAssertEqual(joining.status(), 0, joining.error)
  }

  func testKilledProcessesCanBeStartedAgain() async throws {
    let fixture = try await started()
    let killed = try join(fixture)
    _ = try fixture.succeed("approve", "A.store", "--list")
    let former = try killed.code()
    XCTAssertEqual(killed.end(SIGKILL), SIGKILL)
    try fixture.fail(65, ["not synchronized"], "status", "B.store")
    let joining = try join(fixture)
    var approving = try Running(fixture, "approve", "A.store")
    let code = try joining.code()
    XCTAssertNotEqual(code, former)
    // The request of the killed process is there until it expires. Its approval has no effect.
    try approving.question(former)
    XCTAssertEqual(approving.end(SIGKILL), SIGKILL)
    approving = try Running(fixture, "approve", "A.store")
    try approving.question(former)
    try fixture.succeed("approve", "A.store", "--code", former)
    // The next question follows when the request is answered elsewhere.
    try approving.question(code)
    try approving.answer("y")
    XCTAssertEqual(approving.status(), 0, approving.error)
    try joining.answer("y")
    XCTAssertEqual(joining.status(), 0, joining.error)
    try fixture.assertEqualContents(count: 4)
  }

  func testAJoinThatWasKilledAfterItsApprovalContinuesWithoutAnotherOne() async throws {
    let fixture = try await started()
    let text = try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8)
    let key = try AccountRecoveryKey(parsing: String(try XCTUnwrap(text.split(separator: "\n").first)))
    // What a process leaves that ends between the approval and its first round.
    var description = PersistentStoreDescription(
      url: URL(fileURLWithPath: fixture.tool.path("B.store")), key: .passphrase(ToolFixture.passphrase, .cheapForTests()))
    description.sideTableOwners = [SyncTables.shared]
    let container = try PersistentContainer(
      name: "B", managedObjectModel: SyncFixture.model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    let coordinator = container.persistentStoreCoordinator
    let service = try await SyncService.join(
      try XCTUnwrap(coordinator.persistentStores.first), of: coordinator, hubPath: fixture.tool.path("hub.store"), recoveryKey: key,
      deviceName: "tablet")
    service.end()
    try container.close()

    try fixture.fail(73, ["already synchronized"], "join", "B.store", "--hub", "other.hub")
    let joined = try fixture.succeed("join", "B.store", "--hub", "hub.store")
    XCTAssertTrue(joined.error.contains("B.store has joined the account on hub.store as “tablet”: 4 changes received"), joined.error)
    try fixture.assertEqualContents(count: 4)
    // Afterwards, it would be another account.
    try fixture.fail(73, ["already synchronized"], "join", "B.store", "--hub", "hub.store")
    try fixture.fail(73, ["already synchronized"], "join", "A.store", "--hub", "hub.store")
  }

  func testCtrlCAndTimeoutsRemoveTheRequest() async throws {
    let fixture = try await started()
    try fixture.fail(75, ["No device has requested to join", "cipherdata sync join"], "approve", "A.store", "--timeout", "1")
    try fixture.fail(75, ["in time"], "join", "B.store", "--hub", "hub.store", "--timeout", "1")
    // While it waits for an answer, and while it asks.
    let waiting = try join(fixture)
    try waiting.wait { _, error in error.contains("Waiting for a device of the account") }
    XCTAssertEqual(waiting.end(SIGINT), 130, waiting.error)
    let asking = try join(fixture)
    _ = try fixture.succeed("approve", "A.store", "--list")
    try asking.question(try asking.code())
    // One attempt at a time.
    try fixture.fail(75, ["Another process"], "join", "B.store", "--hub", "hub.store")
    XCTAssertEqual(asking.end(SIGINT), 130, asking.error)
    let approving = try Running(fixture, "approve", "A.store")
    try approving.wait { _, error in error.contains("Waiting for a device.") }
    XCTAssertEqual(approving.end(SIGINT), 130, approving.error)
    try assertNoRequest(fixture)
  }

  func testAnAccountIsNamedIfTheHubHasSeveral() async throws {
    let fixture = try await started()
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try fixture.succeed("start", "C.store", "--hub", "hub.store", "--recovery", "second")
    try fixture.fail(77, ["The hub has 2 accounts"], "join", "B.store", "--hub", "hub.store")
    try fixture.fail(77, ["does not have this account"], "join", "B.store", "--hub", "hub.store", "--account", UUID().uuidString)
    guard case .string(let account)? = try fixture.status("A.store")["account"] else { return XCTFail("no account") }
    let joining = try Running(fixture, "join", "B.store", "--hub", "hub.store", "--account", account)
    try fixture.succeed("approve", "A.store", "--list")
    try fixture.succeed("approve", "A.store", "--code", try joining.code())
    try joining.answer("y")
    XCTAssertEqual(joining.status(), 0, joining.error)
    try fixture.assertEqualContents(count: 4)
  }

  func testWhatCannotJoinIsRefused() async throws {
    let fixture = try await SyncFixture()
    try fixture.fail(66, ["hub.store"], "join", "B.store", "--hub", "hub.store")
    try fixture.fail(65, ["not synchronized"], "approve", "A.store")
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    try await fixture.tool.makeStore(of: SyncFixture.otherModel, at: "C.store")
    try fixture.fail(
      65, ["objects of the account are of another model"], "join", "C.store", "--hub", "hub.store", "--recovery", "recovery")
    try fixture.fail(73, ["already synchronized"], "join", "A.store", "--hub", "hub.store")
    for arguments in [
      ["approve", "a", "--code", "12345"], ["approve", "a", "--code", "123-456", "--list"], ["approve", "a", "--timeout", "0"],
      ["join", "a", "--hub", "h", "--account", "first"], ["join", "a", "--hub", "h", "--timeout", "601"],
      ["join", "a", "--hub", "h", "--recovery", "r", "--account", UUID().uuidString],
    ] {
      XCTAssertEqual(try fixture.tool.run(["sync"] + arguments, passphrase: nil).status, 64, "\(arguments)")
    }
  }
}
