import CoreData
import Foundation
import XCTest

/// A class whose property is used only while queue checks are on.
class Gauge: NSManagedObject {
  @NSManaged var level: Int64
}

/// The use of objects in other contexts, and of contexts off their queues, is reported.
final class MisuseTests: XCTestCase {
  override func tearDown() { ConcurrencyDebug.isOn = false }

  func testObjectsOfDifferentContextsCannotBeRelated() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      let other = stack.container.newBackgroundContext()
      try other.performAndWait {
        let author = Author(context: other)
        author.name = "Austen"
        book.author = author
        XCTAssertNil(book.author)
        XCTAssertTrue("\(try XCTUnwrap(stack.context.pendingError))".contains("Book.author"))
        XCTAssertThrowsError(try stack.context.save())
        author.addToBooks(book)
        XCTAssertEqual(author.books?.count ?? 0, 0)
        XCTAssertThrowsError(try other.save())
        try other.save()
      }
      try stack.context.save()
    }
  }

  func testContextsRejectObjectsOfOtherContexts() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let other = stack.container.newBackgroundContext()
      let uses: [(NSManagedObjectContext) -> Void] = [
        { $0.delete(book) }, { $0.refresh(book, mergeChanges: true) }, { $0.detectConflicts(for: book) }, { $0.insert(book) },
        { context in stack.container.persistentStoreCoordinator.persistentStores.first.map { context.assign(book, to: $0) } },
      ]
      for (number, use) in uses.enumerated() {
        try other.performAndWait {
          use(other)
          XCTAssertNotNil(other.pendingError, "use \(number)")
          XCTAssertThrowsError(try other.save(), "use \(number)")
          XCTAssertNil(other.pendingError, "use \(number)")
        }
      }
      try other.performAndWait { XCTAssertThrowsError(try other.obtainPermanentIDs(for: [book])) }
      XCTAssertFalse(book.isDeleted)
    }
  }

  func testConcurrencyDebuggingReportsUseOffTheQueue() throws {
    ConcurrencyDebug.isOn = true
    try LibraryStack.with { stack in
      let context = stack.container.newBackgroundContext()
      let book = context.performAndWait { Book(context: context) }
      XCTAssertNil(context.performAndWait { context.pendingError })
      let uses: [(String, () -> Void)] = [
        // Calls that remove the object come last.
        ("value", { _ = book.value(forKey: "title") }),
        ("registeredObject(for:)", { _ = context.registeredObject(for: book.objectID) }), ("hasChanges", { _ = context.hasChanges }),
        ("insertedObjects", { _ = context.insertedObjects }), ("registeredObjects", { _ = context.registeredObjects }),
        ("undo()", { context.undo() }), ("redo()", { context.redo() }), ("changedValues()", { _ = book.changedValues() }),
        ("committedValues", { _ = book.committedValues(forKeys: nil) }), ("primitiveValue", { _ = book.primitiveValue(forKey: "title") }),
        ("setPrimitiveValue", { book.setPrimitiveValue("Emma", forKey: "title") }),
        ("value(forKeyPath:)", { _ = book.value(forKeyPath: "author.name") }),
        ("objectIDs(forRelationshipNamed:)", { _ = book.objectIDs(forRelationshipNamed: "author") }),
        ("setValue", { book.setValue("Emma", forKey: "title") }), ("delete", { context.delete(book) }), ("reset", { context.reset() }),
        ("object(with:)", { _ = context.object(with: book.objectID) }), ("init", { _ = Comic(context: context) }),
      ]
      for (name, use) in uses {
        use()
        let error = try XCTUnwrap(context.performAndWait { context.pendingError }, name)
        XCTAssertTrue(error.localizedDescription.contains(name), error.localizedDescription)
        XCTAssertTrue(error.localizedDescription.contains("private queue"), error.localizedDescription)
        XCTAssertThrowsError(try context.performAndWait { try context.save() }, name)
        XCTAssertNil(context.performAndWait { context.pendingError }, name)
      }
      XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0.localizedDescription.contains("save()"), "\($0)") }
      XCTAssertThrowsError(try context.fetch(NSFetchRequest<Book>(entityName: "Book")))
    }
  }

  func testConcurrencyDebuggingChecksPropertyAccess() throws {
    ConcurrencyDebug.isOn = true
    let (entity, level) = (NSEntityDescription(), NSAttributeDescription())
    (entity.name, entity.managedObjectClassName) = ("Gauge", "Gauge")
    (level.name, level.attributeType) = ("level", .integer64AttributeType)
    entity.properties = [level]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let gauge = context.performAndWait {
      let gauge = Gauge(context: context)
      gauge.level = 2
      return gauge
    }
    XCTAssertNil(context.performAndWait { context.pendingError })
    for use in [{ _ = gauge.level }, { gauge.level = 3 }] {
      use()
      XCTAssertTrue("\(String(describing: context.performAndWait { context.pendingError }))".contains("a property"))
      XCTAssertThrowsError(try context.performAndWait { try context.fetch(NSFetchRequest<Gauge>(entityName: "Gauge")) })
      XCTAssertNil(context.performAndWait { context.pendingError })
    }
  }

  func testUseOnTheQueueIsNotReported() throws {
    ConcurrencyDebug.isOn = true
    try LibraryStack.with { stack in
      let book = stack.book("Emma", pages: 2)
      try stack.context.save()
      let id = book.objectID
      let (context, child) = (
        stack.container.newBackgroundContext(), NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      )
      child.parent = context
      try child.performAndWait {
        let book = try XCTUnwrap(child.existingObject(with: id) as? Book)
        book.pages += 1
        try child.save()
        try context.performAndWait { try context.save() }
      }
      XCTAssertNil(context.performAndWait { context.pendingError })
      stack.context.refreshAllObjects()
      XCTAssertEqual(book.pages, 3)
      XCTAssertNil(stack.context.pendingError)
    }
  }

  func testInvalidIDsReturnAnEmptyObjectOfTheirClass() throws {
    try LibraryStack.with { stack in
      let id = stack.book("Emma").objectID
      stack.context.reset()
      let book = try XCTUnwrap(stack.context.object(with: id) as? Book)
      XCTAssertNil(book.title)
      XCTAssertThrowsError(try stack.context.existingObject(with: id))
      let other = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      XCTAssertNil(other.object(with: id).value(forKey: "title"))
    }
  }

  func testUseOffTheQueueIsNotCheckedByDefault() throws {
    try LibraryStack.with { stack in
      let context = stack.container.newBackgroundContext()
      Book(context: context).title = "Emma"
      try context.save()
      XCTAssertEqual(try context.count(for: NSFetchRequest<Book>(entityName: "Book")), 1)
    }
  }
}
