import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The number of statements for traversals without prefetching.
final class WalkTests: XCTestCase {
  private static let count = 2_000

  /// The books of 500 authors, each with two of 40 tags, in a context that has read only the books.
  private func onBooks(_ body: (_ books: [ManagedObject], ManagedObjectContext, Stack) throws -> Void) async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let writer = stack.makeShortLivedContext()
      let authors = try (0..<500).map { try writer.make("Author", ["name": "author \($0)"]) }
      let tags = try (0..<40).map { try writer.make("Tag", ["name": "tag \($0)"]) }
      for pages in 0..<Self.count {
        let book = try writer.make("Book", ["title": "book", "pages": pages, "author": authors[pages % 500]])
        try book.setValue(Set([tags[pages % 40], tags[(pages + 7) % 40]]), forKey: "tags")
      }
      try writer.save()
      stack.forgetRows()
      let context = stack.makeContext()
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.sortDescriptors = [FetchSortDescriptor("pages")]
      let books = try context.fetch(request)
      stack.statements?.reset()
      try body(books, context, stack)
    }
  }

  private func readAuthors(_ books: some Sequence<ManagedObject>) {
    for book in books { XCTAssertNotNil(book.one("author")?.text("name")) }
  }

  private func readTags(_ books: some Sequence<ManagedObject>) {
    for book in books { XCTAssertEqual(book.many("tags").compactMap { $0.text("name") }.count, 2) }
  }

  /// The number of rows of an entity that were read.
  private func rows(_ entity: String, _ stack: Stack) throws -> Int {
    let context = stack.makeContext()
    let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: entity))
    return ids.count { stack.store.cache.hasRow($0.reference) }
  }

  func testAuthorOfEveryBook() async throws {
    try await onBooks { books, _, stack in
      readAuthors(books)
      // 4, 16, 64, 256 and 160.
      XCTAssertEqual(stack.statements?.count, 5, "\(stack.statements?.texts.count ?? 0)")
      readAuthors(books.shuffled())
      XCTAssertEqual(stack.statements?.count, 5)
    }
  }

  func testAuthorOfEveryBookBackwards() async throws {
    try await onBooks { books, _, stack in
      readAuthors(books.reversed())
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 6)
    }
  }

  func testAuthorsOfFewBooksReadFewRows() async throws {
    try await onBooks { books, _, stack in
      readAuthors(books.prefix(3))
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertEqual(try rows("Author", stack), 4)
    }
  }

  func testRandomAuthorAccessReadsFewAdditionalRows() async throws {
    try await onBooks { books, _, stack in
      readAuthors(books.prefix(500).shuffled().prefix(60))
      XCTAssertLessThanOrEqual(try rows("Author", stack), 120)
    }
  }

  func testTagsOfEveryBook() async throws {
    try await onBooks { books, _, stack in
      readTags(books)
      // The members of 4, 16, 64 and then 250 books. The 40 tags are read a few at a time, in the iteration order of sets.
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 11 + 20)
    }
  }

  func testTagsOfEveryTenthBook() async throws {
    try await onBooks { books, _, stack in
      let tenth = stride(from: 0, to: books.count, by: 10).map { books[$0] }
      readTags(tenth)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 6 + 8)
      let read = books.count { !$0.hasFault(forRelationshipNamed: "tags") }
      XCTAssertLessThanOrEqual(read, tenth.count + 3, "Members of others are not read beyond the first four.")
    }
  }

  func testRandomTagAccessReadsFewAdditionalRows() async throws {
    try await onBooks { books, _, _ in
      readTags(books.shuffled().prefix(100))
      XCTAssertLessThanOrEqual(books.count { !$0.hasFault(forRelationshipNamed: "tags") }, 160)
    }
  }

  func testEnumerationAcrossManyEventsUsesFewStatements() async throws {
    try await onBooks { books, context, stack in
      for book in books { context.perform { readAuthors([book]) } }
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 6)
    }
  }

  func testBothStepsOfATraversalArePrefetched() async throws {
    try await onBooks { books, _, stack in
      for book in books { XCTAssertEqual(book.one("author")?.many("books").count, 4) }
      let texts = stack.statements?.texts ?? []
      XCTAssertLessThanOrEqual(texts.count, 16, "\(texts.count)")
    }
  }
}
