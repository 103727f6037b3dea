// Nested contexts when their parents, siblings and other contexts change objects.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

extension NestingSpecification {
  // MARK: Conflicts

  func testChangingAnObjectDeletedByTheParentConflicts() throws {
    let (_, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Book", "title", "A", in: child)
    try here.setValue("mine", forKey: "title")
    parent.delete(try find("Book", "title", "A", in: parent))
    let error = assertStoreError(.mergeConflict) { try child.save() }
    XCTAssertEqual(error?.mergeConflicts.map(\.objectID), [here.objectID])
    XCTAssertTrue(child.hasChanges, "nothing is lost")
    XCTAssertEqual(here.text("title"), "mine")
    try parent.save()
    assertStoreError(.mergeConflict) { try child.save() }
    child.rollback()
    try child.save()
  }

  func testPolicyRestoresObjectsDeletedByTheParent() throws {
    for policy in [MergePolicy.overwrite, .mergeByPropertyObjectTrump] {
      for savesDeletion in [false, true] {
        let (open, parent) = try makeParent()
        let child = ManagedObjectContext(parent: parent, mergePolicy: policy)
        let here = try find("Book", "title", "A", in: child)
        try here.setValue("mine", forKey: "title")
        let there = try find("Book", "title", "A", in: parent)
        let id = there.objectID
        parent.delete(there)
        if savesDeletion { try parent.save() }
        try child.save()
        XCTAssertEqual(try parent.existingObject(with: id).text("title"), "mine")
        XCTAssertEqual(try titles(parent), ["B", "C", "mine"], "\(policy), \(savesDeletion)")
        try parent.save()
        let stored = try find("Book", "title", "mine", in: open.newContext())
        XCTAssertEqual(stored.objectID, id)
        XCTAssertEqual(stored.integer("year"), 1)
        XCTAssertEqual(stored.object("author")?.text("name"), "Ursula")
      }
    }
  }

  func testPolicyAcceptsDeletionsByTheParent() throws {
    for policy in [MergePolicy.rollback, .mergeByPropertyStoreTrump] {
      let (_, parent) = try makeParent()
      let child = ManagedObjectContext(parent: parent, mergePolicy: policy)
      let (a, b) = (try find("Book", "title", "A", in: child), try find("Book", "title", "B", in: child))
      try a.setValue("mine", forKey: "title")
      try b.setValue("kept", forKey: "title")
      parent.delete(try find("Book", "title", "A", in: parent))
      try child.save()
      XCTAssertEqual(try titles(parent), ["C", "kept"])
      XCTAssertNil(a.managedObjectContext)
      XCTAssertFalse(child.hasChanges)
    }
  }

  func testConflictsWithOtherContextsAreDetectedByTheSaveToTheStore() throws {
    let (open, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Book", "title", "A", in: child)
    let other = open.newContext()
    try find("Book", "title", "A", in: other).setValue(Int64(5), forKey: "pages")
    try other.save()
    try here.setValue("mine", forKey: "title")
    try child.save()
    assertStoreError(.mergeConflict) { try parent.save() }
    parent.mergePolicy = .mergeByPropertyObjectTrump
    try parent.save()
    let stored = try find("Book", "title", "mine", in: open.newContext())
    XCTAssertEqual(stored.integer("pages"), 5)
  }

  func testParentSaveDoesNotMakeChildrenConflict() throws {
    let (open, parent) = try makeParent()
    let (child, sibling) = (ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent))
    let (a, same) = (try find("Book", "title", "A", in: child), try find("Book", "title", "A", in: sibling))
    try find("Book", "title", "A", in: parent).setValue(Int64(1), forKey: "pages")
    try parent.save()
    for round in 0..<4 {
      try a.setValue("a\(round)", forKey: "title")
      try same.setValue(Int64(round), forKey: "year")
      try child.save()
      if round.isMultiple(of: 2) { try parent.save() }
      try sibling.save()
      try parent.save()
      XCTAssertFalse(a.hasChanges)
      // The parent's object is released: only the values that the children have read are known.
      parent.reset()
    }
    let stored = try XCTUnwrap(open.newContext().fetch(byTitle(.compare("title", .equal, "a3"))).first?.objectID)
    let context = open.newContext()
    let found = try context.existingObject(with: stored)
    XCTAssertEqual(found.integer("year"), 3)
    XCTAssertEqual(found.integer("pages"), 1)
  }

  // MARK: End of life

  func testDiscardingChangesAffectsOnlyTheChild() throws {
    let (_, parent) = try makeParent()
    let there = try find("Book", "title", "A", in: parent)
    try there.setValue("parent's", forKey: "title")
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Book", "title", "parent's", in: child)
    try here.setValue("child's", forKey: "title")
    let new = try child.insert("Book", ["title": "new"])
    child.rollback()
    XCTAssertEqual(here.text("title"), "parent's")
    XCTAssertNil(new.managedObjectContext)
    try here.setValue("child's", forKey: "title")
    child.refresh(here, mergeChanges: false)
    XCTAssertEqual(here.text("title"), "parent's")
    try here.setValue("child's", forKey: "title")
    child.refresh(here, mergeChanges: true)
    XCTAssertEqual(here.text("title"), "child's")
    child.refreshAllObjects()
    XCTAssertEqual(here.text("title"), "child's")
    child.reset()
    XCTAssertEqual(there.text("title"), "parent's")
    XCTAssertEqual(try titles(child), ["B", "C", "parent's"])
    XCTAssertTrue(parent.hasChanges)
  }

  func testParentCanBeRolledBackOrResetWithAChild() throws {
    for resets in [false, true] {
      let (_, parent) = try makeParent()
      let child = ManagedObjectContext(parent: parent)
      let new = try child.insert("Book", ["title": "new"])
      let a = try find("Book", "title", "A", in: child)
      let b = try find("Book", "title", "B", in: child)
      try a.setValue("pushed", forKey: "title")
      child.delete(b)
      try child.save()
      if resets { parent.reset() } else { parent.rollback() }
      XCTAssertEqual(try titles(parent), ["A", "B", "C"])
      // The child has the values that it saved, until it reads again.
      XCTAssertEqual(new.text("title"), "new")
      try new.setValue("newer", forKey: "title")
      let error = assertStoreError(.mergeConflict) { try child.save() }
      XCTAssertEqual(error?.mergeConflicts.map(\.objectID), [new.objectID])
      child.rollback()
      child.refreshAllObjects()
      XCTAssertEqual(a.text("title"), "A")
      XCTAssertEqual(try titles(child), ["A", "B", "C"])
      XCTAssertEqual(try find("Author", "name", "Ursula", in: child).members("books").count, 3)
    }
  }

  func testContextsNestToAnyDepth() throws {
    let (open, root) = try makeParent()
    var contexts = [root]
    for _ in 0..<4 { contexts.append(ManagedObjectContext(parent: try XCTUnwrap(contexts.last))) }
    try find("Book", "title", "A", in: contexts[1]).setValue("one", forKey: "title")
    contexts[2].delete(try find("Book", "title", "B", in: contexts[2]))
    let author = try find("Author", "name", "Ursula", in: contexts[3])
    try contexts[3].insert("Book", ["title": "three", "author": author])
    let deepest = contexts[4]
    XCTAssertEqual(try titles(deepest), ["C", "one", "three"])
    XCTAssertEqual(try titles(contexts[2]), ["C", "one"])
    XCTAssertEqual(try titles(contexts[1]), ["B", "C", "one"])
    XCTAssertEqual(try find("Author", "name", "Ursula", in: deepest).members("books").count, 3)
    XCTAssertEqual(try deepest.count(for: byTitle(.compare("title", .greater, "D"))), 2)
    try find("Book", "title", "three", in: deepest).setValue(Int64(4), forKey: "pages")
    for context in contexts.reversed() { try context.save() }
    let context = open.newContext()
    XCTAssertEqual(try titles(context), ["C", "one", "three"])
    XCTAssertEqual(try find("Book", "title", "three", in: context).integer("pages"), 4)
    for context in contexts { XCTAssertFalse(context.hasChanges) }
  }

  // MARK: Other contexts

  func testSiblingsMergeSavesToTheirParent() throws {
    let (_, parent) = try makeParent()
    let (child, sibling) = (ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent))
    sibling.automaticallyMergesChangesFromParent = true
    let here = try find("Book", "title", "A", in: child)
    let there = try find("Book", "title", "A", in: sibling)
    let author = try find("Author", "name", "Ursula", in: sibling)
    let b = try find("Book", "title", "B", in: sibling)
    XCTAssertEqual(author.members("books").count, 3)
    try there.setValue(Int64(12), forKey: "year")
    try here.setValue("pushed", forKey: "title")
    try here.setValue(Int64(13), forKey: "year")
    try child.insert("Book", ["title": "new", "author": try XCTUnwrap(child.all("Author").first)])
    child.delete(try find("Book", "title", "B", in: child))
    try child.save()
    XCTAssertEqual(there.text("title"), "A", "it is merged at the next event")
    sibling.processPendingChanges()
    XCTAssertEqual(there.text("title"), "pushed")
    XCTAssertEqual(there.integer("year"), 12, "what is unsaved stays")
    XCTAssertNil(b.managedObjectContext)
    XCTAssertEqual(Set(author.members("books").map { $0.text("title") }), ["pushed", "C", "new"])
    try sibling.save()
    XCTAssertEqual(try parent.existingObject(with: here.objectID).integer("year"), 12)
    XCTAssertEqual(here.integer("year"), 13, "this context does not merge automatically")
  }

