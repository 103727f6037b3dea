import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The accesses that fire a fault (table 3a).
final class FaultingRuleTests: XCTestCase {
  /// Runs `body` with a fault of a saved author with two books, in a context that has read nothing yet.
  private func onFault(_ body: (Stack, ManagedObjectContext, ManagedObject) throws -> Void) async throws {
    try await onEachStore { stack in
      let writer = stack.makeShortLivedContext()
      let agent = try writer.make("Agent", ["name": "G"])
      let author = try writer.make("Author", ["name": "A", "agent": agent])
      for title in ["1", "2"] { try writer.make("Book", ["title": title, "author": author]) }
      try writer.save()
      stack.forgetRows()
      let context = stack.makeContext()
      let fault = context.object(with: author.objectID)
      stack.statements?.reset()
      try body(stack, context, fault)
    }
  }

  func testObjectMetadataAccessDoesNotFire() async throws {
    try await onFault { stack, context, fault in
      XCTAssertEqual(fault, fault)
      XCTAssertTrue(Set([fault]).contains(fault))
      _ = fault.description
      XCTAssertTrue(fault is Author)
      XCTAssertTrue(fault.managedObjectContext === context)
      XCTAssertEqual(fault.entity.name, "Author")
      XCTAssertFalse(fault.objectID.isTemporaryID)
      XCTAssertFalse(fault.isInserted || fault.isUpdated || fault.isDeleted || fault.hasChanges)
      XCTAssertFalse(fault.hasPersistentChangedValues)
      XCTAssertTrue(fault.changedValues().isEmpty)
      XCTAssertTrue(fault.changedValuesForCurrentEvent().isEmpty)
      XCTAssertTrue(fault.hasFault(forRelationshipNamed: "books"))
      XCTAssertTrue(fault.isFault)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testReadingAPropertyFires() async throws {
    try await onFault { _, _, fault in
      XCTAssertEqual(fault.text("name"), "A")
      XCTAssertFalse(fault.isFault)
    }
    try await onFault { _, _, fault in
      XCTAssertEqual((fault as? Author)?.born, nil)
      XCTAssertFalse(fault.isFault)
    }
    try await onFault { _, _, fault in
      XCTAssertEqual(try fault.committedValues(forKeys: nil)["name"] as? String, "A")
      XCTAssertFalse(fault.isFault)
    }
    try await onFault { _, _, fault in
      try fault.validateForUpdate()
      XCTAssertNoThrow(try fault.validateForDelete())
    }
  }

  func testSettingAPropertyFires() async throws {
    try await onFault { _, context, fault in
      try fault.setValue("B", forKey: "name")
      XCTAssertFalse(fault.isFault)
      XCTAssertEqual(try fault.committedValues(forKeys: ["name"])["name"] as? String, "A")
      XCTAssertEqual(context.updatedObjects, [fault])
    }
  }

  func testToOneReturnsItsDestinationAsAFault() async throws {
    try await onFault { stack, _, fault in
      let agent = try XCTUnwrap(fault.one("agent"))
      XCTAssertTrue(agent.isFault)
      XCTAssertFalse(agent.objectID.isTemporaryID)
      XCTAssertEqual(try fault.objectIDs(forRelationshipNamed: "agent"), [agent.objectID])
      if let statements = stack.statements { XCTAssertEqual(statements.count, 1) }
      XCTAssertEqual(agent.text("name"), "G")
      XCTAssertFalse(agent.isFault)
    }
  }

  func testMembersAreCountedAndIdentifiedWithoutFiring() async throws {
    try await onFault { _, context, fault in
      let author = try XCTUnwrap(fault as? Author)
      XCTAssertEqual(author.toManyCount(0), 2)
      XCTAssertFalse(author.hasFault(forRelationshipNamed: "books"))
      XCTAssertTrue(author.isFault)
      XCTAssertEqual(try author.objectIDs(forRelationshipNamed: "books").count, 2)
      XCTAssertEqual(context.registeredObjects.count, 1)
      XCTAssertTrue(author.books.allSatisfy(\.isFault))
      XCTAssertEqual(Set(author.books.map(\.title)), ["1", "2"])
    }
  }

  func testFetchReturnsFaultsWithCachedRows() async throws {
    try await onFault { stack, context, _ in
      let books = try context.objects("Book")
      XCTAssertTrue(books.allSatisfy(\.isFault))
      stack.statements?.reset()
      XCTAssertEqual(Set(books.compactMap { $0.text("title") }), ["1", "2"])
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testRefaultedObjectReadsItsRowAgain() async throws {
    try await onFault { stack, context, fault in
      XCTAssertEqual(fault.text("name"), "A")
      context.refresh(fault, mergeChanges: false)
      XCTAssertTrue(fault.isFault)
      XCTAssertTrue(fault.hasFault(forRelationshipNamed: "books"))
      stack.statements?.reset()
      XCTAssertEqual(fault.text("name"), "A")
      if let statements = stack.statements { XCTAssertEqual(statements.count, 1) }
    }
  }

  func testRelatedObjectsDoNotRetainEachOther() async throws {
    try await onFault { _, context, _ in
      weak var author: ManagedObject?
      do {
        let books = try context.objects("Book")
        author = books[0].one("author")
        XCTAssertEqual(author?.many("books"), Set(books))
      }
      context.processPendingChanges()
      XCTAssertTrue(context.registeredObjects.count <= 1)
    }
  }
}
