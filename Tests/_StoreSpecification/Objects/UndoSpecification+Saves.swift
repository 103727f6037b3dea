// Undo across saves, with changes by others, and in nested contexts.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

extension UndoSpecification {
  func testUndoContinuesAcrossSaves() throws {
    let (open, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    try book.setValue("one", forKey: "title")
    try context.save()
    try book.setValue("two", forKey: "title")
    try context.save()
    try context.undo()
    XCTAssertEqual(book.text("title"), "one")
    XCTAssertTrue(book.isUpdated, "that is a new change")
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["B", "C", "one"])
    try context.undo()
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"])
    XCTAssertFalse(manager.canUndo)
    try context.redo()
    try context.redo()
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["B", "C", "two"])
    // The object is released, so it is read again.
    context.refreshAllObjects()
    try context.undo()
    XCTAssertEqual(try titles(context), ["B", "C", "one"])
  }

  func testUndoRestoresASavedDeletionWithItsID() throws {
    let (open, context, _) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    let (id, author) = (book.objectID, try find("Author", "name", "Ursula", in: context))
    let shelf = try context.insert("Shelf", ["name": "top"])
    try shelf.mutableOrderedSetValue(forKey: "books").add(try find("Book", "title", "B", in: context))
    try shelf.mutableOrderedSetValue(forKey: "books").insert(book, at: 0)
    try shelf.mutableSetValue(forKey: "hidden").add(book)
    try context.save()
    context.undoManager?.removeAllActions()
    for round in 0..<2 {
      // Only the object is in memory, without its values.
      context.refreshAllObjects()
      context.delete(book)
      try context.save()
      XCTAssertNil(book.managedObjectContext)
      XCTAssertEqual(try titles(open.newContext()), ["B", "C"])
      let between = open.newContext()
      XCTAssertEqual(try between.all("Chapter").filter { $0.object("book") == nil }.count, 3)
      try context.undo()
      XCTAssertTrue(book.managedObjectContext === context)
      XCTAssertEqual(book.objectID, id)
      XCTAssertTrue(book.isInserted && !book.isFault)
      XCTAssertEqual(book.text("title"), "A")
      XCTAssertTrue(book.object("author") === author)
      XCTAssertEqual(author.members("books").count, 3)
      XCTAssertEqual(book.members("tags").map { $0.text("name") }, ["red"])
      XCTAssertEqual(chapters(book), ["A1", "A2", "A3"])
      try context.save()
      let fresh = open.newContext()
      let stored = try fresh.existingObject(with: id)
      XCTAssertEqual(stored.text("title"), "A")
      XCTAssertEqual(stored.integer("year"), 1)
      XCTAssertEqual(stored.object("author")?.text("name"), "Ursula")
      XCTAssertEqual(stored.members("tags").map { $0.text("name") }, ["red"])
      XCTAssertEqual(chapters(stored), ["A1", "A2", "A3"])
      let place = try find("Shelf", "name", "top", in: fresh)
      XCTAssertTrue(place.list("books").contains(stored), "\(round)")
      XCTAssertEqual(stored.list("shelves"), [place])
    }
    try context.redo()
  }

  func testOversizedSavedDeletionIsReported() throws {
    let (_, context, manager) = try makeContext()
    manager.undoByteLimit = 400
    try find("Book", "title", "A", in: context).setValue("one", forKey: "title")
    context.processPendingChanges()
    for title in ["B", "C"] { context.delete(try find("Book", "title", title, in: context)) }
    manager.setActionName("two")
    context.processPendingChanges()
    XCTAssertNil(manager.lastDroppedGroup)
    // Their former values are in the store as long as they exist.
    try context.save()
    XCTAssertEqual(manager.lastDroppedGroup?.actionName, "two")
    XCTAssertEqual(manager.lastDroppedGroup?.reason, .largerThanLimit)
    XCTAssertFalse(manager.canUndo, "undo stops at unknown changes")
    XCTAssertEqual(manager.byteCount, 0)
  }

  func testUndoRestoresANestedDeletionAfterTheSave() throws {
    let (open, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: open.newContext()).objectID
    for isHeld in [false, true] {
      // The parent has neither its values nor the object in memory.
      let held = isHeld ? try context.existingObject(with: book) : nil
      let child = ManagedObjectContext(parent: context)
      child.delete(try child.existingObject(with: book))
      try child.save()
      try context.save()
      XCTAssertEqual(try titles(open.newContext()), ["B", "C"])
      try context.undo()
      XCTAssertFalse(manager.canUndo, "a push is one group")
      try context.save()
      let fresh = open.newContext()
      let stored = try fresh.existingObject(with: book)
      XCTAssertEqual(stored.text("title"), "A")
      XCTAssertEqual(stored.object("author")?.text("name"), "Ursula")
      XCTAssertEqual(stored.members("tags").map { $0.text("name") }, ["red"])
      XCTAssertEqual(chapters(stored), ["A1", "A2", "A3"])
      XCTAssertEqual(held?.text("title") ?? "A", "A")
    }
  }

  func testUndoingASavedInsertionDeletesTheObject() throws {
    let (open, context, _) = try makeContext()
    let author = try find("Author", "name", "Ursula", in: context)
    let book = try context.insert("Book", ["title": "new", "author": author])
    try context.save()
    let id = book.objectID
    try context.undo()
    XCTAssertTrue(book.isDeleted)
    XCTAssertEqual(author.members("books").count, 3)
    XCTAssertEqual(try titles(context), ["A", "B", "C"])
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"])
    try context.redo()
    XCTAssertEqual(book.objectID, id)
    XCTAssertEqual(book.text("title"), "new")
    try context.save()
    let fresh = open.newContext()
    XCTAssertEqual(try fresh.existingObject(with: id).object("author")?.text("name"), "Ursula")
    try context.undo()
    try context.redo()
    XCTAssertTrue(book.isUsable)
    XCTAssertFalse(context.hasChanges)
  }

  func testUndoAfterASaveRestoresLinksToUnreadMembers() throws {
    let (open, context, _) = try makeContext()
    func names() throws -> [String] {
      let tag = try find("Tag", "name", "red", in: open.newContext())
      return tag.members("books").map { $0.text("title") ?? "-" }.sorted()
    }
    let tag = try find("Tag", "name", "red", in: context)
    try tag.mutableSetValue(forKey: "books").add(try find("Book", "title", "A", in: context))
    try tag.mutableSetValue(forKey: "books").add(try find("Book", "title", "C", in: context))
    try context.save()
    XCTAssertEqual(try names(), ["A", "B", "C"])
    context.refreshAllObjects()
    try context.undo()
    try context.save()
    XCTAssertEqual(try names(), ["A", "B"], "the one that was a member before stays")
    context.refreshAllObjects()
    try tag.mutableSetValue(forKey: "books").remove(try find("Book", "title", "B", in: context))
    try tag.mutableSetValue(forKey: "books").remove(try find("Book", "title", "C", in: context))
    try context.save()
    XCTAssertEqual(try names(), ["A"])
    try context.undo()
    try context.save()
    XCTAssertEqual(try names(), ["A", "B"], "the one that was none does not become one")
  }

  func testUndoRestoresLargeValuesAfterASave() throws {
    let open = try makeStore(UndoGraph.model)
    let context = open.newContext()
    let item = try context.insert("Item", ["number": Int64(1)])
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try item.setExternalData(ExternalData(bytes), forKey: "blob")
    try context.save()
    context.refreshAllObjects()
    let manager = ContextUndoManager()
    context.undoManager = manager
    try item.setExternalData(ExternalData(Data([1])), forKey: "blob")
    try context.save()
    context.delete(item)
    try context.save()
    try context.undo()
    XCTAssertEqual(try item.externalData(forKey: "blob")?.data(), Data([1]))
    try context.undo()
    XCTAssertEqual(try item.externalData(forKey: "blob")?.data(), bytes)
    try context.save()
    XCTAssertEqual(try open.newContext().all("Item").first?.externalData(forKey: "blob")?.data(), bytes)
    context.refreshAllObjects()
    context.delete(item)
    try context.save()
    XCTAssertGreaterThan(manager.byteCount, bytes.count)
    try context.undo()
    XCTAssertEqual(try item.externalData(forKey: "blob")?.data(), bytes)
    // One that exceeds the limit is not read for it.
    try context.save()
    context.refreshAllObjects()
    manager.undoByteLimit = 100_000
    try item.setExternalData(nil, forKey: "blob")
    try context.save()
    XCTAssertFalse(manager.canUndo)
    XCTAssertEqual(manager.lastDroppedGroup?.reason, .largerThanLimit)
  }

  func testUndoOverNewerChangesConflictsOnSave() throws {
    let (open, context, _) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    try book.setValue("one", forKey: "title")
    try context.save()
    let other = open.newContext()
    try find("Book", "title", "one", in: other).setValue("other's", forKey: "title")
    try other.save()
    try context.undo()
    XCTAssertEqual(book.text("title"), "A")
    assertStoreError(.mergeConflict) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"])
  }

  func testUndoDoesNotRestoreObjectsDeletedByOthers() throws {
    let (open, context, manager) = try makeContext()
    context.automaticallyMergesChangesFromParent = true
    let (a, b) = (try find("Book", "title", "A", in: context), try find("Book", "title", "B", in: context))
    try a.setValue("one", forKey: "title")
    try b.setValue("two", forKey: "title")
    let tag = try context.insert("Tag", ["name": "blue"])
    try tag.mutableSetValue(forKey: "books").add(a)
    try context.save()
    let other = open.newContext()
    other.delete(try find("Book", "title", "one", in: other))
    try other.save()
    try context.undo()
    XCTAssertEqual(b.text("title"), "B")
    XCTAssertEqual(try titles(context), ["B", "C"])
    XCTAssertNil(context.pendingError)
    try context.save()
    try context.redo()
    XCTAssertEqual(b.text("title"), "two")
    XCTAssertEqual(tag.members("books"), [])
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["C", "two"])
    XCTAssertTrue(manager.canUndo)
  }

  func testRollbackAndResetClearTheUndoStack() throws {
    let (_, context, manager) = try makeContext()
    for resets in [false, true] {
      let book = try find("Book", "title", "A", in: context)
      try context.perform { try book.setValue("one", forKey: "title") }
      try book.setValue("two", forKey: "title")
      if resets { context.reset() } else { context.rollback() }
      XCTAssertFalse(manager.canUndo || manager.canRedo)
      try context.undo()
      XCTAssertEqual(try titles(context), ["A", "B", "C"])
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testImportsAreNotRecorded() throws {
    let (_, context, manager) = try makeContext()
    try context.performTransaction {
      for number in 0..<10 { try context.insert("Tag", ["name": "tag \(number)"]) }
      try context.save()
    }
    XCTAssertFalse(manager.canUndo)
    XCTAssertTrue(manager.isUndoRegistrationEnabled)
    try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": 3]))
    XCTAssertFalse(manager.canUndo)
    manager.disableUndoRegistration()
    try find("Book", "title", "A", in: context).setValue("Z", forKey: "title")
    context.processPendingChanges()
    try manager.enableUndoRegistration()
    XCTAssertFalse(manager.canUndo)
  }

  // MARK: Nested contexts

  func testChildSaveIsOneUndoGroupOfItsParent() throws {
    let (open, parent, manager) = try makeContext()
    let there = try find("Book", "title", "A", in: parent)
    try there.setValue("before", forKey: "title")
    let child = ManagedObjectContext(parent: parent)
    child.automaticallyMergesChangesFromParent = true
    let author = try find("Author", "name", "Ursula", in: child)
    let here = try find("Book", "title", "before", in: child)
    try here.setValue("after", forKey: "title")
    let new = try child.insert("Book", ["title": "new", "author": author])
    child.delete(try find("Book", "title", "B", in: child))
    try child.save()
    XCTAssertEqual(try titles(parent), ["C", "after", "new"])
    try parent.undo()
    XCTAssertEqual(try titles(parent), ["B", "C", "before"])
    XCTAssertEqual(try find("Author", "name", "Ursula", in: parent).members("books").count, 3)
    child.processPendingChanges()
    XCTAssertEqual(here.text("title"), "before", "the child merges what was undone")
    XCTAssertEqual(try titles(child), ["B", "C", "before"])
    try parent.redo()
    XCTAssertEqual(try titles(parent), ["C", "after", "new"])
    XCTAssertEqual(try parent.existingObject(with: new.objectID).text("title"), "new")
    try parent.save()
    XCTAssertEqual(try titles(open.newContext()), ["C", "after", "new"])
    try parent.undo()
    try parent.undo()
    XCTAssertFalse(manager.canUndo)
    try parent.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"])
  }

  func testChildCanUndoAcrossItsOwnSave() throws {
    let (open, parent, _) = try makeContext()
    parent.undoManager = nil
    let child = ManagedObjectContext(parent: parent)
    child.undoManager = ContextUndoManager()
    let (here, deletedBook) = (try find("Book", "title", "A", in: child), try find("Book", "title", "B", in: child))
    let id = deletedBook.objectID
    try here.setValue("Z", forKey: "title")
    try child.insert("Tag", ["name": "blue"])
    child.delete(deletedBook)
    try child.save()
    XCTAssertEqual(try titles(parent), ["C", "Z"])
    for savesParent in [false, true] {
      if savesParent { try parent.save() }
      try child.undo()
      try child.save()
      XCTAssertEqual(try titles(parent), ["A", "B", "C"])
      XCTAssertEqual(try parent.existingObject(with: id).members("tags").count, 1)
      XCTAssertEqual(try parent.all("Tag").count, 1)
      try child.redo()
      try child.save()
      XCTAssertEqual(try titles(parent), ["C", "Z"])
      XCTAssertEqual(try parent.all("Tag").count, 2)
    }
    try parent.save()
    XCTAssertEqual(try titles(open.newContext()), ["C", "Z"])
  }
}
