import Foundation
import SQLCipherConnection
import StoreKeys
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Creating a hub, its key, watches, figures and verification.
final class EmbeddedHubTests: XCTestCase {
  func testAHubIsCreatedWithAKeyFileOfItsOwner() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let identity = try await hub.identity()
    XCTAssertEqual(identity.format, 2)
    let mode = try FileManager.default.attributesOfItem(atPath: file.path + ".key")[.posixPermissions] as? Int
    XCTAssertEqual(mode, 0o600)
    // The key file contains a printed key, which other tools accept too.
    let text = try String(contentsOfFile: file.path + ".key", encoding: .utf8)
    let key = try XCTUnwrap(StoreKey.recoveryKey(text))
    let other = file.connect(key: key)
    let sameIdentity = try await other.identity()
    XCTAssertEqual(sameIdentity, identity)
    await other.close()
    await hub.close()
    XCTAssertEqual(file.names, ["hub.store", "hub.store.key", "hub.store.keys"])
    await assertThrows(.closed) { _ = try await hub.identity() }
  }

  func testAHubWithAKeyHasNoKeyFileOfItsOwn() async throws {
    let file = try TestHub()
    let key = StoreKey.raw(SecretBytes((0..<32).map { UInt8($0) }))
    let hub = try await EmbeddedHub.create(at: file.path, key: key, hashing: TestHashing())
    try await hub.createAccount(file.account)
    await hub.close()
    XCTAssertEqual(file.names, ["hub.store", "hub.store.keys"])
    let account = try await file.connect(key: key).account(file.account.id)
    XCTAssertEqual(account.zones, [file.zone])
    await assertThrows(.keyFileMissing) { _ = try await file.connect().identity() }
  }

  func testConcurrentCreationsMakeOneHub() async throws {
    for _ in 0..<4 {
      let file = try TestHub()
      let identities = try await withThrowingTaskGroup(of: HubIdentity.self) { group in
        for _ in 0..<6 {
          group.addTask { try await EmbeddedHub.create(at: file.path, hashing: TestHashing()).identity() }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      XCTAssertEqual(identities.count, 1)
    }
  }

  func testAHintArrivesAtAnotherConnection() async throws {
    let file = try TestHub()
    let (hub, other) = (try await file.create(), file.connect())
    let second = NewHubAccount.test(2)
    try await hub.createAccount(second)
    let watch = try await other.watch(zone: file.zone)
    var hints = watch.hints.makeAsyncIterator()
    var hint = await hints.next()
    XCTAssertEqual(hint, HubHint(sequence: 0))
    var device = try await file.device(1, hub)
    for number in 1...5 as ClosedRange<UInt64> {
      // A commit to another zone causes no hint.
      var stranger = try await file.device(2, hub)
      stranger.versions = [:]
      _ = try await hub.push(stranger.commit(number), zone: second.zone)
      try await hub.push([number], from: &device, zone: file.zone)
      hint = await hints.next()
      XCTAssertEqual(hint, HubHint(sequence: Int64(number)))
    }
    watch.end()
    hint = await hints.next()
    XCTAssertNil(hint)
    await assertThrows(.unknownZone) { _ = try await other.watch(zone: ZoneID(high: 9, low: 9)) }
  }

  func testHintsEndWhenTheHubIsClosed() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let watch = try await hub.watch(zone: file.zone)
    await hub.close()
    var count = 0
    for await _ in watch.hints { count += 1 }
    XCTAssertLessThanOrEqual(count, 1)
  }

  func testHintsContinueAfterTheFileWasReplaced() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    try await hub.push([1], from: &device, zone: file.zone)
    let backup = file.folder.file("backup")
    await hub.close()
    try FileManager.default.copyItem(atPath: file.path, toPath: backup.path)
    let (reader, writer) = (file.connect(), file.connect())
    let watch = try await reader.watch(zone: file.zone)
    try file.restore(backup)
    var other = try await file.device(2, writer)
    try await writer.push([2, 3], from: &other, zone: file.zone)
    for await hint in watch.hints where hint.sequence == 2 { break }
    let head = try await reader.head(of: file.zone)
    XCTAssertEqual(head.sequence, 2)
  }

  func testUsageIsThatOfTheRecords() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    var other = try await file.device(2, hub)
    try await hub.push([1, 2, 3], body: "12345", from: &device, zone: file.zone)
    try await hub.push([9], body: "1", from: &other, zone: file.zone)
    let commit = device.commit([(1, [1]), (2, [])], deleting: [2])
    let answer = try await hub.push(commit, zone: file.zone)
    XCTAssertNotNil(answer.point)
    // A refused commit leaves the figures.
    let refused = try await hub.push(other.commit(1), zone: file.zone)
    XCTAssertNil(refused.point)
    let usage = try await hub.usage()
    XCTAssertEqual(
      usage.zones,
      [
        HubUsage.Zone(
          id: file.zone, account: file.account.id, commits: 3, devices: 2, records: 4, deletedRecords: 1, bytes: 1 + 0 + 5 + 1)
      ])
    XCTAssertGreaterThan(usage.fileSize, 4_096)
  }

  func testVerificationFindsWhatDoesNotMatch() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var (one, other) = (try await file.device(1, hub), try await file.device(2, hub))
    for number in 1...6 as ClosedRange<UInt64> { try await hub.push([number], from: &one, zone: file.zone) }
    try await hub.push([20], from: &other, zone: file.zone)
    var findings = try await hub.verify()
    XCTAssertEqual(findings, [])
    await hub.close()
    let zone = file.zone
    let changes: [(String, [HubFinding])] = [
      ("UPDATE commit_log SET head = zeroblob(32) WHERE sequence = 4", [.wrongHead(zone, sequence: 4), .wrongHead(zone, sequence: 5)]),
      ("UPDATE commit_log SET digest = zeroblob(32) WHERE sequence = 2", [.wrongHead(zone, sequence: 2)]),
      (
        "DELETE FROM commit_log WHERE sequence = 3",
        [.missingCommit(zone, sequence: 3), .recordsWithoutCommit(zone, count: 1)]
      ),
      (
        "DELETE FROM commit_log WHERE sequence = 7",
        [.missingCommit(zone, sequence: 7), .wrongLastCommit(zone, DeviceID(2)), .recordsWithoutCommit(zone, count: 1)]
      ),
      ("UPDATE zone SET head = zeroblob(32)", [.wrongHead(zone, sequence: 7)]),
      ("UPDATE zone SET sequence = 6", [.wrongHead(zone, sequence: 6)]),
      ("UPDATE device SET sequence = 5 WHERE device = 1", [.wrongLastCommit(zone, DeviceID(1))]),
      ("DELETE FROM device WHERE device = 2", [.wrongLastCommit(zone, DeviceID(2))]),
      ("UPDATE record SET sequence = 8 WHERE sequence = 7", [.recordsWithoutCommit(zone, count: 1)]),
      ("DELETE FROM record WHERE sequence = 7", [.wrongFigures(zone), .wrongSum(zone)]),
      ("UPDATE record SET body = zeroblob(5) WHERE sequence = 7", [.wrongFigures(zone)]),
    ]
    let keyring = try await StoreKeyring.unlock(storePath: file.path, key: try HubKeyFile.read(for: file.path))
    let original = try Data(contentsOf: URL(fileURLWithPath: file.path))
    for (change, expected) in changes {
      let connection = try Connection(opening: file.path, key: keyring.databaseKey())
      try connection.execute(change)
      connection.close()
      let changed = file.connect()
      findings = try await changed.verify()
      XCTAssertEqual(findings, expected, change)
      XCTAssertFalse(findings.contains { $0.description.isEmpty })
      await changed.close()
      try original.write(to: URL(fileURLWithPath: file.path))
    }
    var damaged = original
    damaged[5 * 4_096 + 100] ^= 1
    try damaged.write(to: URL(fileURLWithPath: file.path))
    findings = try await file.connect().verify()
    XCTAssertEqual(findings.first, .database(.page(6)))
  }

  func testTenThousandRecordsArePushedAndPulled() async throws {
    let file = try TestHub()
    let (hub, reader) = (try await file.create(), file.connect())
    var device = try await file.device(1, hub)
    var expected: [RecordName: [UInt8]] = [:]
    for batch in 0..<25 as Range<UInt64> {
      let records = (0..<400 as Range<UInt64>).map { number in
        (batch * 400 + number, (0..<300).map { UInt8(truncatingIfNeeded: Int(number) &* 31 &+ $0) })
      }
      for (number, body) in records { expected[TestDevice.name(number)] = body }
      let commit = device.commit(records)
      let answer = try await hub.push(commit, zone: file.zone)
      device.settle(commit, at: try XCTUnwrap(answer.point))
    }
    let pages = try await reader.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
    let records = pages.flatMap(\.records)
    XCTAssertEqual(records.count, 10_000)
    XCTAssertEqual(Dictionary(records.map { ($0.name, $0.body) }) { $1 }, expected)
    XCTAssertGreaterThanOrEqual(pages.count, 10)
    let findings = try await reader.verify()
    XCTAssertEqual(findings, [])
  }

  /// Bodies, bundles, certificates and join requests are in the file as ciphertext only.
  func testPlantedWordsAreNotInTheFiles() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let words = (0..<200).map { "planted-word-\($0 * 7_919)-\($0)" }
    var device = try await file.device(1, hub)
    for (number, word) in words.enumerated() { try await hub.push([UInt64(number)], body: word, from: &device, zone: file.zone) }
    try await hub.replaceBundle(of: file.account.id, with: HubBundle(generation: 2, bytes: Array("planted-word-bundle".utf8)))
    try await hub.appendCertificate(
      HubCertificate(digest: Digest(1, 0, 0, 0), bytes: Array("planted-word-certificate".utf8)), after: file.account.certificate.digest,
      to: file.account.id)
    try await hub.postJoinRequest(UUID(), Array("planted-word-request".utf8), to: file.account.id)
    for isClosed in [false, true] {
      if isClosed { await hub.close() }
      var size = 0
      for name in file.names {
        let data = try Data(contentsOf: file.folder.file(name))
        size += data.count
        XCTAssertNil(data.range(of: Data("planted-word".utf8)), name)
      }
      XCTAssertGreaterThan(size, 60_000)
    }
  }
}
