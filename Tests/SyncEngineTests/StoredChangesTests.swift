import Foundation
import ObjectContext
import ObjectStore
import SQLCipherStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Pending changes that are kept in a table of the store, because they are too many for the memory.
final class StoredChangesTests: XCTestCase {
  private var checks = SyncChecks()

  /// Two stores with six folders, synchronized, that send small commits.
  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    for number in 0..<6 { try one.context.insert("Folder", ["title": "\(number)"]) }
    try one.context.save()
    for store in [one, other] {
      (store.limits.changesInCommit, store.limits.recordsInPage, store.limits.recordsInBatch) = (4, 5, 3)
      store.restart()
      try store.synchronize()
    }
    return (one, other)
  }

  /// Makes three saves, which change 30 objects, some of them several times.
  private func change(_ store: SyncedStore, _ name: String) throws {
    let folders = try store.context.all("Folder")
    var notes: [ManagedObject] = []
    for number in 0..<20 { notes.append(try store.context.insert("Note", ["title": "\(name) \(number)", "folder": folders[number % 6]])) }
    try store.context.save()
    try store.open.persistentStore.performTransaction {
      for (number, note) in notes.enumerated() {
        try note.setValue(Double(number), forKey: "rating")
        if number % 3 == 0 { try note.setValue(folders[(number + 1) % 6], forKey: "folder") }
      }
      try store.context.save()
      // Of the same transaction.
      for note in notes[..<10] { try note.setValue(-1.0, forKey: "rating") }
      try store.context.save()
    }
    store.context.delete(notes[19])
    try folders[0].setValue(name, forKey: "title")
    try store.context.save()
  }

  /// Returns the numbers of rows of the tables, and whether the state says that they were filled.
  private func rows(_ store: SyncedStore) throws -> (changes: Int, references: Int, isFilled: Bool) {
    try store.replica.transaction {
      (
        try store.replica.count("SELECT count(*) FROM cipherdata_sync_pending"),
        try store.replica.count("SELECT count(*) FROM cipherdata_sync_pending_reference"),
        try store.replica.knownState().storedChanges != nil
      )
    }
  }

  private func assertEmpty(_ store: SyncedStore, file: StaticString = #filePath, line: UInt = #line) throws {
    let rows = try rows(store)
    XCTAssertTrue(rows == (0, 0, false), "\(rows)", file: file, line: line)
  }

  /// Sends a number of commits, or everything.
  private func synchronize(_ store: SyncedStore, commits: Int = .max, afterEach: () throws -> Void = {}) throws {
    var (actions, left) = (try store.handle(.remoteChange), commits)
    while left > 0, let action = actions.first {
      actions.removeFirst()
      if case .push = action { left -= 1 }
      actions += try store.handle(store.answer(action))
      try afterEach()
    }
  }

  private func assertSynchronized(
    _ one: SyncedStore, _ other: SyncedStore, count: Int, file: StaticString = #filePath, line: UInt = #line
  ) throws {
    for store in [one, other, one, other] { try synchronize(store) }
    for store in [one, other] {
      XCTAssertTrue(try store.isIdle, file: file, line: line)
      try assertEmpty(store, file: file, line: line)
    }
    try checks.checkEnd([one, other])
    try assertEqualContents(one, other, count: count, file: file, line: line)
  }

  func testChangesLeaveTheTableWhenTheyAreSettled() throws {
    try PendingSaves.$limit.withValue(10) {
      let (one, other) = try stores()
      try assertEmpty(one)
      try change(one, "a")
      var counts = [try rows(one).changes]
      XCTAssertEqual(counts, [20 + 20 + 2], "Of each record, a transaction has one change.")
      XCTAssertGreaterThanOrEqual(try rows(one).references, 20 + 7)
      XCTAssertEqual(try one.replica.transaction { try one.replica.pending().changeCountInMemory }, 0)
      try checks.check(one, 1)
      try synchronize(one) {
        counts.append(try rows(one).changes)
        try checks.check(one, 1)
      }
      XCTAssertEqual(counts, counts.sorted(by: >))
      XCTAssertEqual(Set(counts), [42, 22, 2, 0], "\(counts)")
      try assertSynchronized(one, other, count: 25)
    }
  }

  func testChangesOfRecordsInTheTableAreAdded() throws {
    try PendingSaves.$limit.withValue(10) {
      let (one, other) = try stores()
      try change(one, "a")
      XCTAssertEqual(try rows(one).changes, 42)
      try change(other, "b")
      try synchronize(other)
      // Meanwhile the application saves, and changes of the other device arrive.
      var number = 0
      try synchronize(one) {
        number += 1
        if number == 3 || number == 6 {
          for note in try one.context.all("Note").prefix(15) { try note.setValue("\(number)", forKey: "text") }
          try one.context.save()
        }
        try checks.check(one, 1)
      }
      XCTAssertGreaterThan(number, 6)
      try assertSynchronized(one, other, count: 44)
    }
  }

  func testAnotherProcessContinues() throws {
    // With a limit that is lower, the same, and so high that the next process needs no table.
    for limit in [0, 10, 1_000] {
      checks = SyncChecks()
      let (one, other) = try stores()
      try PendingSaves.$limit.withValue(10) {
        try change(one, "a")
        try synchronize(one, commits: 2)
        XCTAssertTrue(try rows(one).isFilled)
      }
      try PendingSaves.$limit.withValue(limit) {
        // Its requests are lost.
        try one.close()
        try one.reopen()
        if limit == 1_000 { try assertEmpty(one) } else { XCTAssertTrue(try rows(one).isFilled) }
        try checks.check(one, 1)
        try assertSynchronized(one, other, count: 25)
      }
    }
  }

  func testTwoReplicasOfAStoreReplaceTheirChanges() throws {
    try PendingSaves.$limit.withValue(10) {
      let (one, other) = try stores()
      try change(one, "a")
      let second = try StoreReplica(one.open.persistentStore, of: one.open.coordinator)
      var number = 0
      try synchronize(one) {
        number += 1
        if number % 2 == 0 { try second.transaction { _ = try second.zone() } }
        try checks.check(one, 1)
      }
      try assertSynchronized(one, other, count: 25)
    }
  }

  func testATransactionThatFailsLeavesTheTableAsItWas() throws {
    struct Failure: Error {}
    try PendingSaves.$limit.withValue(10) {
      let (one, other) = try stores()
      try change(one, "a")
      XCTAssertThrowsError(try one.replica.transaction { throw Failure() })
      XCTAssertEqual(try rows(one).changes, 42)
      try change(one, "b")
      XCTAssertThrowsError(try one.replica.transaction { throw Failure() })
      XCTAssertEqual(try rows(one).changes, 84)
      try assertSynchronized(one, other, count: 44)
    }
  }

  func testLargeChangesAreNotKeptInMemory() throws {
    try PendingSaves.$limit.withValue(1_000) {
      let (one, other) = try stores()
      let folder = try one.context.all("Folder")[0]
      for number in 0..<20 {
        try one.context.insert(
          "Note", ["title": "\(number)", "data": Data(repeating: UInt8(number), count: 20_000), "folder": folder])
      }
      try one.context.save()
      XCTAssertEqual(try rows(one).changes, 20)
      try assertSynchronized(one, other, count: 26)
    }
  }

  func testLeavingTheAccountRemovesTheTable() throws {
    try PendingSaves.$limit.withValue(10) {
      let (one, _) = try stores()
      try change(one, "a")
      XCTAssertTrue(try rows(one).isFilled)
      try one.replica.end()
      XCTAssertNil(try one.replica.transaction { try one.replica.replicaState() })
      try one.replica.begin(in: ZoneID(high: 1, low: 2), as: DeviceID(9))
      try assertEmpty(one)
    }
  }

  func testFewChangesNeedNoTable() throws {
    let (one, other) = try stores()
    try change(one, "a")
    one.observer.reset()
    try one.synchronize()
    XCTAssertFalse(one.observer.statements.isEmpty)
    XCTAssertEqual(one.observer.statements.filter { $0.contains("cipherdata_sync_pending") }, [])
    try assertSynchronized(one, other, count: 25)
  }
}
