import Foundation
import SQLCipherConnection
import StoreKeys
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Failures of the hub's file are typed, and a connection works again by itself when their cause is gone.
final class HubErrorTests: XCTestCase {
  func testAMissingHubIsReportedUntilItExists() async throws {
    let file = try TestHub()
    let hub = file.connect()
    let error = await assertThrows(.noSuchFile) { _ = try await hub.identity() }
    XCTAssertEqual(error?.advice, "Check the path. If the hub was moved, continue with its new path.")
    await assertThrows(.noSuchFile) { _ = try await hub.pull(TestDevice(1, incarnation: nil).pullRequest(), zone: file.zone) }
    let created = try await file.create().identity()
    let identity = try await hub.identity()
    XCTAssertEqual(identity, created)
    // A hub in a folder that does not exist cannot be created.
    await assertThrows(.noSuchFile) {
      _ = try await EmbeddedHub.create(at: file.path + "-folder/hub.store", hashing: TestHashing())
    }
  }

  func testADeletedHubIsNotWrittenTo() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    try await hub.push([1], from: &device, zone: file.zone)
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
    let commit = device.commit(2)
    await assertThrows(.noSuchFile) { _ = try await hub.push(commit, zone: file.zone) }
    await assertThrows(.noSuchFile) { _ = try await hub.identity() }
    // The key files are those of the deleted hub.
    await assertThrows(.keyFileExists) { _ = try await EmbeddedHub.create(at: file.path, hashing: TestHashing()) }
  }

  func testAWrongKeyIsReportedUntilItIsReplaced() async throws {
    let file = try TestHub()
    try await file.create().close()
    let keyFile = URL(fileURLWithPath: file.path + ".key")
    let right = try Data(contentsOf: keyFile)
    let hub = file.connect()
    let wrong = try RecoveryKey.text(for: SecretBytes([UInt8](repeating: 3, count: 32)))
    for text in [wrong, "no key", ""] {
      try Data(text.utf8).write(to: keyFile)
      await assertThrows(.wrongKey) { _ = try await hub.identity() }
    }
    await assertThrows(.wrongKey) { _ = try await file.connect(key: .raw(SecretBytes([UInt8](repeating: 4, count: 32)))).identity() }
    try FileManager.default.removeItem(at: keyFile)
    await assertThrows(.keyFileMissing) { _ = try await hub.identity() }
    try right.write(to: keyFile)
    _ = try await hub.identity()
  }

  func testOtherFilesAreNotHubs() async throws {
    let file = try TestHub()
    let hub = file.connect()
    let url = URL(fileURLWithPath: file.path)
    let contents = [
      Data(), Data("short".utf8), Data(repeating: 7, count: 20_000), Data("SQLite format 3\0".utf8) + Data(repeating: 0, count: 8_000),
    ]
    for content in contents {
      try content.write(to: url)
      let error = await assertThrows(.notAHub) { _ = try await hub.identity() }
      XCTAssertTrue(error?.message.hasPrefix("\(file.path) is not a hub") ?? false, "\(error?.message ?? "")")
      XCTAssertFalse(error?.message.contains("a store") ?? true, "\(error?.message ?? "")")
    }
    try FileManager.default.removeItem(at: url)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    await assertThrows(.notAHub) { _ = try await hub.identity() }
    try FileManager.default.removeItem(at: url)

    // An encrypted database of another kind.
    let key = StoreKey.raw(SecretBytes([UInt8](repeating: 1, count: 32)))
    _ = try await StoreKeyring.create(
      storePath: file.path, key: key, contents: .made { connection, _ in try connection.execute("CREATE TABLE t (a)") })
    await assertThrows(.keyFileMissing) { _ = try await hub.identity() }
    // A store, which has a passphrase.
    let passphrase = StoreKey.passphrase(SecretBytes(Array("passphrase".utf8)), .cheapForTests())
    let path = file.path + "-store"
    _ = try await StoreKeyring.create(
      storePath: path, key: passphrase, contents: .made { connection, _ in try connection.execute("CREATE TABLE t (a)") })
    let store = EmbeddedHub(path: path, hashing: TestHashing())
    let error = await assertThrows(.notAHub) { _ = try await store.identity() }
    XCTAssertTrue(error?.message.hasSuffix("hub.store-store is a store, not a hub.") ?? false, "\(error?.message ?? "")")
    for suffix in ["", ".keys"] { try FileManager.default.removeItem(atPath: path + suffix) }
    let other = file.connect(key: key)
    await assertThrows(.notAHub) { _ = try await other.identity() }
    await assertThrows(.notAHub) { _ = try await EmbeddedHub.create(at: file.path, key: key, hashing: TestHashing()) }
    XCTAssertEqual(file.names, ["hub.store", "hub.store.keys"])
    // It is replaced by a hub.
    for suffix in ["", ".keys"] { try FileManager.default.removeItem(atPath: file.path + suffix) }
    try await EmbeddedHub.create(at: file.path, key: key, hashing: TestHashing()).createAccount(file.account)
    let account = try await other.account(file.account.id)
    XCTAssertEqual(account.id, file.account.id)
  }

  func testANewerFormatIsNotOpened() async throws {
    let file = try TestHub()
    try await file.create().close()
    let hub = file.connect()
    try await change(file, "UPDATE hub_metadata SET format = 3")
    let error = await assertThrows(.newerFormat) { _ = try await hub.identity() }
    XCTAssertEqual(error?.advice, "Update this program.")
    try await change(file, "UPDATE hub_metadata SET format = 2")
    _ = try await hub.identity()
  }

  func testDamageIsReportedUntilTheFileIsRestored() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    var device = try await file.device(1, creator)
    for number in 0..<40 as Range<UInt64> {
      try await creator.push([number], body: String(repeating: "x", count: 900), from: &device, zone: file.zone)
    }
    await creator.close()
    let original = try Data(contentsOf: URL(fileURLWithPath: file.path))
    let hub = file.connect()
    for page in [1, 2, original.count / 4_096] {
      var damaged = original
      damaged[page * 4_096 - 300] ^= 1
      try damaged.write(to: URL(fileURLWithPath: file.path))
      await assertThrows(.damaged) {
        _ = try await hub.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
        _ = try await hub.createAccount(.test(2))
      }
    }
    // Cut off in the middle.
    try original.prefix(6 * 4_096 + 10).write(to: URL(fileURLWithPath: file.path))
    await assertThrows(.damaged) { _ = try await hub.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone) }
    try original.write(to: URL(fileURLWithPath: file.path))
    let pages = try await hub.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
    XCTAssertEqual(pages.flatMap(\.records).count, 40)
  }

  func testUnknownZonesAreReported() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let other = ZoneID(high: 9, low: 9)
    var device = try await file.device(1, hub)
    let commit = device.commit(1)
    await assertThrows(.unknownZone) { _ = try await hub.push(commit, zone: other) }
    await assertThrows(.unknownZone) { _ = try await hub.pull(TestDevice(1, incarnation: nil).pullRequest(), zone: other) }
    let answer = try await hub.push(commit, zone: file.zone)
    XCTAssertNotNil(answer.point)
  }

  // MARK: Waiting

  func testAPushWaitsForAnotherProcessAndAPullDoesNot() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    let device = try await file.device(1, creator)
    await creator.close()
    let hub = file.connect()
    let blocker = try await connection(file)
    try blocker.beginWrite()
    async let push = hub.push(
      {
        var device = device; return device.commit(1)
      }(), zone: file.zone)
    // The pull returns although the push cannot.
    for _ in 0..<20 {
      let answer = try await hub.pull(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
      XCTAssertEqual(answer.page?.head.sequence, 0)
    }
    try blocker.commitWrite()
    let answer = try await push
    XCTAssertEqual(answer.point?.sequence, 1)
    blocker.close()
  }

  func testABusyHubIsReportedAfterTheTimeout() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    var device = try await file.device(1, creator)
    await creator.close()
    let hub = file.connect(busyTimeoutMilliseconds: 150)
    let blocker = try await connection(file)
    try blocker.beginWrite()
    let commit = device.commit(1)
    await assertThrows(.busy) { _ = try await hub.push(commit, zone: file.zone) }
    blocker.close()
    let answer = try await hub.push(commit, zone: file.zone)
    XCTAssertNotNil(answer.point)
  }

  func testCanceledPushesEnd() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    let device = try await file.device(1, creator)
    await creator.close()
    let hub = file.connect()
    _ = try await hub.identity()
    let blocker = try await connection(file)
    try blocker.beginWrite()
    // The first one waits for the lock, the others for the first one.
    let tasks = (1...3).map { number in
      Task {
        var device = device
        return try await hub.push(device.commit(UInt64(number)), zone: file.zone)
      }
    }
    _ = try await hub.usage()
    for task in tasks.reversed() {
      task.cancel()
      await assertThrows(.canceled) { _ = try await task.value }
    }
    blocker.close()
    let head = try await hub.head(of: file.zone)
    XCTAssertEqual(head.sequence, 0)
    let canceled = Task { () -> PullAnswer in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await hub.pull(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
    }
    await assertThrows(.canceled) { _ = try await canceled.value }
    _ = try await hub.pull(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
  }

  // MARK: Access to the file

  private func connection(_ file: TestHub) async throws -> Connection {
    let keyring = try await StoreKeyring.unlock(storePath: file.path, key: try HubKeyFile.read(for: file.path))
    return try Connection(opening: file.path, key: keyring.databaseKey())
  }

  private func change(_ file: TestHub, _ sql: String) async throws {
    let connection = try await connection(file)
    try connection.execute(sql)
    connection.close()
  }
}
