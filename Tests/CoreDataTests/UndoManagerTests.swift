import CoreData
import Foundation
import Synchronization
import XCTest

/// Undo managers undo and redo changes, with and without contexts.
final class UndoManagerTests: XCTestCase {
  func testContextChangesAreUndoneAndRedone() throws {
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

  func testGroupsAreUndoneTogether() throws {
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

  func testUnbalancedGroupEndsAreThrownByTheNextSave() throws {
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

  func testManagersWithoutAContextUndoRegisteredActions() {
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

  func testEachMainRunLoopTurnIsAGroup() {
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

  func testUndoPostsNotifications() {
    let manager = UndoManager()
    let reported = [Notification.Name.NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange].map {
      XCTNSNotificationExpectation(name: $0, object: manager)
    }
    manager.registerUndo(withTarget: self) { _ in XCTAssertTrue(manager.isUndoing) }
    manager.undo()
    wait(for: reported, timeout: 60, enforceOrder: true)
  }

  // MARK: Names of actions

  func testAnActionNamedWithinAGroupNamesTheGroup() throws {
    for groupsByEvent in [true, false] {
      try LibraryStack.with { stack in
        let book = stack.book("Emma")
        try stack.context.save()
        let manager = UndoManager()
        manager.groupsByEvent = groupsByEvent
        stack.context.undoManager = manager
        manager.beginUndoGrouping()
        book.title = "Clueless"
        manager.setActionName("Rename")
        manager.endUndoGrouping()
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename", "\(groupsByEvent)")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo")
        manager.beginUndoGrouping()
        manager.setActionName("Count")
        book.pages = 5
        manager.endUndoGrouping()
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo Count", "\(groupsByEvent)")
        manager.undo()
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo Count")
        manager.undo()
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo Rename")
        manager.redo()
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo Count")
      }
    }
  }

  func testAnActionNamedWithinANestedGroupNamesTheOutermostOne() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let manager = UndoManager()
      stack.context.undoManager = manager
      manager.beginUndoGrouping()
      book.pages = 1
      manager.beginUndoGrouping()
      book.title = "Clueless"
      manager.setActionName("Rename")
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename", "while the groups are open")
      manager.endUndoGrouping()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      manager.endUndoGrouping()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      stack.context.processPendingChanges()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      manager.undo()
      XCTAssertEqual([book.title, "\(book.pages)"], ["Emma", "0"])
      XCTAssertEqual(manager.redoMenuItemTitle, "Redo Rename")
    }
  }

  func testAnActionNamedAfterItsGroupNamesThatGroup() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let manager = UndoManager()
      manager.groupsByEvent = false
      stack.context.undoManager = manager
      manager.beginUndoGrouping()
      book.title = "Clueless"
      manager.endUndoGrouping()
      manager.setActionName("Rename")
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      XCTAssertNil(stack.context.pendingError)
      manager.undo()
      XCTAssertEqual(manager.redoMenuItemTitle, "Redo Rename")
    }
  }

  func testEventsHaveTheActionNameOfTheirGroup() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let manager = UndoManager()
      stack.context.undoManager = manager
      book.title = "Clueless"
      stack.context.processPendingChanges()
      manager.setActionName("Rename")
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename", "the event has ended, and nothing was changed since")
      stack.context.processPendingChanges()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      book.pages = 3
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo", "of another group")
      manager.setActionName("Count")
      try stack.context.save()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Count")
      manager.setActionName("Read")
      book.isRead = true
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Read", "a name that is set before the change")
      manager.undo()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Count")
      manager.undo()
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
      XCTAssertEqual(manager.redoMenuItemTitle, "Redo Count")
    }
  }

  func testAManagerWithoutAContextNamesItsGroups() {
    let manager = UndoManager()
    manager.groupsByEvent = false
    var texts: [String] = []
    manager.beginUndoGrouping()
    manager.registerUndo(withTarget: self) { target in
      texts.append("first")
      manager.registerUndo(withTarget: target) { _ in texts.append("again") }
      manager.setActionName("Rename Back")
    }
    manager.setActionName("Rename")
    XCTAssertEqual(manager.undoMenuItemTitle, "Undo Rename")
    manager.endUndoGrouping()
    XCTAssertEqual(manager.undoActionName, "Rename")
    manager.undo()
    XCTAssertEqual(texts, ["first"])
    XCTAssertEqual(manager.redoMenuItemTitle, "Redo Rename Back")
    XCTAssertEqual(manager.undoMenuItemTitle, "Undo")
    manager.redo()
    XCTAssertEqual(texts, ["first", "again"])
  }

  func testAnEmptyGroupIsNotUndone() throws {
    try LibraryStack.with { stack in
      let manager = UndoManager()
      stack.context.undoManager = manager
      manager.beginUndoGrouping()
      manager.setActionName("Nothing")
      manager.endUndoGrouping()
      XCTAssertFalse(manager.canUndo)
      XCTAssertEqual(manager.undoMenuItemTitle, "Undo")
    }
  }

  func testUndoClosesTheOutermostGroup() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let manager = UndoManager()
      manager.groupsByEvent = false
      stack.context.undoManager = manager
      manager.beginUndoGrouping()
      book.title = "Clueless"
      manager.setActionName("Rename")
      manager.undo()
      XCTAssertEqual(book.title, "Emma")
      XCTAssertEqual(manager.groupingLevel, 0)
      XCTAssertEqual(manager.redoMenuItemTitle, "Redo Rename")
      XCTAssertNil(stack.context.pendingError)
    }
  }

  func testGroupNotificationsArePostedOnOpenAndClose() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let manager = UndoManager()
      stack.context.undoManager = manager
      let names: [Notification.Name] = [
        .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup, .NSUndoManagerDidCloseUndoGroup, .NSUndoManagerWillUndoChange,
        .NSUndoManagerDidUndoChange, .NSUndoManagerWillRedoChange, .NSUndoManagerDidRedoChange,
      ]
      let posted = Mutex<[String]>([])
      let observers = names.map { name in
        NotificationCenter.default.addObserver(forName: name, object: manager, queue: nil) { note in
          let name = note.name.rawValue.replacingOccurrences(of: "NSUndoManager", with: "")
          posted.withLock { $0.append(name.replacingOccurrences(of: "Notification", with: "")) }
        }
      }
      defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
      func take() -> [String] {
        posted.withLock { posted in
          defer { posted = [] }
          return posted
        }
      }
      manager.beginUndoGrouping()
      book.title = "Clueless"
      XCTAssertEqual(take(), ["DidOpenUndoGroup"])
      manager.endUndoGrouping()
      XCTAssertEqual(take(), ["WillCloseUndoGroup", "DidCloseUndoGroup"])
      manager.undo()
      XCTAssertEqual(take(), ["WillUndoChange", "DidUndoChange"])
      manager.redo()
      XCTAssertEqual(take(), ["WillRedoChange", "DidRedoChange"])
      XCTAssertEqual(book.title, "Clueless")
    }
  }

  func testContextsRejectUndoManagersOfOtherContexts() throws {
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
