import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The effect of undo on requests to stores, objects, observers, and the history.
final class UndoTests: XCTestCase {
  private func library(_ context: ManagedObjectContext) throws -> (author: Author, books: [Book]) {
    let author = Author(context: context)
    author.name = "Ada"
    let books = (0..<20).map { number in
      let book = Book(context: context)
      book.title = "book \(number)"
      book.author = author
      return book
    }
    try context.save()
    return (author, books)
  }

  func testUndoOfLoadedObjectsSendsNoStoreRequest() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      _ = try self.library(stack.makeContext())
      let context = stack.makeContext()
      context.undoManager = ContextUndoManager()
      let author = try XCTUnwrap(context.all(Author.self).first)
      let books = try context.all(Book.self).sorted { $0.title < $1.title }
      XCTAssertEqual(books[0].title, "book 0")
      let new = Book(context: context)
      stack.statements?.reset()
      new.author = author
      books[0].author = nil
      books[1].title = "changed"
      try context.undo()
      try context.redo()
      try context.undo()
      XCTAssertEqual(stack.statements?.count, 0, "the members have not been read, and undoing does not read them")
      XCTAssertEqual(author.books.count, 20)
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testUndoReadsAnUnreferencedRowOnce() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      _ = try self.library(stack.makeContext())
      let context = stack.makeContext()
      let manager = ContextUndoManager()
      context.undoManager = manager
      for book in try context.all(Book.self) { book.title += "!" }
      try context.save()
      context.refreshAllObjects()
      stack.forgetRows()
      stack.statements?.reset()
      try context.undo()
      XCTAssertEqual(stack.statements?.count, 1)
      XCTAssertFalse(try context.all(Book.self).contains { $0.title.hasSuffix("!") })
    }
  }

  func testSaveReadsDeletedObjectsWithOneStatementPerKind() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let (author, books) = try self.library(stack.makeContext())
      let ids = books.map(\.objectID)
      func statements(hasManager: Bool) throws -> Int {
        let context = stack.makeShortLivedContext()
        if hasManager { context.undoManager = ContextUndoManager() }
        for id in ids { context.delete(context.object(with: id)) }
        context.processPendingChanges()
        stack.statements?.reset()
        try context.save()
        let count = stack.statements?.count ?? 0
        guard hasManager else { return count }
        try context.undo()
        try context.save()
        XCTAssertEqual(Set(try context.all(Book.self).map(\.objectID)), Set(ids))
        XCTAssertEqual(try context.all(Author.self).first?.books.count, 20)
        return count
      }
      let with = try statements(hasManager: true)
      XCTAssertLessThanOrEqual(with, try statements(hasManager: false) + 4, "a few more for twenty books")
      XCTAssertNotNil(author.objectID)
    }
  }

  func testObjectsAreNotifiedOfUndo() async throws {
    try await onEachStore(model: Nursery.model, classes: Nursery.classes) { stack in
      let context = stack.makeContext()
      let (plant, deletedPlant) = (try context.recorder("Plant", ["name": "rose"]), try context.recorder("Plant", ["name": "weed"]))
      try context.save()
      context.undoManager = ContextUndoManager()
      try plant.setValue("tulip", forKey: "name")
      context.delete(deletedPlant)
      let new = try context.recorder("Plant", ["name": "new"])
      context.processPendingChanges()
      for object in [plant, deletedPlant, new] { object.log = [] }
      func received(_ events: SnapshotEvents...) -> [String] { events.map { "awakeFromSnapshot \($0.rawValue)" } }
      try context.undo()
      XCTAssertEqual(plant.log, received(.undoUpdate))
      XCTAssertEqual(deletedPlant.log, received(.undoDeletion))
      XCTAssertEqual(new.log, received([.undoInsertion, .undoUpdate]))
      for object in [plant, deletedPlant, new] { object.log = [] }
      try context.redo()
      XCTAssertEqual(plant.log, received(.undoUpdate))
      XCTAssertEqual(deletedPlant.log, received(.undoDeletion))
      XCTAssertEqual(new.log, received([.undoInsertion, .undoUpdate]))
    }
  }

  func testInternalObserversReceiveOneUndoEvent() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (author, books) = try self.library(context)
      context.undoManager = ContextUndoManager()
      books[0].title = "changed"
      books[1].author = nil
      context.delete(books[2])
      let new = Book(context: context)
      context.processPendingChanges()
      var events: [ContextEvent] = []
      let number = context.addEventObserver { events.append($0) }
      defer { context.removeEventObserver(number) }
      try context.undo()
      XCTAssertEqual(events.count, 1)
      let event = try XCTUnwrap(events.first)
      XCTAssertEqual(event.inserted, [books[2]])
      XCTAssertEqual(event.deleted, [new])
      let changed = Dictionary(event.updated.map { ($0.object, $0) }, uniquingKeysWith: { first, _ in first })
      let slots = books[0].compiledEntity.slots
      XCTAssertEqual(changed[books[0]]?.slots?.slots(below: slots.count).map { slots[$0].name }, ["title"])
      XCTAssertEqual(changed[books[1]]?.slots?.slots(below: slots.count).map { slots[$0].name }, ["author"])
      XCTAssertNotNil(changed[author])
    }
  }

  func testValuesSetInAwakeFromFetchAreNotRecorded() async throws {
    try await onEachStore(model: Nursery.model, classes: Nursery.classes) { stack in
      let context = stack.makeContext()
      try context.recorder("Plant", ["name": "defaced", "count": 1])
      try context.save()
      let other = stack.makeContext()
      other.undoManager = ContextUndoManager()
      let plant = try other.named("defaced", "Plant")
      XCTAssertEqual(plant["count"] as? Int64, 99)
      XCTAssertEqual(other.undoManager?.canUndo, false)
    }
  }

  func testUndoActionCanRollBackTheContext() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      let manager = ContextUndoManager()
      context.undoManager = manager
      books[0].title = "changed"
      manager.registerUndo(withTarget: context) { $0.rollback() }
      books[1].title = "changed too"
      try context.undo()
      XCTAssertEqual(books.prefix(2).map(\.title), ["book 0", "book 1"])
      XCTAssertFalse(context.hasChanges || manager.canUndo || manager.canRedo || manager.isUndoing)
      books[0].title = "again"
      try context.undo()
      XCTAssertEqual(books[0].title, "book 0")
    }
  }

  func testSaveInAnUndoActionSucceeds() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (_, books) = try self.library(context)
      let manager = ContextUndoManager()
      context.undoManager = manager
      books[0].title = "changed"
      var saved = 0
      manager.registerUndo(withTarget: context) { context in
        do { try context.save() } catch { XCTFail("\(error)") }
        saved += 1
      }
      books[1].title = "changed too"
      try context.undo()
      XCTAssertEqual(saved, 1)
      XCTAssertEqual(books.prefix(2).map(\.title), ["book 0", "book 1"])
      try context.save()
      XCTAssertEqual(try stack.makeContext().all(Book.self).filter { $0.title.hasPrefix("changed") }.count, 0)
    }
  }

  func testUndoManagerOutlivesItsContext() async throws {
    try await onEachStore { stack in
      let manager = ContextUndoManager()
      do {
        let context = stack.makeShortLivedContext()
        context.undoManager = manager
        let (_, books) = try self.library(context)
        books[0].title = "changed"
      }
      try manager.undo()
      try manager.redo()
      let next = stack.makeContext()
      next.undoManager = manager
      XCTAssertTrue(next.undoManager === manager)
      let book = Book(context: next)
      book.title = "new"
      try next.undo()
      XCTAssertNil(book.managedObjectContext)
      XCTAssertNil(next.pendingError)
    }
  }
}
