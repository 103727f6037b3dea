import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Discarding changes (rows C10 and C11).
final class RollbackTests: XCTestCase {
  final class Awakening: ManagedObject {
    var events: [SnapshotEvents] = []
    override func awake(fromSnapshotEvents events: SnapshotEvents) { self.events.append(events) }
  }

  func testInsertsDeletesAndUpdatesAreUndone() async throws {
    try await onEachStore(classes: ManagedObjectClasses(["Tag": Awakening.self])) { stack in
      let context = stack.makeContext()
      let (changed, deleted) = (try context.make("Tag", ["name": "a"]), try context.make("Tag", ["name": "b"]))
      try context.save()
      try changed.setValue("x", forKey: "name")
      try deleted.setValue("y", forKey: "name")
      context.delete(deleted)
      let inserted = try context.make("Tag", ["name": "c"])
      context.rollback()
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(changed.text("name"), "a")
      XCTAssertEqual(deleted.text("name"), "b")
      XCTAssertFalse(deleted.isDeleted)
      XCTAssertNil(inserted.managedObjectContext)
      XCTAssertFalse(inserted.isInserted)
      XCTAssertEqual((changed as? Awakening)?.events, [.rollback])
      XCTAssertEqual((deleted as? Awakening)?.events, [.rollback])
      XCTAssertEqual(try context.objects("Tag").count, 2)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Tag").count, 2)
    }
  }

  func testRollbackRestoresBothSidesOfRelationships() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (first, second) = (try context.make("Author", ["name": "A"]), try context.make("Author", ["name": "B"]))
      let book = try context.make("Book", ["title": "T", "author": first])
      let tag = try context.make("Tag", ["name": "t"])
      try book.setValue([tag], forKey: "tags")
      try context.save()
      try book.setValue(second, forKey: "author")
      try tag.mutableSetValue(forKey: "books").remove(book)
      context.delete(first)
      context.processPendingChanges()
      context.rollback()
      XCTAssertTrue(book.one("author") === first)
      XCTAssertEqual(first.many("books"), [book])
      XCTAssertEqual(second.many("books"), [])
      XCTAssertEqual(book.many("tags"), [tag])
      XCTAssertEqual(tag.many("books"), [book])
    }
  }

  func testARollbackDoesNotReadTheStore() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      try other.existingObject(with: tag.objectID).setValue("theirs", forKey: "name")
      try other.save()
      try tag.setValue("mine", forKey: "name")
      stack.statements?.reset()
      context.rollback()
      XCTAssertEqual(tag.text("name"), "a")
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testCascadeIsRolledBackCompletely() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      for number in 0..<5 { try context.make("Book", ["title": "\(number)", "author": author]) }
      try context.save()
      context.delete(author)
      context.processPendingChanges()
      XCTAssertEqual(context.deletedObjects.count, 6)
      context.rollback()
      XCTAssertEqual(author.many("books").count, 5)
      context.delete(author)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book"), [])
    }
  }

  func testRollbackClearsDeferredErrors() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let book = try context.make("Book", ["title": "T"])
      book.setToOne(try other.make("Author"), at: 3)
      XCTAssertNotNil(context.pendingError)
      context.rollback()
      XCTAssertNil(context.pendingError)
      try context.save()
    }
  }

  func testSaveAfterRollbackWithPermanentIDsWritesNothing() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      try context.obtainPermanentIDs(for: [tag])
      context.rollback()
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Tag"), [])
    }
  }
}
