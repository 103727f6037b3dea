import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// One object for each row, which the context does not retain (row C7).
final class UniquingTests: XCTestCase {
  private func fill(_ stack: Stack) throws {
    let context = stack.makeContext()
    let author = try context.make("Author", ["name": "A"])
    for title in ["1", "2"] { try context.make("Book", ["title": title, "author": author]) }
    try context.save()
  }

  func testEveryAccessToARowReturnsTheSameObject() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let context = stack.makeContext()
      let books = try context.objects("Book", by: "title")
      let author = try XCTUnwrap(context.objects("Author").first)
      XCTAssertTrue(books[0].one("author") === author)
      XCTAssertEqual(author.many("books"), Set(books))
      XCTAssertTrue(context.object(with: books[1].objectID) === books[1])
      XCTAssertTrue(try context.existingObject(with: books[1].objectID) === books[1])
      XCTAssertTrue(context.registeredObject(for: books[1].objectID) === books[1])
    }
  }

  func testAFetchKeepsUnsavedValuesOfRegisteredObjects() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let context = stack.makeContext()
      let book = try XCTUnwrap(context.objects("Book", by: "title").first)
      try book.setValue("changed", forKey: "title")
      XCTAssertTrue(try context.objects("Book").contains(book))
      XCTAssertEqual(book.text("title"), "changed")
    }
  }

  func testRefetchDoesNotOverwriteValuesByDefault() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let book = try XCTUnwrap(context.objects("Book", where: "title == '1'").first)
      XCTAssertEqual(book.text("title"), "1")
      try XCTUnwrap(other.objects("Book", where: "title == '1'").first).setValue("new", forKey: "title")
      try other.save()
      _ = try context.objects("Book")
      XCTAssertEqual(book.text("title"), "1")
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.shouldRefreshRefetchedObjects = true
      _ = try context.fetch(request)
      XCTAssertEqual(book.text("title"), "new")
    }
  }

  func testARefetchThatRefreshesKeepsUnsavedChanges() async throws {
    try await onEachStore { stack in
      try fill(stack)
      for batchSize in [0, 10] {
        let (context, other) = (stack.makeContext(), stack.makeContext())
        let book = try XCTUnwrap(context.objects("Book", where: "title == '1'").first)
        try book.setValue(77, forKey: "pages")
        let same = try XCTUnwrap(other.objects("Book", where: "title == '1'").first)
        try same.setValue(1, forKey: "pages")
        try same.setValue(4.5 + Double(batchSize), forKey: "price")
        try other.save()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.shouldRefreshRefetchedObjects = true
        request.fetchBatchSize = batchSize
        for _ in try context.fetch(request, batchSize: batchSize == 0 ? 100 : batchSize) {}
        if batchSize == 0 { _ = try context.fetch(request) }
        XCTAssertEqual(book["price"] as? Double, 4.5 + Double(batchSize))
        XCTAssertEqual(book["pages"] as? Int32, 77)
        XCTAssertEqual(book.changedValues().keys.sorted(), ["pages"])
        try context.save()
        XCTAssertEqual(try stack.makeContext().objects("Book", where: "title == '1'").first?["pages"] as? Int32, 77)
      }
    }
  }

  func testUnchangedObjectsAreWeakAndChangedObjectsAreRetained() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let context = stack.makeContext()
      weak var unchanged: ManagedObject?
      weak var changed: ManagedObject?
      do {
        let books = try context.objects("Book", by: "title")
        (unchanged, changed) = (books[0], books[1])
        try books[1].setValue("kept", forKey: "title")
      }
      XCTAssertNil(unchanged)
      XCTAssertNotNil(changed)
      XCTAssertEqual(context.registeredObjects.count, 1)
      try context.save()
      XCTAssertNil(changed)
      XCTAssertEqual(context.registeredObjects.count, 0)
    }
  }

  func testContextCanRetainAllItsObjects() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let context = stack.makeContext()
      context.retainsRegisteredObjects = true
      weak var book: ManagedObject?
      do { book = try context.objects("Book").first }
      XCTAssertNotNil(book)
      context.retainsRegisteredObjects = false
      XCTAssertNil(book)
    }
  }

  func testTwoContextsHaveDistinctObjectsWithEqualIDs() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let (mine, theirs) = (try XCTUnwrap(context.objects("Author").first), try XCTUnwrap(other.objects("Author").first))
      XCTAssertFalse(mine === theirs)
      XCTAssertNotEqual(mine, theirs)
      XCTAssertEqual(mine.objectID, theirs.objectID)
    }
  }

  func testObjectsOutliveTheirContextWithTheirValues() async throws {
    try await onEachStore { stack in
      try fill(stack)
      var author: ManagedObject?
      do {
        let context = stack.makeShortLivedContext()
        author = try context.objects("Author").first
        _ = author?.text("name")
      }
      XCTAssertNil(author?.managedObjectContext)
      XCTAssertEqual(author?.text("name"), "A")
      XCTAssertEqual(author?.many("books"), [])
    }
  }
}
