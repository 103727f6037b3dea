import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// How long a context retains the destinations of relationships.
final class RecentObjectsTests: XCTestCase {
  /// Saved books, each with its own author, in a context that has read nothing yet.
  private func onBooks(_ count: Int = 20, _ body: (Stack, ManagedObjectContext) throws -> Void) async throws {
    try await onEachStore { stack in
      let writer = stack.makeShortLivedContext()
      for number in 0..<count {
        let author = try writer.make("Author", ["name": "author \(number)"])
        try writer.make("Book", ["title": "book", "pages": number, "author": author])
      }
      try writer.save()
      stack.forgetRows()
      try body(stack, stack.makeContext())
    }
  }

  private func books(_ context: ManagedObjectContext) throws -> [ManagedObject] { try context.objects("Book") }

  /// The number of registered authors.
  private func authors(_ context: ManagedObjectContext) -> Int { context.registeredObjects.count { $0.entity.name == "Author" } }

  func testTraversedObjectsAreRetainedUntilTheEventEnds() async throws {
    let ends: [(ManagedObjectContext) throws -> Void] = [
      { $0.processPendingChanges() }, { try $0.save() }, { $0.refreshAllObjects() }, { $0.perform {} },
    ]
    try await onBooks { _, context in
      let books = try books(context)
      for end in ends {
        for book in books { XCTAssertNotNil(book.one("author")?.text("name")) }
        XCTAssertEqual(authors(context), books.count)
        try end(context)
        XCTAssertEqual(authors(context), 0)
      }
      for book in books { XCTAssertNotNil(book.one("author")) }
      context.reset()
      XCTAssertEqual(context.registeredObjects.count, 0)
    }
  }

  func testNothingIsRetainedAfterPerform() async throws {
    try await onBooks { _, context in
      let books = try books(context)
      weak var author: ManagedObject?
      context.perform {
        for book in books { author = book.one("author") }
        XCTAssertNotNil(author)
        XCTAssertEqual(authors(context), books.count)
      }
      XCTAssertNil(author)
      XCTAssertEqual(authors(context), 0)
    }
  }

  func testFetchDoesNotReleaseRecentObjects() async throws {
    try await onBooks { _, context in
      let books = try books(context)
      weak let author = books[0].one("author")
      _ = try context.objects("Tag")
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")), books.count)
      XCTAssertNotNil(author)
    }
  }

  func testMembersAreRetained() async throws {
    try await onBooks { _, context in
      let authors = try context.objects("Author")
      for author in authors { XCTAssertEqual(author.many("books").count, 1) }
      XCTAssertEqual(context.registeredObjects.count, authors.count * 2)
      context.processPendingChanges()
      XCTAssertEqual(context.registeredObjects.count, authors.count)
    }
  }

  func testRetainedObjectsAreLimited() async throws {
    try await onEachStore { stack in
      let count = RecentObjects.limit + 1_000
      let writer = stack.makeShortLivedContext()
      for number in 0..<count {
        let author = try writer.make("Author", ["name": "author"])
        try writer.make("Book", ["title": "book", "pages": number, "author": author])
      }
      try writer.save()
      let context = stack.makeContext()
      let books = try books(context)
      for book in books { XCTAssertNotNil(book.one("author")) }
      XCTAssertLessThanOrEqual(authors(context), RecentObjects.limit)
      XCTAssertGreaterThan(authors(context), RecentObjects.limit - 200)
      weak let last = books[count - 1].one("author")
      XCTAssertNotNil(last)
      // The first one was released first.
      XCTAssertEqual(context.registeredObjects.count, books.count + authors(context))
    }
  }

  func testRetainedRowBytesAreLimited() async throws {
    try await onEachStore { stack in
      let count = 24
      let writer = stack.makeShortLivedContext()
      let text = String(repeating: "x", count: 1 << 20)
      for _ in 0..<count {
        let author = try writer.make("Author", ["name": "author"])
        try writer.make("Book", ["title": text, "author": author])
      }
      try writer.save()
      stack.forgetRows()
      let context = stack.makeContext()
      let authors = try context.objects("Author")
      for author in authors { for book in author.many("books") { XCTAssertEqual(book.text("title")?.utf8.count, text.utf8.count) } }
      let held = context.registeredObjects.count - authors.count
      XCTAssertLessThanOrEqual(held * text.utf8.count, RecentObjects.byteLimit)
      XCTAssertGreaterThan(held, 0)
    }
  }

  func testRetainedObjectIsRefreshedAndMergedLikeOthers() async throws {
    try await onBooks { stack, context in
      context.automaticallyMergesChangesFromParent = true
      let book = try books(context)[0]
      let id = try XCTUnwrap(book.one("author")).objectID
      XCTAssertNotEqual(book.one("author")?.text("name"), "new")
      let other = stack.makeContext()
      try other.existingObject(with: id).setValue("new", forKey: "name")
      try other.save()
      // A fetch merges pending changes; the author is the same object, with its new values.
      _ = try context.objects("Tag")
      XCTAssertEqual(book.one("author")?.text("name"), "new")
      let author = try XCTUnwrap(context.registeredObject(for: id))
      context.refresh(author, mergeChanges: false)
      XCTAssertTrue(author.isFault)
      other.delete(try other.existingObject(with: id))
      try other.save()
      context.processPendingChanges()
      XCTAssertNil(context.registeredObject(for: id))
    }
  }

  func testContextThatRetainsAllObjectsRetainsThemOnce() async throws {
    try await onBooks { _, context in
      context.retainsRegisteredObjects = true
      for book in try books(context) { XCTAssertNotNil(book.one("author")) }
      context.processPendingChanges()
      XCTAssertEqual(authors(context), 20)
      context.retainsRegisteredObjects = false
      XCTAssertEqual(context.registeredObjects.count, 0)
    }
  }

  func testContextCanBeReleasedFirst() async throws {
    try await onBooks { stack, _ in
      var context: ManagedObjectContext? = stack.makeShortLivedContext()
      let books = try books(XCTUnwrap(context))
      weak var author: ManagedObject?
      for book in books { author = book.one("author") }
      XCTAssertNotNil(author)
      context = nil
      XCTAssertNil(author)
      XCTAssertNil(books[0].managedObjectContext)
    }
  }
}
