import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Faults whose rows were deleted (row C24).
final class InaccessibleFaultTests: XCTestCase {
  /// Makes a fault whose row another context has deleted.
  private func deletedFault(_ stack: Stack) throws -> (ManagedObjectContext, Book) {
    let writer = stack.makeContext()
    let author = try writer.make("Author", ["name": "A"])
    let book = try writer.make("Book", ["title": "T", "author": author])
    try writer.save()
    let context = stack.makeContext()
    let fault = try XCTUnwrap(context.object(with: book.objectID) as? Book)
    writer.delete(book)
    try writer.save()
    return (context, fault)
  }

  func testInaccessibleFaultIsEmptyAndDeleted() async throws {
    try await onEachStore { stack in
      let (context, fault) = try deletedFault(stack)
      XCTAssertEqual(fault.title, "")
      XCTAssertNil(fault.pages)
      XCTAssertNil(fault.author)
      XCTAssertEqual(fault.tags, [])
      XCTAssertTrue(fault.isDeleted)
      XCTAssertFalse(fault.isFault)
      XCTAssertNil(context.pendingError)
      XCTAssertEqual(context.deletedObjects, [fault])
      try context.save()
      XCTAssertNil(fault.managedObjectContext)
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testSettingPropertiesIsReportedAndDoesNotRestoreTheRow() async throws {
    try await onEachStore { stack in
      let (context, fault) = try deletedFault(stack)
      fault.title = "new"
      XCTAssertTrue(fault.isDeleted)
      XCTAssertEqual(fault.title, "")
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .objectNotFound)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
      XCTAssertThrowsError(try fault.setValue("newer", forKey: "title")) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book"), [])
    }
  }

  func testNextSaveThrowsWithoutThePolicy() async throws {
    try await onEachStore { stack in
      let (context, fault) = try deletedFault(stack)
      context.shouldDeleteInaccessibleFaults = false
      XCTAssertEqual(fault.title, "")
      XCTAssertFalse(fault.isDeleted)
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .objectNotFound)
      XCTAssertThrowsError(try context.existingObject(with: fault.objectID))
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
      try context.save()
    }
  }

  func testHandlerReceivesTheObjectAndProperty() async throws {
    try await onEachStore { stack in
      let (context, fault) = try deletedFault(stack)
      var asked: [String] = []
      context.inaccessibleFaultHandler = { object, id, property in
        asked.append("\(object === fault) \(id == fault.objectID) \(property ?? "-")")
        return true
      }
      XCTAssertNil(fault["pages"])
      XCTAssertEqual(asked, ["true true pages"])
      XCTAssertFalse(fault.isDeleted)
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testRollbackTurnsTheObjectIntoAFault() async throws {
    try await onEachStore { stack in
      let (context, fault) = try deletedFault(stack)
      _ = fault.title
      context.rollback()
      XCTAssertFalse(fault.isDeleted)
      XCTAssertTrue(fault.isFault)
    }
  }

  func testObjectOfAClosedStoreIsNotTreatedAsDeleted() async throws {
    try await onEachStore { stack in
      let writer = stack.makeContext()
      let tag = try writer.make("Tag", ["name": "a"])
      try writer.save()
      let context = stack.makeContext()
      let fault = context.object(with: tag.objectID)
      try stack.close()
      XCTAssertNil(fault["name"])
      XCTAssertFalse(fault.isDeleted)
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .noOpenStore)
    }
  }
}
