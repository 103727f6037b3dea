import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// When delete rules run (row C25).
final class DeleteTimingTests: XCTestCase {
  private func family(_ stack: Stack) throws -> (ManagedObjectContext, parent: ManagedObject, child: ManagedObject) {
    let context = stack.makeContext()
    let parent = try context.make("Person", ["name": "parent"])
    let child = try context.make("Person", ["name": "child", "parent": parent])
    try context.save()
    return (context, parent, child)
  }

  func testDeleteRulesRunAtTheEndOfTheEvent() async throws {
    try await onEachStore { stack in
      let (context, parent, child) = try family(stack)
      context.delete(parent)
      XCTAssertFalse(child.isDeleted)
      context.processPendingChanges()
      XCTAssertTrue(child.isDeleted)
    }
  }

  func testAFetchEndsTheEvent() async throws {
    try await onEachStore { stack in
      let (context, parent, child) = try family(stack)
      context.delete(parent)
      XCTAssertEqual(try context.objects("Person"), [])
      XCTAssertTrue(child.isDeleted)
    }
  }

  func testPerformEndsTheEvent() async throws {
    try await onEachStore { stack in
      let (context, parent, child) = try family(stack)
      context.perform { context.delete(parent) }
      XCTAssertTrue(child.isDeleted)
    }
  }

  func testDeleteRulesCanBeDeferredToTheSave() async throws {
    try await onEachStore { stack in
      let (context, parent, child) = try family(stack)
      context.propagatesDeletesAtEndOfEvent = false
      context.delete(parent)
      context.processPendingChanges()
      XCTAssertFalse(child.isDeleted)
      XCTAssertTrue(child.one("parent") === parent)
      try context.save()
      XCTAssertNil(child.managedObjectContext)
      XCTAssertEqual(try stack.makeContext().objects("Person"), [])
    }
  }

  func testNewObjectDeletedWithDeferredRulesIsNotSaved() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      context.propagatesDeletesAtEndOfEvent = false
      let person = try context.make("Person")
      context.delete(person)
      context.processPendingChanges()
      XCTAssertEqual(context.insertedObjects, [])
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Person"), [])
      XCTAssertNil(person.managedObjectContext)
    }
  }
}
