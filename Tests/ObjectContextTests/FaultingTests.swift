import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// When rows are read, and in how many requests.
final class FaultingTests: LibraryTestCase {
  private func fill(_ context: ManagedObjectContext, authors: Int, books: Int) throws {
    let made = (0..<authors).map { number in
      let author = Author(context: context)
      author.name = "Author \(number)"
      return author
    }
    for number in 0..<books {
      let book = Book(context: context)
      book.title = "Book \(number)"
      book.author = made[number % authors]
    }
    try context.save()
  }

  func testFiringOneFaultReadsItsSiblings() async throws {
    try await withLibrary { context, coordinator in
      try fill(context, authors: 500, books: 1_000)
      for store in coordinator.persistentStores { store.cache.removeAll() }
      let other = another(coordinator)
      let store = try counting(coordinator)
      _ = store.takeCount()
      var names = Set<String>()
      for book in try other.all(Book.self) { names.insert(book.author?.name ?? "") }
      XCTAssertEqual(names.count, 500)
      // The books; then 4, 16, 64, 256 and 160 authors.
      XCTAssertLessThanOrEqual(store.takeCount(), 6)
    }
  }

  func testMembersOfSiblingsAreReadTogether() async throws {
    try await withLibrary { context, coordinator in
      try fill(context, authors: 200, books: 600)
      let other = another(coordinator)
      let store = try counting(coordinator)
      _ = store.takeCount()
      var count = 0
      for author in try other.all(Author.self) { count += author.books.count }
      XCTAssertEqual(count, 600)
      // The authors; then the books of 4, 16, 64 and 116.
      XCTAssertLessThanOrEqual(store.takeCount(), 5)
    }
  }

  func testOneObjectRepresentsARow() async throws {
    try await withLibrary { context, _ in
      try fill(context, authors: 1, books: 2)
      let books = try context.all(Book.self, sortedBy: "title")
      XCTAssertTrue(books[0].author === books[1].author)
      XCTAssertTrue(context.object(with: books[0].objectID) === books[0])
      XCTAssertEqual(try context.all(Book.self, sortedBy: "title"), books)
    }
  }

  func testUnreferencedObjectsAreReleased() async throws {
    try await withLibrary { context, coordinator in
      try fill(context, authors: 1, books: 10)
      XCTAssertEqual(context.registeredObjects.count, 0)
      let books = try context.all(Book.self)
      XCTAssertEqual(context.registeredObjects.count, 10)
      XCTAssertNotNil(context.registeredObject(for: books[0].objectID))
      _ = coordinator
    }
  }

  func testFaultWithADeletedRowIsEmptyAndDeleted() async throws {
    try await withLibrary { context, coordinator in
      try fill(context, authors: 1, books: 1)
      let other = another(coordinator)
      let id = try XCTUnwrap(other.all(Book.self).first?.objectID)
      let fault = other.object(with: id)
      XCTAssertTrue(fault.isFault)
      let mine = try XCTUnwrap(context.all(Book.self).first)
      context.delete(mine)
      try context.save()
      XCTAssertEqual((fault as? Book)?.title, "")
      XCTAssertTrue(fault.isDeleted)
      XCTAssertThrowsError(try other.existingObject(with: id)) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
    }
  }

  func testDescriptionDoesNotFireFaults() async throws {
    try await withLibrary { context, coordinator in
      try fill(context, authors: 1, books: 1)
      let book = try XCTUnwrap(another(coordinator).all(Book.self).first)
      XCTAssertTrue(book.description.contains("data: <fault>"), book.description)
      XCTAssertTrue(book.isFault)
    }
  }

  func testRefreshDropsOrKeepsChanges() async throws {
    try await withLibrary { context, _ in
      try fill(context, authors: 1, books: 1)
      let book = try XCTUnwrap(context.all(Book.self).first)
      book.title = "Changed"
      context.refresh(book, mergeChanges: true)
      XCTAssertEqual(book.title, "Changed")
      context.refresh(book, mergeChanges: false)
      XCTAssertTrue(book.isFault)
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(book.title, "Book 0")
    }
  }
}
