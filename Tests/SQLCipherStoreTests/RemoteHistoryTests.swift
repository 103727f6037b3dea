import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// With a history, remote commits are reported in detail, and merged as the saves of other contexts are.
final class RemoteHistoryTests: XCTestCase {
  private func open(_ store: TestStore, history: Bool? = true) throws -> OpenStore {
    var description = store.description
    description.historyTracking = history
    description.postsRemoteChangeNotifications = true
    return try OpenStore(description, model: SpecificationModels.library)
  }

  private func wait(_ what: String, seconds: Double = 20, until holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while try !holds() {
      if Date() > end { return XCTFail("\(what) did not come") }
      usleep(5_000)
    }
  }

  func testAutomaticMergesIncludeRemoteCommits() throws {
    let store = try TestStore()
    let (one, other) = (try open(store), try open(store))
    let mine = one.newContext()
    mine.automaticallyMergesChangesFromParent = true
    let (tag, book) = (try mine.insert("Tag", ["name": "red"]), try mine.insert("Book", ["title": "One"]))
    try mine.save()
    let theirs = other.newContext()
    let copy = try XCTUnwrap(theirs.all("Tag").first)
    try copy.setValue("blue", forKey: "name")
    try XCTUnwrap(theirs.all("Book").first).setValue(Set([copy]), forKey: "tags")
    try theirs.save()
    try wait("the tag's name") {
      mine.processPendingChanges()
      return tag.text("name") == "blue"
    }
    XCTAssertEqual(book.members("tags"), [tag])
    theirs.delete(copy)
    try theirs.save()
    try wait("the deletion") {
      mine.processPendingChanges()
      return tag.managedObjectContext == nil
    }
    XCTAssertEqual(book.members("tags"), [])
  }

  func testNotificationHasKnownChangesAndAToken() throws {
    let store = try TestStore()
    let (one, other) = (try open(store), try open(store))
    let received = Mutex<[RemoteStoreChange]>([])
    let reported = Mutex<[ChangeSet]>([])
    let number = one.coordinator.addObserver { changes in reported.withLock { $0.append(changes) } }
    defer { one.coordinator.removeObserver(number) }
    let stream = one.coordinator.remoteChanges()
    let task = Task { for await change in stream { received.withLock { $0.append(change) } } }
    defer { task.cancel() }
    let id = try other.insert("Tag", ["name": .text("red")])
    try wait("the notice") { received.withLock { $0.contains { $0.historyToken != nil } } }
    try wait("the change set") { reported.withLock { $0.contains { $0.inserted == [id] } } }
    XCTAssertTrue(received.withLock { $0.allSatisfy(\.areChangesKnown) })
    // A local save is reported once.
    reported.withLock { $0 = [] }
    let context = one.newContext()
    try context.insert("Tag", ["name": "own"])
    try context.save()
    _ = try other.insert("Tag", ["name": .text("blue")])
    try wait("the second") { reported.withLock { $0.count >= 2 } }
    XCTAssertEqual(reported.withLock { $0.map(\.inserted.count) }, [1, 1])
  }

  func testChangesAreUnknownWithoutHistory() throws {
    let store = try TestStore()
    let (one, other) = (try open(store, history: nil), try open(store, history: nil))
    let received = Mutex<[RemoteStoreChange]>([])
    let stream = one.coordinator.remoteChanges()
    let task = Task { for await change in stream { received.withLock { $0.append(change) } } }
    defer { task.cancel() }
    try other.insert("Tag", ["name": .text("red")])
    try wait("the notice") { received.withLock { !$0.isEmpty } }
    XCTAssertEqual(received.withLock { $0.first?.areChangesKnown }, false)
    XCTAssertNil(received.withLock { $0.first?.historyToken })
  }

  func testObserverReadsExistingHistoryAndWaitsForMore() async throws {
    let store = try TestStore()
    let (one, other) = (try open(store), try open(store))
    try one.insert("Tag", ["name": .text("before")])
    let place = try XCTUnwrap(one.coordinator.currentPersistentHistoryToken())
    let box = Box()
    let (coordinator, predicate) = (one.coordinator, try FetchPredicate(format: "entity == 'Tag'"))
    let task = Task {
      for try await transaction in HistoryObserver(coordinator, changes: predicate) { box.add(transaction) }
    }
    try wait("what is there") { box.count >= 1 }
    try other.insert("Tag", ["name": .text("other")])
    try wait("what another opening writes") { box.count >= 2 }
    try other.insert("Book", ["title": .text("unseen")])
    try one.insert("Tag", ["name": .text("own")])
    let context = one.newContext()
    try context.insert("Tag", ["name": "saved"])
    try context.save()
    try wait("what is written here") { box.count >= 4 }
    task.cancel()
    _ = try? await task.value
    XCTAssertEqual(box.all.flatMap { $0.changes ?? [] }.map(\.changedObjectID.entityName), Array(repeating: "Tag", count: 4))
    XCTAssertEqual(Set(box.all.map(\.transactionNumber)).count, 4)
    XCTAssertEqual(box.all.first.map { $0.token }, place)
  }
}

/// The transactions that an observer found.
private final class Box: Sendable {
  private let found = Mutex<[PersistentHistoryTransaction]>([])
  func add(_ transaction: PersistentHistoryTransaction) { found.withLock { $0.append(transaction) } }
  var all: [PersistentHistoryTransaction] { found.withLock { $0 } }
  var count: Int { all.count }
}
