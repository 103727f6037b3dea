import Foundation
import StoreFiles
import SyncCore
import XCTest
import _FaultInjection
import _TestSupport

@testable import SyncHub

/// Several processes and connections with one hub, processes that are killed, and processes without the rights or the space to write.
final class HubProcessTests: XCTestCase {
  func testRunChildRole() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let role = environment["CIPHERDATA_HUB_ROLE"] else { return }
    let arguments = (environment["CIPHERDATA_HUB_ARGUMENTS"] ?? "").components(separatedBy: "\n")
    switch role {
    case "push": try await pushCommits(arguments[0], device: UInt64(arguments[1]) ?? 0, count: Int(arguments[2]) ?? 0)
    case "create": HubChildProcess.answer("\(try await EmbeddedHub.create(at: arguments[0], hashing: TestHashing()).identity())")
    case "push until a call": try await pushUntilACall(arguments[0], call: Int(arguments[1]) ?? 0, number: UInt64(arguments[2]) ?? 0)
    case "read only": try await tryToWrite(arguments)
    case "fill a disk": try await fillADisk(at: arguments[0])
    default: XCTFail("no such part")
    }
  }

  // MARK: Several writers

  /// Pushes commits of one record, and prints the number of each accepted one.
  private func pushCommits(_ path: String, device number: UInt64, count: Int) async throws {
    let hub = EmbeddedHub(path: path, hashing: TestHashing())
    let zone = NewHubAccount.test(1).zone
    var device = TestDevice(number, incarnation: nil)
    device.receive(try await hub.pullAll(device.pullRequest(), zone: zone))
    for index in 0..<count {
      let point = try await hub.push([number << 32 | UInt64(index)], from: &device, zone: zone)
      HubChildProcess.answer("\(point.sequence)")
    }
  }

  func testCommitsOfSeveralProcessesGetNumbersWithoutGaps() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let children = try (1...3).map { try HubChildProcess("push", [file.path, "\($0)", "60"]) }
    // This process reads and writes too, through two connections.
    let other = file.connect()
    async let own: Void = withThrowingTaskGroup(of: Void.self) { group in
      for number in 11...14 as ClosedRange<UInt64> {
        group.addTask {
          let hub = number % 2 == 0 ? hub : other
          var device = try await file.device(number, hub)
          for index in 0..<30 as Range<UInt64> { try await hub.push([number << 32 | index], from: &device, zone: file.zone) }
        }
      }
      try await group.waitForAll()
    }
    var accepted: [Int64] = []
    for child in children {
      let (lines, output, status) = child.finish()
      XCTAssertEqual(status, 0, output)
      XCTAssertEqual(lines.count, 60, output)
      accepted += lines.compactMap { Int64($0) }
    }
    try await own
    XCTAssertEqual(Set(accepted).count, 180)
    let pages = try await other.pullAll(TestDevice(99, incarnation: nil).pullRequest(maximumCount: 50), zone: file.zone)
    let commits = pages.flatMap(\.commits)
    XCTAssertEqual(commits.map(\.sequence), Array(1...300))
    for (device, entries) in Dictionary(grouping: commits, by: \.device) {
      XCTAssertEqual(entries.map(\.deviceSequence), Array(1...Int64(entries.count)), "\(device)")
    }
    XCTAssertEqual(Set(pages.flatMap(\.records).map(\.name)).count, 300)
    let findings = try await hub.verify()
    XCTAssertEqual(findings, [])
  }

  func testProcessesThatCreateOneHubGetTheSame() async throws {
    for _ in 0..<3 {
      let file = try TestHub()
      let children = try (0..<4).map { _ in try HubChildProcess("create", [file.path]) }
      let results = children.map { $0.finish() }
      XCTAssertEqual(results.map(\.status), [0, 0, 0, 0], results.map(\.output).joined())
      XCTAssertEqual(Set(results.flatMap(\.lines)).count, 1)
      XCTAssertEqual(results.flatMap(\.lines).count, 4)
      let identity = try await file.connect().identity()
      XCTAssertEqual(results.first?.lines, ["\(identity)"])
      XCTAssertEqual(
        file.names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }, ["hub.store", "hub.store.key", "hub.store.keys"])
    }
  }

  // MARK: Kills

  func testAcknowledgedCommitsSurviveAKill() async throws {
    var random = SeededGenerator(seed: 77)
    let file = try TestHub()
    try await file.create().close()
    var known: Int64 = 0
    for round in 0..<RandomSteps.count(5) {
      let child = try HubChildProcess("push", [file.path, "\(round + 1)", "100000"])
      let lines = child.kill(after: .random(in: 1...40, using: &random), microseconds: .random(in: 0...4_000, using: &random))
      let last = try XCTUnwrap(lines.last.flatMap { Int64($0) })
      let hub = file.connect()
      let head = try await hub.head(of: file.zone)
      XCTAssertGreaterThanOrEqual(head.sequence, last)
      XCTAssertGreaterThan(last, known)
      known = head.sequence
      let findings = try await hub.verify()
      XCTAssertEqual(findings, [], "round \(round)")
      await hub.close()
    }
  }

  private static let calls = [fault_call_write, fault_call_sync, fault_call_size, fault_call_name, fault_call_lock]

  /// Creates a hub with an account, and pushes commits, until a call for one of the hub's files kills the process.
  private func pushUntilACall(_ path: String, call: Int, number: UInt64) async throws {
    guard fault_injection_works() else { return }
    fault_watch(StoreFile.folder(of: path))
    let kill = number % 2 == 0 ? fault_kill_halfway : fault_kill
    fault_arm(fault_plan(call: Self.calls[call], first: number, times: 1, error: Int32(kill)))
    let account = NewHubAccount.test(1)
    let hub = try await EmbeddedHub.create(at: path, hashing: TestHashing())
    try await hub.createAccount(account)
    var device = TestDevice(1, incarnation: nil)
    device.receive(try await hub.pullAll(device.pullRequest(), zone: account.zone))
    for index in 0..<12 as Range<UInt64> {
      let point = try await hub.push([index, index + 1], from: &device, zone: account.zone)
      HubChildProcess.answer("\(point.sequence)")
    }
    await hub.close()
    fault_disarm()
    fault_unwatch()
    HubChildProcess.answer("end")
  }

  /// Kills a process at file system calls from the creation of the hub to its closing. The next process continues.
  func testAKillAtAnyCallLeavesAHubThatContinues() async throws {
    guard fault_injection_works() else { return }
    var random = SeededGenerator(seed: 1_234)
    var killed = 0
    for call in Self.calls.indices {
      let most: UInt64 = [140, 30, 4, 20, 200][call]
      // Each call that creates or removes a name, and some of the others.
      let isName = Self.calls[call] == fault_call_name
      let numbers = isName ? Array(1...most) : (0..<RandomSteps.count(8)).map { _ in UInt64.random(in: 1...most, using: &random) }
      for number in numbers {
        let file = try TestHub()
        let (lines, output, status) = try HubChildProcess("push until a call", [file.path, "\(call)", "\(number)"]).finish()
        guard status == -1 else {
          // There were fewer calls.
          XCTAssertEqual(lines.last, "end", output)
          continue
        }
        killed += 1
        let place = "call \(call), number \(number)"
        let hub = try await file.create()
        var findings = try await hub.verify()
        XCTAssertEqual(findings, [], place)
        let head = try await hub.head(of: file.zone)
        let last = lines.last.flatMap { Int64($0) } ?? 0
        // The last commit may be durable without an answer.
        XCTAssertTrue((last...last + 1).contains(head.sequence), "\(place): \(head.sequence) after \(last)")
        var device = try await file.device(2, hub)
        try await hub.push([1, 2, 90], from: &device, zone: file.zone)
        findings = try await hub.verify()
        XCTAssertEqual(findings, [], place)
        await hub.close()
        // What the killed process left was removed, among it a copy of the key.
        XCTAssertEqual(file.names, ["hub.store", "hub.store.key", "hub.store.keys"], place)
      }
    }
    XCTAssertGreaterThan(killed, 20)
  }

  // MARK: Rights and space

  /// Permissions do not restrict root, so that the child process drops its privileges.
  func testAHubThatCannotBeWrittenIsReported() async throws {
    let file = try TestHub()
    try await file.create().close()
    XCTAssertEqual(chmod(file.folder.url.path, 0o777), 0)
    let secret = file.folder.file("secret.store").path
    for suffix in ["", ".key", ".keys"] {
      try FileManager.default.copyItem(atPath: file.path + suffix, toPath: secret + suffix)
      XCTAssertEqual(chmod(file.path + suffix, 0o444), 0)
      XCTAssertEqual(chmod(secret + suffix, 0o000), 0)
    }
    let (lines, output, status) = try HubChildProcess("read only", [file.path, secret]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(lines, ["readOnly", "permissionDenied"], output)
  }

  /// Prints the errors of writing to hubs as an unprivileged user.
  private func tryToWrite(_ paths: [String]) async throws {
    guard getuid() != 0 || (setgid(65_534) == 0 && setuid(65_534) == 0) else { return XCTFail("cannot drop privileges") }
    for path in paths {
      let hub = EmbeddedHub(path: path, hashing: TestHashing())
      do { try await hub.createAccount(.test(3)) } catch let error as HubError { HubChildProcess.answer("\(error.code)") }
    }
  }

  /// Runs in a process with a mount namespace of its own. Without root, a user namespace grants the necessary rights.
  func testAFullDiskIsReportedUntilThereIsSpace() throws {
    let folder = try TemporaryFolder("CipherDataHubDisk")
    let namespaces = getuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
    let (lines, output, status) = try HubChildProcess("fill a disk", [folder.url.path], through: ["/usr/bin/unshare"] + namespaces).finish()
    XCTAssertEqual(
      status, 0,
      "the test of a full disk could not run, or failed; it needs unshare (util-linux), and root or unprivileged user namespaces\n\(output)"
    )
    XCTAssertEqual(lines, ["the disk was full"], output)
  }

  private func fillADisk(at disk: String) async throws {
    guard mount("tmpfs", disk, "tmpfs", 0, "size=3m,mode=700") == 0 else {
      return XCTFail("a small disk cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    let (path, account) = (disk + "/hub.store", NewHubAccount.test(1))
    let hub = try await EmbeddedHub.create(at: path, hashing: TestHashing())
    try await hub.createAccount(account)
    var device = TestDevice(1, incarnation: nil)
    device.receive(try await hub.pullAll(device.pullRequest(), zone: account.zone))
    let body = [UInt8](repeating: 5, count: 20_000)
    var refused: SealedCommit?
    while refused == nil {
      let commit = device.commit([(UInt64(device.deviceSequence), body)])
      do {
        let answer = try await hub.push(commit, zone: account.zone)
        device.settle(commit, at: try XCTUnwrap(answer.point))
      } catch let error as HubError {
        XCTAssertEqual(error.code, .diskFull, "\(error)")
        refused = commit
      }
    }
    let count = try XCTUnwrap(device.accepted).sequence
    XCTAssertGreaterThan(count, 20)
    // Fill the rest too. Pulls need no space.
    let filler = try XCTUnwrap(fopen(disk + "/filler", "w"))
    let block = [UInt8](repeating: 0, count: 4_096)
    while fwrite(block, 1, block.count, filler) == block.count, fflush(filler) == 0 {}
    fclose(filler)
    let commit = try XCTUnwrap(refused)
    await assertThrows(.diskFull) { _ = try await hub.push(commit, zone: account.zone) }
    let pages = try await hub.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: account.zone)
    XCTAssertEqual(pages.flatMap(\.records).count, Int(count))
    // Neither can a hub be created.
    await assertThrows(.diskFull) { _ = try await EmbeddedHub.create(at: disk + "/other.store", hashing: TestHashing()) }
    unlink(disk + "/filler")
    // A commit of one small record fits. The refused one has left nothing.
    let small = EmbeddedHub(path: path, hashing: TestHashing())
    var other = TestDevice(3, incarnation: nil)
    other.receive(try await small.pullAll(other.pullRequest(), zone: account.zone))
    XCTAssertEqual(other.base.sequence, count)
    try await hub.replaceBundle(of: account.id, with: HubBundle(generation: 2, bytes: [1]))
    let findings = try await small.verify()
    XCTAssertEqual(findings, [])
    HubChildProcess.answer("the disk was full")
  }
}