  func testChildMergesChangesMergedAndSavedByItsParent() throws {
    let (open, parent) = try makeParent()
    parent.automaticallyMergesChangesFromParent = true
    let child = ManagedObjectContext(parent: parent)
    child.automaticallyMergesChangesFromParent = true
    let grandchild = ManagedObjectContext(parent: child)
    grandchild.automaticallyMergesChangesFromParent = true
    let (here, below) = (try find("Book", "title", "A", in: child), try find("Book", "title", "A", in: grandchild))
    let other = open.newContext()
    try find("Book", "title", "A", in: other).setValue("other's", forKey: "title")
    try other.save()
    grandchild.processPendingChanges()
    XCTAssertEqual(below.text("title"), "other's")
    XCTAssertEqual(here.text("title"), "other's")
    let there = try find("Book", "title", "other's", in: parent)
    try there.setValue("parent's", forKey: "title")
    XCTAssertEqual(here.text("title"), "other's")
    try parent.save()
    child.processPendingChanges()
    XCTAssertEqual(here.text("title"), "parent's")
    // The children have seen values that the parent discards.
    try there.setValue("given up", forKey: "title")
    child.refresh(here, mergeChanges: true)
    XCTAssertEqual(here.text("title"), "given up")
    parent.rollback()
    child.processPendingChanges()
    XCTAssertEqual(here.text("title"), "parent's")
  }

