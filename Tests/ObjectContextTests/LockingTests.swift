import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Rows changed by other contexts after they were read (row C18).
final class LockingTests: XCTestCase {
  private func conflict(_ body: () throws -> Void) -> StoreError? {
    do { try body() } catch let error as StoreError where error.code == .mergeConflict { return error } catch {
      XCTFail("\(error)")
    }
    return nil
  }

  private func tag(_ stack: Stack) throws -> (ManagedObjectContext, ManagedObject, ManagedObjectContext, ManagedObject) {
    let (context, other) = (stack.makeContext(), stack.makeContext())
    let tag = try context.make("Tag", ["name": "a"])
    try context.save()
    return (context, tag, other, try other.existingObject(with: tag.objectID))
  }

  func testAChangeOfAChangedRowConflictsWithBothVersionsAndTheStoredRow() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      try theirs.setValue("theirs", forKey: "name")
      try mine.setValue("mine", forKey: "name")
      try other.save()
      let error = try XCTUnwrap(conflict { try context.save() })
      XCTAssertEqual(error.mergeConflicts.count, 1)
      let conflict = try XCTUnwrap(error.mergeConflicts.first)
      XCTAssertEqual(conflict.objectID, mine.objectID)
      XCTAssertEqual(conflict.oldVersion, RowImage.firstVersion)
      XCTAssertEqual(conflict.newVersion, RowImage.firstVersion + 1)
      XCTAssertEqual(conflict.persistedRow?.string(0), "theirs")
      XCTAssertFalse("\(error)".contains("theirs"))
      XCTAssertTrue(mine.isUpdated)
      XCTAssertEqual(mine.text("name"), "mine")
      context.refresh(mine, mergeChanges: true)
      try context.save()
      XCTAssertEqual(try stack.makeContext().existingObject(with: mine.objectID).text("name"), "mine")
    }
  }

  func testAChangeOfADeletedRowConflicts() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      try mine.setValue("mine", forKey: "name")
      other.delete(theirs)
      try other.save()
      let error = try XCTUnwrap(conflict { try context.save() })
      XCTAssertEqual(error.mergeConflicts.first?.newVersion, 0)
      XCTAssertNil(error.mergeConflicts.first?.persistedRow)
    }
  }

  func testADeletionOfAChangedRowConflicts() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      XCTAssertEqual(mine.text("name"), "a")
      try theirs.setValue("theirs", forKey: "name")
      try other.save()
      context.delete(mine)
      XCTAssertNotNil(conflict { try context.save() })
      XCTAssertTrue(mine.isDeleted)
    }
  }

  func testNothingOfAConflictingSaveIsWritten() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      try theirs.setValue("theirs", forKey: "name")
      try other.save()
      try mine.setValue("mine", forKey: "name")
      let inserted = try context.make("Tag", ["name": "new"])
      XCTAssertNotNil(conflict { try context.save() })
      XCTAssertTrue(inserted.isInserted)
      XCTAssertEqual(try stack.makeContext().objects("Tag").map { $0.text("name") }, ["theirs"])
      context.rollback()
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testAnUnchangedObjectCanBeLocked() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      context.detectConflicts(for: mine)
      try theirs.setValue("theirs", forKey: "name")
      try other.save()
      try context.make("Tag", ["name": "new"])
      let error = try XCTUnwrap(conflict { try context.save() })
      XCTAssertEqual(error.mergeConflicts.map(\.objectID), [mine.objectID])
      context.refresh(mine, mergeChanges: false)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Tag").count, 2)
    }
  }

  func testAddingDifferentMembersDoesNotConflict() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let book = try context.make("Book", ["title": "T"])
      let tags = try ["a", "b"].map { try context.make("Tag", ["name": $0]) }
      try context.save()
      let same = try other.existingObject(with: book.objectID)
      try same.mutableSetValue(forKey: "tags").add(try other.existingObject(with: tags[0].objectID))
      try book.mutableSetValue(forKey: "tags").add(tags[1])
      try other.save()
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book").first?.sortedNames("tags"), ["a", "b"])
    }
  }

  func testRevertedValueIsNotWrittenAndDoesNotConflict() async throws {
    try await onEachStore { stack in
      let (context, mine, other, theirs) = try tag(stack)
      try mine.setValue("x", forKey: "name")
      try mine.setValue("a", forKey: "name")
      XCTAssertTrue(mine.isUpdated)
      XCTAssertFalse(mine.hasPersistentChangedValues)
      try theirs.setValue("theirs", forKey: "name")
      try other.save()
      try context.save()
      XCTAssertEqual(try stack.makeContext().existingObject(with: mine.objectID).text("name"), "theirs")
    }
  }
}
