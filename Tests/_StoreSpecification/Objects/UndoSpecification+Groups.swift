// Groups, names, the application's own actions, limits, and misuse.
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

extension UndoSpecification {
  func testGroupsNestAndHaveNames() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    XCTAssertEqual(manager.groupingLevel, 0)
    manager.beginUndoGrouping()
    manager.setActionName("Outer")
    try book.setValue("one", forKey: "title")
    manager.beginUndoGrouping()
    XCTAssertEqual(manager.groupingLevel, 2)
    try book.setValue("two", forKey: "title")
    try book.setValue(Int64(2), forKey: "pages")
    try manager.endUndoGrouping()
    try book.setValue("three", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(manager.groupingLevel, 1, "an event ends no group that was begun")
    try manager.endUndoGrouping()
    manager.beginUndoGrouping()
    try manager.endUndoGrouping()
    XCTAssertEqual(manager.undoActionName, "Outer", "a group without changes is not recorded")
    XCTAssertEqual(manager.redoActionName, "")
    try context.perform {
      try book.setValue("four", forKey: "title")
      manager.setActionName("Last")
    }
    XCTAssertEqual(manager.undoActionName, "Last")
    try context.undo()
    XCTAssertEqual(book.text("title"), "three")
    XCTAssertEqual(manager.redoActionName, "Last")
    try context.undo()
    XCTAssertEqual(book.text("title"), "A")
    XCTAssertNil(book.integer("pages"))
    try context.redo()
    XCTAssertEqual(book.text("title"), "three")
    XCTAssertEqual(book.integer("pages"), 2)
    XCTAssertEqual(manager.undoActionName, "Outer")
  }

