import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Results whose rows are loaded in pages, and iteration over many objects (rows F7, F22).
final class BatchedFetchTests: XCTestCase {
  private static let count = 1_000

  private func onBooks(_ kinds: [StoreKind] = StoreKind.allCases, _ body: (Stack) throws -> Void) async throws {
    try await onEachStore(kinds) { stack in
      let context = stack.makeShortLivedContext()
      let authors = try (0..<10).map { try context.make("Author", ["name": "author \($0)"]) }
      for pages in 0..<Self.count { try context.make("Book", ["title": "book", "pages": pages, "author": authors[pages % 10]]) }
      try context.save()
      stack.forgetRows()
      stack.statements?.reset()
      try body(stack)
    }
  }

  private func request(batch: Int, _ format: String? = nil) throws -> FetchRequest<Book> {
    var request = FetchRequest<Book>(entityName: "Book", predicate: try format.map { try FetchPredicate(format: $0) })
    request.sortDescriptors = [FetchSortDescriptor("pages")]
    request.fetchBatchSize = batch
    return request
  }

  // MARK: Collections that release pages

  func testRowsAreLoadedInPagesOnAccess() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      let books = try context.fetch(try request(batch: 0), batchSize: 100)
      XCTAssertEqual(books.count, Self.count)
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertEqual(books[450].pages, 450)
      XCTAssertEqual(stack.statements?.count, 2)
      for position in 400..<500 { XCTAssertEqual(books[position].pages, Int32(position)) }
      XCTAssertEqual(stack.statements?.count, 2)
      XCTAssertEqual(books.map(\.pages), (0..<Int32(Self.count)).map { $0 })
      XCTAssertEqual(stack.statements?.count, 11)
      XCTAssertEqual(books.batchSize, 100)
    }
  }

  func testPreviousPagesAreReleased() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let books = try context.fetch(try request(batch: 0), batchSize: 50)
      XCTAssertEqual(context.registeredObjects.count, 0)
      var maximum = 0
      for book in books {
        XCTAssertFalse(book.isFault && book.title.isEmpty)
        if (book.pages ?? 0) % 50 == 0 { maximum = max(maximum, context.registeredObjects.count) }
      }
      XCTAssertLessThanOrEqual(maximum, 200)
      // Changed objects are retained.
      books[3].title = "changed"
      let id = books[3].objectID
      for book in books.suffix(400) { XCTAssertEqual(book.title, "book") }
      XCTAssertEqual((context.registeredObject(for: id) as? Book)?.title, "changed")
      XCTAssertEqual(books[3].title, "changed")
    }
  }

  func testUnsavedChangesAreSortedIntoTheFetch() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let all = try context.fetch(try request(batch: 0))
      context.delete(all[10])
      all[500].pages = 5
      for pages in [Int32(20), -1, 5_000, 731] { try context.make("Book", ["title": "new", "pages": pages]) }
      var expected = (0..<Int32(Self.count)).filter { $0 != 10 && $0 != 500 } + [5, 20, -1, 5_000, 731]
      expected.sort()
      let books = try context.fetch(try request(batch: 0), batchSize: 64)
      XCTAssertEqual(books.map { $0.pages ?? 0 }, expected)
      var windowed = try request(batch: 7)
      (windowed.fetchOffset, windowed.fetchLimit) = (3, 30)
      let window = try context.fetch(windowed, batchSize: 7)
      XCTAssertEqual(window.map { $0.pages ?? 0 }, Array(expected[3..<33]))
      XCTAssertEqual(window.objectIDs, try context.fetch(windowed).map(\.objectID))
      // New objects are found even if they have been saved since.
      try context.save()
      XCTAssertEqual(books.map { $0.pages ?? 0 }, expected)
    }
  }

  func testFewRowsAreReadToSortUnsavedObjects() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      try context.make("Book", ["title": "new", "pages": 731])
      stack.statements?.reset()
      let books = try context.fetch(try request(batch: 0), batchSize: 100)
      XCTAssertEqual(books.count, Self.count + 1)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 3, "\(stack.statements?.texts ?? [])")
    }
  }

  func testDeletedRowIsAFaultWithoutValues() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let books = try context.fetch(try request(batch: 0), batchSize: 10)
      let other = stack.makeContext()
      for book in try other.objects("Book", where: "pages == 25") { other.delete(book) }
      try other.save()
      XCTAssertEqual(books[24].pages, 24)
      XCTAssertNil(books[25].pages)
      XCTAssertEqual(books[26].pages, 26)
    }
  }

  func testRelationshipsArePrefetchedPerPage() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      var request = try request(batch: 0)
      request.relationshipKeyPathsForPrefetching = ["author", "tags"]
      let books = try context.fetch(request, batchSize: 100)
      _ = books[0].title
      stack.statements?.reset()
      for book in books.prefix(100) {
        XCTAssertEqual(book.author?.name.isEmpty, false)
        XCTAssertEqual(book.tags.count, 0)
      }
      XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testEnumerationPrefetchesPerBatch() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      var request = try request(batch: 0)
      request.relationshipKeyPathsForPrefetching = ["author.books.tags"]
      var count = 0
      try context.enumerateBatches(of: request, size: 250) { books, _ in
        stack.statements?.reset()
        for book in books {
          let author = try XCTUnwrap(book.author)
          XCTAssertEqual(author.books.count, Self.count / 10)
          if count % 100 == 0 { for other in author.books { XCTAssertEqual(other.tags.count, 0) } }
          count += 1
        }
        XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
      }
      XCTAssertEqual(count, Self.count)
    }
  }

  func testBlocksFilterBatchedResults() async throws {
    try await onBooks { stack in
      var request = try request(batch: 0)
      request.predicate = .block { (book: Book) in (book.pages ?? 1) % 100 == 0 }
      request.allowsInMemoryFiltering = true
      XCTAssertEqual(try stack.makeContext().fetch(request, batchSize: 10).map(\.pages), (0..<10).map { $0 * 100 })
    }
  }

  // MARK: Arrays

  func testArrayOfABatchedFetchFaultsInBatches() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      let books = try context.fetch(try request(batch: 100))
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertTrue(books.allSatisfy(\.isFault))
      XCTAssertEqual(books[0].pages, 0)
      XCTAssertEqual(stack.statements?.count, 2)
      XCTAssertEqual(books.prefix(100).map(\.pages), (0..<100).map { $0 })
      XCTAssertEqual(stack.statements?.count, 2)
      XCTAssertEqual(books.map(\.pages), (0..<Int32(Self.count)).map { $0 })
      XCTAssertEqual(stack.statements?.count, 11)
    }
  }

  // MARK: Iteration

  func testEnumerationVisitsObjectsInOrderAndRetainsOneBatch() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      var seen: [Int32] = []
      var maximum = 0
      try context.enumerateBatches(of: try request(batch: 0), size: 100) { books, _ in
        seen += books.map { $0.pages ?? -1 }
        maximum = max(maximum, context.registeredObjects.count)
      }
      XCTAssertEqual(seen, (0..<Int32(Self.count)).map { $0 })
      XCTAssertLessThanOrEqual(maximum, 200)
      XCTAssertEqual(context.registeredObjects.count, 0)
      if let statements = stack.statements { XCTAssertEqual(statements.count, 11, "\(statements.texts)") }
    }
  }

  func testEnumerationOfManyObjectsRetainsFew() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let count = 50_000
      _ = try stack.makeShortLivedContext().execute(
        BatchInsertRequest(entityName: "Book", objects: (0..<count).map { ["title": "book", "pages": Int32($0)] }))
      stack.statements?.reset()
      let context = stack.makeContext()
      var (seen, maximum, sum) = (0, 0, 0)
      try context.enumerateBatches(of: FetchRequest<Book>(entityName: "Book")) { books, _ in
        seen += books.count
        sum += books.reduce(0) { $0 + Int($1.pages ?? 0) }
        maximum = max(maximum, context.registeredObjects.count)
      }
      XCTAssertEqual(seen, count)
      XCTAssertEqual(sum, count * (count - 1) / 2)
      XCTAssertLessThanOrEqual(maximum, 1_000)
      XCTAssertEqual(context.registeredObjects.count, 0)
      XCTAssertEqual(stack.statements?.count, 1 + count / 500)
    }
  }

  func testUnorderedEnumerationFollowsRowOrder() async throws {
    try await onBooks([.sqlcipher]) { stack in
      // An index has the rows in another order.
      let context = stack.makeContext()
      var keys: [Int64] = []
      try context.enumerateBatches(of: FetchRequest<Book>(entityName: "Book"), size: 64) { books, _ in
        keys += books.map(\.objectID.key)
      }
      XCTAssertEqual(keys.count, Self.count)
      XCTAssertEqual(keys, keys.sorted())
    }
  }

  func testRowsOfAnEnumerationAreNotCached() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let context = stack.makeContext()
      var last: ManagedObjectID?
      try context.enumerateBatches(of: FetchRequest<Book>(entityName: "Book")) { books, _ in last = books.last?.objectID }
      let id = try XCTUnwrap(last)
      stack.statements?.reset()
      let book = try XCTUnwrap(stack.makeContext().existingObject(with: id) as? Book)
      XCTAssertEqual(book.title, "book")
      XCTAssertEqual(stack.statements?.count, 1)
    }
  }

  func testEnumerationStopsOnRequestOrError() async throws {
    struct Enough: Error {}
    try await onBooks { stack in
      let context = stack.makeContext()
      var count = 0
      try context.enumerateBatches(of: try request(batch: 0), size: 5) { books, stop in
        count += books.count
        stop = count == 25
      }
      XCTAssertEqual(count, 25)
      XCTAssertThrowsError(try context.enumerateBatches(of: try request(batch: 0)) { _, _ in throw Enough() }) {
        XCTAssertTrue($0 is Enough)
      }
      XCTAssertThrowsError(try context.enumerateBatches(of: try request(batch: 0), size: 0) { _, _ in })
    }
  }

  func testEnumerationIsUnaffectedByConcurrentWrites() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let other = stack.makeContext()
      var seen: [Int32] = []
      try context.enumerateBatches(of: try request(batch: 0), size: 100) { books, _ in
        if seen.isEmpty {
          // Each change would shift the pages of an iteration by offset.
          for book in try other.objects("Book", where: "pages >= 150 AND pages < 200 OR pages == 555") { other.delete(book) }
          try other.make("Book", ["title": "new", "pages": 250])
          for book in try other.objects("Book", where: "pages == 160 OR pages == 260") { try book.setValue(5_000, forKey: "pages") }
          try other.save()
        }
        // Changes by the iteration itself.
        for book in books { book.title += "!" }
        context.delete(books[0])
        try context.save()
        seen += books.map { $0.pages ?? -1 }
      }
      XCTAssertEqual(Set(seen).count, seen.count)
      XCTAssertEqual(seen.count, Self.count - 51)
      XCTAssertFalse(seen.contains(555))
      XCTAssertEqual(try other.objects("Book", where: "title == 'book!'").count, Self.count - 51 - 10)
    }
  }

  func testEnumerationIncludesUnsavedAndSkipsDeletedObjects() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      try context.make("Book", ["title": "new", "pages": 500])
      var titles: [String] = []
      try context.enumerateBatches(of: try request(batch: 0, "pages >= 499 AND pages <= 502"), size: 2) { books, _ in
        for book in books {
          titles.append("\(book.title) \(book.pages ?? 0)")
          if book.pages == 499 { for other in try context.objects("Book", where: "pages == 501") { context.delete(other) } }
        }
      }
      XCTAssertEqual(titles, ["book 499", "book 500", "new 500", "book 502"])
    }
  }
}
