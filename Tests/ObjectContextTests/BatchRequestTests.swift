import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Batch requests executed by contexts, and their effect on the context's objects, other contexts and observers.
final class BatchRequestTests: XCTestCase {
  /// Returns the change sets that a coordinator publishes while `body` runs.
  private func published(_ coordinator: PersistentStoreCoordinator, _ body: () throws -> Void) rethrows -> [ChangeSet] {
    let received = RecordedChangeSets()
    let number = coordinator.addObserver { changes in received.list.withLock { $0.append(changes) } }
    defer { coordinator.removeObserver(number) }
    try body()
    return received.list.withLock { $0 }
  }

  private final class RecordedChangeSets: Sendable {
    let list = Mutex<[ChangeSet]>([])
  }

  /// Makes an author with three books, and saves.
  private func library(_ context: ManagedObjectContext) throws -> (author: Author, books: [Book]) {
    let author = Author(context: context)
    author.name = "Ada"
    let books = (0..<3).map { number in
      let book = Book(context: context)
      book.title = "book \(number)"
      book.author = author
      return book
    }
    try context.save()
    return (author, books)
  }

  private func setPrice(_ price: Double, where format: String? = nil) throws -> BatchUpdateRequest {
    BatchUpdateRequest(
      entityName: "Book", predicate: try format.map { try FetchPredicate(format: $0) }, propertiesToUpdate: ["price": price])
  }

  // MARK: The executing context

