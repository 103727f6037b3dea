import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Changes in a context can be undone and redone, before its saves.
public final class UndoSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testUndoIsNotRecordedByDefault", { $0.testUndoIsNotRecordedByDefault }),
        ("testValuesAreUndoneAndRedone", { $0.testValuesAreUndoneAndRedone }),
        ("testEventIsOneUndoGroup", { $0.testEventIsOneUndoGroup }),
        ("testUndoRestoresBothEndsOfRelationships", { $0.testUndoRestoresBothEndsOfRelationships }),
        ("testUndoRestoresTheOrderOfMembers", { $0.testUndoRestoresTheOrderOfMembers }),
        ("testUndoingAnAdditionKeepsStoredUnreadMembers", { $0.testUndoingAnAdditionKeepsStoredUnreadMembers }),
        ("testInsertionIsUndoneAndRedone", { $0.testInsertionIsUndoneAndRedone }),
        ("testUndoRestoresDeletionsAndTheEffectsOfDeleteRules", { $0.testUndoRestoresDeletionsAndTheEffectsOfDeleteRules }),
        ("testUndoRestoresADeletedNewObjectAsNew", { $0.testUndoRestoresADeletedNewObjectAsNew }),
        ("testNewChangeClearsTheRedoStack", { $0.testNewChangeClearsTheRedoStack }),
        ("testUndoNotifiesObjectsAndObservers", { $0.testUndoNotifiesObjectsAndObservers }),
        ("testPrimitiveValuesMergesAndRefreshesAreNotRecorded", { $0.testPrimitiveValuesMergesAndRefreshesAreNotRecorded }),
        ("testUndoIsValidatedOnSave", { $0.testUndoIsValidatedOnSave }),
        ("testGroupsNestAndHaveNames", { $0.testGroupsNestAndHaveNames }),
        ("testDeleteRulesBelongToTheGroupOfTheDeletion", { $0.testDeleteRulesBelongToTheGroupOfTheDeletion }),
        ("testANestedGroupIsUndoneAlone", { $0.testANestedGroupIsUndoneAlone }),
        ("testApplicationActionsAreUndoneInOrderWithChanges", { $0.testApplicationActionsAreUndoneInOrderWithChanges }),
        ("testUndoingEndsTheOnlyOpenGroup", { $0.testUndoingEndsTheOnlyOpenGroup }),
        ("testActionNameIsThatOfTheLastClosedGroup", { $0.testActionNameIsThatOfTheLastClosedGroup }),
        ("testMisuseThrows", { $0.testMisuseThrows }),
        ("testOldGroupsAreDroppedAndALargeGroupIsNotKept", { $0.testOldGroupsAreDroppedAndALargeGroupIsNotKept }),
        ("testUndoContinuesAcrossSaves", { $0.testUndoContinuesAcrossSaves }),
        ("testUndoRestoresASavedDeletionWithItsID", { $0.testUndoRestoresASavedDeletionWithItsID }),
        ("testUndoingASavedInsertionDeletesTheObject", { $0.testUndoingASavedInsertionDeletesTheObject }),
        ("testUndoAfterASaveRestoresLinksToUnreadMembers", { $0.testUndoAfterASaveRestoresLinksToUnreadMembers }),
        ("testUndoRestoresLargeValuesAfterASave", { $0.testUndoRestoresLargeValuesAfterASave }),
        ("testUndoOverNewerChangesConflictsOnSave", { $0.testUndoOverNewerChangesConflictsOnSave }),
        ("testUndoDoesNotRestoreObjectsDeletedByOthers", { $0.testUndoDoesNotRestoreObjectsDeletedByOthers }),
        ("testRollbackAndResetClearTheUndoStack", { $0.testRollbackAndResetClearTheUndoStack }),
        ("testImportsAreNotRecorded", { $0.testImportsAreNotRecorded }),
        ("testOversizedSavedDeletionIsReported", { $0.testOversizedSavedDeletionIsReported }),
        ("testUndoRestoresANestedDeletionAfterTheSave", { $0.testUndoRestoresANestedDeletionAfterTheSave }),
        ("testChildSaveIsOneUndoGroupOfItsParent", { $0.testChildSaveIsOneUndoGroupOfItsParent }),
        ("testChildCanUndoAcrossItsOwnSave", { $0.testChildCanUndoAcrossItsOwnSave }),
        ("testAnUndoManagerBelongsToOneContext", { $0.testAnUndoManagerBelongsToOneContext }),
        ("testUndoKeepsATextInAnotherForm", { $0.testUndoKeepsATextInAnotherForm }),
        ("testUndoneChangesOfOrderedMembersLeaveNoChanges", { $0.testUndoneChangesOfOrderedMembersLeaveNoChanges }),
        ("testUndoneInPlaceChangeLeavesNoChanges", { $0.testUndoneInPlaceChangeLeavesNoChanges }),
        ("testUndoneTransientValueIsNotAChange", { $0.testUndoneTransientValueIsNotAChange }),
        ("testMembersAssignedAfterADeletionAreRestored", { $0.testMembersAssignedAfterADeletionAreRestored }),
      ] as [(String, (UndoSpecification) -> () throws -> Void)])
  }

  /// Three stored books of one author, two of them with a tag, in a context with an undo manager.
  func makeContext() throws -> (OpenStore, ManagedObjectContext, ContextUndoManager) {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ursula", "born": Int64(1929)])
    let tag = try context.insert("Tag", ["name": "red"])
    for (title, year) in [("A", 1), ("B", 2), ("C", 3)] as [(String, Int64)] {
      let book = try context.insert("Book", ["title": title, "year": year, "author": author])
      if year < 3 { try book.mutableSetValue(forKey: "tags").add(tag) }
      for number in 1...3 { try context.insert("Chapter", ["title": "\(title)\(number)", "book": book]) }
    }
    try context.save()
    context.reset()
    let manager = ContextUndoManager()
    context.undoManager = manager
    return (open, context, manager)
  }

  func titles(_ context: ManagedObjectContext) throws -> [String] {
    try context.all("Book").map { $0.text("title") ?? "-" }.sorted()
  }

  func chapters(_ book: ManagedObject) -> [String] { book.list("chapters").map { $0.text("title") ?? "-" } }

  // MARK: Values

  func testUndoIsNotRecordedByDefault() throws {
    let (_, context, manager) = try makeContext()
    context.undoManager = nil
    let book = try find("Book", "title", "A", in: context)
    try book.setValue("Z", forKey: "title")
    try context.undo()
    try context.redo()
    XCTAssertEqual(book.text("title"), "Z")
    context.undoManager = manager
    XCTAssertFalse(manager.canUndo)
    // A number that was written in place before is recorded from now on.
    try book.setValue(Int64(5), forKey: "pages")
    try book.setValue(Int64(6), forKey: "pages")
    try context.undo()
    XCTAssertNil(book.integer("pages"))
    XCTAssertEqual(book.text("title"), "Z")
  }

  func testValuesAreUndoneAndRedone() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    for pages in 1...5 { try book.setValue(Int64(pages), forKey: "pages") }
    try book.setValue("Z", forKey: "title")
    try book.setValue(nil, forKey: "year")
    XCTAssertLessThan(manager.byteCount, 3 * 48 + 40, "a property is recorded once")
    XCTAssertTrue(manager.canUndo && !manager.canRedo)
    try context.undo()
    XCTAssertEqual(book.text("title"), "A")
    XCTAssertEqual(book.integer("year"), 1)
    XCTAssertNil(book.integer("pages"))
    XCTAssertFalse(context.hasChanges, "it is as it was saved")
    XCTAssertFalse(book.isUpdated)
    XCTAssertTrue(!manager.canUndo && manager.canRedo)
    try context.redo()
    XCTAssertEqual(book.text("title"), "Z")
    XCTAssertNil(book.integer("year"))
    XCTAssertEqual(book.integer("pages"), 5)
    XCTAssertTrue(book.isUpdated)
    XCTAssertEqual(Set(book.changedValues().keys), ["title", "year", "pages"])
    try context.undo()
    XCTAssertFalse(context.hasChanges)
    try context.undo()
    XCTAssertEqual(book.text("title"), "A", "there is nothing more")
  }

  func testEventIsOneUndoGroup() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    try context.perform { try book.setValue("one", forKey: "title") }
    try context.perform { try book.setValue("two", forKey: "title") }
    try book.setValue("three", forKey: "title")
    // A fetch processes changes, but ends no group.
    XCTAssertEqual(try titles(context), ["B", "C", "three"])
    try book.setValue("four", forKey: "title")
    context.processPendingChanges()
    try book.setValue("five", forKey: "title")
    for title in ["four", "two", "one", "A"] {
      try context.undo()
      XCTAssertEqual(book.text("title"), title)
    }
    XCTAssertFalse(manager.canUndo)
    for title in ["one", "two", "four", "five"] {
      try context.redo()
      XCTAssertEqual(book.text("title"), title)
    }
    XCTAssertFalse(manager.canRedo)
  }

  // MARK: Relationships

  func testUndoRestoresBothEndsOfRelationships() throws {
    let (_, context, _) = try makeContext()
    let (book, author) = (try find("Book", "title", "A", in: context), try find("Author", "name", "Ursula", in: context))
    let tag = try find("Tag", "name", "red", in: context)
    let other = try context.insert("Author", ["name": "Other"])
    try author.setValue(other, forKey: "spouse")
    context.processPendingChanges()
    let third = try context.insert("Author", ["name": "Third"])
    try third.setValue(other, forKey: "spouse")
    try book.setValue(other, forKey: "author")
    try book.mutableSetValue(forKey: "tags").remove(tag)
    try find("Book", "title", "C", in: context).mutableSetValue(forKey: "tags").add(tag)
    context.processPendingChanges()
    XCTAssertNil(author.object("spouse"))
    try context.undo()
    XCTAssertTrue(author.object("spouse") === other && other.object("spouse") === author)
    XCTAssertTrue(book.object("author") === author)
    XCTAssertEqual(author.members("books").count, 3)
    XCTAssertEqual(other.members("books"), [])
    XCTAssertEqual(book.members("tags"), [tag])
    XCTAssertEqual(Set(tag.members("books").map { $0.text("title") }), ["A", "B"])
    XCTAssertNil(third.managedObjectContext)
    try context.redo()
    XCTAssertNil(author.object("spouse"))
    XCTAssertTrue(other.object("spouse") === third && third.object("spouse") === other)
    XCTAssertEqual(other.members("books"), [book])
    XCTAssertEqual(Set(tag.members("books").map { $0.text("title") }), ["B", "C"])
    try context.save()
  }

  func testUndoRestoresTheOrderOfMembers() throws {
    let (open, context, _) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    let list = try book.mutableOrderedSetValue(forKey: "chapters")
    func change(_ body: () throws -> Void) throws {
      try body()
      context.processPendingChanges()
    }
    try change { list.insert(list.objects[2], at: 0) }
    try change { list.remove(at: 1) }
    try change {
      try context.insert("Chapter", ["title": "new", "book": book])
      list.insert(list.objects[2], at: 1)
    }
    let steps = [["A1", "A2", "A3"], ["A3", "A1", "A2"], ["A3", "A2"], ["A3", "new", "A2"]]
    XCTAssertEqual(chapters(book), steps[3])
    for round in 0..<2 {
      for step in [2, 1, 0] {
        try context.undo()
        XCTAssertEqual(chapters(book), steps[step], "\(round)")
      }
      XCTAssertFalse(context.hasChanges)
      for step in [1, 2, 3] {
        try context.redo()
        XCTAssertEqual(chapters(book), steps[step], "\(round)")
      }
    }
    try context.undo()
    try context.undo()
    try context.save()
    XCTAssertEqual(chapters(try find("Book", "title", "A", in: open.newContext())), steps[1])
    try context.undo()
    try context.save()
    XCTAssertEqual(chapters(try find("Book", "title", "A", in: open.newContext())), steps[0])
  }

  func testUndoingAnAdditionKeepsStoredUnreadMembers() throws {
    let (_, context, _) = try makeContext()
    let (tag, book) = (try find("Tag", "name", "red", in: context), try find("Book", "title", "A", in: context))
    let other = try find("Book", "title", "C", in: context)
    // The members were not loaded: it is unknown whether the first is one of them.
    try tag.mutableSetValue(forKey: "books").add(book)
    try tag.mutableSetValue(forKey: "books").add(other)
    try context.undo()
    XCTAssertEqual(Set(tag.members("books").map { $0.text("title") }), ["A", "B"])
    XCTAssertEqual(book.members("tags"), [tag])
    XCTAssertEqual(other.members("tags"), [])
    XCTAssertFalse(context.hasChanges)
    try context.redo()
    XCTAssertEqual(Set(tag.members("books").map { $0.text("title") }), ["A", "B", "C"])
  }

  // MARK: Objects

  func testInsertionIsUndoneAndRedone() throws {
    let (open, context, _) = try makeContext()
    let author = try find("Author", "name", "Ursula", in: context)
    let book = try context.insert("Book", ["title": "new", "author": author])
    let id = book.objectID
    try context.undo()
    XCTAssertNil(book.managedObjectContext)
    XCTAssertEqual(try titles(context), ["A", "B", "C"])
    XCTAssertEqual(author.members("books").count, 3)
    XCTAssertEqual(context.insertedObjects, [])
    XCTAssertFalse(context.hasChanges)
    try context.redo()
    XCTAssertTrue(book.managedObjectContext === context, "the same object is there again")
    XCTAssertEqual(book.objectID, id)
    XCTAssertTrue(book.isInserted)
    XCTAssertEqual(book.text("title"), "new")
    XCTAssertTrue(author.members("books").contains(book))
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C", "new"])
    XCTAssertEqual(try find("Author", "name", "Ursula", in: open.newContext()).members("books").count, 4)
  }

  func testUndoRestoresDeletionsAndTheEffectsOfDeleteRules() throws {
    for isRead in [true, false] { try deleteAndUndo(isRead: isRead) }
  }

  /// Deletes an owner whose objects were loaded or not, and undoes the deletion.
  private func deleteAndUndo(isRead: Bool) throws {
    let open = try makeStore(UndoGraph.model)
    let context = open.newContext()
    let owner = try context.insert("Owner", ["number": Int64(1), "name": "owner"])
    let note = try context.insert("Note", ["number": Int64(2), "owner": owner])
    var items: [ManagedObject] = []
    for number in 3...5 { items.append(try context.insert("Item", ["number": Int64(number), "owner": owner])) }
    let tag = try context.insert("Tag", ["number": Int64(6)])
    try items[1].mutableSetValue(forKey: "tags").add(tag)
    try context.save()
    context.undoManager = ContextUndoManager()
    let before = try UndoGraph.state(of: context)
    if !isRead { context.refreshAllObjects() }
    context.delete(owner)
    context.processPendingChanges()
    XCTAssertTrue(items.allSatisfy(\.isDeleted))
    XCTAssertNil(note.object("owner"))
    let after = try UndoGraph.state(of: context)
    try context.undo()
    XCTAssertEqual(try UndoGraph.state(of: context), before)
    XCTAssertEqual(context.deletedObjects, [])
    XCTAssertFalse(context.hasChanges)
    XCTAssertTrue(items.allSatisfy(\.isUsable))
    try context.redo()
    XCTAssertEqual(try UndoGraph.state(of: context), after)
    XCTAssertEqual(context.deletedObjects.count, 4)
    try context.save()
    XCTAssertEqual(try UndoGraph.state(of: open.newContext()), after)
    try context.undo()
    XCTAssertEqual(try UndoGraph.state(of: context), before)
    try context.save()
    XCTAssertEqual(try UndoGraph.state(of: open.newContext()), before)
  }

  func testUndoRestoresADeletedNewObjectAsNew() throws {
    let (open, context, _) = try makeContext()
    let author = try find("Author", "name", "Ursula", in: context)
    let book = try context.insert("Book", ["title": "new", "author": author])
    let chapter = try context.insert("Chapter", ["title": "N1", "book": book])
    context.processPendingChanges()
    context.delete(book)
    context.processPendingChanges()
    XCTAssertNil(book.managedObjectContext)
    XCTAssertNil(chapter.object("book"))
    try context.undo()
    XCTAssertTrue(book.isInserted)
    XCTAssertTrue(chapter.object("book") === book)
    XCTAssertEqual(chapters(book), ["N1"])
    XCTAssertTrue(book.object("author") === author)
    XCTAssertTrue(author.members("books").contains(book))
    try context.save()
    XCTAssertEqual(chapters(try find("Book", "title", "new", in: open.newContext())), ["N1"])
    try context.undo()
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"])
    XCTAssertEqual(try open.newContext().all("Chapter").count, 9)
  }

  // MARK: Related state

  func testNewChangeClearsTheRedoStack() throws {
    let (_, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    try book.setValue("one", forKey: "title")
    try context.undo()
    try book.setValue("two", forKey: "title")
    XCTAssertFalse(manager.canRedo)
    try context.redo()
    XCTAssertEqual(book.text("title"), "two")
    try context.undo()
    XCTAssertEqual(book.text("title"), "A")
  }

  func testUndoNotifiesObjectsAndObservers() throws {
    let (_, context, _) = try makeContext()
    let received = UndoNotificationRecorder()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { note in
      received.add(
        note.managedObjects(.insertedObjects).count, note.managedObjects(.updatedObjects).count,
        note.managedObjects(.deletedObjects).count)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let book = try find("Book", "title", "A", in: context)
    try book.setValue("Z", forKey: "title")
    try context.insert("Tag", ["name": "blue"])
    context.delete(try find("Tag", "name", "red", in: context))
    context.processPendingChanges()
    let all = received.take()
    XCTAssertEqual(all.reduce(into: [0, 0, 0]) { sum, note in for place in 0..<3 { sum[place] += note[place] } }[2], 1)
    try context.undo()
    let undone = received.take()
    XCTAssertEqual(undone.count, 1, "undoing is one event")
    XCTAssertEqual(undone.first?.first, 1, "the deleted tag is back")
    XCTAssertEqual(undone.first?.last, 1, "the new tag is deleted")
    XCTAssertGreaterThanOrEqual(undone.first?[1] ?? 0, 1)
    try context.redo()
    XCTAssertEqual(received.take().map { [$0[0], $0[2]] }, [[1, 1]])
  }

  func testPrimitiveValuesMergesAndRefreshesAreNotRecorded() throws {
    let (open, context, manager) = try makeContext()
    let book = try find("Book", "title", "A", in: context)
    try book.setPrimitiveValue("quiet", forKey: "title")
    XCTAssertFalse(manager.canUndo)
    let other = open.newContext()
    try find("Book", "title", "B", in: other).setValue("other's", forKey: "title")
    other.delete(try find("Book", "title", "C", in: other))
    let b = try find("Book", "title", "B", in: context)
    try b.setValue(Int64(3), forKey: "pages")
    context.processPendingChanges()
    context.automaticallyMergesChangesFromParent = true
    try other.save()
    context.processPendingChanges()
    XCTAssertEqual(b.text("title"), "other's")
    context.refresh(b, mergeChanges: true)
    context.refreshAllObjects()
    try context.undo()
    XCTAssertNil(b.integer("pages"))
    XCTAssertEqual(b.text("title"), "other's", "others' changes stay")
    XCTAssertFalse(manager.canUndo)
    XCTAssertEqual(try titles(context).count, 2)
  }

  func testUndoIsValidatedOnSave() throws {
    let (_, context, _) = try makeContext()
    let (a, b) = (try find("Book", "title", "A", in: context), try find("Book", "title", "B", in: context))
    try a.setValue("x", forKey: "isbn")
    try context.save()
    try a.setValue(nil, forKey: "isbn")
    context.processPendingChanges()
    context.undoManager?.disableUndoRegistration()
    try b.setValue("x", forKey: "isbn")
    context.processPendingChanges()
    try context.undoManager?.enableUndoRegistration()
    try context.undo()
    XCTAssertEqual(a.text("isbn"), "x")
    assertStoreError(.constraintConflict) { try context.save() }
    try context.redo()
    try context.save()
  }
}

/// The contents of notifications.
final class UndoNotificationRecorder: Sendable {
  private let counts = Mutex<[[Int]]>([])
  func take() -> [[Int]] {
    counts.withLock { counts in
      defer { counts = [] }
      return counts
    }
  }
  func add(_ new: Int...) { counts.withLock { $0.append(new) } }
}
