import Foundation
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Hubs that were copied, replaced or restored from a backup: devices must notice.
final class HubRestorationTests: XCTestCase {
  func testARestoredHubHasAnotherIncarnation() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    try await hub.push([1], from: &device, zone: file.zone)
    await hub.close()
    let backup = file.folder.file("backup")
    try FileManager.default.copyItem(atPath: file.path, toPath: backup.path)
    let connection = file.connect()
    let identity = try await connection.identity()
    let former = device.incarnation
    try await connection.push([2], from: &device, zone: file.zone)

    // The open connection uses the restored file.
    try file.restore(backup)
    let lost = device.commit(3)
    let answer = try await connection.push(lost, zone: file.zone)
    guard case .diverged(let incarnation) = answer else { return XCTFail("\(answer)") }
    XCTAssertNotEqual(incarnation, former)
    let pull = try await connection.pull(device.pullRequest(), zone: file.zone)
    XCTAssertEqual(pull, .diverged(incarnation))
    let restored = try await connection.identity()
    XCTAssertEqual(restored, identity)

    // It keeps the new incarnation from then on, for all connections.
    var other = try await file.device(2, file.connect())
    XCTAssertEqual(other.incarnation, incarnation)
    try await connection.push([9], from: &other, zone: file.zone)
    await connection.close()
    let last = try await file.device(3, file.connect())
    XCTAssertEqual(last.incarnation, incarnation)
    let findings = try await file.connect().verify()
    XCTAssertEqual(findings, [])
  }

  func testAMovedHubKeepsItsIncarnation() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let before = try await file.device(1, hub).incarnation
    await hub.close()
    let moved = file.folder.file("moved.store").path
    for suffix in ["", ".key", ".keys"] { try FileManager.default.moveItem(atPath: file.path + suffix, toPath: moved + suffix) }
    let other = EmbeddedHub(path: moved, hashing: TestHashing())
    let pages = try await other.pullAll(TestDevice(1, incarnation: nil).pullRequest(), zone: file.zone)
    XCTAssertEqual(pages.map(\.incarnation), [before])
    await assertThrows(.noSuchFile) { _ = try await file.connect().identity() }
  }

  /// Overwriting the file in place keeps its identity in the file system. The chain of commits shows the difference.
  func testAHubThatWasOverwrittenWithAnOlderStateDivergesByItsChain() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    try await hub.push([1], from: &device, zone: file.zone)
    await hub.close()
    let older = try Data(contentsOf: URL(fileURLWithPath: file.path))
    let second = file.connect()
    try await second.push([2], from: &device, zone: file.zone)
    await second.close()
    try older.overwrite(URL(fileURLWithPath: file.path))
    let third = file.connect()
    let commit = device.commit(3)
    let incarnation = try XCTUnwrap(device.incarnation)
    var answer = try await third.push(commit, zone: file.zone)
    XCTAssertEqual(answer, .diverged(incarnation))
    // Also after another device has pushed in between.
    var other = try await file.device(2, third)
    try await third.push([7], from: &other, zone: file.zone)
    answer = try await third.push(commit, zone: file.zone)
    XCTAssertEqual(answer, .diverged(incarnation))
  }

  /// A connection to a deleted file must not delete the log of the file that has replaced it.
  func testAConnectionToAReplacedFileLeavesTheLogOfTheNewOne() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    await creator.close()
    let backup = file.folder.file("backup")
    try FileManager.default.copyItem(atPath: file.path, toPath: backup.path)
    let old = file.connect()
    var device = try await file.device(1, old)
    try await old.push([1], from: &device, zone: file.zone)
    try file.restore(backup)
    let new = file.connect()
    var other = try await file.device(2, new)
    try await new.push([2, 3], from: &other, zone: file.zone)
    XCTAssertTrue(file.names.contains("hub.store-wal"))
    await old.close()
    XCTAssertTrue(file.names.contains("hub.store-wal"))
    let head = try await file.connect().head(of: file.zone)
    XCTAssertEqual(head.sequence, 1)
  }

  func testPushesInFlightDuringAReplacementAreNotLost() async throws {
    let file = try TestHub()
    let creator = try await file.create()
    await creator.close()
    let backup = file.folder.file("backup")
    try FileManager.default.copyItem(atPath: file.path, toPath: backup.path)
    let hub = file.connect()
    let device = try await file.device(1, hub)
    let pushing = Task { try await HubRestorationTests.pushUntilRefused(from: device, hub, file) }
    let watch = try await hub.watch(zone: file.zone)
    for await hint in watch.hints where hint.sequence ?? 0 > 5 { break }
    try file.restore(backup)
    let (answer, accepted) = try await pushing.value
    guard case .diverged = answer else { return XCTFail("\(answer)") }
    // The last one that the hint reported may not have been answered.
    XCTAssertGreaterThanOrEqual(accepted?.sequence ?? 0, 5)
  }

  /// Pushes commits until one is not accepted, also while the file is missing for a moment.
  ///
  /// - Returns: The last answer, and the last accepted commit before it.
  private static func pushUntilRefused(
    from device: TestDevice, _ hub: EmbeddedHub, _ file: TestHub
  ) async throws -> (answer: PushAnswer, accepted: ChainPoint?) {
    var device = device
    var commit = device.commit(1)
    while true {
      do {
        let answer = try await hub.push(commit, zone: file.zone)
        guard let point = answer.point else { return (answer, device.accepted) }
        device.settle(commit, at: point)
        commit = device.commit(UInt64(point.sequence) + 1)
      } catch let error as HubError where error.code == .noSuchFile {
        // The same commit again.
      }
    }
  }
}
