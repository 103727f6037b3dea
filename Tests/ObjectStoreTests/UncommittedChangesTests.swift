import ObjectModel
import XCTest

@testable import ObjectStore

/// The changes of a transaction over several requests, until it is committed.
final class UncommittedChangesTests: XCTestCase {
  private func changes(_ count: Int) -> ChangeSet {
    let ids = (0..<count).map { ManagedObjectID(space: 1, entityNumber: 0, key: Int64($0 + 1)) }
    return ChangeSet(ofStore: "store", inserted: ids, token: nil, source: nil, author: nil, context: nil)
  }

  func testChangesAreListedUpToALimit() {
    var uncommitted = UncommittedChanges()
    for counts in [[1, 2], [PublishedChanges.maximumListedCount], [PublishedChanges.maximumListedCount - 1, 1]] {
      _ = uncommitted.begin()
      for count in counts { uncommitted.add(changes(count)) }
      XCTAssertFalse(uncommitted.isTooLarge)
      XCTAssertEqual(uncommitted.commit()?.map(\.inserted.count), counts)
    }
    _ = uncommitted.begin()
    for _ in 0..<3 { uncommitted.add(changes(PublishedChanges.maximumListedCount / 2)) }
    XCTAssertTrue(uncommitted.isTooLarge)
    XCTAssertNil(uncommitted.commit())
    // The next transaction has a list again.
    _ = uncommitted.begin()
    XCTAssertFalse(uncommitted.isTooLarge)
    uncommitted.add(changes(1))
    XCTAssertEqual(uncommitted.commit()?.count, 1)
  }

  func testPartsThatAreRolledBackAreNotCounted() {
    var uncommitted = UncommittedChanges()
    let most = PublishedChanges.maximumListedCount - 1
    _ = uncommitted.begin()
    uncommitted.add(changes(1))
    for _ in 0..<2 {
      let mark = uncommitted.begin()
      uncommitted.add(changes(most))
      uncommitted.rollBack(to: mark)
    }
    uncommitted.add(changes(2))
    XCTAssertEqual(uncommitted.commit()?.map(\.inserted.count), [1, 2])
  }

  func testAPartThatWasTooLargeAndRolledBackLeavesAWholeChange() {
    var uncommitted = UncommittedChanges()
    let outer = uncommitted.begin()
    uncommitted.add(changes(5))
    let inner = uncommitted.begin()
    uncommitted.add(changes(PublishedChanges.maximumListedCount))
    uncommitted.rollBack(to: inner)
    uncommitted.add(changes(1))
    XCTAssertNil(uncommitted.commit(), "What was listed before is not known anymore.")
    // A transaction that is rolled back completely leaves nothing.
    XCTAssertEqual(outer.listedCount, 0)
    let mark = uncommitted.begin()
    uncommitted.add(changes(PublishedChanges.maximumListedCount + 1))
    uncommitted.rollBack(to: mark)
    _ = uncommitted.begin()
    XCTAssertEqual(uncommitted.commit()?.count, 0)
  }

  func testListenersAreCalledWithAndWithoutObservers() {
    let observers = ChangeObservers()
    let counts = Counts()
    let listener = observers.add(listener: { counts.listened += 1 })
    XCTAssertTrue(observers.isEmpty, "No change set needs to be created.")
    observers.notifyListeners()
    XCTAssertEqual([counts.listened, counts.observed], [1, 0])
    let observer = observers.add { counts.observed += $0.inserted.count }
    XCTAssertFalse(observers.isEmpty)
    observers.notify(changes(3))
    XCTAssertEqual([counts.listened, counts.observed], [2, 3])
    observers.remove(listener)
    observers.notify(changes(1))
    XCTAssertEqual([counts.listened, counts.observed], [2, 4])
    observers.remove(observer)
    XCTAssertTrue(observers.isEmpty)
  }

  private final class Counts: @unchecked Sendable {  // one thread
    var listened = 0
    var observed = 0
  }
}
