import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Objects made without a context (row C1).
final class UnmanagedObjectTests: XCTestCase {
  private func free(_ name: String, _ stack: Stack) throws -> ManagedObject {
    let entity = try XCTUnwrap(stack.coordinator.managedObjectModel.entity(named: name))
    return try ManagedObject(entity: entity, of: stack.coordinator)
  }

  func testUnmanagedObjectHasDefaultsAndAcceptsValues() async throws {
    try await onEachStore([.inMemory]) { stack in
      let book = try free("Book", stack)
      XCTAssertNil(book.managedObjectContext)
      XCTAssertEqual(book["price"] as? Double, 9.5)
      try book.setValue("T", forKey: "title")
      XCTAssertEqual(book.text("title"), "T")
      XCTAssertEqual(book.entity.name, "Book")
      XCTAssertTrue(book.description.contains("title = \"T\""), book.description)
    }
  }

  func testUnmanagedObjectIsSavedAfterInsertion() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let book = try free("Book", stack)
      try book.setValue("T", forKey: "title")
      XCTAssertFalse(context.hasChanges)
      context.insert(book)
      XCTAssertEqual(context.insertedObjects, [book])
      XCTAssertTrue(book.managedObjectContext === context)
      context.insert(book)
      XCTAssertEqual(context.insertedObjects.count, 1)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book").map { $0.text("title") }, ["T"])
    }
  }

  func testObjectIsInsertedOnCreation() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let entity = try XCTUnwrap(stack.coordinator.managedObjectModel.entity(named: "Book"))
      let book = try ManagedObject(entity: entity, of: stack.coordinator, insertInto: context)
      XCTAssertEqual(context.insertedObjects, [book])
    }
  }

  func testUnknownEntityCannotBeInstantiated() async throws {
    try await onEachStore([.inMemory]) { stack in
      XCTAssertThrowsError(try ManagedObject(entity: EntityDescription(name: "Pear"), of: stack.coordinator)) {
        XCTAssertEqual(($0 as? StoreError)?.entityName, "Pear")
      }
    }
  }

  func testAnObjectOfAnotherContextCannotBeInserted() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let tag = try other.make("Tag", ["name": "a"])
      context.insert(tag)
      XCTAssertTrue(tag.managedObjectContext === other)
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .invalidRequest)
      XCTAssertThrowsError(try context.save())
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testRelationshipsOfUnmanagedObjectsAreEmptyAndReadOnly() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let (book, author) = (try free("Book", stack), try context.make("Author"))
      XCTAssertThrowsError(try book.setValue(author, forKey: "author")) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      XCTAssertNil(book.one("author"))
      XCTAssertThrowsError(try author.setValue(Set([book]), forKey: "books")) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
      XCTAssertEqual(author.many("books"), [])
      XCTAssertNil(context.pendingError)
      author.addToToMany(book, at: 0)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    }
  }

  func testUnreferencedUnmanagedObjectIsReleased() async throws {
    try await onEachStore([.inMemory]) { stack in
      weak var gone: ManagedObject?
      do {
        let book = try free("Book", stack)
        gone = book
      }
      XCTAssertNil(gone)
    }
  }
}
