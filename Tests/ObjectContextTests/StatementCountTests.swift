import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// The number of SQL statements that loops over a graph take.
final class StatementCountTests: XCTestCase {
  private static let authorCount = 5_000
  private static let bookCount = 10_000

  /// 10,000 books in an order unrelated to that of their 5,000 authors.
  private func onLargeLibrary(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore([.sqlcipher]) { stack in
      do {
        let context = stack.makeShortLivedContext()
        var random = SeededGenerator(seed: 5)
        let authors = (0..<Self.authorCount).map { number in
          let author = Author(context: context)
          author.name = "Author \(number)"
          return author
        }
        var order = (0..<Self.bookCount).map { $0 % Self.authorCount }
        order.shuffle(using: &random)
        for (number, author) in order.enumerated() {
          let book = Book(context: context)
          book.title = "Book \(number)"
          book.author = authors[author]
        }
        try context.save()
      }
      stack.forgetRows()
      try body(stack)
    }
  }

  private func statements(_ stack: Stack, _ body: (ManagedObjectContext) throws -> Void) rethrows -> Int {
    stack.forgetRows()
    stack.statements?.reset()
    try body(stack.makeShortLivedContext())
    return stack.statements?.count ?? 0
  }

  func testFetchingByTenThousandIDsUsesOneStatement() async throws {
    try await onLargeLibrary { stack in
      let ids = try stack.makeShortLivedContext().all(Book.self).map(\.objectID)
      let count = try statements(stack) { context in
        var request = FetchRequest<Book>(entityName: "Book")
        request.predicate = try FetchPredicate(format: "SELF IN %@", Array(ids.reversed()) + ids)
        XCTAssertEqual(try context.fetch(request).map(\.objectID), ids, "each once, in the order of the keys")
        request.predicate = try FetchPredicate(format: "SELF IN %@ AND NOT title IN %@", ids, (1..<Self.bookCount).map { "Book \($0)" })
        XCTAssertEqual(try context.fetch(request).map(\.title), ["Book 0"])
      }
      XCTAssertEqual(count, 2)
    }
  }

  func testReadingTheAuthorsOfTenThousandBooksUsesAtMost120Statements() async throws {
    try await onLargeLibrary { stack in
      let forwards = try statements(stack) { context in
        var names = Set<String>()
        for book in try context.all(Book.self) { names.insert(book.author?.name ?? "") }
        XCTAssertEqual(names.count, Self.authorCount)
      }
      XCTAssertLessThanOrEqual(forwards, 120)
      let backwards = try statements(stack) { context in
        var names = Set<String>()
        for book in try context.all(Book.self).reversed() { names.insert(book.author?.name ?? "") }
        XCTAssertEqual(names.count, Self.authorCount)
      }
      XCTAssertLessThanOrEqual(backwards, 120)
      let shuffled = try statements(stack) { context in
        var random = SeededGenerator(seed: 6)
        for book in try context.all(Book.self).shuffled(using: &random) { XCTAssertNotNil(book.author?.name) }
      }
      XCTAssertLessThanOrEqual(shuffled, 120)
    }
  }

  func testReadingTheBooksOfFiveThousandAuthorsUsesAtMost120Statements() async throws {
    try await onLargeLibrary { stack in
      let forwards = try statements(stack) { context in
        var count = 0
        for author in try context.all(Author.self) { for book in author.books where !book.title.isEmpty { count += 1 } }
        XCTAssertEqual(count, Self.bookCount)
      }
      XCTAssertLessThanOrEqual(forwards, 120)
      let backwards = try statements(stack) { context in
        var count = 0
        for author in try context.all(Author.self).reversed() { for book in author.books where !book.title.isEmpty { count += 1 } }
        XCTAssertEqual(count, Self.bookCount)
      }
      XCTAssertLessThanOrEqual(backwards, 120)
    }
  }

  func testSiblingsAreReadTogetherInATransaction() async throws {
    try await onLargeLibrary { stack in
      let count = try statements(stack) { context in
        try context.performTransaction {
          let authors = try context.all(Author.self)
          for author in authors { XCTAssertFalse(author.name.isEmpty) }
          let books = try context.all(Book.self)
          for book in books { XCTAssertNotNil(book.author?.name) }
        }
      }
      XCTAssertLessThanOrEqual(count, 120)
    }
  }

  func testCachedRowsUseNoStatement() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let writer = stack.makeContext()
      let author = try writer.make("Author", ["name": "A"])
      let book = try writer.make("Book", ["title": "T", "author": author])
      try writer.save()
      let context = stack.makeContext()
      stack.statements?.reset()
      let same = context.object(with: book.objectID)
      XCTAssertEqual(try same.value(forKeyPath: "author.name") as? String, "A")
      XCTAssertEqual(stack.statements?.count ?? -1, 0)
      let doubting = stack.makeContext()
      doubting.stalenessInterval = 0
      XCTAssertEqual(doubting.object(with: book.objectID).text("title"), "T")
      XCTAssertEqual(stack.statements?.count ?? -1, 1)
      let patient = stack.makeContext()
      patient.stalenessInterval = 3_600
      XCTAssertEqual(patient.object(with: book.objectID).text("title"), "T")
      XCTAssertEqual(stack.statements?.count ?? -1, 1)
    }
  }
}
