import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Batch requests that change more objects than a change set lists.
final class LargeBatchTests: XCTestCase {
  private static let count = PublishedChanges.maximumListedCount + 1

  private func insert(_ stack: Stack, _ context: ManagedObjectContext, _ count: Int = LargeBatchTests.count) throws -> BatchResult {
    var number = 0
    return try context.execute(
      BatchInsertRequest(entityName: "Book") { row in
        if number == count { return true }
        row["title"] = "many"
        row["pages"] = number
        number += 1
        return false
      })
  }

  func testContextsReadTheirObjectsAgain() async throws {
    try await onEachStore { stack in
      let (writer, reader) = (stack.makeContext(), stack.makeContext())
      reader.automaticallyMergesChangesFromParent = true
      let author = Author(context: writer)
      author.name = "ada"
      let book = Book(context: writer)
      (book.title, book.price, book.author) = ("kept", 1, author)
      try writer.save()
      let own = try XCTUnwrap(reader.existingObject(with: book.objectID) as? Book)
      let other = try XCTUnwrap(reader.existingObject(with: author.objectID) as? Author)
      XCTAssertEqual(own.price, 1)
      XCTAssertEqual(other.toManyCount(0), 1)
      let unsaved = Book(context: reader)
      unsaved.title = "unsaved"
      own.title = "mine"
      let changes = Mutex<[ChangeSet]>([])
      let observer = stack.coordinator.addObserver { set in changes.withLock { $0.append(set) } }
      defer { stack.coordinator.removeObserver(observer) }

      XCTAssertEqual(try self.insert(stack, writer).count, Self.count)
      XCTAssertEqual(book.price, 1)
      reader.processPendingChanges()
      XCTAssertEqual(own.title, "mine")
      XCTAssertTrue(reader.hasChanges)

      let update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 5.0, "author": author.objectID])
      XCTAssertEqual(try writer.execute(update).count, Self.count + 1)
      XCTAssertEqual(book.price, 5, "The executing context has merged the update.")
      reader.processPendingChanges()
      XCTAssertEqual([own.price], [5])
      XCTAssertEqual(own.title, "mine", "Unsaved changes take precedence.")
      XCTAssertEqual(other.toManyCount(0), Self.count + 1)
      XCTAssertEqual(unsaved.title, "unsaved")

