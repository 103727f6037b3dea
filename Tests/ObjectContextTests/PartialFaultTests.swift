import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Fetches of objects that read only some properties (row F13).
final class PartialFaultTests: XCTestCase {
  private func onBooks(_ kinds: [StoreKind] = StoreKind.allCases, _ body: (Stack) throws -> Void) async throws {
    try await onEachStore(kinds) { stack in
      let context = stack.makeShortLivedContext()
      for pages in 0..<20 {
        let author = try context.make("Author", ["name": "author \(pages)"])
        let name = pages == 7 ? "Novel" : "Book"
        try context.make(name, ["title": "book \(pages)", "pages": pages, "price": 2.5, "author": author])
      }
      try context.save()
      stack.forgetRows()
      stack.statements?.reset()
      try body(stack)
    }
  }

  private func request(_ properties: [FetchProperty]) -> FetchRequest<Book> {
    var request = FetchRequest<Book>(entityName: "Book")
    request.sortDescriptors = [FetchSortDescriptor("pages")]
    request.propertiesToFetch = properties
    return request
  }

  func testOnlyThePropertiesToFetchAreRead() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let books = try stack.makeContext().fetch(request(["pages"]))
      XCTAssertEqual(stack.statements?.count, 1)
      let text = stack.statements?.texts.first ?? ""
      XCTAssertTrue(text.contains("pages") && !text.contains("title") && !text.contains("price"), text)
      XCTAssertEqual(books.map(\.pages), (0..<20).map { $0 })
      XCTAssertEqual(books[7].entity.name, "Novel")
      XCTAssertTrue(books.allSatisfy(\.isFault))
      XCTAssertEqual(stack.statements?.count, 1)
    }
  }

  func testRemainingPropertiesAreReadTogether() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let books = try stack.makeContext().fetch(request(["pages", "author"]))
      stack.statements?.reset()
      XCTAssertEqual(books[3].title, "book 3")
      XCTAssertFalse(books[3].isFault)
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertEqual(books.map(\.title), (0..<20).map { "book \($0)" })
      XCTAssertEqual(books.map(\.pages), (0..<20).map { $0 })
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertEqual((books[7] as? Novel)?.hero, nil)
    }
  }

  func testRelationshipsOfPartialFaultsAreReadTogether() async throws {
    try await onBooks([.sqlcipher]) { stack in
      let books = try stack.makeContext().fetch(request(["author"]))
      stack.statements?.reset()
      XCTAssertEqual(books.compactMap { $0.author?.name }, (0..<20).map { "author \($0)" })
      XCTAssertEqual(stack.statements?.count, 2, "four first, then sixteen: \(stack.statements?.texts ?? [])")
      XCTAssertTrue(books.allSatisfy(\.isFault))
    }
  }

  func testPartialFaultValuesMatchAFullFetch() async throws {
    try await onBooks { stack in
      let books = try stack.makeContext().fetch(request(["title", "price", "author"]))
      for (number, book) in books.enumerated() {
        XCTAssertEqual(book.title, "book \(number)")
        XCTAssertEqual(try book.value(forKey: "price") as? Double, 2.5)
        XCTAssertEqual(book.author?.name, "author \(number)")
        XCTAssertEqual(book.pages, Int32(number))
        XCTAssertEqual(book.tags, [])
      }
    }
  }

  func testAPartialFaultCanBeChangedAndSaved() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let books = try context.fetch(request(["title", "pages"]))
      books[0].pages = 100
      XCTAssertEqual(books[0].title, "book 0")
      XCTAssertEqual(books[0].changedValues().keys.sorted(), ["pages"])
      books[1].author = nil
      try books[2].setPrimitiveValue("primitive", forKey: "title")
      books[2].pages = 102
      context.delete(books[3])
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.objects("Book", where: "pages >= 100", by: "pages").map { $0.text("title") }, ["book 0", "primitive"])
      XCTAssertEqual(try other.objects("Book", where: "author == nil").map { $0.text("title") }, ["book 1"])
      XCTAssertEqual(try other.objects("Book").count, 19)
      // Both sides have the change.
      XCTAssertEqual(books[4].title, "book 4")
      XCTAssertEqual(books[4].author?.books, [books[4]])
    }
  }

  func testUnsavedChangesAreMerged() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let changed = try context.fetch(request([]))[5]
      changed.pages = -1
      try context.make("Book", ["title": "new", "pages": 3])
      var request = request(["pages"])
      request.fetchLimit = 6
      let books = try context.fetch(request)
      XCTAssertEqual(books.map(\.pages), [-1, 0, 1, 2, 3, 3])
      XCTAssertTrue(books[0] === changed)
      XCTAssertEqual(books.map(\.title), ["book 5", "book 0", "book 1", "book 2", "book 3", "new"])
    }
  }

  func testRegisteredObjectKeepsItsValues() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let whole = try context.fetch(request([]))
      XCTAssertEqual(whole[0].title, "book 0")
      let other = stack.makeContext()
      for book in try other.objects("Book", where: "pages < 2") { try book.setValue("other", forKey: "title") }
      try other.save()
      let partial = try context.fetch(request(["title"]))
      XCTAssertEqual(partial[0].title, "book 0")
      context.refresh(whole[0], mergeChanges: false)
      XCTAssertEqual(whole[0].title, "other")
    }
  }

  func testNewerValuesReplacePartialFaultValues() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let books = try context.fetch(request(["title"]))
      XCTAssertEqual(books[0].title, "book 0")
      let other = stack.makeContext()
      for book in try other.objects("Book", where: "pages < 3") { try book.setValue("other", forKey: "title") }
      try other.save()
      XCTAssertEqual(books[0].title, "book 0")
      context.refresh(books[0], mergeChanges: true)
      XCTAssertEqual(books[0].title, "other")
      context.refresh(books[1], mergeChanges: false)
      XCTAssertEqual(books[1].title, "other")
      // The row that is read for another property counts.
      XCTAssertEqual(books[2].pages, 2)
      XCTAssertEqual(books[2].title, "other")
      XCTAssertEqual(try context.fetch(request(["title"])).first?.title, "other")
    }
  }

  func testDeletedRowHasNoValues() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      let book = try context.fetch(request(["title"]))[0]
      let other = stack.makeContext()
      for book in try other.objects("Book", where: "pages == 0") { other.delete(book) }
      try other.save()
      XCTAssertEqual(book.title, "book 0")
      XCTAssertNil(book.pages)
      XCTAssertEqual(book.title, "")
    }
  }

  func testPropertyWithoutAColumnThrows() async throws {
    try await onBooks { stack in
      let context = stack.makeContext()
      for property: FetchProperty in ["tags", "author.name", "nothing", .expression(.keyPath("pages"), as: "p")] {
        XCTAssertThrowsError(try context.fetch(request([property]))) {
          XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
          XCTAssertTrue("\($0)".contains("“\(property.name)”"), "\($0)")
        }
      }
    }
  }
}
