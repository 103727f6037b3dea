import Foundation
import ObjectModel
import ObjectQuery
import Synchronization
import XCTest
import _StoreSpecification

@testable import ObjectStore

/// A request made inside a transaction's body belongs to the transaction; one made in a task or thread that the body starts does not.
final class TransactionScopeTests: XCTestCase {
  private final class Transaction: Sendable {}
  private struct Stop: Error {}
  private let extent = TransactionScope<Transaction>()

  func testBodyIsInTheTransactionUntilItEnds() {
    let transaction = Transaction()
    XCTAssertNil(extent.current)
    extent.run(transaction) { XCTAssertIdentical(extent.current, transaction) }
    XCTAssertNil(extent.current)
    XCTAssertThrowsError(try extent.run(transaction) { throw Stop() })
    XCTAssertNil(extent.current)
  }

  func testCurrentTransactionIsTheInnermost() {
    let (outer, inner) = (Transaction(), Transaction())
    extent.run(outer) {
      extent.run(inner) { XCTAssertIdentical(extent.current, inner) }
      XCTAssertIdentical(extent.current, outer)
    }
  }

  func testTransactionsOfTwoStoresAreIndependent() {
    let other = TransactionScope<Transaction>()
    let (own, others) = (Transaction(), Transaction())
    extent.run(own) {
      XCTAssertNil(other.current)
      other.run(others) {
        XCTAssertIdentical(extent.current, own)
        XCTAssertIdentical(other.current, others)
      }
    }
  }

  func testThreadStartedByTheBodyIsNotInTheTransaction() {
    let (transaction, extent) = (Transaction(), extent)
    let seen = Mutex<Bool?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    extent.run(transaction) {
      Thread.detachNewThread {
        seen.withLock { $0 = extent.current != nil }
        isDone.signal()
      }
      isDone.wait()
    }
    XCTAssertEqual(seen.withLock { $0 }, false)
  }

  func testTaskStartedByTheBodyIsNotInTheTransaction() async {
    let (transaction, extent) = (Transaction(), extent)
    let (fromTask, fromThread) = (
      extent.run(transaction) { Task { extent.current == nil } },
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: extent.run(transaction) { Task { extent.current == nil } }) }
      }
    )
    let (isOutside, isOutsideToo) = (await fromTask.value, await fromThread.value)
    XCTAssertTrue(isOutside)
    XCTAssertTrue(isOutsideToo)
  }

  func testRequestOfATaskStartedByTheBodyDoesNotSeeTheTransaction() async throws {
    let open = try OpenStore(PersistentStoreDescription(type: .inMemory), model: SpecificationModels.library)
    let counted = Mutex<Int?>(nil)
    let begun = DispatchSemaphore(value: 0)
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("red")])
      Task { @Sendable in
        let count = try? open.count("Tag")
        counted.withLock { $0 = count }
        begun.signal()
      }
      begun.wait()
      XCTAssertEqual(try open.count("Tag"), 1)
    }
    XCTAssertEqual(counted.withLock { $0 }, 0)
  }
}
