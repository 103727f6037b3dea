// Undo managers take back what was changed, in contexts and without them.
import CoreData
import Foundation
import XCTest

final class UndoManagerTests: XCTestCase {
  func testChangesOfAContextAreTakenBackAndMadeAgain() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      XCTAssertNil(stack.context.undoManager)
      let manager = UndoManager()
      stack.context.undoManager = manager
      XCTAssertTrue(stack.context.undoManager === manager)
      book.title = "Clueless"
      manager.setActionName("Rename")
      stack.context.processPendingChanges()
      XCTAssertEqual(manager.undoActionName, "Rename")
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      XCTAssertTrue(manager.canUndo)
      stack.context.undo()
      XCTAssertEqual(book.title, "Emma")
      XCTAssertTrue(manager.canRedo)
      stack.context.redo()
      XCTAssertEqual(book.title, "Clueless")
      stack.context.delete(book)
      stack.context.processPendingChanges()
      manager.undo()
      XCTAssertFalse(book.isDeleted)
      stack.context.undoManager = nil
      XCTAssertNil(stack.context.undoManager)
      stack.context.undo()
      XCTAssertEqual(book.title, "Clueless")
    }
  }

  func testGroupsAreTakenBackTogether() throws {
    try LibraryStack.with { stack in
      let manager = UndoManager()
      manager.groupsByEvent = false
      stack.context.undoManager = manager
      manager.beginUndoGrouping()
      let book = stack.book("Emma", pages: 1)
      stack.context.processPendingChanges()
      book.pages = 2
      manager.endUndoGrouping()
      manager.beginUndoGrouping()
      book.pages = 3
      manager.endUndoGrouping()
      XCTAssertEqual(manager.groupingLevel, 0)
      manager.undo()
      XCTAssertEqual(book.pages, 2)
      manager.disableUndoRegistration()
      XCTAssertFalse(manager.isUndoRegistrationEnabled)
      book.title = "unseen"
      manager.enableUndoRegistration()
      manager.undo()
      XCTAssertTrue(stack.context.insertedObjects.isEmpty)
      manager.removeAllActions()
      XCTAssertFalse(manager.canRedo)
    }
  }

  func testTheEndOfAGroupThatWasNotBegunIsThrownByTheNextSave() throws {
    try LibraryStack.with { stack in
      let manager = UndoManager()
      stack.context.undoManager = manager
      manager.endUndoGrouping()
      XCTAssertNotNil(stack.context.pendingError)
      XCTAssertThrowsError(try stack.context.save())
      let alone = UndoManager()
      alone.endUndoGrouping()
      XCTAssertNotNil(alone.lastError)
    }
  }

  func testAManagerWithoutAContextUndoesWhatWasRegistered() {
    final class Counter {
      let manager = UndoManager()
      var number = 0 {
        didSet {
          let old = oldValue
          manager.registerUndo(withTarget: self) { $0.number = old }
        }
      }
    }
    let counter = Counter()
    counter.manager.groupsByEvent = false
    for number in 1...3 {
      counter.manager.beginUndoGrouping()
      counter.number = number
      counter.manager.endUndoGrouping()
    }
    counter.manager.undo()
    XCTAssertEqual(counter.number, 2)
    counter.manager.undo()
    XCTAssertEqual(counter.number, 1)
    counter.manager.redo()
    XCTAssertEqual(counter.number, 2)
    XCTAssertTrue(counter.manager.canUndo)
    counter.manager.removeAllActions(withTarget: counter)
    XCTAssertFalse(counter.manager.canUndo)
  }

  func testEachTurnOfTheMainThreadIsAGroup() {
    let manager = UndoManager()
    var texts: [String] = []
    func turn(_ text: String) {
      manager.registerUndo(withTarget: self) { _ in texts.append(text) }
      let done = expectation(description: text)
      DispatchQueue.main.async { done.fulfill() }
      wait(for: [done], timeout: 60)
    }
    turn("first")
    turn("second")
    manager.undo()
    XCTAssertEqual(texts, ["second"])
    manager.undo()
    XCTAssertEqual(texts, ["second", "first"])
  }

  func testUndoingIsTold() {
    let manager = UndoManager()
    let told = [Notification.Name.NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange].map {
      XCTNSNotificationExpectation(name: $0, object: manager)
    }
    manager.registerUndo(withTarget: self) { _ in XCTAssertTrue(manager.isUndoing) }
    manager.undo()
    wait(for: told, timeout: 60, enforceOrder: true)
  }

  func testAManagerOfOneContextIsRefusedByAnother() throws {
    try LibraryStack.with { stack in
      let manager = UndoManager()
      stack.context.undoManager = manager
      let other = NSManagedObjectContext(.mainQueue)
      other.parent = stack.context
      other.undoManager = manager
      XCTAssertNil(other.undoManager)
      XCTAssertNotNil(other.pendingError)
    }
  }
}
