import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Forms of a fetch: IDs, pages, iteration that rejects changes, deletion.
final class FetchFormTests: XCTestCase {
  private func onBooks(_ body: (ManagedObjectContext, Stack) throws -> Void) async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      for number in 0..<25 {
        let book = number < 20 ? Book(context: context) : Novel(context: context)
        book.title = "\(number + 10)"
        book.price = Double(number)
      }
      try context.save()
      try body(context, stack)
    }
  }

  private var byTitle: FetchRequest<Book> {
    FetchRequest<Book>(entityName: "Book", sortDescriptors: [FetchSortDescriptor("title", ascending: false)])
  }

  func testIdentifiersAreThoseOfTheObjectsInOrder() async throws {
    try await onBooks { context, _ in
      let new = Book(context: context)
      new.title = "new"
      let all = try context.fetchIdentifiers(self.byTitle)
      XCTAssertEqual(all, try context.fetch(self.byTitle).map(\.objectID))
      XCTAssertEqual(all.first, new.objectID)
      XCTAssertEqual(try context.fetch(self.byTitle, batchSize: 10).objectIDs, all)
      XCTAssertEqual(Set(try context.fetchIdentifiers(FetchRequest<Book>(entityName: "Book"))), Set(all))
      XCTAssertThrowsError(try context.fetch(self.byTitle, batchSize: 0)) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
      // Batches of an enumeration have the same objects.
      var batches: [[ManagedObjectID]] = []
      try context.enumerateBatches(of: self.byTitle, size: 10) { books, _ in batches.append(books.map(\.objectID)) }
      XCTAssertEqual(batches.map(\.count), [10, 10, 6])
      XCTAssertEqual(batches.flatMap { $0 }, all)
      XCTAssertThrowsError(try context.enumerateBatches(of: self.byTitle, size: 0) { _, _ in }) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
    }
  }

  func testFetchCanSetItsPageSize() async throws {
    try await onBooks { context, _ in
      let books = try context.fetch(self.byTitle, batchSize: 4)
      XCTAssertEqual(books.batchSize, 4)
      XCTAssertEqual(books.map(\.title), try context.fetch(self.byTitle).map(\.title))
      XCTAssertThrowsError(try context.fetch(self.byTitle, batchSize: -1)) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    }
  }

  func testEnumerationCanRejectUnsavedChanges() async throws {
    try await onBooks { context, _ in
      var visited = 0
      func walk(_ body: ([Book]) throws -> Void) throws {
        visited = 0
        try context.enumerateBatches(of: self.byTitle, size: 10, allowsEscapingMutations: false) { books, _ in
          visited += books.count
          try body(books)
        }
      }
      XCTAssertThrowsError(try walk { books in for book in books { book.price += 1 } }) { error in
        XCTAssertEqual((error as? StoreError)?.code, .invalidRequest)
        XCTAssertTrue("\(error)".contains("allowsEscapingMutations"), "\(error)")
      }
      XCTAssertEqual(visited, 10, "The batch is at its end.")
      XCTAssertThrowsError(try walk { _ in }, "There were changes before.")
      XCTAssertEqual(visited, 0)
      try context.save()
      try walk { books in
        for book in books { book.price += 1 }
        try context.save()
      }
      XCTAssertEqual(visited, 25)
      try context.enumerateBatches(of: self.byTitle, size: 10) { books, _ in for book in books { book.price += 1 } }
      XCTAssertEqual(context.updatedObjects.count, 25, "By default they are held until they are saved.")
    }
  }

  func testObjectsOfARequestAreDeletedWithoutLoading() async throws {
    try await onBooks { context, _ in
      let held = try context.all(Book.self, sortedBy: "title")
      var books = FetchRequest<Book>(entityName: "Book", predicate: .compare("price", .less, 5.0))
      XCTAssertEqual(try context.delete(books), 5)
      XCTAssertFalse(held[0].isUsable)
      XCTAssertTrue(held[5].isUsable)
      books.predicate = nil
      books.includesSubentities = false
      XCTAssertEqual(try context.delete(books), 15)
      XCTAssertEqual(try context.all(Book.self).count, 5)
      let novels = FetchRequest<Novel>(entityName: "Novel")
      XCTAssertEqual(try context.delete(novels), 5)
      XCTAssertEqual(try context.delete(novels), 0)
      XCTAssertThrowsError(try context.delete(FetchRequest<ManagedObject>(entityName: "Nvl"))) { XCTAssertTrue($0 is StoreError) }
    }
  }
}
