import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Processes that write to one store and observe each other's commits, even if some are stopped or killed.
final class RemoteChangeProcessTests: XCTestCase {
  private var isPart: Bool { ProcessInfo.processInfo.environment[RemotePart.role] != nil }

  func testCommitOfAnotherProcessIsReported() throws {
    if isPart { return }
    let store = try TestStore()
    let open = try store.openObserving()
    let listener = RemoteChangeRecorder(open.coordinator)
    let part = try RemotePart("save", [store.url.path, "3"])
    part.finish()
    try waitUntil("the change") { try listener.count > 0 && open.count("Tag") == 3 }
  }

  func testCommitOfAKilledWriterIsReported() throws {
    if isPart { return }
    let store = try TestStore()
    let open = try store.openObserving()
    for round in 1...3 {
      let listener = RemoteChangeRecorder(open.coordinator)
      let part = try RemotePart("commit and die", [store.url.path, "\(round)"])
      part.finish()
      XCTAssertEqual(part.process.terminationReason, .uncaughtSignal)
      try waitUntil("round \(round)") { try listener.count > 0 && open.count("Tag") == round }
    }
  }

  func testSuspendedObserverIsNotifiedWhenResumed() throws {
    if isPart { return }
    let store = try TestStore()
    let open = try store.open()
    let tag = try open.insert("Tag", ["name": .text("0")])
    let count = ProcessInfo.processInfo.environment["CIPHERDATA_STOPPED_TRANSACTIONS"].flatMap(Int.init) ?? 2_000
    let part = try RemotePart("listen for a name", [store.url.path, "\(count)"])
    defer { part.end() }
    part.wait(for: "ready")
    part.signal(SIGSTOP)
    for number in 1..<count { try open.store.setUserMetadata(["number": "\(number)"]) }
    try open.save { try $0.update(tag, ["name": .text("\(count)")]) }
    part.signal(SIGCONT)
    part.wait(for: "received \(count)")
  }

  func testObserverIsNotifiedAfterAQueueOverflow() throws {
    if isPart { return }
    let limit = (try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)).flatMap {
      Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    let store = try TestStore()
    let open = try store.open()
    let tag = try open.insert("Tag", ["name": .text("0")])
    let part = try RemotePart("listen for a name", [store.url.path, "after all"])
    defer { part.end() }
    part.wait(for: "ready")
    part.signal(SIGSTOP)
    let other = store.folder.file("other").path
    for _ in 0...(limit ?? 16_384) / 2 {
      close(Foundation.open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
      unlink(other)
    }
    // A notice about this commit cannot be stored.
    try open.save { try $0.update(tag, ["name": .text("after all")]) }
    part.signal(SIGCONT)
    part.wait(for: "received after all")
  }

  func testEightProcessesObserveEachOther() throws {
    if isPart { return }
    let store = try TestStore()
    try store.open().close()
    let (processes, each) = (8, 10)
    let parts = try (0..<processes).map { try RemotePart("save and listen", [store.url.path, "\($0)", "\(each)", "\(processes * each)"]) }
    defer { for part in parts where part.process.isRunning { part.end() } }
    for part in parts { part.wait(for: "complete", seconds: 60) }
  }

  func testLogReportsCommitsInAReadOnlyFolder() throws {
    if isPart { return }
    let setpriv = "/usr/bin/setpriv"
    XCTAssertTrue(FileManager.default.isExecutableFile(atPath: setpriv), "\(setpriv) is needed: install util-linux")
    // Permissions do not restrict root unless it has dropped these capabilities. Another user might not be able to reach this program.
    let stoppable = getuid() == 0 ? [setpriv, "--bounding-set=-dac_override,-dac_read_search", "--"] : []
    let store = try TestStore()
    let open = try store.open()
    let tag = try open.insert("Tag", ["name": .text("0")])
    for name in store.folder.fileNames() { chmod(store.folder.file(name).path, 0o666) }
    chmod(store.folder.url.path, 0o555)
    defer { chmod(store.folder.url.path, 0o755) }
    let part = try RemotePart("listen read-only", [store.url.path, "1"], through: stoppable)
    defer { part.end() }
    part.wait(for: "ready")
    XCTAssertFalse(FileManager.default.fileExists(atPath: store.noticePath))
    try open.save { try $0.update(tag, ["name": .text("1")]) }
    part.wait(for: "received 1")
    part.finish()
    // Without a log the store is read without locks, and no process would report changes.
    chmod(store.folder.url.path, 0o755)
    try open.close()
    chmod(store.folder.url.path, 0o555)
    let late = try RemotePart("listen read-only", [store.url.path, "1"], through: stoppable)
    XCTAssertEqual(late.finish(), ["remoteChangesUnavailable"])
  }

  // MARK: The child processes

  func testProcessEntryPoint() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let role = environment[RemotePart.role] else { return }
    let arguments = (environment["CIPHERDATA_REMOTE_ARGUMENTS"] ?? "").components(separatedBy: "\n")
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: arguments[0]), key: TestStore.key)
    description.durability = .fast
    description.postsRemoteChangeNotifications = role.contains("listen")
    description.isReadOnly = role.contains("read-only")
    let open: OpenStore
    do {
      open = try OpenStore(description, model: SpecificationModels.library)
    } catch let error as StoreError {
      return RemotePart.say("\(error.code)")
    }
    switch role {
    case "save": for number in 0..<(Int(arguments[1]) ?? 0) { try open.insert("Tag", ["name": .text("\(number)")]) }
    case "commit and die": try commitAndDie(open, name: arguments[1])
    case "listen for a name", "listen read-only": try await listen(open, for: arguments[1])
    case "save and listen": try await saveAndObserve(open, arguments)
    default: XCTFail("no such part")
    }
  }

  /// Commits, and exits before any step that follows a commit.
  private func commitAndDie(_ open: OpenStore, name: String) throws {
    let engine = try XCTUnwrap((open.store as? SQLCipherIncrementalStore)?.state.withLock { $0.engine })
    try open.persistentStore.performTransaction {
      try open.insert("Tag", ["name": .text(name)])
      try XCTUnwrap(engine.currentTransaction).connection.execute("COMMIT")
      kill(getpid(), SIGKILL)
    }
  }

  private func listen(_ open: OpenStore, for name: String) async throws {
    let changes = open.coordinator.remoteChanges()
    RemotePart.say("ready")
    for await _ in changes {
      let names = try open.texts("name", FetchSpecification(entityName: "Tag"))
      RemotePart.say("received \(names.first ?? "nothing")")
      if names == [name] { return }
    }
  }

  /// Saves, and observes remote changes until all expected ones are present. A lost change makes it wait in vain.
  private func saveAndObserve(_ open: OpenStore, _ arguments: [String]) async throws {
    let (each, all) = (Int(arguments[2]) ?? 0, Int(arguments[3]) ?? 0)
    let changes = open.coordinator.remoteChanges()
    for number in 0..<each { try open.insert("Tag", ["name": .text("\(arguments[1])-\(number)")]) }
    if try open.count("Tag") == all { return RemotePart.say("complete") }
    for await _ in changes where try open.count("Tag") == all { return RemotePart.say("complete") }
  }
}
