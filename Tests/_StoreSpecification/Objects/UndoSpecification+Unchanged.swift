// An object whose changes were all undone is unchanged.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

extension UndoSpecification {
  private func undoAll(_ context: ManagedObjectContext, _ message: String, line: UInt = #line) throws {
    while context.undoManager?.canUndo ?? false { try context.undo() }
    XCTAssertFalse(context.hasChanges, message, line: line)
    XCTAssertEqual(context.updatedObjects, [], message, line: line)
  }

  /// Texts that Unicode treats as equal are different values, also when another change of their object is undone.
  func testUndoKeepsATextInAnotherForm() throws {
    let open = try makeStore()
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "\u{E9}"])
    try context.save()
    context.undoManager = ContextUndoManager()
    try book.setValue("e\u{301}", forKey: "title")
    context.processPendingChanges()
    try book.setValue(7, forKey: "pages")
    context.processPendingChanges()
    try context.undo()
    XCTAssertTrue(context.hasChanges)
    try context.save()
    let stored = try open.value(book.objectID, "title")
    guard case .text(let text)? = stored else { return XCTFail("\(String(describing: stored))") }
    XCTAssertEqual(Array(text.utf8), Array("e\u{301}".utf8))
  }

  func testUndoneChangesOfOrderedMembersLeaveNoChanges() throws {
    let changes: [(String, (MutableMembers, ManagedObject) -> Void)] = [
      ("insert first", { $0.insert($1, at: 0) }), ("add", { $0.add($1) }), ("remove", { $0.remove($1) }),
      ("insert last", { members, object in members.insert(object, at: members.count) }),
      ("replace first", { members, object in if !members.isEmpty { members.replace(at: 0, with: object) } }),
      (
        "remove and add",
        { members, object in
          members.remove(object)
          members.add(object)
        }
      ),
      ("remove all", { members, _ in members.removeAll() }),
    ]
    let open = try makeStore()
    for count in 0...3 {
      for chosen in 0...3 {
        for (name, change) in changes {
          for key in ["books", "shelves"] {
            for isRead in [true, false] {
              let message = "\(name) of member \(chosen) of \(count) \(key), read \(isRead)"
              let context = open.newContext()
              // Both ends of the relationship are ordered.
              let (one, many) = key == "books" ? ("Shelf", "Book") : ("Book", "Shelf")
              let owner = try context.insert(one)
              let others = try (0..<4).map { _ in try context.insert(many) }
              try owner.setValue(Array(others.prefix(count)), forKey: key)
              try context.save()
              context.refreshAllObjects()
              context.undoManager = ContextUndoManager()
              if isRead { XCTAssertEqual(owner.list(key).count, count) }
              change(try owner.mutableOrderedSetValue(forKey: key), others[chosen])
              context.processPendingChanges()
              try others[chosen].setValue("new", forKey: many == "Book" ? "title" : "name")
              context.processPendingChanges()
              let changed = owner.list(key)
              for _ in 0..<2 {
                try undoAll(context, message)
                XCTAssertEqual(owner.list(key), Array(others.prefix(count)), message)
                try undoAll(context, message)
                while context.undoManager?.canRedo ?? false { try context.redo() }
                XCTAssertEqual(owner.list(key), changed, message)
              }
            }
          }
        }
      }
    }
  }

  func testUndoneInPlaceChangeLeavesNoChanges() throws {
    final class Lines: Codable, Sendable {
      let lines = Mutex<[String]>([])
      init() {}
      init(from decoder: any Decoder) throws {
        let decoded = try [String](from: decoder)
        lines.withLock { $0 = decoded }
      }
      func encode(to encoder: any Encoder) throws { try lines.withLock { $0 }.encode(to: encoder) }
    }
    let model = try CompiledModel(ManagedObjectModel { Entity("Page") { Attribute("lines", transforming: Lines.self) } })
    let context = try makeStore(model).newContext()
    let page = try context.insert("Page", ["lines": Lines()])
    try context.save()
    context.undoManager = ContextUndoManager()
    func lines() throws -> Lines { try XCTUnwrap(try page.value(forKey: "lines", as: Lines.self)) }
    for word in ["a", "b"] {
      try lines().lines.withLock { $0.append(word) }
      context.processPendingChanges()
    }
    XCTAssertTrue(context.hasChanges)
    for _ in 0..<2 {
      try undoAll(context, "")
      XCTAssertEqual(try lines().lines.withLock { $0 }, [])
      try undoAll(context, "")
      while context.undoManager?.canRedo ?? false { try context.redo() }
      XCTAssertEqual(try lines().lines.withLock { $0 }, ["a", "b"])
    }
  }

  func testUndoneTransientValueIsNotAChange() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Page") {
          Attribute("title", .string)
          Attribute("mood", .string).transient()
        }
      })
    let context = try makeStore(model).newContext()
    let page = try context.insert("Page", ["title": "t", "mood": "good"])
    try context.save()
    context.undoManager = ContextUndoManager()
    try page.setValue("bad", forKey: "mood")
    context.processPendingChanges()
    try page.setValue("u", forKey: "title")
    context.processPendingChanges()
    for _ in 0..<2 {
      try context.undo()
      XCTAssertTrue(context.hasChanges, "The transient value is another one still.")
      XCTAssertEqual(page.text("mood"), "bad")
      try undoAll(context, "")
      XCTAssertEqual(page.text("mood"), "good")
      while context.undoManager?.canRedo ?? false { try context.redo() }
      XCTAssertEqual(page.text("mood"), "bad")
      XCTAssertTrue(page.hasChanges)
    }
    try context.save()
    try context.undo()
    try context.undo()
    XCTAssertEqual(page.text("mood"), "good")
    XCTAssertTrue(context.hasChanges, "After a save the former value is a change.")
  }
}
