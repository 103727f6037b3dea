import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Resetting a context (row C10).
final class ResetTests: XCTestCase {
  func testResetDiscardsAllObjectsAndChanges() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let saved = try context.make("Tag", ["name": "a"])
      try context.save()
      try saved.setValue("changed", forKey: "name")
      let inserted = try context.make("Tag", ["name": "b"])
      context.reset()
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(context.registeredObjects, [])
      XCTAssertNil(saved.managedObjectContext)
      XCTAssertNil(inserted.managedObjectContext)
      XCTAssertNil(context.registeredObject(for: saved.objectID))
      try context.save()
      XCTAssertEqual(try context.objects("Tag").map { $0.text("name") }, ["a"])
      XCTAssertFalse(try context.objects("Tag").contains(saved))
    }
  }

  func testObjectsRetainedAcrossAResetReadTheirLastValues() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      let book = Book(context: context)
      (book.title, book.author) = ("T", author)
      try context.save()
      context.reset()
      XCTAssertEqual(author.name, "A")
      XCTAssertEqual(author.books, [])
      XCTAssertNil(book.author)
      context.delete(author)
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .objectNotFound)
      XCTAssertThrowsError(try context.save())
      context.refresh(author, mergeChanges: false)
      XCTAssertNil(context.pendingError)
      author.name = "B"
      XCTAssertEqual(author.name, "A")
      book.author = author
      author.addToToMany(book, at: 0)
      XCTAssertFalse(context.hasChanges)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
      try context.save()
      XCTAssertEqual(try context.all(Author.self).map(\.name), ["A"])
    }
  }

  func testFaultRetainedAcrossAResetIsEmpty() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      stack.forgetRows()
      let other = stack.makeContext()
      let fault = try XCTUnwrap(other.object(with: author.objectID) as? Author)
      other.reset()
      XCTAssertEqual(fault.name, "")
      XCTAssertNil(fault.born)
    }
  }

  func testLargeImportInBatchesRetainsNoObjects() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      for portion in 0..<5 {
        for number in 0..<100 { try context.make("Tag", ["name": "\(portion)-\(number)"]) }
        try context.save()
        context.reset()
        XCTAssertEqual(context.registeredObjects.count, 0)
      }
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Tag")), 500)
    }
  }
}
