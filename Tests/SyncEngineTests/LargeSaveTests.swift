import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Batch requests that change more objects than a commit can contain.
final class LargeSaveTests: XCTestCase {
  private let count = 3_000
  private let partSize = 50

  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let stores = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    for store in [stores.0, stores.1] {
      (store.limits.changesInCommit, store.limits.recordsInPage, store.limits.recordsInBatch) = (partSize, 75, 100)
      store.restart()
    }
    return stores
  }

  /// The number of pending changes that are kept in memory.
  private let limit = 200

  /// Asserts how many changes of a store are in memory while all of a batch request are pending.
  private func assertBounded(_ store: SyncedStore) throws {
    let (all, inMemory) = try store.replica.transaction {
      (try store.replica.pending().changeCount, try store.replica.pending().changeCountInMemory)
    }
    XCTAssertEqual(all, count)
    XCTAssertLessThanOrEqual(inMemory, limit)
  }

  /// Sends everything of a store.
  ///
  /// - Parameter beforeEach: Called before the hub receives each part.
  /// - Returns: The parts.
  private func send(_ store: SyncedStore, beforeEach: (CommitPart) throws -> Void = { _ in }) throws -> [CommitPart] {
    var parts: [CommitPart] = []
    var actions = try store.handle(.remoteChange)
    while let action = actions.first {
      actions.removeFirst()
      if case .push(let commit) = action {
        XCTAssertLessThanOrEqual(commit.records.count, partSize)
        parts.append(commit.part)
        try assertBounded(store)
        try beforeEach(commit.part)
      }
      actions += try store.handle(store.answer(action))
    }
    return parts
  }

  private func count(_ store: SyncedStore, size: Int) throws -> Int {
    try store.open.count(FetchSpecification(entityName: "Folder", predicate: .compare("size", .equal, size)))
  }

  func testCase17ABatchRequestIsExportedInPartsInBoundedMemoryAndIsVisibleAtOnce() throws {
    try PendingSaves.$limit.withValue(limit) { try exportABatchRequest() }
  }

  private func exportABatchRequest() throws {
    let (one, other) = try stores()
    try one.context.execute(BatchInsertRequest(entityName: "Folder", objects: (0..<count).map { ["title": "\($0)"] }))
    var parts = try send(one)
    XCTAssertEqual(parts.map(\.number), Array(0..<Int64(count / partSize)))
    try other.synchronize { XCTAssertTrue([0, count].contains(try count(other, size: 7))) }
    XCTAssertEqual(try count(other, size: 7), count)

    try one.context.execute(BatchUpdateRequest(entityName: "Folder", propertiesToUpdate: ["size": 3]))
    parts = try send(one) { part in
      // The other device pulls nothing before the last part.
      if part.number % 20 == 7 || part.isLast {
        try other.synchronize()
        XCTAssertEqual(try count(other, size: 3), 0, "before part \(part.number)")
      }
    }
    XCTAssertEqual(parts.map(\.number), Array(0..<Int64(count / partSize)))
    XCTAssertEqual(parts.filter(\.isLast), [parts[parts.count - 1]])
    XCTAssertEqual(one.scenario.commitCount, 2)
    var steps = 0
    try other.synchronize {
      XCTAssertTrue([0, count].contains(try count(other, size: 3)))
      steps += 1
    }
    XCTAssertGreaterThan(steps, count / 75)
    XCTAssertEqual(try count(other, size: 3), count)
    XCTAssertTrue(try one.isIdle)
  }

  func testCase18ADeviceThatJoinsDuringAPushOfPartsSeesAllOfThemOrNone() throws {
    let (one, _) = try stores()
    try PendingSaves.$limit.withValue(limit) {
      try one.context.execute(BatchInsertRequest(entityName: "Folder", objects: (0..<count).map { ["title": "\($0)"] }))
      var joining: [SyncedStore] = []
      _ = try send(one) { part in
        guard part.number % 29 == 1 || part.isLast else { return }
        let store = try SyncedStore(one.scenario, 10 + UInt64(joining.count))
        joining.append(store)
        for store in joining {
          try store.synchronize()
          XCTAssertEqual(try count(store, size: 7), 0, "before part \(part.number)")
        }
      }
      XCTAssertGreaterThan(joining.count, 2)
      for store in joining { try store.synchronize { XCTAssertTrue([0, count].contains(try count(store, size: 7))) } }
      for store in joining { XCTAssertEqual(try count(store, size: 7), count) }
    }
  }
}