  func testUndoingEndsTheOnlyOpenGroup() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    manager.beginUndoGrouping()
    try book.setValue("one", forKey: "title")
    manager.setActionName("Rename")
    try context.undo()
    XCTAssertEqual(manager.groupingLevel, 0)
    XCTAssertEqual(book.text("title"), "A")
    XCTAssertEqual(manager.redoActionName, "Rename")
    assertStoreError(.invalidRequest) { try manager.endUndoGrouping() }
    try context.redo()
    XCTAssertEqual(book.text("title"), "one")
    // In an event with earlier changes, the group is not the only one.
    try book.setValue("two", forKey: "title")
    manager.beginUndoGrouping()
    assertStoreError(.invalidRequest) { try context.undo() }
    try manager.endUndoGrouping()
    try context.undo()
    XCTAssertEqual(book.text("title"), "one")
    XCTAssertNil(context.pendingError)
  }

  func testActionNameIsThatOfTheLastClosedGroup() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    func change(_ title: String) throws { try context.perform { try book.setValue(title, forKey: "title") } }
    try change("one")
    manager.setActionName("First")
    XCTAssertEqual(manager.undoActionName, "First")
    try change("two")
    XCTAssertEqual(manager.undoActionName, "First", "the name was set in the event of the second change")
    context.processPendingChanges()
    try change("three")
    context.processPendingChanges()
    manager.setActionName("Third")
    context.processPendingChanges()
    XCTAssertEqual(manager.undoActionName, "Third")
    manager.setActionName("Nothing")
    context.processPendingChanges()
    XCTAssertEqual(manager.undoActionName, "Third", "a group that has a name keeps it")
    try context.undo()
    XCTAssertEqual(manager.redoActionName, "Third")
    manager.setActionName("Other")
    XCTAssertEqual(manager.redoActionName, "Third")
    context.processPendingChanges()
    XCTAssertEqual(manager.undoActionName, "First", "something was undone since")
    try context.undo()
    XCTAssertEqual(manager.undoActionName, "")
    manager.removeAllActions()
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    try change("four")
    try manager.endUndoGrouping()
    manager.setActionName("Fourth")
    manager.beginUndoGrouping()
    manager.setActionName("Nothing")
    try manager.endUndoGrouping()
    XCTAssertEqual(manager.undoActionName, "Fourth", "a group without changes has no name to give")
    XCTAssertNil(context.pendingError)
  }

  func testDeleteRulesBelongToTheGroupOfTheDeletion() throws {
    let (_, context, manager) = try makeContext()
    let chapter = try find("Chapter", "title", "A1", in: context)
    manager.beginUndoGrouping()
    context.delete(try find("Book", "title", "A", in: context))
    try manager.endUndoGrouping()
    XCTAssertNil(chapter.object("book"))
    try context.undo()
    XCTAssertEqual(chapter.object("book")?.text("title"), "A")
    XCTAssertFalse(manager.canUndo)
  }

  func testANestedGroupIsUndoneAlone() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    manager.beginUndoGrouping()
    try book.setValue("one", forKey: "title")
    assertStoreError(.invalidRequest) { try manager.undoNestedGroup() }
    manager.beginUndoGrouping()
    try book.setValue("two", forKey: "title")
    let tag = try context.insert("Tag", ["name": "blue"])
    try manager.endUndoGrouping()
    try manager.undoNestedGroup()
    XCTAssertEqual(book.text("title"), "one")
    XCTAssertNil(tag.managedObjectContext)
    assertStoreError(.invalidRequest) { try manager.undoNestedGroup() }
    try manager.endUndoGrouping()
    try manager.undoNestedGroup()
    XCTAssertEqual(book.text("title"), "A")
    XCTAssertTrue(manager.canRedo && !manager.canUndo)
  }

  func testApplicationActionsAreUndoneInOrderWithChanges() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    let selection = Selection(manager)
    try context.perform {
      selection.set(1)
      try book.setValue("one", forKey: "title")
      selection.set(2)
    }
    try context.undo()
    XCTAssertEqual(selection.value, 0)
    XCTAssertEqual(book.text("title"), "A")
    try context.redo()
    XCTAssertEqual(selection.value, 2)
    XCTAssertEqual(book.text("title"), "one")
    try context.undo()
    XCTAssertEqual(selection.value, 0)
    try context.redo()
    manager.removeAllActions(withTarget: selection)
    try context.undo()
    XCTAssertEqual(selection.value, 2)
    XCTAssertEqual(book.text("title"), "A")
    do {
      let short = Selection(manager)
      short.set(5)
    }
    // Its target was released, so the action is not called.
    try context.undo()
    // A manager without a context supports only such actions.
    let alone = ContextUndoManager()
    let other = Selection(alone)
    other.set(7)
    try alone.undo()
    XCTAssertEqual(other.value, 0)
    try alone.redo()
    XCTAssertEqual(other.value, 7)
  }

  /// An undoable value of the application.
  private final class Selection {
    private(set) var value = 0
    private let manager: ContextUndoManager
    init(_ manager: ContextUndoManager) { self.manager = manager }

    func set(_ new: Int) {
      let old = value
      manager.registerUndo(withTarget: self) { $0.set(old) }
      value = new
    }
  }

  func testMisuseThrows() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    assertStoreError(.invalidRequest) { try manager.endUndoGrouping() }
    assertStoreError(.invalidRequest) { try manager.enableUndoRegistration() }
    try book.setValue("event", forKey: "title")
    assertStoreError(.invalidRequest) { try manager.endUndoGrouping() }
    context.processPendingChanges()
    manager.beginUndoGrouping()
    assertStoreError(.invalidRequest) { try context.redo() }
    manager.beginUndoGrouping()
    assertStoreError(.invalidRequest) { try context.undo() }
    assertStoreError(.invalidRequest) { try context.redo() }
    try manager.endUndoGrouping()
    try manager.endUndoGrouping()
    var refused = 0
    manager.registerUndo(withTarget: manager) { manager in
      do { try manager.undo() } catch { refused += 1 }
    }
    try context.undo()
    XCTAssertEqual(refused, 1)
    XCTAssertEqual(book.text("title"), "event")
    manager.groupsByEvent = false
    try book.setValue("outside", forKey: "title")
    XCTAssertEqual((context.pendingError as? StoreError)?.code, .invalidRequest)
    context.rollback()
    manager.beginUndoGrouping()
    try book.setValue("inside", forKey: "title")
    try manager.endUndoGrouping()
    XCTAssertNil(context.pendingError)
    try context.undo()
    XCTAssertEqual(book.text("title"), "A")
  }

  func testOldGroupsAreDroppedAndALargeGroupIsNotKept() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    manager.levelsOfUndo = 2
    for number in 1...4 { try context.perform { try book.setValue(Int64(number), forKey: "pages") } }
    try context.undo()
    try context.undo()
    XCTAssertFalse(manager.canUndo)
    XCTAssertEqual(book.integer("pages"), 2)
    manager.levelsOfUndo = 0
    manager.removeAllActions()
    XCTAssertEqual(manager.byteCount, 0)
    manager.undoByteLimit = 1_470
    for number in 1...4 { try context.perform { try book.setValue(String(repeating: "\(number)", count: 400), forKey: "title") } }
    XCTAssertLessThanOrEqual(manager.byteCount, 1_470)
    XCTAssertNil(manager.lastDroppedGroup)
    var count = 0
    while manager.canUndo {
      try context.undo()
      count += 1
    }
    XCTAssertEqual(count, 3, "the first group held the short title")
    XCTAssertEqual(book.text("title"), String(repeating: "1", count: 400))
    try context.redo()
    let kept = try context.all("Book")
    try context.perform {
      for book in kept { for key in ["pages", "year"] { try book.setValue(Int64(9), forKey: key) } }
      manager.setActionName("Large")
      for number in 0..<30 { try context.insert("Tag", ["name": "tag \(number)"]) }
    }
    XCTAssertEqual(manager.lastDroppedGroup?.actionName, "Large")
    XCTAssertEqual(manager.lastDroppedGroup?.reason, .largerThanLimit)
    XCTAssertFalse(manager.canUndo || manager.canRedo, "undo stops at unknown changes")
    XCTAssertEqual(manager.byteCount, 0)
    XCTAssertTrue(manager.lastDroppedGroup?.description.contains("Large") ?? false)
    try context.perform { try book.setValue(Int64(10), forKey: "pages") }
    try context.undo()
    XCTAssertEqual(book.integer("pages"), 9)
  }

  func testAnUndoManagerBelongsToOneContext() throws {
    let (open, context, manager) = try makeContext()
    let other = open.newContext()
    other.undoManager = manager
    XCTAssertNil(other.undoManager)
    XCTAssertEqual((other.pendingError as? StoreError)?.code, .invalidRequest)
    other.rollback()
    try find("Book", "title", "A", in: context).setValue("Z", forKey: "title")
    context.undoManager = nil
    XCTAssertFalse(manager.canUndo, "what it knew was of that context")
    other.undoManager = manager
    XCTAssertTrue(other.undoManager === manager)
    let book = try find("Book", "title", "B", in: other)
    try book.setValue("Y", forKey: "title")
    try other.undo()
    XCTAssertEqual(book.text("title"), "B")
  }
}
