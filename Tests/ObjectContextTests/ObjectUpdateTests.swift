import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

@testable import ObjectContext

/// Updating objects with a batch update request.
final class ObjectUpdateTests: XCTestCase {
  /// Makes two authors with books, and saves.
  private func library(_ context: ManagedObjectContext) throws -> (authors: [Author], books: [Book]) {
    let authors = ["Ada", "Bob"].map { name in
      let author = Author(context: context)
      author.name = name
      return author
    }
    let books = (0..<6).map { number in
      let book = Book(context: context)
      book.title = "book \(number)"
      book.price = Double(number)
      book.author = authors[number % 2]
      return book
    }
    try context.save()
    return (authors, books)
  }

  func testObjectUpdateMatchesABatchUpdate() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (authors, books) = try self.library(context)
      let request = BatchUpdateRequest(
        entityName: "Book", predicate: try FetchPredicate(format: "price > 1"),
        propertiesToUpdate: [
          "price": try FetchExpression(format: "price * 2 + pages"), "pages": 7,
          "title": try FetchExpression(format: "uppercase(author.name)"), "author": authors[1].objectID,
        ])
      for book in books { try book.setValue(Int32(1), forKey: "pages") }
      try context.save()
      // The values from updating objects.
      let objects = books.filter { $0.price > 1 }
      try context.update(objects, by: request)
      let names = books.map { $0.author?.name }
      let values = books.map { "\($0.title) \($0.price)" }
      XCTAssertEqual(values[0], "book 0 0.0")
      XCTAssertEqual(values[2], "ADA 5.0")
      XCTAssertEqual(authors[1].books.count, 5)
      XCTAssertEqual(context.updatedObjects.intersection(objects), Set(objects))
      context.rollback()
      // The values from updating rows.
      try context.execute(request)
      XCTAssertEqual(books.map { "\($0.title) \($0.price)" }, values)
      XCTAssertEqual(books.map { $0.author?.name }, names)
    }
  }

  func testUpdateIsComputedFromUnsavedValues() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      books[0].price = 20
      let request = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": try FetchExpression(format: "price + 1")])
      try context.update([books[0]], by: request)
      XCTAssertEqual(books[0].price, 21)
    }
  }

  func testObjectUpdateRejectsWhatABatchUpdateRejects() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (authors, books) = try self.library(context)
      context.delete(authors[0])
      for (key, value, code) in [
        ("price", "much" as any Sendable, BatchError.Code.wrongType), ("tags", 1, .notSettable), ("none", 1, .unknownKey),
        ("author", authors[0].objectID, .objectNotFound),
      ] {
        let request = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: [key: value])
        XCTAssertThrowsError(try context.update(books, by: request), key) { XCTAssertEqual(($0 as? BatchError)?.code, code, "\($0)") }
      }
      XCTAssertEqual(books.map(\.price), [0, 1, 2, 3, 4, 5])
    }
  }
}