  func testParentObserversReceiveOneEvent() throws {
    let (_, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let received = NestedNotificationRecorder()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: parent, queue: nil
    ) { note in
      received.add(
        note.managedObjects(.insertedObjects).count, note.managedObjects(.updatedObjects).count,
        note.managedObjects(.deletedObjects).count)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try find("Book", "title", "A", in: child).setValue("Z", forKey: "title")
    child.delete(try find("Book", "title", "B", in: child))
    try child.insert("Book", ["title": "N"])
    try child.insert("Book", ["title": "O"])
    try child.save()
    XCTAssertEqual(received.all.count, 1)
    XCTAssertEqual(received.all.first, [2, 1, 1])
    parent.processPendingChanges()
    XCTAssertEqual(received.all.count, 1)
  }

  func testStoreOperationsAreRejectedInNestedContexts() throws {
    let (_, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Book", "title", "A", in: child)
    try here.setValue("mine", forKey: "title")
    assertStoreError(.invalidRequest) { try child.performTransaction {} }
    assertStoreError(.invalidRequest) { try child.setQueryGeneration(from: .current) }
    XCTAssertEqual(here.text("title"), "mine")
  }

  func testChildRetainsItsParent() throws {
    let open = try makeStore()
    weak var gone: ManagedObjectContext?
    var child: ManagedObjectContext?
    do {
      let parent = open.newContext()
      try parent.insert("Tag", ["name": "unsaved"])
      gone = parent
      child = ManagedObjectContext(parent: parent)
    }
    XCTAssertEqual(try child?.all("Tag").map { $0.text("name") }, ["unsaved"])
    XCTAssertNotNil(gone)
    child = nil
    XCTAssertNil(gone)
  }
}

/// The contents of notifications.
private final class NestedNotificationRecorder: Sendable {
  private let counts = Mutex<[[Int]]>([])
  var all: [[Int]] { counts.withLock { $0 } }
  func add(_ new: Int...) { counts.withLock { $0.append(new) } }
}
