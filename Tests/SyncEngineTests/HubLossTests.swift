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
import XCTest
import _StoreSpecification
import _TestSupport

/// Devices whose hub does not know their account any more, and devices that join with a different model.
final class HubLossTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("HubLossTests") }
  override func tearDown() { folder = nil }

  private func file(_ name: String) throws -> URL { try XCTUnwrap(folder).file(name) }

  private func open(_ name: String, _ model: CompiledModel = MirrorModel.model) throws -> OpenStore {
    var description = PersistentStoreDescription(url: try file(name), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    return try OpenStore(description, model: model)
  }

  private func start(_ store: OpenStore, _ key: AccountRecoveryKey) async throws -> SyncService {
    try await SyncService.start(
      store.persistentStore, of: store.coordinator, hubPath: try file("hub.store").path, recoveryKey: key, deviceName: "one")
  }

  private func join(_ store: OpenStore, _ key: AccountRecoveryKey) async throws -> SyncService {
    try await SyncService.join(
      store.persistentStore, of: store.coordinator, hubPath: try file("hub.store").path, recoveryKey: key, deviceName: "other")
  }

  private func resume(_ store: OpenStore) async throws -> SyncService {
    try await SyncService.resume(store.persistentStore, of: store.coordinator)
  }

  private func end(_ service: SyncService) async {
    await (service.hub as? EmbeddedHub)?.close()
    service.end()
  }

  private var hashing: ZoneHashing { ZoneHashing(zone: ZoneID(high: 0, low: 0)) }

  private func removeHub() throws {
    for suffix in ["", "-wal", "-shm", ".key", ".keys"] {
      let path = try file("hub.store").path + suffix
      if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
  }

  /// Two devices with a synchronized object, and each with another one that was not sent before the hub is lost.
  private func twoDevices(_ key: AccountRecoveryKey) async throws -> (one: OpenStore, other: OpenStore) {
    let (one, other) = (try open("one.store"), try open("other.store"))
    let first = try await start(one, key)
    try one.insert("Folder", ["title": .text("first")])
    try await first.synchronize()
    let second = try await join(other, key)
    try other.insert("Folder", ["title": .text("second")])
    try await second.synchronize()
    try await first.synchronize()
    for service in [first, second] { await end(service) }
    try one.insert("Folder", ["title": .text("unsent of one")])
    try other.insert("Folder", ["title": .text("unsent of the other")])
    return (one, other)
  }

  private func assertMirrored(_ stores: [OpenStore], count: Int, file: StaticString = #filePath, line: UInt = #line) async throws {
    for store in stores + stores.dropLast().reversed() {
      let service = try await resume(store)
      try await service.synchronize()
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual, file: file, line: line)
      await end(service)
    }
    for store in stores { XCTAssertEqual(try store.count("Folder"), count, file: file, line: line) }
  }

  func testAnAccountIsCreatedAgainOnAHubThatWasLost() async throws {
    for isFirstDevice in [true, false] {
      folder = try TemporaryFolder("HubLossTests")
      let key = try AccountRecoveryKey.random()
      let (one, other) = try await twoDevices(key)
      try removeHub()
      await (try await EmbeddedHub.create(at: try file("hub.store").path, hashing: hashing)).close()
      // Any device creates the account: also one that has joined.
      try await assertMirrored(isFirstDevice ? [one, other] : [other, one], count: 4)
      // Others can join again with the same key.
      let third = try open("third.store")
      let service = try await join(third, key)
      try await service.synchronize()
      XCTAssertEqual(try third.count("Folder"), 4)
    }
  }

  func testAnAccountIsCreatedAgainOnAHubThatWasRestoredFromBefore() async throws {
    // A hub with another account only.
    let unrelated = try open("unrelated.store")
    let service = try await start(unrelated, .random())
    try await service.synchronize()
    await end(service)
    let (hub, backup) = (try file("hub.store"), try file("backup"))
    try FileManager.default.copyItem(at: hub, to: backup)
    XCTAssertFalse(FileManager.default.fileExists(atPath: hub.path + "-wal"), "The backup is complete.")
    let (one, other) = try await twoDevices(.random())
    try FileManager.default.removeItem(at: hub)
    try FileManager.default.copyItem(at: backup, to: hub)
    try await assertMirrored([other, one], count: 4)
    try await assertMirrored([unrelated], count: 0)
  }

  func testAServiceThatIsRunningCreatesTheAccountAgain() async throws {
    let key = try AccountRecoveryKey.random()
    let (one, other) = try await twoDevices(key)
    let services = [try await resume(one), try await resume(other)]
    for service in services + services { try await service.synchronize() }
    try removeHub()
    await (try await EmbeddedHub.create(at: try file("hub.store").path, hashing: hashing)).close()
    try one.insert("Folder", ["title": .text("later")])
    for service in services + services { try await service.synchronize() }
    for store in [one, other] { XCTAssertEqual(try store.count("Folder"), 5) }
    for service in services {
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual)
    }
  }

  func testAHubThatIsAwayIsNotReplaced() async throws {
    let (one, _) = try await twoDevices(.random())
    try removeHub()
    let service = try await resume(one)
    do {
      try await service.synchronize()
      XCTFail("It synchronized.")
    } catch let error as HubError { XCTAssertEqual(error.code, .noSuchFile) }
    XCTAssertFalse(FileManager.default.fileExists(atPath: try file("hub.store").path))
  }

  // MARK: Models

  private func model(_ names: String...) throws -> CompiledModel {
    try CompiledModel(ManagedObjectModel { for name in names { Entity(name) { Attribute("title", .string) } } })
  }

  func testAStoreOfADifferentModelIsRefused() async throws {
    let (one, other) = (try open("one.store", model("Song", "Album")), try open("other.store", model("Invoice")))
    let key = try AccountRecoveryKey.random()
    let first = try await start(one, key)
    for number in 0..<300 { try one.insert("Song", ["title": .text("song \(number)")]) }
    try await first.synchronize()
    try other.insert("Invoice", ["title": .text("invoice")])
    do {
      _ = try await join(other, key)
      XCTFail("It joined.")
    } catch let error as SyncError {
      XCTAssertEqual(error.code, .differentModel)
      XCTAssertTrue(error.description.contains("other.store"), error.description)
    }
    // Nothing was changed: the store can have an account of its own.
    let own = try await start(other, .random())
    try await own.synchronize()
    XCTAssertEqual(try other.count("Invoice"), 1)
  }

  func testAStoreOfAnotherVersionOfTheModelJoins() async throws {
    let (one, other) = (try open("one.store", model("Song", "Album")), try open("other.store", model("Album", "Concert")))
    let key = try AccountRecoveryKey.random()
    let first = try await start(one, key)
    for number in 0..<150 { try one.insert("Song", ["title": .text("song \(number)")]) }
    try await first.synchronize()
    // The only record of a common entity is behind the first page.
    try one.insert("Album", ["title": .text("album")])
    try await first.synchronize()
    try await join(other, key).synchronize()
    XCTAssertEqual(try other.count("Album"), 1)
  }

  func testAnEmptyAccountIsJoinedWithAnyModel() async throws {
    let (one, other) = (try open("one.store", model("Song")), try open("other.store", model("Invoice")))
    let key = try AccountRecoveryKey.random()
    let first = try await start(one, key)
    let id = try one.insert("Song", ["title": .text("deleted")])
    try await first.synchronize()
    let context = one.newContext()
    try context.delete(XCTUnwrap(context.all("Song").first { $0.objectID == id }))
    try context.save()
    try await first.synchronize()
    _ = try await join(other, key)
  }
}
