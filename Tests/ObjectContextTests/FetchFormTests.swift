import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Fetches with SwiftData's names: IDs, pages, iteration that rejects changes, deletion by class.
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

  func testIdentifiersAreFetchedInBatches() async throws {
    try await onBooks { context, _ in
      let new = Book(context: context)
      new.title = "new"
      let all = try context.fetchIdentifiers(self.byTitle)
      XCTAssertEqual(all, try context.fetch(self.byTitle).map(\.objectID))
      XCTAssertEqual(all.first, new.objectID)
      let batches = Array(try context.fetchIdentifiers(self.byTitle, batchSize: 10))
      XCTAssertEqual(batches.map(\.count), [10, 10, 6])
      XCTAssertEqual(batches.flatMap { $0 }, all)
      XCTAssertEqual(Set(try context.fetchIdentifiers(FetchRequest<Book>(entityName: "Book"), batchSize: 7).flatMap { $0 }), Set(all))
      XCTAssertThrowsError(try context.fetchIdentifiers(self.byTitle, batchSize: 0)) {
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
      func walk(_ body: (Book, Int) throws -> Void) throws {
        visited = 0
        try context.enumerate(self.byTitle, batchSize: 10, allowsEscapingMutations: false) { book, _ in
          visited += 1
          try body(book, visited)
        }
      }
      XCTAssertThrowsError(try walk { book, _ in book.price += 1 }) { error in
        XCTAssertEqual((error as? StoreError)?.code, .invalidRequest)
        XCTAssertTrue("\(error)".contains("allowsEscapingMutations"), "\(error)")
      }
      XCTAssertEqual(visited, 10, "The batch is at its end.")
      XCTAssertThrowsError(try walk { _, _ in }, "There were changes before.")
      XCTAssertEqual(visited, 0)
      try context.save()
      try walk { book, number in
        book.price += 1
        if number % 10 == 0 || number == 25 { try context.save() }
      }
      XCTAssertEqual(visited, 25)
      try context.enumerate(self.byTitle, batchSize: 10) { book, _ in book.price += 1 }
      XCTAssertEqual(context.updatedObjects.count, 25, "By default they are held until they are saved.")
    }
  }

  func testObjectsOfAClassAreDeletedWithoutLoading() async throws {
    try await onBooks { context, _ in
      let held = try context.all(Book.self, sortedBy: "title")
      XCTAssertEqual(try context.delete(Book.self, where: .compare("price", .less, 5.0)), 5)
      XCTAssertFalse(held[0].isUsable)
      XCTAssertTrue(held[5].isUsable)
      XCTAssertEqual(try context.delete(Book.self, includesSubentities: false), 15)
      XCTAssertEqual(try context.all(Book.self).count, 5)
      XCTAssertEqual(try context.delete(Novel.self), 5)
      XCTAssertEqual(try context.delete(Novel.self), 0)
      XCTAssertThrowsError(try context.delete(ManagedObject.self)) { XCTAssertTrue($0 is StoreError) }
    }
  }
}
