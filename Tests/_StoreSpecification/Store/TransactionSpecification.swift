import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Several saves as one transaction, and concurrent requests of several threads.
public final class TransactionSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testSavesOfATransactionTakeEffectTogether", { $0.testSavesOfATransactionTakeEffectTogether }),
        ("testAFailedTransactionChangesNothing", { $0.testAFailedTransactionChangesNothing }),
        ("testFailedSaveInATransactionPreservesTheOtherSaves", { $0.testFailedSaveInATransactionPreservesTheOtherSaves }),
        ("testKeyOfAFailedTransactionIsNotReused", { $0.testKeyOfAFailedTransactionIsNotReused }),
        ("testTransactionIsInvisibleToOthersUntilItEnds", { $0.testTransactionIsInvisibleToOthersUntilItEnds }),
        ("testReadersNeverSeePartialSaves", { $0.testReadersNeverSeePartialSaves }),
        ("testConcurrentSavesAllTakeEffect", { $0.testConcurrentSavesAllTakeEffect }),
        ("testOneOfTwoSavesOfTheSameVersionWins", { $0.testOneOfTwoSavesOfTheSameVersionWins }),
      ] as [(String, (TransactionSpecification) -> () throws -> Void)])
  }

  private struct Stop: Error {}

  func testSavesOfATransactionTakeEffectTogether() throws {
    let open = try makeStore()
    try open.store.performTransaction {
      let tag = try open.insert("Tag", ["name": .text("red")])
      XCTAssertEqual(try open.count("Tag"), 1, "The transaction sees its own saves.")
      try open.save { try $0.update(tag, ["name": .text("blue")]) }
      try open.insert("Tag", ["name": .text("red")])
    }
    XCTAssertEqual(Set(try open.texts("name", FetchSpecification(entityName: "Tag"))), ["red", "blue"])
  }

  func testAFailedTransactionChangesNothing() throws {
    let open = try makeStore()
    let kept = try open.insert("Tag", ["name": .text("kept")])
    let book = try open.insert("Book", [:])
    XCTAssertThrowsError(
      try open.store.performTransaction {
        try open.insert("Tag", ["name": .text("new")])
        try open.save { save in
          try save.update(kept, ["name": .text("changed")])
          try save.change(book, "tags", add: [kept])
        }
        try open.save { try $0.delete(book) }
        throw Stop()
      }
    ) { XCTAssertTrue($0 is Stop) }
    XCTAssertEqual(try open.texts("name", FetchSpecification(entityName: "Tag")), ["kept"])
    XCTAssertEqual(try open.row(kept)?.version, 1)
    XCTAssertEqual(try open.members(book, "tags"), [])
    XCTAssertNotNil(try open.row(book))
    try open.insert("Tag", ["name": .text("new")])
    XCTAssertEqual(try open.count("Tag"), 2)
  }

  func testFailedSaveInATransactionPreservesTheOtherSaves() throws {
    let open = try makeStore()
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("red")])
      assertStoreError(.constraintConflict) {
        try open.save { save in
          try save.insert("Tag", ["name": .text("lost")])
          try save.insert("Tag", ["name": .text("red")])
        }
      }
      try open.insert("Tag", ["name": .text("blue")])
    }
    XCTAssertEqual(Set(try open.texts("name", FetchSpecification(entityName: "Tag"))), ["red", "blue"])
  }

  func testKeyOfAFailedTransactionIsNotReused() throws {
    let open = try makeStore()
    var lost: ManagedObjectID?
    XCTAssertThrowsError(
      try open.store.performTransaction {
        lost = try open.insert("Tag", ["name": .text("red")])
        throw Stop()
      })
    XCTAssertNotEqual(try open.insert("Tag", ["name": .text("red")]), lost)
  }

  func testTransactionIsInvisibleToOthersUntilItEnds() throws {
    let open = try makeStore()
    let seen = Mutex<Int?>(nil)
    let isRead = DispatchSemaphore(value: 0)
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("red")])
      Thread.detachNewThread {
        let count = try? open.count("Tag")
        seen.withLock { $0 = count }
        isRead.signal()
      }
      // A store may block the reader until the transaction has ended.
      _ = isRead.wait(timeout: .now() + 0.1)
      XCTAssertNotEqual(seen.withLock { $0 }, 1)
    }
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testReadersNeverSeePartialSaves() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Author", count: 40)
    try open.save { save in for id in ids { try save.insert(id, ["born": .int(0)]) } }
    let failures = Mutex<[String]>([])
    let isDone = Mutex(false)
    let readers = DispatchGroup()
    for _ in 0..<3 {
      readers.enter()
      Thread.detachNewThread {
        defer { readers.leave() }
        while !isDone.withLock({ $0 }) {
          do {
            let values = Set(try open.values("born", FetchSpecification(entityName: "Author")))
            if values.count != 1 { failures.withLock { $0.append("a reader saw \(values.count) values") } }
            let rows = try open.store.newValuesForObjects(with: ids, in: open.scope)
            if Set(rows.map(\.version)).count != 1 || rows.count != 40 { failures.withLock { $0.append("a fault saw half a save") } }
          } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
    }
    for round in 1...25 { try open.save { save in for id in ids { try save.update(id, ["born": .int(Int64(round))]) } } }
    isDone.withLock { $0 = true }
    readers.wait()
    XCTAssertEqual(failures.withLock { Array($0.prefix(3)) }, [])
  }

  func testConcurrentSavesAllTakeEffect() throws {
    let open = try makeStore()
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for index in 0..<15 {
        do { try open.insert("Tag", ["name": .text("\(thread)-\(index)")]) } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    XCTAssertEqual(failures.withLock { $0 }, [])
    XCTAssertEqual(try open.count("Tag"), 60)
  }

  func testOneOfTwoSavesOfTheSameVersionWins() throws {
    let open = try makeStore()
    let id = try open.insert("Author", ["born": .int(0)])
    for round in 0..<10 {
      let row = try XCTUnwrap(open.row(id))
      let outcomes = Mutex<(saved: Int, conflicts: Int, others: [String])>((0, 0, []))
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        do {
          try open.save { try $0.update(row, ["born": .int(Int64(thread))]) }
          outcomes.withLock { $0.saved += 1 }
        } catch let error as StoreError where error.code == .mergeConflict {
          outcomes.withLock { $0.conflicts += 1 }
        } catch { outcomes.withLock { $0.others.append("\(error)") } }
      }
      let (saved, conflicts, others) = outcomes.withLock { $0 }
      XCTAssertEqual(saved, 1, "round \(round)")
      XCTAssertEqual(conflicts, 2, "round \(round)")
      XCTAssertEqual(others, [])
    }
  }
}