  func testContextObjectsShowBatchUpdatedValues() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      let notes = ChangeNotificationRecorder(context)
      XCTAssertEqual(try context.execute(self.setPrice(5, where: "title != 'book 2'")).count, 2)
      XCTAssertEqual(books.map(\.price), [5, 5, 9.5])
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(notes.objects(.refreshedObjects), Set(books[..<2]))
    }
  }

  func testUnsavedChangesOverrideABatchUpdate() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      books[0].title = "mine"
      let request = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "theirs", "price": 4.0])
      XCTAssertEqual(try context.execute(request).count, 3)
      XCTAssertEqual(books.map(\.title), ["mine", "theirs", "theirs"])
      XCTAssertEqual(books[0].price, 4)
      try context.save()
      XCTAssertEqual(Set(try stack.makeContext().all(Book.self).map(\.title)), ["mine", "theirs"])
    }
  }

  func testRequestsSeeOnlySavedRows() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      let new = Book(context: context)
      new.title = "new"
      books[1].title = "changed"
      XCTAssertEqual(try context.execute(BatchDeleteRequest(entityName: "Book", predicate: .compare("title", .equal, "changed"))).count, 0)
      XCTAssertEqual(try context.execute(self.setPrice(1)).count, 3)
      XCTAssertEqual(new.price, 9.5)
      try context.save()
      XCTAssertEqual(try stack.makeContext().all(Book.self).count, 4)
    }
  }

  func testDeletedObjectsLeaveTheContext() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books) = try self.library(context)
      XCTAssertEqual(author.books.count, 3)
      books[1].title = "unsaved"
      let notes = ChangeNotificationRecorder(context)
      let request = BatchDeleteRequest(entityName: "Book", predicate: .compare("title", .notEqual, "book 2"))
      XCTAssertEqual(try context.execute(request).count, 2)
      XCTAssertNil(books[0].managedObjectContext)
      XCTAssertEqual(books[0].title, "book 0", "It keeps its last values.")
      XCTAssertEqual(author.books, [books[2]])
      XCTAssertFalse(context.hasChanges, "A deleted object has nothing to save.")
      XCTAssertEqual(notes.objects(.deletedObjects), Set(books[..<2]))
      XCTAssertEqual(try context.all(Book.self), [books[2]])
      try context.save()
    }
  }

  func testCascadedAndNullifiedObjectsAreNotifiedOfADeletion() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books) = try self.library(context)
      let agent = try context.make("Agent", ["name": "agent", "client": author])
      let tag = Tag(context: context)
      tag.name = "tag"
      tag.books = [books[0]]
      try context.save()
      XCTAssertEqual(tag.books.count, 1)
      XCTAssertThrowsError(try context.execute(BatchDeleteRequest(entityName: "Agent"))) {
        XCTAssertEqual(($0 as? BatchError)?.code, .deletionDenied)
        XCTAssertEqual(($0 as? BatchError)?.objectIDs, [agent.objectID])
      }
      let result = try context.execute(BatchDeleteRequest(objectIDs: [author.objectID]))
      XCTAssertEqual(result.deletedCount, 4)
      XCTAssertEqual(result.updatedCount, 1)
      XCTAssertNil(agent.one("client"))
      XCTAssertEqual(tag.books, [])
      XCTAssertNil(books[0].managedObjectContext)
    }
  }

  func testToManyRelationshipsAreReloaded() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books) = try self.library(context)
      let other = Author(context: context)
      other.name = "Bob"
      try context.save()
      XCTAssertEqual(author.books.count, 3)
      XCTAssertEqual(other.books, [])
      try context.execute(BatchInsertRequest(entityName: "Novel", objects: [["title": "novel", "author": author.objectID]]))
      XCTAssertEqual(author.books.count, 4)
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .compare("title", .equal, "novel"), propertiesToUpdate: ["author": other.objectID]))
      XCTAssertEqual(author.books, Set(books))
      XCTAssertEqual(other.books.map(\.title), ["novel"])
    }
  }

  func testInsertedObjectsAreReportedByID() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let notes = ChangeNotificationRecorder(context)
      var request = BatchInsertRequest(entityName: "Tag", objects: [["name": "a"], ["name": "b"]])
      request.resultType = .objectIDs
      let result = try context.execute(request)
      XCTAssertEqual(notes.ids(.insertedObjectIDs), Set(result.objectIDs))
      XCTAssertEqual(result.objectIDs.map { (context.object(with: $0) as? Tag)?.name }, ["a", "b"])
    }
  }

  func testMergingIntoTheContextCanBeDisabled() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      var request = try self.setPrice(5)
      request.mergesChanges = false
      XCTAssertEqual(try context.execute(request).count, 3)
      XCTAssertEqual(books[0].price, 9.5)
      books[0].title = "stale"
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .mergeConflict) }
    }
  }

  // MARK: Other contexts

  func testOtherContextsConflictAndReadNoStaleRows() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      _ = try self.library(context)
      let theirs = try other.all(Book.self, sortedBy: "title")
      XCTAssertEqual(theirs[0].price, 9.5)
      try context.execute(self.setPrice(5))
      theirs[0].title = "stale"
      XCTAssertThrowsError(try other.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .mergeConflict) }
      let third = stack.makeContext()
      XCTAssertEqual((third.object(with: theirs[1].objectID) as? Book)?.price, 5, "The row cache has forgotten the old row.")
    }
  }

  func testCoordinatorReportsChanges() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      context.name = "importer"
      context.transactionAuthor = "me"
      let (author, books) = try self.library(context)
      let changes = try self.published(stack.coordinator) {
        try context.execute(self.setPrice(5, where: "title == 'book 1'"))
        try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "a"]]))
        try context.execute(BatchDeleteRequest(objectIDs: [author.objectID]))
        try context.execute(self.setPrice(5))
      }
      XCTAssertEqual(changes.map(\.updated), [[books[1].objectID], [], []], "A request that changes nothing is not reported.")
      XCTAssertEqual(changes.map(\.inserted.count), [0, 1, 0])
      XCTAssertEqual(changes.map { Set($0.deleted).count }, [0, 0, 4])
      XCTAssertEqual(changes[0].contextName, "importer")
      XCTAssertEqual(changes[0].transactionAuthor, "me")
      let silent = try self.published(stack.coordinator) {
        var request = BatchInsertRequest(entityName: "Tag", objects: [["name": "b"]])
        request.publishesChanges = false
        try context.execute(request)
      }
      XCTAssertEqual(silent.count, 0)
    }
  }

  func testFailedRequestChangesAndReportsNothing() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      let changes = try self.published(stack.coordinator) {
        XCTAssertThrowsError(try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": -1.0]))) {
          XCTAssertEqual(($0 as? BatchError)?.code, .invalidValue)
        }
        XCTAssertThrowsError(try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "a"], [:]])))
      }
      XCTAssertEqual(changes.count, 0)
      XCTAssertEqual(books[0].price, 9.5)
      XCTAssertEqual(try context.all(Tag.self), [])
    }
  }

  func testRequestIsRolledBackWithItsTransaction() async throws {
    struct Stop: Error {}
    try await onEachStore { stack in
      let context = stack.makeContext()
      _ = try self.library(context)
      XCTAssertThrowsError(
        try context.performTransaction {
          try context.execute(BatchDeleteRequest(entityName: "Book"))
          XCTAssertEqual(try context.all(Book.self), [])
          throw Stop()
        })
      XCTAssertEqual(try context.all(Book.self).count, 3)
      XCTAssertEqual(try context.all(Author.self).first?.books.count, 3)
    }
  }

  // MARK: Stores

  func testReadOnlyAndMissingStoresThrow() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Library.model)
    let context = ManagedObjectContext(coordinator: coordinator, classes: Library.classes)
    let rows = BatchInsertRequest(entityName: "Tag", objects: [["name": "a"]])
    XCTAssertThrowsError(try context.execute(rows)) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
    XCTAssertThrowsError(try context.execute(setPrice(1))) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
    var description = PersistentStoreDescription(type: .inMemory)
    description.isReadOnly = true
    try await coordinator.addPersistentStore(with: description)
    XCTAssertThrowsError(try context.execute(rows)) { XCTAssertEqual(($0 as? StoreError)?.code, .readOnly) }
    XCTAssertThrowsError(try context.execute(setPrice(1))) { XCTAssertEqual(($0 as? StoreError)?.code, .readOnly) }
    XCTAssertThrowsError(try context.execute(BatchDeleteRequest(entityName: "Tag"))) {
      XCTAssertEqual(($0 as? StoreError)?.code, .readOnly)
    }
  }

  func testSeveralStores() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Library.model)
    let first = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let second = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let context = ManagedObjectContext(coordinator: coordinator, classes: Library.classes)
    var rows = BatchInsertRequest(entityName: "Book", objects: [["title": "a"], ["title": "b"]])
    rows.resultType = .objectIDs
    let inFirst = try context.execute(rows).objectIDs
    rows = BatchInsertRequest(entityName: "Book", objects: [["title": "c"]])
    rows.resultType = .objectIDs
    rows.affectedStores = [second.identifier]
    let inSecond = try context.execute(rows).objectIDs
    XCTAssertEqual(inFirst.map(\.storeIdentifier), [first.identifier, first.identifier])
    XCTAssertEqual(inSecond.map(\.storeIdentifier), [second.identifier])
    XCTAssertEqual(try context.execute(setPrice(3)).count, 3)
    var request = try setPrice(4)
    request.affectedStores = [second.identifier]
    XCTAssertEqual(try context.execute(request).count, 1)
    XCTAssertEqual(try context.all(Book.self, sortedBy: "title").map(\.price), [3, 3, 4])
    XCTAssertEqual(try context.execute(BatchDeleteRequest(objectIDs: [inFirst[0], inSecond[0]])).count, 2)
    XCTAssertEqual(try context.all(Book.self).map(\.title), ["b"])
    let limited = FetchRequest<Book>(entityName: "Book").limit(1)
    XCTAssertThrowsError(try context.execute(BatchDeleteRequest(fetchRequest: limited)))
  }

  // MARK: Typed rows

  func testAClosureFillsRowsThroughTypedProperties() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, _) = try self.library(context)
      var number = 0
      let request = BatchInsertRequest(Novel.self) { novel in
        if number == 500 { return true }
        novel.title = "novel \(number)"
        if number % 2 == 0 { novel.author = author }
        if number == 3 { novel.price = 1 }
        novel.pages = Int32(number)
        number += 1
        return false
      }
      XCTAssertEqual(try context.execute(request).count, 500)
      let novels = try context.all(Novel.self, sortedBy: "pages")
      XCTAssertEqual(novels.count, 500)
      XCTAssertEqual(novels[3].title, "novel 3")
      XCTAssertEqual(novels[3].price, 1)
      XCTAssertEqual(novels[4].price, 9.5, "The default.")
      XCTAssertEqual(novels[4].author, author)
      XCTAssertNil(novels[5].author)
      XCTAssertEqual(author.books.count, 253)
      XCTAssertEqual(author.log.filter { $0 == "awakeFromInsert" }.count, 1)
    }
  }

  func testTypedRowsRejectInvalidValues() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let unsaved = Author(context: context)
      unsaved.name = "unsaved"
      func insert(_ fill: @escaping (Book) -> Void) throws -> BatchResult {
        var isDone = false
        return try context.execute(
          BatchInsertRequest(Book.self) { book in
            if isDone { return true }
            isDone = true
            fill(book)
            return false
          })
      }
      XCTAssertThrowsError(try insert { $0.author = unsaved }) { XCTAssertEqual(($0 as? BatchError)?.code, .objectNotFound) }
      XCTAssertThrowsError(try insert { $0.tags = [] }) { XCTAssertEqual(($0 as? BatchError)?.code, .notSettable) }
      XCTAssertThrowsError(try insert { $0.price = 2_000 }) { XCTAssertEqual(($0 as? BatchError)?.code, .invalidValue) }
      XCTAssertThrowsError(try insert { $0.price = 2 }) { XCTAssertEqual(($0 as? BatchError)?.key, "title") }
      XCTAssertEqual(try context.all(Book.self), [])
    }
  }
}
