import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// The saves that were not sent yet, of which there can be many.
final class PendingSavesTests: XCTestCase {
  private func change(_ number: UInt64, _ value: Int64) -> PendingChange {
    PendingChange(RecordID(high: 1, low: number), entity: EntityID(2), [PropertyID(3): .integer(value), PropertyID(4): .text("a")])
  }

  func testPackedChangesKeepTheirPositionsWhenTheFirstOnesAreRemoved() throws {
    var changes = PackedChanges()
    for number in 0..<5_000 { changes.append(change(UInt64(number), 1)) }
    changes.append(PendingChange(RecordID(high: 1, low: 9), entity: EntityID(2), nil))
    changes.replace(4_000, by: change(4_000, 2))
    for removed in [10, 2_600, 2_700, 4_000] {
      changes.removeAll(before: removed)
      XCTAssertEqual(changes.end, 5_001)
      for position in removed..<5_000 { XCTAssertEqual(try changes[position], change(UInt64(position), position == 4_000 ? 2 : 1)) }
      XCTAssertNil(try changes[5_000].values)
    }
    let stamp = Stamp(HybridTime(value: 77), DeviceID(8))
    XCTAssertEqual(try PendingChangeCoding.record(changes.bytes(at: 4_998), stamp), change(4_998, 1).record(stamp))
  }

  /// Sends everything of a store in small commits, and calls a closure before each request.
  private func synchronize(_ store: SyncedStore, changesInCommit: Int, before: () throws -> Void = {}) throws {
    store.limits.changesInCommit = changesInCommit
    store.restart()
    try store.synchronize(afterEach: before)
  }

  func testChangesOfOneObjectByManySavesAreJoinedUntilTheyAreSent() throws {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let folders = try (0..<4).map { try one.context.insert("Folder", ["title": "\($0)"]) }
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    // Each save changes two folders, so that all have earlier and later changes when a commit is settled.
    for save in 0..<12 {
      try folders[save % 4].setValue("title \(save)", forKey: "title")
      try folders[(save + 1) % 4].setValue(Int64(save), forKey: "size")
      if save % 5 == 0 { try folders[save % 4].setValue(folders[(save + 2) % 4], forKey: "parent") }
      try one.context.save()
    }
    let checks = SyncChecks()
    try synchronize(one, changesInCommit: 2) { try checks.check(one, 1) }
    XCTAssertTrue(try one.isIdle)
    try other.synchronize()
    try checks.check(other, 2)
    try assertEqualContents(one, other, count: 4)
  }

  func testASaveInPiecesOfTheHistoryIsOneSave() throws {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let folder = try one.context.insert("Folder", ["title": "a"])
    // More than the history reader returns at once.
    let count = 2 * HistoryReader.fragmentSize + 10
    for number in 0..<count { try one.context.insert("Note", ["title": "\(number)", "folder": folder]) }
    try one.context.save()
    try one.replica.transaction {
      let saves = try one.replica.pendingSaves(after: 0, maximumChangeCount: 5)
      XCTAssertEqual(saves.map(\.changeCount), [count + 1])
      XCTAssertEqual(saves.first?.changes.count, 5)
      let number = saves.first?.number ?? 0
      let all = try one.replica.changes(of: number, from: 0, maximumCount: .max)
      XCTAssertEqual(Set(all.map(\.id)).count, count + 1)
      XCTAssertEqual(try one.replica.changes(of: number, from: count - 1, maximumCount: 10), Array(all.suffix(2)))
    }
    try one.synchronize()
    try other.synchronize()
    XCTAssertEqual(try other.context.all("Note").count, count)
  }

  func testPackedChangesReleaseTheirMemory() throws {
    var changes = PackedChanges()
    let count = 20_000
    for number in 0..<count { changes.append(change(UInt64(number), Int64(number))) }
    // Decoded, each would take some hundred bytes.
    XCTAssertLessThan(changes.byteCount, 100 * count)
    for removed in stride(from: 0, through: count, by: 100) {
      changes.removeAll(before: removed)
      XCTAssertLessThan(changes.byteCount, 2 * 100 * (count - removed) + (1 << 17))
    }
  }

  func testAnObjectInsertedAgainInAnotherPieceOfItsSaveGetsANewRecord() throws {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    one.context.undoManager = ContextUndoManager()
    let folder = try one.context.insert("Folder", ["title": "a"])
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    let former = try XCTUnwrap(folder.stableID)
    one.context.delete(folder)
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    try one.context.undo()
    for number in 0..<HistoryReader.fragmentSize + 10 { try one.context.insert("Note", ["title": "\(number)", "folder": folder]) }
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    XCTAssertNotEqual(try folder.stableID, former)
    try assertEqualContents(one, other, count: HistoryReader.fragmentSize + 11)
  }
}
