import Foundation
@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Observation
import Synchronization
import XCTest

/// Readers of a property are notified once per event if it has changed, and of nothing else.
final class ObservationTests: XCTestCase {
  /// Counts notifications.
  private final class Counter: Sendable {
    private let count = Mutex(0)
    func note() { count.withLock { $0 += 1 } }
    var value: Int { count.withLock { $0 } }
  }

  /// Runs `read` with observation tracking, and counts the notifications: at most one, as Observation specifies.
  private func track(_ read: () -> Void) -> Counter {
    let counter = Counter()
    withObservationTracking(read) { counter.note() }
    return counter
  }

  /// A context with observed objects: an author with two books and a tag, saved.
  private func library(_ stack: Stack) throws -> (context: ManagedObjectContext, author: Author, books: [Book], tag: Tag) {
    let context = stack.makeContext()
    context.tracksObservation = true
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
    return (context, author, books, tag)
  }

  func testObservedTypedPropertyIsReportedOncePerEvent() async throws {
    try await onEachStore { stack in
      let (context, _, books, _) = try self.library(stack)
      let title = self.track { _ = books[0].title }
      let pages = self.track { _ = books[0].pages }
      let other = self.track { _ = books[1].title }
      books[0].title = "new"
      XCTAssertEqual(title.value, 0, "The event has not ended.")
      books[0].title = "newer"
      XCTAssertEqual(books[0].title, "newer")
      context.processPendingChanges()
      XCTAssertEqual([title.value, pages.value, other.value], [1, 0, 0])
      let again = self.track { _ = books[0].title }
      try context.save()
      XCTAssertEqual(again.value, 0, "Saved changes were reported when they were made.")
      books[0].pages = 7
      context.processPendingChanges()
      XCTAssertEqual([again.value, pages.value], [0, 1])
    }
  }

  func testEveryKindOfPropertyAccessIsObserved() async throws {
    try await onEachStore { stack in
      let (context, author, books, tag) = try self.library(stack)
      let agent = try context.make("Agent", ["name": "first"])
      context.processPendingChanges()
      let reads: [(String, () throws -> Void)] = [
        ("typed to-one", { _ = books[0].author }), ("its ID", { _ = books[0].toOneID(3) }),
        ("to-one by key", { _ = try books[0].value(forKey: "author") }),
        ("by key path", { _ = try books[0].value(forKeyPath: "author.name") }),
        ("typed to-many", { _ = author.books }), ("count", { _ = author.toManyCount(0) }), ("array", { _ = author.toManyArray(0) }),
        ("to-many by key", { _ = try author.value(forKey: "books") }),
        ("mutable", { _ = try author.mutableSetValue(forKey: "books").count }),
        ("IDs", { _ = try author.objectIDs(forRelationshipNamed: "books") }), ("many to many", { _ = tag.books }),
        ("attribute by key", { _ = try books[0].value(forKey: "title") }), ("subscript", { _ = books[0]["title"] }),
        ("as a type", { _ = try books[0].value(forKey: "title", as: String.self) }), ("number", { _ = books[0].price }),
        ("optional", { _ = books[0].pages }), ("plain object", { _ = agent["name"] }), ("one to one", { _ = agent["client"] }),
      ]
      let counters = try reads.map { name, read in
        var thrown: (any Error)?
        let counter = self.track { do { try read() } catch { thrown = error } }
        if let thrown { throw thrown }
        return (name, counter)
      }
      books[0].author = nil
      books[0].title = "new"
      books[0].price = 2
      books[0].pages = 3
      books[0].tags = [tag]
      try agent.setValue("second", forKey: "name")
      try author.setValue(agent, forKey: "agent")
      context.processPendingChanges()
      for (name, counter) in counters { XCTAssertEqual(counter.value, 1, name) }
    }
  }

