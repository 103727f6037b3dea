import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

/// Stores that are synchronized through a hub's file.
final class ServiceTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("SyncServiceTests") }
  override func tearDown() { folder = nil }

  private func file(_ name: String) throws -> URL { try XCTUnwrap(folder).file(name) }

  private func open(_ name: String) throws -> OpenStore {
    var description = PersistentStoreDescription(url: try file(name), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    return try OpenStore(description, model: MirrorModel.model)
  }

  private func start(_ open: OpenStore, _ key: AccountRecoveryKey) async throws -> SyncService {
    try await SyncService.start(
      open.persistentStore, of: open.coordinator, hubPath: try file("hub.store").path, recoveryKey: key, deviceName: "one")
  }

  private func join(_ open: OpenStore, _ key: AccountRecoveryKey) async throws -> SyncService {
    try await SyncService.join(
      open.persistentStore, of: open.coordinator, hubPath: try file("hub.store").path, recoveryKey: key, deviceName: "other")
  }

  func testASecondDeviceJoinsWithTheRecoveryKey() async throws {
    let (one, other) = (try open("one.store"), try open("other.store"))
    let context = one.newContext()
    let root = try context.insert("Folder", ["title": "rootword"])
    for number in 0..<100 { try context.insert("Note", ["title": "plantedword\(number)", "folder": root]) }
    try context.save()
    let key = try AccountRecoveryKey.random()
    let first = try await start(one, key)
    let round = try await first.synchronize()
    XCTAssertEqual(round.added, 101)
    XCTAssertEqual(round.pushed, 101)
    let second = try await join(other, try AccountRecoveryKey(parsing: try key.text()))
    try await second.synchronize()
    XCTAssertEqual(try other.count("Note"), 100)
    let status = try await second.status()
    XCTAssertEqual(status.pendingSaves, 0)
    let firstStatus = try await first.status()
    XCTAssertEqual(status.cursor, firstStatus.cursor)
    XCTAssertNotNil(status.report.lastSuccess)

    let changed = other.newContext()
    for note in try changed.all("Note") { try note.setValue("changed", forKey: "text") }
    try changed.save()
    try await second.synchronize()
    try await first.synchronize()
    XCTAssertEqual(try one.count(.init(entityName: "Note", predicate: .compare("text", .equal, "changed"))), 100)
    let isIdle = try await first.isIdle()
    XCTAssertTrue(isIdle)
    for service in [first, second] {
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual)
      let verified = try await service.status()
      XCTAssertEqual(verified.report.isVerified, true)
    }
  }

  func testDevicesAreCertifiedAgainByAHubThatWasRestored() async throws {
    let (one, other) = (try open("one.store"), try open("other.store"))
    let key = try AccountRecoveryKey.random()
    let first = try await start(one, key)
    try one.insert("Folder", ["title": .text("before")])
    try await first.synchronize()
    let hub = try file("hub.store")
    await (first.hub as? EmbeddedHub)?.close()
    let backup = try file("backup")
    try FileManager.default.copyItem(at: hub, to: backup)
    let log = hub.path + "-wal"
    XCTAssertFalse(FileManager.default.fileExists(atPath: log), "The backup is complete.")
    first.end()

    let second = try await join(other, key)
    try other.insert("Folder", ["title": .text("after")])
    try await second.synchronize()
    await (second.hub as? EmbeddedHub)?.close()
    second.end()
    try FileManager.default.removeItem(at: hub)
    try FileManager.default.copyItem(at: backup, to: hub)

    for store in [other, one, other] {
      let service = try await SyncService.resume(store.persistentStore, of: store.coordinator)
      try await service.synchronize()
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual)
      await (service.hub as? EmbeddedHub)?.close()
      service.end()
    }
    XCTAssertEqual(try one.count("Folder"), 2)
    XCTAssertEqual(try other.count("Folder"), 2)
  }

  /// Nothing shows that the store's file is an earlier one, except the commits of its device that the hub has.
  func testADeviceIsRegisteredAgainWhenAPullShowsThatItsStoreWasReplaced() async throws {
    func end(_ service: SyncService) async {
      await (service.hub as? EmbeddedHub)?.close()
      service.end()
    }
    func certificates() async throws -> Int {
      let hub = EmbeddedHub(path: try file("hub.store").path, hashing: ZoneHashing(zone: ZoneID(high: 0, low: 0)))
      let accounts = try await hub.accounts()
      let count = try await hub.certificates(of: XCTUnwrap(accounts.first)).count
      await hub.close()
      return count
    }
    func device(_ open: OpenStore) throws -> DeviceID {
      let replica = try StoreReplica(open.persistentStore, of: open.coordinator)
      return try replica.transaction { try replica.zone().device }
    }
    var (one, other) = (try open("one.store"), try open("other.store"))
    let key = try AccountRecoveryKey.random()
    try one.insert("Folder", ["title": .text("first")])
    let first = try await start(one, key)
    try await first.synchronize()
    let second = try await join(other, key)
    try await second.synchronize()
    await end(first)
    try one.close()
    let url = try file("one.store")
    let older = try Data(contentsOf: url)
    one = try open("one.store")
    try one.insert("Folder", ["title": .text("lost")])
    let former = try device(one)
    let third = try await SyncService.resume(one.persistentStore, of: one.coordinator)
    try await third.synchronize()
    await end(third)
    try one.close()
    try older.overwrite(url)
    try FileManager.default.removeItem(at: try file(".one.store-mark"))

    one = try open("one.store")
    try one.insert("Folder", ["title": .text("new")])
    XCTAssertEqual(try device(one), former)
    let registered = try await certificates()
    XCTAssertEqual(registered, 2)
    let service = try await SyncService.resume(one.persistentStore, of: one.coordinator)
    let round = try await service.synchronize()
    XCTAssertGreaterThan(round.pushed, 0)
    XCTAssertEqual(round.changed, 1, "The lost object, although the device has sent it itself.")
    XCTAssertEqual(round.newDeviceName, "one (2)")
    XCTAssertNotEqual(try device(one), former)
    let again = try await certificates()
    XCTAssertEqual(again, 3, "The new identity is registered before its first commit.")
    // The other device accepts its commits.
    try await second.synchronize()
    for store in [one, other] {
      let titles = try store.texts("title", .init(entityName: "Folder"))
      XCTAssertEqual(titles.sorted(), ["first", "lost", "new"])
    }
    for service in [service, second] {
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual)
    }
  }

  func testAnInterruptedCreationOfAnAccountIsRepeatedWithTheSameKey() async throws {
    struct Interruption: Error {}
    let one = try open("one.store")
    let keys = Mutex<[AccountRecoveryKey]>([])
    func start(isInterrupted: Bool) async throws -> SyncService {
      let account = try await SyncService.newAccount(
        one.persistentStore, of: one.coordinator, hubPath: try file("hub.store").path, deviceName: "one")
      keys.withLock { $0.append(account.recoveryKey) }
      if isInterrupted { throw Interruption() }
      return try await account.create()
    }
    for _ in 0..<2 {
      do {
        _ = try await start(isInterrupted: true)
        XCTFail("It was not interrupted.")
      } catch is Interruption {}
    }
    let replica = try StoreReplica(one.persistentStore, of: one.coordinator)
    XCTAssertNil(try replica.transaction { try replica.replicaState() })
    let service = try await start(isInterrupted: false)
    let all = keys.withLock { $0 }
    XCTAssertEqual(all.count, 3)
    let key = try XCTUnwrap(all.first)
    XCTAssertTrue(all.allSatisfy { $0 == key })
    XCTAssertTrue(try replica.isReplica(ofAccountWith: key))
    // The store keeps the key no longer than necessary.
    XCTAssertFalse(try replica.isCreatingAccount(with: key))
    try await service.synchronize()
    let other = try open("other.store")
    try await join(other, key).synchronize()
    // Another account of the store gets another key.
    try await service.leave()
    _ = try await start(isInterrupted: false)
    XCTAssertNotEqual(keys.withLock { $0.last }, key)
  }

  func testAnotherRecoveryKeyIsRefused() async throws {
    let (one, other) = (try open("one.store"), try open("other.store"))
    _ = try await start(one, try AccountRecoveryKey.random())
    do {
      _ = try await join(other, try AccountRecoveryKey.random())
      XCTFail("It joined.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .accountNotFound) }
  }

  func testAStoreIsSynchronizedByOneUserAtATime() async throws {
    let one = try open("one.store")
    let first = try await start(one, try AccountRecoveryKey.random())
    do {
      _ = try await SyncService.resume(one.persistentStore, of: one.coordinator)
      XCTFail("Two services have the lease.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .busy) }
    try await first.synchronize()
  }

  func testARoundEndsWhileTheApplicationGoesOnSaving() async throws {
    let one = try open("one.store")
    let service = try await start(one, try AccountRecoveryKey.random())
    try one.insert("Folder", ["title": .text("before")])
    let coordinator = one.coordinator
    let steps = Mutex(0)
    // Each step is followed by a save, up to a number that shows an endless round.
    func synchronize() async throws -> SyncRunner.Round {
      try await service.synchronize { _ in
        guard
          steps.withLock({
            $0 += 1
            return $0
          }) <= 100
        else { return }
        let context = ManagedObjectContext(coordinator: coordinator)
        do {
          try context.insert("Folder", ["title": "later"])
          try context.save()
        } catch { XCTFail("\(error)") }
      }
    }
    for round in 1...3 {
      _ = try await synchronize()
      XCTAssertLessThan(steps.withLock { $0 }, round * 10)
      let status = try await service.status()
      XCTAssertGreaterThan(status.pendingSaves, 0)
    }
    // What was saved meanwhile is sent by the next round, once.
    try await service.synchronize()
    let status = try await service.status()
    XCTAssertEqual(status.pendingSaves, 0)
    XCTAssertEqual(status.frozenBytes, 0)
    let isIdle = try await service.isIdle()
    XCTAssertTrue(isIdle)
    let result = try await service.verify()
    XCTAssertTrue(result.isEqual)
    XCTAssertEqual(try one.count("Folder"), 1 + steps.withLock { $0 })
  }

  func testSynchronizationGoesOnInANewProcess() async throws {
    let one = try open("one.store")
    let key = try AccountRecoveryKey.random()
    var service: SyncService? = try await start(one, key)
    _ = service
    service = nil
    let again = try await SyncService.resume(one.persistentStore, of: one.coordinator)
    try await again.synchronize()
    try one.insert("Folder", ["title": .text("late")])
    let round = try await again.synchronize(pulls: false)
    XCTAssertEqual(round.pushed, 1)
  }
}
