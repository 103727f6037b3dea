import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Prefetching relationships of loaded objects.
final class PrefetchForObjectsTests: XCTestCase {
  private static let count = 40

  /// Books by ten authors, each with two tags.
  private func onBooks(_ kinds: [StoreKind] = StoreKind.allCases, _ body: (Stack, ManagedObjectContext) throws -> Void) async throws {
    try await onEachStore(kinds) { stack in
      let writer = stack.makeShortLivedContext()
      let authors = try (0..<10).map { try writer.make("Author", ["name": "author \($0)"]) }
      let tags = try (0..<5).map { try writer.make("Tag", ["name": "tag \($0)"]) }
      for pages in 0..<Self.count {
        let book = try writer.make("Book", ["title": "book", "pages": pages, "author": authors[pages % 10]])
        try book.setValue(Set([tags[pages % 5], tags[(pages + 1) % 5]]), forKey: "tags")
      }
      try writer.save()
      stack.forgetRows()
      try body(stack, stack.makeContext())
    }
  }

  func testEachPrefetchStepUsesOneStatement() async throws {
    try await onBooks([.sqlcipher]) { stack, context in
      let books = try context.objects("Book")
      stack.statements?.reset()
      try context.prefetch(["author"], for: books)
      XCTAssertEqual(stack.statements?.count, 1, "the authors")
      stack.statements?.reset()
      try context.prefetch(["tags"], for: books)
      XCTAssertEqual(stack.statements?.count, 2, "the links, the tags")
      stack.statements?.reset()
      for book in books {
        XCTAssertNotNil(book.one("author")?.text("name"))
        XCTAssertEqual(book.many("tags").compactMap { $0.text("name") }.count, 2)
      }
      try context.prefetch(["author", "tags"], for: books)
      XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testKeyPathOfTwoStepsUsesTwoStatements() async throws {
    try await onBooks([.sqlcipher]) { stack, context in
      let books = try context.objects("Book")
      stack.statements?.reset()
      try context.prefetch(["author.books"], for: books)
      XCTAssertEqual(stack.statements?.count, 2, "the authors, and the keys of their books, whose rows are cached")
      stack.statements?.reset()
      for book in books { XCTAssertEqual(book.one("author")?.many("books").count, 4) }
      XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testFaultsAreReadTogetherFirst() async throws {
    try await onBooks([.sqlcipher]) { stack, context in
      var request = FetchRequest<ManagedObjectID>(entityName: "Book")
      request.sortDescriptors = [FetchSortDescriptor("pages")]
      let books = try context.fetch(request).map { context.object(with: $0) }
      stack.statements?.reset()
      try context.prefetch(["author"], for: books)
      XCTAssertEqual(stack.statements?.count, 2, "the books, the authors")
    }
  }

  func testObjectsOfSeveralEntitiesAndContextsCanBePrefetchedTogether() async throws {
    try await onBooks { stack, context in
      let objects = try context.objects("Book")
      let new = try context.make("Book", ["title": "new"])
      let other = try stack.makeContext().objects("Book")
      try context.prefetch(["tags"], for: objects + [new] + other)
      XCTAssertEqual(objects.map { $0.many("tags").count }, Array(repeating: 2, count: Self.count))
      XCTAssertEqual(new.many("tags").count, 0)
      XCTAssertTrue(other.allSatisfy { $0.hasFault(forRelationshipNamed: "tags") })
      try context.prefetch(["tags"], for: [ManagedObject]())
    }
  }

  func testUnsavedChangesSurvivePrefetching() async throws {
    try await onBooks { _, context in
      let books = try context.objects("Book")
      let tag = try context.make("Tag", ["name": "new"])
      try books[0].setValue(Set([tag]), forKey: "tags")
      context.delete(try XCTUnwrap(books[1].many("tags").first))
      try context.prefetch(["tags"], for: books)
      XCTAssertEqual(books[0].many("tags"), [tag])
      XCTAssertEqual(books[1].many("tags").count, 1)
    }
  }

  func testKeyPathWithoutRelationshipsIsRejected() async throws {
    try await onBooks { _, context in
      let books = try context.objects("Book")
      for path in ["title", "nothing", "author.name", ""] {
        XCTAssertThrowsError(try context.prefetch([path], for: books)) { XCTAssertTrue($0 is StoreError) }
      }
    }
  }
}