  func testMergesRefreshesRollbacksAndDeletionsAreObserved() async throws {
    try await onEachStore { stack in
      let (context, author, books, tag) = try self.library(stack)
      context.automaticallyMergesChangesFromParent = true
      let other = stack.makeContext()
      let title = self.track { _ = books[0].title }
      let price = self.track { _ = books[0].price }
      let members = self.track { _ = author.books }
      let tagName = self.track { _ = tag.name }
      let theirs = try other.all(Book.self, sortedBy: "title")
      theirs[0].title = "theirs"
      theirs[1].author = nil
      other.delete(try XCTUnwrap(other.all(Tag.self).first))
      try other.save()
      context.processPendingChanges()
      XCTAssertEqual([title.value, price.value, members.value, tagName.value], [1, 0, 1, 1])
      XCTAssertEqual(books[0].title, "theirs")
      XCTAssertEqual(author.books, [books[0]])

      let refreshed = self.track { _ = books[0].price }
      context.refresh(books[0], mergeChanges: false)
      XCTAssertEqual(refreshed.value, 1)
      books[0].price = 5
      let rolledBack = self.track { _ = books[0].price }
      context.rollback()
      XCTAssertEqual(rolledBack.value, 1)
      XCTAssertEqual(books[0].price, 9.5)

      let deleted = self.track { _ = books[1].title }
      context.delete(books[1])
      context.processPendingChanges()
      XCTAssertEqual(deleted.value, 1)
      let new = Tag(context: context)
      let unsaved = self.track { _ = new.name }
      new.name = "new"
      context.processPendingChanges()
      XCTAssertEqual(unsaved.value, 1, "A new object that was read before its first event.")
      let givenUp = self.track { _ = new.name }
      context.rollback()
      XCTAssertEqual(givenUp.value, 1)
      let reset = self.track { _ = books[0].title }
      context.reset()
      XCTAssertEqual(reset.value, 1)
      XCTAssertEqual(books[0].title, "theirs", "It keeps its last values.")
    }
  }

