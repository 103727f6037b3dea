import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Rows of an asynchronous sequence are inserted in bounded memory.
final class BatchStreamTests: XCTestCase {
  private struct Stop: Error {}

  /// Rows that are made on demand.
  private func rows(_ count: Int, failingAt failure: Int? = nil) -> AsyncThrowingStream<[String: any Sendable], any Error> {
    let next = Counter()
    return AsyncThrowingStream {
      let number = next.take()
      if number == failure { throw Stop() }
      return number < count ? ["name": "tag \(number)"] : nil
    }
  }

  private final class Counter: Sendable {
    private let value = Mutex(0)
    var current: Int { value.withLock { $0 } }
    func take() -> Int {
      value.withLock { value in
        defer { value += 1 }
        return value
      }
    }
  }

  private func stack(_ kind: StoreKind) async throws -> Stack {
    try await Stack(kind, model: Library.model, classes: Library.classes)
  }

  func testRowsBecomeObjectsIncrementally() async throws {
    for kind in StoreKind.allCases {
      for count in [0, 3, 12_345] {
        let stack = try await stack(kind)
        let context = stack.makeContext()
        let result = try await context.insert(rows: rows(count), into: "Tag", resultType: .objectIDs)
        XCTAssertEqual(result.count, count)
        XCTAssertEqual(result.objectIDs.count, count)
        XCTAssertEqual(try context.count(for: FetchRequest<Tag>(entityName: "Tag")), count)
        try stack.close()
      }
    }
  }

  func testRowsAreInsertedAtomically() async throws {
    for kind in StoreKind.allCases {
      let stack = try await stack(kind)
      let context = stack.makeContext()
      do {
        _ = try await context.insert(rows: rows(12_000, failingAt: 11_000), into: "Tag")
        XCTFail("The sequence's error is thrown.")
      } catch is Stop {}
      XCTAssertEqual(try context.count(for: FetchRequest<Tag>(entityName: "Tag")), 0)
      try context.make("Tag", ["name": "after"])
      try context.save()
      try stack.close()
    }
  }

  func testRowsCanBeInsertedInBatches() async throws {
    for kind in StoreKind.allCases {
      let stack = try await stack(kind)
      let context = stack.makeContext()
      let changes = Mutex<[Int]>([])
      let number = stack.coordinator.addObserver { set in changes.withLock { $0.append(set.inserted.count) } }
      do {
        _ = try await context.insert(rows: rows(5_000, failingAt: 3_500), into: "Tag", committing: .every(rows: 1_000))
        XCTFail("The sequence's error is thrown.")
      } catch is Stop {}
      stack.coordinator.removeObserver(number)
      XCTAssertEqual(changes.withLock { $0 }, [1_000, 1_000, 1_000])
      XCTAssertEqual(try context.count(for: FetchRequest<Tag>(entityName: "Tag")), 3_000)
      try stack.close()
    }
  }

  func testErrorNamesTheRowOfTheSequence() async throws {
    let stack = try await stack(.sqlcipher)
    let context = stack.makeContext()
    let next = Counter()
    let rows = AsyncStream<[String: any Sendable]> {
      let number = next.take()
      return number == 7_000 ? ["name": 1] : ["name": "tag \(number)"]
    }
    do {
      _ = try await context.insert(rows: rows, into: "Tag")
      XCTFail("A number is no name.")
    } catch let error as BatchError {
      XCTAssertEqual(error.row, 7_000)
      XCTAssertEqual(error.code, .wrongType)
    }
    XCTAssertEqual(try context.count(for: FetchRequest<Tag>(entityName: "Tag")), 0)
    try stack.close()
  }

  func testSequenceIsReadWithBoundedLookahead() async throws {
    let stack = try await stack(.inMemory)
    let context = stack.makeContext()
    let next = Counter()
    let rows = AsyncStream<[String: any Sendable]> {
      let number = next.take()
      return number == 5_500 ? ["nonsense": 1] : ["name": "tag \(number)"]
    }
    do {
      _ = try await context.insert(rows: rows, into: "Tag")
      XCTFail("There is no such property.")
    } catch is BatchError {}
    XCTAssertEqual(next.current, 5_501)
    try stack.close()
  }

  func testCanceledTaskInsertsNothing() async throws {
    let container = try PersistentContainer(
      name: "library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let next = Counter()
    let task = Task { @MainActor in
      try await container.viewContext.insert(
        rows: AsyncStream<[String: any Sendable]> {
          let number = next.take()
          await Task.yield()
          return ["name": "tag \(number)"]
        }, into: "Tag"
      ).count
    }
    while next.current < 6_000 { await Task.yield() }
    task.cancel()
    do {
      _ = try await task.value
      // Cancellation ends the stream; the rows before it are kept.
    } catch is CancellationError {
      let count = try await container.performBackgroundTask { try $0.count(for: FetchRequest<Tag>(entityName: "Tag")) }
      XCTAssertEqual(count, 0)
    }
  }

  func testObjectsOfTheContextAreUpdated() async throws {
    let stack = try await stack(.sqlcipher)
    let context = stack.makeContext()
    let author = Author(context: context)
    author.name = "Ada"
    try context.save()
    XCTAssertEqual(author.books, [])
    let id = author.objectID
    let next = Counter()
    let rows = AsyncStream<[String: any Sendable]> {
      let number = next.take()
      return number < 10 ? ["title": "book \(number)", "author": id] : nil
    }
    try await context.insert(rows: rows, into: "Book")
    XCTAssertEqual(author.books.count, 10)
    try stack.close()
  }
}
