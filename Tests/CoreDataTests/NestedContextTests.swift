import CoreData
import Foundation
import XCTest

/// Nested contexts as in Core Data, also across queues.
final class NestedContextTests: XCTestCase {
  func testAChildSavesIntoItsParentAndTheParentIntoTheStore() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let objectID = book.objectID
      let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      child.parent = stack.context
      XCTAssertTrue(child.parent === stack.context)
      XCTAssertTrue(child.persistentStoreCoordinator === stack.container.persistentStoreCoordinator)
      try child.performAndWait {
        let same = try XCTUnwrap(child.existingObject(with: objectID) as? Book)
        XCTAssertFalse(same === book)
        same.title = "Clueless"
        let new = Book(context: child)
        new.title = "Persuasion"
        XCTAssertEqual(book.title, "Emma")
        try child.save()
        XCTAssertFalse(child.hasChanges)
      }
      XCTAssertEqual(book.title, "Clueless")
      XCTAssertTrue(stack.context.hasChanges)
      XCTAssertEqual(stack.context.insertedObjects.count, 1)
      XCTAssertEqual(try stored(stack), 1)
      try stack.context.save()
      XCTAssertEqual(try stored(stack), 2)
    }
  }

  private func stored(_ stack: LibraryStack) throws -> Int {
    let other = stack.container.newBackgroundContext()
    return try other.performAndWait { try other.count(for: NSFetchRequest<Book>(entityName: "Book")) }
  }

  func testUnsavedChildrenLeaveTheirParentUnchanged() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let draft = NSManagedObjectContext(.mainQueue)
      draft.parent = stack.context
      let copy = try XCTUnwrap(draft.object(with: book.objectID) as? Book)
      copy.title = "Clueless"
      draft.rollback()
      XCTAssertEqual(copy.title, "Emma")
      copy.title = "Again"
      draft.reset()
      XCTAssertFalse(stack.context.hasChanges)
    }
  }

  /// The stack of older guides: a context that saves to the store, a main-queue child of it, and a child of that for imports.
  func testBackgroundWriterSavesImportsOfWorkerContexts() async throws {
    let stack = try LibraryStack()
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let writer = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    writer.persistentStoreCoordinator = stack.container.persistentStoreCoordinator
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    main.parent = writer
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
          context.parent = main
          await context.perform {
            for number in 0..<25 { Book(context: context).title = "\(worker) \(number)" }
            do { try context.save() } catch { XCTFail("\(error)") }
          }
        }
      }
    }
    let shown = try await main.perform {
      let count = try main.count(for: NSFetchRequest<Book>(entityName: "Book"))
      try main.save()
      return count
    }
    XCTAssertEqual(shown, 100)
    try await writer.perform {
      XCTAssertEqual(writer.insertedObjects.count, 100)
      try writer.save()
    }
    XCTAssertEqual(try stored(stack), 100)
  }

  func testNestedPerformBlocksOfRelatedContextsRunImmediately() throws {
    try LibraryStack.with { stack in
      let parent = stack.container.newBackgroundContext()
      let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      child.parent = parent
      let title = try parent.performAndWait {
        Book(context: parent).title = "Emma"
        return try child.performAndWait { try child.fetch(NSFetchRequest<Book>(entityName: "Book")).first?.title }
      }
      XCTAssertEqual(title, "Emma")
    }
  }

  func testNonthrowingBlocksNeedNoTry() async throws {
    let stack = try LibraryStack()
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let context = stack.container.newBackgroundContext()
    let count = await context.perform { context.registeredObjects.count }
    XCTAssertEqual(count, 0)
    let later = await context.perform(schedule: .enqueued) { context.hasChanges }
    XCTAssertFalse(later)
  }

  func testContextSettingsCanBeReadAndSet() throws {
    try LibraryStack.with { stack in
      let context = stack.context
      (context.name, context.transactionAuthor) = ("view", "app")
      XCTAssertEqual(context.name, "view")
      XCTAssertEqual(context.transactionAuthor, "app")
      XCTAssertTrue(context.shouldDeleteInaccessibleFaults)
      XCTAssertFalse(context.automaticallyMergesChangesFromParent)
      XCTAssertTrue(context.propagatesDeletesAtEndOfEvent)
      context.stalenessInterval = 0
      XCTAssertEqual(context.stalenessInterval, 0)
      context.userInfo["a"] = 1
      XCTAssertEqual(context.userInfo["a"] as? Int, 1)
      let book = stack.book("Emma")
      let store = try XCTUnwrap(stack.container.persistentStoreCoordinator.persistentStores.first)
      context.assign(book, to: store)
      try context.obtainPermanentIDs(for: [book])
      XCTAssertFalse(book.objectID.isTemporaryID)
      try context.save()
      XCTAssertEqual(book.objectID.persistentStore, store)
      XCTAssertEqual(book.objectID.entity.name, "Book")
      context.assign(book, to: store)
      XCTAssertThrowsError(try context.save())
    }
  }

  func testContextsCanHandleInaccessibleFaults() throws {
    final class Forgiving: NSManagedObjectContext, @unchecked Sendable {
      var asked: [String] = []
      override func shouldHandleInaccessibleFault(
        _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
      ) -> Bool {
        asked.append(property?.name ?? "-")
        return true
      }
    }
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let forgiving = Forgiving(concurrencyType: .mainQueueConcurrencyType)
      forgiving.persistentStoreCoordinator = stack.container.persistentStoreCoordinator
      let fault = forgiving.object(with: book.objectID) as? Book
      stack.context.delete(book)
      try stack.context.save()
      XCTAssertNil(fault?.title)
      XCTAssertEqual(forgiving.asked, ["title"])
      XCTAssertFalse(forgiving.hasChanges)
    }
  }
}