  func testBatchRequestsAndNestedSavesAreObserved() async throws {
    try await onEachStore { stack in
      let (context, _, books, _) = try self.library(stack)
      let title = self.track { _ = books[0].title }
      let price = self.track { _ = books[0].price }
      try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 2.0]))
      XCTAssertEqual([title.value, price.value], [0, 1])
      let child = ManagedObjectContext(parent: context)
      child.tracksObservation = true
      let own = try XCTUnwrap(child.object(with: books[0].objectID) as? Book)
      let childTitle = self.track { _ = own.title }
      own.title = "child"
      try child.save()
      context.processPendingChanges()
      XCTAssertEqual([title.value, childTitle.value], [1, 1])
      XCTAssertEqual(books[0].title, "child")
    }
  }

  func testCompositePartsAndComputedValuesAreObserved() async throws {
    let model = ManagedObjectModel {
      Composite("Address") {
        Attribute("street", .string)
        Attribute("city", .string)
      }
      Entity("Person") {
        Attribute("name", .string)
        Attribute("home", composite: "Address")
        Attribute("folded", .string).derived("canonical:(name)")
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      context.tracksObservation = true
      let person = try context.make("Person", ["name": "Ädä", "home": ["street": "a", "city": "b"]])
      try context.save()
      let home = self.track { _ = person["home"] }
      let street = self.track { _ = person["home.street"] }
      let folded = self.track { _ = person["folded"] }
      try person.setValue("c", forKeyPath: "home.city")
      context.processPendingChanges()
      XCTAssertEqual([home.value, street.value, folded.value], [1, 0, 0])
      try person.setValue("Öyö", forKey: "name")
      try context.save()
      XCTAssertEqual([street.value, folded.value], [0, 1])
      XCTAssertEqual(person["folded"] as? String, "oyo")
    }
  }

  /// Random objects read the same as in a context without observation.
  func testObservedObjectsReadAndWriteLikeOthers() async throws {
    try await onEachStore { stack in
      let plain = stack.makeContext()
      plain.automaticallyMergesChangesFromParent = true
      let (context, author, books, tag) = try self.library(stack)
      context.automaticallyMergesChangesFromParent = true
      for round in 0..<5 {
        if round == 3 { context.tracksObservation = false }
        if round == 4 { context.tracksObservation = true }
        for book in books {
          book.title += "\(round)"
          book.price += 1
          book.pages = book.pages.map { _ in nil } ?? Int32(round)
          book.author = book.author == nil ? author : nil
          book.tags = book.tags.isEmpty ? [tag] : []
        }
        if round % 2 == 1 { context.refresh(books[0], mergeChanges: true) }
        try context.save()
        if round % 2 == 0 { context.refreshAllObjects() }
        for book in books {
          let same = try XCTUnwrap(plain.existingObject(with: book.objectID) as? Book)
          plain.refresh(same, mergeChanges: true)
          XCTAssertEqual(book.title, same.title)
          XCTAssertEqual(book.price, same.price)
          XCTAssertEqual(book.pages, same.pages)
          XCTAssertEqual(book.author?.objectID, same.author?.objectID)
          XCTAssertEqual(book.tags.map(\.objectID), same.tags.map(\.objectID))
        }
      }
    }
  }

  func testUntrackedReadsAreNotReported() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, _, books, _) = try self.library(stack)
      context.tracksObservation = false
      let off = self.track { _ = books[0].title }
      books[0].title = "new"
      context.processPendingChanges()
      XCTAssertEqual(off.value, 0)
      XCTAssertFalse(context.tracksObservation)
      // Objects registered before it was set are observed too.
      context.tracksObservation = true
      let on = self.track { _ = books[0].title }
      books[0].title = "newer"
      context.processPendingChanges()
      XCTAssertEqual(on.value, 1)
    }
  }

  func testDeallocatedObjectRemovesItsObservations() async throws {
    try await onEachStore { stack in
      let (context, _, books, _) = try self.library(stack)
      let id = books[0].objectID
      var count = 0
      for _ in 0..<1_000 {
        let other = stack.makeShortLivedContext()
        other.tracksObservation = true
        weak var weakBook: ManagedObject?
        do {
          let book = other.object(with: id)
          weakBook = book
          _ = book["title"]
        }
        if weakBook == nil { count += 1 }
      }
      XCTAssertEqual(count, 1_000)
      withExtendedLifetime(context) {}
    }
  }
}

/// The view context ends its events automatically.
@MainActor final class ViewObservationTests: XCTestCase {
  private func container() async throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return container
  }

  func testOpenEventIsReportedWhenTheMainActorIsIdle() async throws {
    let container = try await container()
    let context = container.viewContext
    context.tracksObservation = true
    let child = ManagedObjectContext(parent: context)
    child.tracksObservation = true
    for context in [context, child] {
      let tag = Tag(context: context)
      tag.name = "a"
      context.processPendingChanges()
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      withObservationTracking {
        _ = tag.name
      } onChange: {
        continuation.yield()
      }
      tag.name = "b"
      for await _ in stream { break }
      XCTAssertTrue(context.hasChanges)
      XCTAssertEqual(tag.name, "b")
    }
  }

  func testObservationsSequenceFollowsAnObject() async throws {
    guard #available(macOS 26, iOS 26, watchOS 26, tvOS 26, visionOS 26, *) else { return }
    let container = try await container()
    let context = container.viewContext
    context.tracksObservation = true
    let tag = Tag(context: context)
    tag.name = "0"
    context.processPendingChanges()
    let names = Observations { tag.name }
    var seen: [String] = []
    for await name in names {
      seen.append(name)
      if seen.count == 4 { break }
      tag.name = "\(seen.count)"
    }
    XCTAssertEqual(seen, ["0", "1", "2", "3"])
  }
}