      let deletion = BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "title == 'many'"))
      XCTAssertEqual(try writer.execute(deletion).count, Self.count)
      reader.processPendingChanges()
      XCTAssertEqual(other.toManyCount(0), 1)
      XCTAssertEqual(own.title, "mine")
      try reader.save()
      XCTAssertEqual(try writer.count(for: FetchRequest<Book>(entityName: "Book")), 2)

      let received = changes.withLock { $0 }
      XCTAssertEqual(received.map(\.isWhole), [true, true, true, false])
      XCTAssertEqual(received.map(\.isEmpty), [false, false, false, false])
      XCTAssertEqual(received.prefix(3).map { $0.inserted.count + $0.updated.count + $0.deleted.count }, [0, 0, 0])
      XCTAssertEqual(Set(received.prefix(3).map(\.origin)).count, 1)
      XCTAssertNotEqual(received[0].origin, 0, "The executing context is not notified of its own changes.")
    }
  }

  func testAResultListsAllObjects() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let context = stack.makeContext()
      XCTAssertEqual(try self.insert(stack, context).objectIDs.count, 0)
      var update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 5.0])
      update.resultType = .objectIDs
      let updated = try context.execute(update)
      XCTAssertEqual(updated.count, Self.count)
      XCTAssertEqual(Set(updated.objectIDs).count, Self.count)
      var deletion = BatchDeleteRequest(entityName: "Book")
      deletion.resultType = .objectIDs
      XCTAssertEqual(try context.execute(deletion).objectIDs.count, Self.count)
    }
  }

  func testTheRowCacheForgetsTheRows() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let (writer, reader) = (stack.makeContext(), stack.makeContext())
      let book = Book(context: writer)
      book.title = "kept"
      try writer.save()
      _ = try self.insert(stack, writer)
      _ = try reader.all(Book.self, sortedBy: "pages").first?.title
      XCTAssertTrue(stack.store.cache.hasRow(book.objectID.reference))
      var update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 7.0])
      (update.publishesChanges, update.mergesChanges) = (false, false)
      try writer.execute(update)
      XCTAssertFalse(stack.store.cache.hasRow(book.objectID.reference))
    }
  }

  // MARK: Memory

  /// Reports the number of rows that the consumer of a request keeps, at each of its changes.
  private final class Peak: TransactionObserver {
    let published: PublishedChanges
    private let state = Mutex((count: 0, peak: 0))
    init(_ published: PublishedChanges) { self.published = published }

    var values: (count: Int, peak: Int) { state.withLock { $0 } }

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      let kept = published.keptCount
      state.withLock { $0 = ($0.count + 1, max($0.peak, kept)) }
    }
    func willCommit(_ transaction: ObservedTransaction) {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {}
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  func testAConsumerKeepsALimitedNumberOfRows() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let count = 200_000
      let context = stack.makeContext()
      XCTAssertEqual(try self.insert(stack, context, count).count, count)
      let requests: [PersistentStoreRequest] = [
        .batchUpdate(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 5.0])),
        .batchDelete(BatchDeleteRequest(entityName: "Book")),
      ]
      for request in requests {
        let model = stack.coordinator.compiledModel
        let published = PublishedChanges(
          PublishedChanges.Operation(request, in: model), of: model, isPublished: true, listsResults: false)
        let peak = Peak(published)
        try stack.coordinator.addTransactionObserver(peak)
        var scope = RequestScope(objectIDSpace: stack.store.space)
        scope.consumers = [published]
        guard case .batch(let changes) = try stack.store.incrementalStore.execute(request, in: scope) else { return XCTFail("no batch") }
        stack.coordinator.removeTransactionObserver(peak)
        XCTAssertEqual(peak.values.count, count)
        XCTAssertEqual(peak.values.peak, 0, "The number of rows is known before the first of them.")
        XCTAssertEqual([changes.inserted.count, changes.updated.count, changes.deleted.count], [0, 0, 0])
        XCTAssertEqual((changes.counts?.updated ?? 0) + (changes.counts?.deleted ?? 0), count)
        XCTAssertTrue(published.takeChangeSet(of: stack.store, scope: scope, historyPosition: nil).isWhole)
      }
    }
  }

  func testAnInsertionKeepsALimitedNumberOfRows() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    let store = stack.store
    let published = PublishedChanges(.insertion(merges: false), of: stack.coordinator.compiledModel, isPublished: true, listsResults: false)
    let book = try XCTUnwrap(stack.coordinator.compiledModel.entity(named: "Book"))
    var peak = 0
    for key in 1...Int64(200_000) {
      published.receive(.insert(ChangedRow(ObjectReference(entity: book.number, key: key), in: store.space)))
      peak = max(peak, published.keptCount)
    }
    XCTAssertEqual(peak, PublishedChanges.maximumListedCount)
    XCTAssertEqual(published.keptCount, 0)
    let scope = RequestScope(objectIDSpace: store.space)
    XCTAssertTrue(published.takeChangeSet(of: store, scope: scope, historyPosition: nil).isWhole)
    published.receive(.insert(ChangedRow(ObjectReference(entity: book.number, key: 300_000), in: store.space)))
    XCTAssertEqual(
      published.takeChangeSet(of: store, scope: scope, historyPosition: nil).inserted.count, 1,
      "Each transaction starts with an empty list.")
    try stack.close()
  }

  func testARequestThatNothingObservesHasNoConsumer() async throws {
    try await onEachStore { stack in
      XCTAssertNil(stack.store.makeConsumer(.deletion, .count, publishes: true))
      XCTAssertNil(stack.store.makeConsumer(.insertion(merges: false), .count, publishes: true))
      XCTAssertNotNil(stack.store.makeConsumer(.deletion, .objectIDs, publishes: true))
      XCTAssertNotNil(stack.store.makeConsumer(.deletion, .count, publishes: true, merges: true))
      let context = stack.makeContext()
      let book = Book(context: context)
      book.title = "cached"
      try context.save()
      XCTAssertNotNil(stack.store.makeConsumer(.deletion, .count, publishes: true), "for the row cache")
      XCTAssertNil(stack.store.makeConsumer(.insertion(merges: false), .count, publishes: true))
    }
  }
}
