import Foundation
@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Invalid values are errors where they are set, or are reported by the context immediately; nothing is lost silently (rows C3, C24 and
/// M25).
final class RejectedWriteTests: XCTestCase {
  private func code(_ error: (any Error)?) -> StoreError.Code? { (error as? StoreError)?.code }

  // MARK: Objects that a relationship rejects

  func testAListWithAnObjectOfAnotherEntityChangesNothing() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, tag) = (try context.make("Author", ["name": "A"]), try context.make("Tag", ["name": "t"]))
      let books = try ["1", "2", "3"].map { try context.make("Book", ["title": $0]) }
      try author.setValue([books[0]], forKey: "books")
      for value: Any in [[books[1], tag, books[2]], Set([tag, books[1]]), [tag]] {
        XCTAssertThrowsError(try author.setValue(value, forKey: "books")) {
          XCTAssertEqual(($0 as? KeyValueError)?.code, .wrongType)
          XCTAssertTrue("\($0)".contains("Author.books") && "\($0)".contains("Tag"), "\($0)")
        }
        XCTAssertEqual(author.many("books"), [books[0]])
        XCTAssertNil(books[1].one("author"))
        XCTAssertNil(context.pendingError, "It was thrown.")
      }
      author.setToMany([books[1], tag, books[2]], at: 0)
      XCTAssertEqual(author.many("books"), [books[0]])
      XCTAssertEqual(code(context.pendingError), .invalidRequest)
      XCTAssertThrowsError(try context.save()) { XCTAssertTrue("\($0)".contains("Author.books"), "\($0)") }
      XCTAssertEqual(try stack.makeContext().objects("Author").count, 0, "Nothing was written.")
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("A", "Author").many("books").count, 1)
    }
  }

  func testAListWithAnObjectOfAnotherContextChangesNothing() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let (author, book) = (try context.make("Author", ["name": "A"]), try context.make("Book", ["title": "B"]))
      let foreign = try other.make("Book", ["title": "C"])
      XCTAssertThrowsError(try author.setValue([book, foreign], forKey: "books")) { XCTAssertEqual(code($0), .invalidRequest) }
      XCTAssertEqual(author.many("books"), [])
      XCTAssertNil(book.one("author"))
      author.setToMany([book, foreign], at: 0)
      XCTAssertEqual(author.many("books"), [])
      XCTAssertEqual(code(context.pendingError), .invalidRequest)
    }
  }

  func testListWithAnObjectOfAnotherStoreChangesNothing() async throws {
    let model = ManagedObjectModel(entities: Library.model.entities)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    let stores = [
      try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)),
      try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)),
    ]
    let context = ManagedObjectContext(coordinator: coordinator)
    let authors = try stores.map { store in
      let author = try context.make("Author", ["name": "A"])
      try context.assign(author, to: store)
      return author
    }
    let books = try stores.map { store in
      let book = try context.make("Book", ["title": "B"])
      try context.assign(book, to: store)
      return book
    }
    try context.save()
    let free = try context.make("Book", ["title": "new"])
    XCTAssertThrowsError(try authors[1].setValue([free, books[0]], forKey: "books")) { XCTAssertEqual(code($0), .crossStoreRelationship) }
    XCTAssertThrowsError(try books[0].setValue(authors[1], forKey: "author")) { XCTAssertEqual(code($0), .crossStoreRelationship) }
    XCTAssertEqual(authors[1].many("books"), [])
    // The new one was not moved to the other store for a rejected list.
    try authors[0].setValue([free], forKey: "books")
    try context.save()
    XCTAssertEqual(authors[0].many("books"), [free])
  }

  func testRelationshipOfAnUnmanagedObjectIsReportedOnInsertion() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let entity = try XCTUnwrap(stack.coordinator.managedObjectModel.entity(named: "Book"))
      let book = try ManagedObject(entity: entity, of: stack.coordinator)
      try book.setValue("T", forKey: "title")
      book.setToOne(nil, at: 3)
      book.setToOne(author, at: 3)
      context.insert(book)
      XCTAssertEqual(code(context.pendingError), .invalidRequest)
      XCTAssertThrowsError(try context.save())
      try book.setValue(author, forKey: "author")
      try context.save()
      XCTAssertEqual(author.many("books"), [book])
    }
  }

  // MARK: Positions

  func testOutOfBoundsPositionsThrow() async throws {
    let model = ManagedObjectModel {
      Entity("List") { Relationship("items", toMany: "Item", inverse: "list").ordered() }
      Entity("Item") {
        Attribute("name", .string)
        Relationship("list", to: "List", inverse: "items")
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let list = try context.make("List")
      let items = try ["0", "1", "2"].map { try context.make("Item", ["name": $0]) }
      try list.setValue(items, forKey: "items")
      try context.save()
      let new = try context.make("Item", ["name": "new"])
      let members = try list.mutableOrderedSetValue(forKey: "items")
      let writes: [(String, () -> Void)] = [
        ("insert beyond", { members.insert(new, at: 4) }), ("insert before", { members.insert(new, at: -1) }),
        ("remove", { members.remove(at: 3) }), ("remove before", { members.remove(at: -1) }),
        ("replace", { members.replace(at: 3, with: new) }), ("replace before", { members.replace(at: -1, with: new) }),
        ("insert several", { list.insertIntoToMany([new, items[0]], position: 4, at: 0) }),
        ("remove several", { list.removeFromToMany(positions: [0, 3], at: 0) }),
        ("replace one", { list.replaceInToMany(position: 3, with: new, at: 0) }),
        ("replace several", { list.replaceInToMany(1..<4, with: [new], at: 0) }),
        ("replace before several", { list.replaceInToMany(-1..<1, with: [new], at: 0) }),
      ]
      for (name, write) in writes {
        XCTAssertNil(context.pendingError, name)
        write()
        XCTAssertEqual(code(context.pendingError), .invalidRequest, name)
        XCTAssertTrue("\(context.pendingError.map { "\($0)" } ?? "")".contains("List.items"), name)
        XCTAssertEqual(list.names("items"), ["0", "1", "2"], name)
        XCTAssertNil(new.one("list"), name)
        XCTAssertThrowsError(try context.save(), name)
      }
      // The end is a valid position.
      members.insert(new, at: 3)
      members.remove(at: 0)
      list.replaceInToMany(2..<3, with: [], at: 0)
      try context.save()
      XCTAssertEqual(list.names("items"), ["1", "2"])
    }
  }

  // MARK: Invalid objects

  func testWritesToADeletedObjectAreReported() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      let (book, tag) = (Book(context: context), Tag(context: context))
      (book.title, tag.name) = ("B", "t")
      try context.save()
      context.delete(author)
      try context.save()
      XCTAssertNil(author.managedObjectContext)
      let writes: [(String, () -> Void)] = [
        ("attribute", { author.name = "new" }), ("optional", { author.born = 7 }), ("to-many", { author.books = [book] }),
        ("member", { author.addToToMany(book, at: 0) }), ("no member", { author.removeFromToMany(book, at: 0) }),
        ("to-one", { author.setToOne(nil, at: 3) }),
      ]
      for (name, write) in writes {
        XCTAssertNil(context.pendingError, name)
        write()
        XCTAssertEqual(code(context.pendingError), .objectNotFound, name)
        XCTAssertEqual((context.pendingError as? StoreError)?.entityName, "Author", name)
        XCTAssertThrowsError(try context.save(), name) { XCTAssertEqual(code($0), .objectNotFound, name) }
        XCTAssertFalse(context.hasChanges, name)
      }
      XCTAssertEqual(author.name, "A")
      for (key, value): (String, Any?) in [("name", "new"), ("books", [book]), ("agent", nil)] {
        XCTAssertThrowsError(try author.setValue(value, forKey: key), key) { XCTAssertEqual(code($0), .objectNotFound, key) }
      }
      XCTAssertThrowsError(try author.setPrimitiveValue("new", forKey: "name"))
      XCTAssertNil(context.pendingError, "It was thrown.")
      // A deleted object is not a valid member either.
      book.author = author
      XCTAssertNil(book.author)
      XCTAssertEqual(code(context.pendingError), .invalidRequest)
    }
  }

  func testWritesAfterRollbackResetOrMergeAreReported() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let new = Author(context: context)
      context.rollback()
      new.name = "new"
      XCTAssertEqual(code(context.pendingError), .objectNotFound)
      context.rollback()
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      context.automaticallyMergesChangesFromParent = true
      let same = try XCTUnwrap(other.existingObject(with: author.objectID) as? Author)
      other.delete(same)
      try other.save()
      context.processPendingChanges()
      author.name = "new"
      XCTAssertEqual(code(context.pendingError), .objectNotFound)
      XCTAssertThrowsError(try context.save())
      context.object(with: new.objectID).setOptionalValue("new", at: 0)
      XCTAssertEqual(code(context.pendingError), .objectNotFound)
      let held = Author(context: context)
      context.reset()
      XCTAssertNil(context.pendingError)
      held.name = "new"
      XCTAssertEqual(code(context.pendingError), .objectNotFound)
    }
  }

  func testObjectWithoutItsContextRejectsValues() async throws {
    try await onEachStore([.inMemory]) { stack in
      var context: ManagedObjectContext? = stack.makeShortLivedContext()
      let author = try XCTUnwrap(context?.make("Author", ["name": "A"]) as? Author)
      try context?.save()
      context = nil
      XCTAssertNil(author.managedObjectContext)
      XCTAssertThrowsError(try author.setValue("B", forKey: "name")) { XCTAssertEqual(code($0), .objectNotFound) }
      author.name = "B"
      XCTAssertEqual(author.name, "A")
    }
  }

  func testMembersOfAnObjectWithADeletedRowAreNotSaved() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let author = try context.make("Author", ["name": "A"])
      let tag = try context.make("Tag", ["name": "t"])
      try context.save()
      let ids = [author.objectID, tag.objectID]
      for id in ids { other.delete(other.object(with: id)) }
      try other.save()
      let third = stack.makeContext()
      for (id, isOwner) in zip(ids, [true, false]) {
        let fault = third.object(with: id)
        let book = try third.make("Book", ["title": "B"])
        fault.addToToMany(book, at: 0)
        XCTAssertThrowsError(try third.save(), "\(isOwner)") { XCTAssertEqual(code($0), .objectNotFound) }
        XCTAssertEqual(try stack.makeContext().objects("Book").count, 0)
        third.rollback()
      }
    }
  }

  func testAddingMembersToAnUnreadObjectIsSaved() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      try context.save()
      stack.forgetRows()
      let other = stack.makeContext()
      let fault = other.object(with: author.objectID)
      fault.addToToMany(try other.make("Book", ["title": "B"]), at: 0)
      try other.save()
      XCTAssertEqual(try stack.makeContext().named("A", "Author").many("books").count, 1)
    }
  }
}
