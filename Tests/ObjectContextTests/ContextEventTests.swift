import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// At the end of an event, internal observers receive exactly the objects and slots that the event has changed.
final class ContextEventTests: XCTestCase {
  /// Records the events of a context.
  private final class Observer {
    let context: ManagedObjectContext
    private var events: [ContextEvent] = []
    private var number: UInt64 = 0

    init(_ context: ManagedObjectContext) {
      self.context = context
      number = context.addEventObserver { [unowned self] in events.append($0) }
    }

    func end() { context.removeEventObserver(number) }

    /// Returns the events since the last call.
    func take() -> [ContextEvent] {
      defer { events = [] }
      return events
    }

    func takeOne(line: UInt = #line) throws -> ContextEvent {
      let taken = take()
      XCTAssertEqual(taken.count, 1, line: line)
      return try XCTUnwrap(taken.first, line: line)
    }
  }

  /// The changed properties of each object by name; nil for any.
  private func names(_ changes: [ContextEvent.Change]) -> [ManagedObject: Set<String>?] {
    var result: [ManagedObject: Set<String>?] = [:]
    for change in changes {
      guard let slots = change.slots, let toMany = change.toMany else {
        result.updateValue(nil, forKey: change.object)
        continue
      }
      let entity = change.object.compiledEntity
      let names = slots.slots(below: entity.slots.count).map { entity.slots[$0].name }
      let many = toMany.slots(below: entity.toManyRelationships.count).map { entity.toManyRelationships[$0].name }
      result[change.object] = Set(names + many)
    }
    return result
  }

  /// Makes an author with two books and a tag, and saves.
  private func library(_ context: ManagedObjectContext) throws -> (author: Author, books: [Book], tag: Tag) {
    let author = Author(context: context)
    author.name = "Ada"
    let books = (0..<2).map { number in
      let book = Book(context: context)
      book.title = "book \(number)"
      book.author = author
      return book
    }
    let tag = Tag(context: context)
    tag.name = "tag"
    try context.save()
    return (author, books, tag)
  }

  func testEventReportsItsObjectsAndSlots() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books, tag) = try self.library(context)
      let observer = Observer(context)
      books[0].title = "new"
      books[0].price = 1
      books[1].author = nil
      let other = Tag(context: context)
      other.name = "other"
      context.delete(tag)
      let passing = Tag(context: context)
      context.delete(passing)
      context.processPendingChanges()
      let event = try observer.takeOne()
      XCTAssertEqual(event.kind, .changed)
      XCTAssertEqual(event.inserted, [other])
      XCTAssertEqual(event.deleted, [tag])
      XCTAssertEqual(self.names(event.updated), [books[0]: ["title", "price"], books[1]: ["author"], author: ["books"]])
      XCTAssertTrue(event.refreshed.isEmpty)
      context.processPendingChanges()
      XCTAssertEqual(observer.take().count, 0, "An event without changes is not reported.")
      // Reported changes are not reported again.
      books[0].pages = 3
      other.name = "renamed"
      context.processPendingChanges()
      XCTAssertEqual(self.names(try observer.takeOne().updated), [books[0]: ["pages"], other: ["name"]])
    }
  }

  func testMemberChangesAreReported() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books, tag) = try self.library(context)
      let shelf = try context.make("Shelf", ["books": books])
      try context.save()
      let observer = Observer(context)
      books[0].tags = [tag]
      context.processPendingChanges()
      XCTAssertEqual(self.names(try observer.takeOne().updated), [books[0]: ["tags"], tag: ["books"]])
      try shelf.setValue([books[1], books[0]], forKey: "books")
      context.processPendingChanges()
      XCTAssertEqual(self.names(try observer.takeOne().updated)[shelf], ["books"])
    }
  }

  func testSaveReportsSavedObjects() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books, tag) = try self.library(context)
      let observer = Observer(context)
      books[0].price = 1
      context.processPendingChanges()
      books[1].author = nil
      let other = Tag(context: context)
      other.name = "other"
      context.delete(tag)
      try context.save()
      let events = observer.take()
      XCTAssertEqual(events.map(\.kind), [.changed, .changed, .saved])
      let saved = try XCTUnwrap(events.last)
      XCTAssertEqual(saved.inserted, [other])
      XCTAssertFalse(saved.inserted[0].objectID.isTemporaryID)
      XCTAssertEqual(saved.deleted, [tag])
      XCTAssertEqual(self.names(saved.updated), [books[0]: ["price"], books[1]: ["author"], author: ["books"]])
      try context.save()
      XCTAssertEqual(observer.take().count, 0)
    }
  }

  func testMergeReportsChangedSlots() async throws {
    try await onEachStore { stack in
      let (saver, context) = (stack.makeContext(), stack.makeContext())
      let (author, books, tag) = try self.library(saver)
      let own = try context.all(Book.self, sortedBy: "title")
      let ownAuthor = try context.all(Author.self)[0]
      let ownTag = try context.all(Tag.self)[0]
      XCTAssertEqual(ownAuthor.books.count, 2)
      context.automaticallyMergesChangesFromParent = true
      let observer = Observer(context)
      books[0].title = "new"
      books[1].author = nil
      let other = Tag(context: saver)
      other.name = "other"
      saver.delete(tag)
      try saver.save()
      context.processPendingChanges()
      let event = try observer.takeOne()
      XCTAssertEqual(event.kind, .merged)
      XCTAssertEqual(event.insertedIDs, [other.objectID])
      XCTAssertEqual(event.deleted, [ownTag])
      XCTAssertEqual(self.names(event.refreshed), [own[0]: ["title"], own[1]: ["author"], ownAuthor: ["books"]])
      XCTAssertTrue(event.inserted.isEmpty && event.updated.isEmpty)
      // A batch request of the context itself is merged too.
      try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 2.0]))
      XCTAssertEqual(self.names(try observer.takeOne().refreshed), [own[0]: ["price"], own[1]: ["price"]])
      withExtendedLifetime((author, saver)) {}
    }
  }

  func testRefreshRollbackAndResetAreReported() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books, _) = try self.library(context)
      let observer = Observer(context)
      context.refresh(books[0], mergeChanges: true)
      let refresh = try observer.takeOne()
      XCTAssertEqual(refresh.kind, .refreshed)
      XCTAssertEqual(self.names(refresh.refreshed), [books[0]: nil])
      books[1].price = 4
      let tag = Tag(context: context)
      context.rollback()
      let rollback = try observer.takeOne()
      XCTAssertEqual(rollback.kind, .rolledBack)
      XCTAssertEqual(self.names(rollback.refreshed), [books[1]: nil])
      XCTAssertEqual(rollback.deleted, [tag])
      context.reset()
      XCTAssertEqual(observer.take().map(\.kind), [.reset])
    }
  }

  func testEndedObserversReceiveNoEvents() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let (gone, here) = (Observer(context), Observer(context))
      gone.end()
      Tag(context: context).name = "a"
      try context.save()
      XCTAssertEqual(gone.take().count, 0)
      XCTAssertEqual(here.take().map(\.kind), [.changed, .saved])
    }
  }

  func testObserversAreNotifiedBeforeNotificationsArePosted() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      // Notifications are posted in the context's isolation, which is this test's.
      nonisolated(unsafe) let observer = Observer(context)
      nonisolated(unsafe) var received: [ContextEvent] = []
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
      ) { _ in received = observer.take() }
      defer { NotificationCenter.default.removeObserver(token) }
      Tag(context: context).name = "a"
      context.processPendingChanges()
      XCTAssertEqual(received.map(\.inserted.count), [1])
    }
  }
}
