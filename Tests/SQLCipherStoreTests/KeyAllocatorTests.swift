import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

final class KeyAllocatorTests: XCTestCase {
  private struct Stop: Error {}

  func testKeysStartAtOneAndAreNotReusedAfterReopening() throws {
    let store = try TestStore()
    var open = try store.open()
    XCTAssertEqual(try open.newIDs("Tag", count: 3).map(\.key), [1, 2, 3])
    try open.close()
    open = try store.open()
    XCTAssertEqual(try open.newID("Tag").key, 1_001)
  }

  func testNothingIsReservedUntilSomethingIsInserted() throws {
    let store = try TestStore()
    let open = try store.open()
    XCTAssertEqual(try open.count("Tag"), 0)
    try open.close()
    let again = try store.open()
    XCTAssertEqual(try again.newID("Tag").key, 1)
  }

  func testEachRootEntityHasItsOwnKeysAndSubentitiesShareThem() throws {
    let store = try TestStore()
    let open = try store.open(SpecificationModels.assets)
    XCTAssertEqual(try open.newID("Photo").key, 1)
    XCTAssertEqual(try open.newID("Clip").key, 2)
    XCTAssertEqual(try open.newID("Note").key, 1)
  }

  func testReservedKeyBlocksGrow() throws {
    let store = try TestStore()
    let open = try store.open()
    let keys = try (0..<10).flatMap { _ in try open.newIDs("Tag", count: 1_000).map(\.key) }
    XCTAssertEqual(keys, Array(1...10_000))
    XCTAssertEqual(store.observer.statements.filter { $0 == "reserve keys" }.count, 4, "1,000, 2,000, 4,000, 8,000")
  }

  func testKeysOfATransactionThatWasRolledBackAreNotReused() throws {
    let store = try TestStore()
    let open = try store.open()
    var taken: [Int64] = []
    XCTAssertThrowsError(
      try open.store.performTransaction {
        taken = try open.newIDs("Tag", count: 5).map(\.key)
        throw Stop()
      })
    XCTAssertEqual(taken, [1, 2, 3, 4, 5])
    XCTAssertEqual(try open.newID("Tag").key, 6)
  }

  func testKeysOfARollbackAreSkippedEvenAfterReopening() throws {
    let store = try TestStore()
    let open = try store.open()
    var id: ManagedObjectID?
    XCTAssertThrowsError(
      try open.store.performTransaction {
        id = try open.newIDs("Tag", count: 5)[4]
        throw Stop()
      })
    // Its object can still be saved later.
    let kept = try XCTUnwrap(id)
    try open.save { try $0.insert(kept, ["name": .text("kept")]) }
    try open.close()
    let again = try store.open()
    XCTAssertGreaterThan(try again.newID("Tag").key, kept.key)
  }

  func testFailedInnerTransactionUndoesItsReservation() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.store.performTransaction {
      XCTAssertThrowsError(
        try open.store.performTransaction {
          XCTAssertEqual(try open.newID("Tag").key, 1)
          throw Stop()
        })
      XCTAssertEqual(try open.newID("Tag").key, 2)
      try open.insert("Tag", ["name": .text("red")])
    }
    try open.close()
    let again = try store.open()
    XCTAssertGreaterThan(try again.newID("Tag").key, 3)
    XCTAssertEqual(try again.count("Tag"), 1)
  }

  func testKeysReservedInsideATransactionAreNotGivenToOtherThreads() throws {
    let store = try TestStore()
    let open = try store.open()
    var other: [Int64] = []
    XCTAssertThrowsError(
      try open.store.performTransaction {
        _ = try open.newIDs("Tag", count: 3)
        throw Stop()
      })
    other = try waitFor { try open.newIDs("Tag", count: 2).map(\.key) }
    XCTAssertEqual(other, [4, 5])
  }

  func testTwoStoresOnOneFileGetDifferentKeys() throws {
    let store = try TestStore()
    let first = try store.open()
    let second = try store.open()
    let keys = try first.newIDs("Tag", count: 1_500).map(\.key) + second.newIDs("Tag", count: 1_500).map(\.key)
    XCTAssertEqual(Set(keys).count, 3_000)
  }

  func testManyThreadsGetDifferentKeys() throws {
    let store = try TestStore()
    let open = try store.open()
    let keys = try waitFor {
      try await withThrowingTaskGroup(of: [Int64].self) { group in
        for _ in 0..<8 { group.addTask { try (0..<100).flatMap { _ in try open.newIDs("Tag", count: 7).map(\.key) } } }
        var all: [Int64] = []
        for try await keys in group { all += keys }
        return all
      }
    }
    XCTAssertEqual(Set(keys).count, 5_600)
  }
}
