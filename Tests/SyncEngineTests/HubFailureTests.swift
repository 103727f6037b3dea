import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport
import _ForwardingHub

@testable import SyncEngine

/// Stores whose hub is full, another one, or locked, and stores that are signed out.
final class HubFailureTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("HubFailureTests") }
  override func tearDown() { folder = nil }

  private func path(_ name: String) throws -> String { try XCTUnwrap(folder).file(name).path }

  private func open(_ name: String) throws -> OpenStore {
    var description = PersistentStoreDescription(
      url: URL(fileURLWithPath: try path(name)), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    return try OpenStore(description, model: MirrorModel.model)
  }

  /// Returns two stores that are synchronized with one account, and its recovery key. No service runs.
  private func stores() async throws -> (OpenStore, OpenStore, AccountRecoveryKey) {
    let (one, other) = (try open("one.store"), try open("other.store"))
    let key = try AccountRecoveryKey.random()
    try one.insert("Folder", ["title": .text("first")])
    let hub = try path("hub.store")
    let first = try await SyncService.start(one.persistentStore, of: one.coordinator, hubPath: hub, recoveryKey: key, deviceName: "one")
    try await first.synchronize()
    let second = try await SyncService.join(
      other.persistentStore, of: other.coordinator, hubPath: hub, recoveryKey: key, deviceName: "other")
    try await second.synchronize()
    for service in [first, second] {
      await (service.hub as? EmbeddedHub)?.close()
      service.end()
    }
    return (one, other, key)
  }

  private func synchronize(_ open: OpenStore) async throws -> SyncRunner.Round {
    let service = try await SyncService.resume(open.persistentStore, of: open.coordinator)
    defer { service.end() }
    let round: Result<SyncRunner.Round, any Error>
    do { round = .success(try await service.synchronize()) } catch { round = .failure(error) }
    await (service.hub as? EmbeddedHub)?.close()
    return try round.get()
  }

  private func status(_ open: OpenStore) throws -> SyncStatus {
    try StoreReplica(open.persistentStore, of: open.coordinator).status()
  }

  private func assertCode(
    _ code: SyncError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      XCTFail("There was no error.", file: file, line: line)
    } catch {
      XCTAssertEqual((SyncError.converting(error, path: nil) as? SyncError)?.code, code, "\(error)", file: file, line: line)
    }
  }

  // MARK: Case 19

  func testCase19APullGoesOnWhilePushesFail() async throws {
    try await checkCase19(failing: .push)
  }

  func testCase19APushGoesOnWhilePullsFail() async throws {
    try await checkCase19(failing: .pull)
  }

  /// Synchronizes a store that has something to pull and to push, while one of the two fails because a disk is full.
  private func checkCase19(failing request: FailingHub.Request) async throws {
    let (one, other, _) = try await stores()
    // More than a page of records, so that the pull needs several answers.
    for number in 0..<3 { try one.insert("Folder", ["title": .text("of one \(number)")]) }
    _ = try await synchronize(one)
    for number in 0..<3 { try other.insert("Folder", ["title": .text("of other \(number)")]) }
    var limits = SyncClient.Limits()
    (limits.recordsInPage, limits.changesInCommit) = (1, 1)
    let hub = FailingHub(EmbeddedHub(path: try path("hub.store"), hashing: ZoneHashing.shared), request)
    let replica = try StoreReplica(other.persistentStore, of: other.coordinator)
    let runner = try SyncRunner(replica, with: hub, limits: limits)
    do {
      _ = try await runner.synchronize()
      XCTFail("There was no error.")
    } catch let error as HubError { XCTAssertEqual(error.code, .diskFull) }
    let pulled = try other.count("Folder") - 4
    XCTAssertEqual(pulled, request == .push ? 3 : 0)
    XCTAssertEqual(try status(other).pendingSaves, request == .push ? 3 : 0)
    // Everything arrives as soon as there is space.
    hub.isFull.store(false, ordering: .sequentiallyConsistent)
    try await runner.synchronize()
    await (hub.hub as? EmbeddedHub)?.close()
    _ = try await synchronize(one)
    for store in [one, other] {
      XCTAssertEqual(try store.count("Folder"), 7)
      XCTAssertEqual(try status(store).pendingSaves, 0)
    }
  }

  // MARK: Case 20

  func testCase20SigningOut() async throws {
    let (one, other, key) = try await stores()
    try other.insert("Folder", ["title": .text("unsent")])
    let service = try await SyncService.resume(other.persistentStore, of: other.coordinator)
    try await service.leave()
    XCTAssertEqual(try other.count("Folder"), 2)
    await assertCode(.notSynchronized) { _ = try self.status(other) }
    await assertCode(.notSynchronized) { _ = try await self.synchronize(other) }
    // Signing in again sends it.
    let again = try await SyncService.join(
      other.persistentStore, of: other.coordinator, hubPath: try path("hub.store"), recoveryKey: key, deviceName: "other")
    try await again.synchronize()
    _ = try await synchronize(one)
    XCTAssertEqual(try one.count("Folder"), 2)
  }

  func testCase20AnotherAccount() async throws {
    let (one, other, _) = try await stores()
    try other.insert("Folder", ["title": .text("unsent")])
    let suffixes = ["", ".key", ".keys"]
    for suffix in suffixes { try FileManager.default.moveItem(atPath: path("hub.store" + suffix), toPath: path("away" + suffix)) }
    let third = try open("third.store")
    let service = try await SyncService.start(
      third.persistentStore, of: third.coordinator, hubPath: try path("hub.store"), recoveryKey: .random(), deviceName: "third")
    try await service.synchronize()
    await (service.hub as? EmbeddedHub)?.close()
    for store in [one, other] { await assertCode(.accountNotFound) { _ = try await self.synchronize(store) } }
    XCTAssertEqual(try other.count("Folder"), 2)
    XCTAssertEqual(try status(other).pendingSaves, 1)
    XCTAssertTrue(try status(other).report.lastError?.contains("does not have the account") ?? false)
    // It goes on when the hub is back.
    for suffix in suffixes { try FileManager.default.removeItem(atPath: path("hub.store" + suffix)) }
    for suffix in suffixes { try FileManager.default.moveItem(atPath: path("away" + suffix), toPath: path("hub.store" + suffix)) }
    _ = try await synchronize(other)
    _ = try await synchronize(one)
    XCTAssertEqual(try one.count("Folder"), 2)
  }

  func testCase20ALostKey() async throws {
    let (one, other, key) = try await stores()
    try other.insert("Folder", ["title": .text("unsent")])
    // That of the hub.
    try FileManager.default.moveItem(atPath: path("hub.store.key"), toPath: path("away"))
    await assertCode(.hubUnreadable) { _ = try await self.synchronize(other) }
    XCTAssertEqual(try status(other).pendingSaves, 1)
    try FileManager.default.moveItem(atPath: path("away"), toPath: path("hub.store.key"))
    // Those of the device.
    let replica = try StoreReplica(other.persistentStore, of: other.coordinator)
    let state = try replica.transaction { try XCTUnwrap(replica.storedValue(AccountState.name)) }
    for lost in [nil, Data(), state.prefix(state.count / 2)] as [Data?] {
      try replica.transaction {
        try replica.removeValue(AccountState.name)
        if let lost { try replica.store(lost, as: AccountState.name) }
      }
      await assertCode(.damagedState) { _ = try self.status(other) }
      await assertCode(.damagedState) { _ = try await self.synchronize(other) }
      XCTAssertEqual(try other.count("Folder"), 2)
      XCTAssertEqual(try replica.transaction { try replica.pendingSaves(after: 0, maximumChangeCount: 100) }.count, 1)
    }
    // The recovery key restores them, and the unsent edit is sent.
    try replica.end()
    let again = try await SyncService.join(
      other.persistentStore, of: other.coordinator, hubPath: try path("hub.store"), recoveryKey: key, deviceName: "other")
    try await again.synchronize()
    _ = try await synchronize(one)
    XCTAssertEqual(try one.count("Folder"), 2)
  }
}

/// A hub of which one kind of request fails because its disk is full. The other kind waits until that has happened.
private final class FailingHub: ForwardingHub {
  enum Request { case pull, push }
  let hub: any HubConnection
  private let request: Request
  let isFull = Atomic(true)
  private let hasFailed = Atomic(false)

  init(_ hub: any HubConnection, _ request: Request) { (self.hub, self.request) = (hub, request) }

  private func call(_ kind: Request) async throws {
    guard isFull.load(ordering: .sequentiallyConsistent) else { return }
    if kind == request {
      hasFailed.store(true, ordering: .sequentiallyConsistent)
      throw HubError(.diskFull, "The disk is full.")
    }
    while !hasFailed.load(ordering: .sequentiallyConsistent) { try await Task.sleep(for: .milliseconds(1)) }
  }

  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer {
    try await call(.pull)
    return try await hub.pull(request, zone: zone)
  }
  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer {
    try await call(.push)
    return try await hub.push(commit, zone: zone)
  }
}
