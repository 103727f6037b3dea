import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Lookup of objects by ID (row C8).
final class LookupTests: XCTestCase {
  private func makeTag(_ stack: Stack) throws -> ManagedObjectID {
    let context = stack.makeContext()
    let tag = try context.make("Tag", ["name": "a"])
    try context.save()
    return tag.objectID
  }

  func testOnlyRegisteredObjectsAreFoundWithoutTheStore() async throws {
    try await onEachStore { stack in
      let id = try makeTag(stack)
      let context = stack.makeContext()
      stack.statements?.reset()
      XCTAssertNil(context.registeredObject(for: id))
      let fault = context.object(with: id)
      XCTAssertTrue(context.registeredObject(for: id) === fault)
      XCTAssertTrue(fault.isFault)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testObjectWithAMissingRowIsAFault() async throws {
    try await onEachStore { stack in
      let id = try makeTag(stack)
      let missing = ManagedObjectID(space: id.space, entityNumber: id.entityNumber, key: 999_999)
      let context = stack.makeContext()
      let fault = context.object(with: missing)
      XCTAssertTrue(fault.isFault)
      XCTAssertNil(fault["name"])
      XCTAssertThrowsError(try context.existingObject(with: missing)) {
        XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound)
        XCTAssertEqual(($0 as? StoreError)?.entityName, "Tag")
      }
    }
  }

  func testAnExistingObjectIsNeverAFault() async throws {
    try await onEachStore { stack in
      let setup = stack.makeContext()
      let author = try setup.make("Author", ["name": "A"])
      try setup.save()
      for isCached in [true, false] {
        if !isCached { stack.forgetRows() }
        let context = stack.makeContext()
        let found = try XCTUnwrap(context.existingObject(with: author.objectID) as? Author)
        XCTAssertFalse(found.isFault)
        XCTAssertEqual(found.log, ["awakeFromFetch"])
        context.refresh(found, mergeChanges: false)
        XCTAssertTrue(found.isFault)
        XCTAssertTrue(try context.existingObject(with: author.objectID) === found)
        XCTAssertFalse(found.isFault)
        // A fault from a fetch, with its row or a part of it cached.
        let other = stack.makeContext()
        var request = FetchRequest<ManagedObject>(entityName: "Author")
        request.propertiesToFetch = ["name"]
        let partial = try other.fetch(request)[0]
        XCTAssertTrue(partial.isFault)
        XCTAssertFalse(try other.existingObject(with: author.objectID).isFault)
        XCTAssertEqual(partial.text("name"), "A")
        let new = try other.make("Author", ["name": "B"])
        XCTAssertFalse(try other.existingObject(with: new.objectID).isFault)
      }
    }
  }

  func testAnExistingObjectIsReadOnce() async throws {
    try await onEachStore { stack in
      let id = try makeTag(stack)
      stack.forgetRows()
      let context = stack.makeContext()
      stack.statements?.reset()
      let tag = try context.existingObject(with: id)
      XCTAssertEqual(tag.text("name"), "a")
      XCTAssertTrue(try context.existingObject(with: id) === tag)
      if let statements = stack.statements { XCTAssertEqual(statements.count, 1) }
    }
  }

  func testADeletedObjectDoesNotExist() async throws {
    try await onEachStore { stack in
      let id = try makeTag(stack)
      let context = stack.makeContext()
      let tag = try context.existingObject(with: id)
      context.delete(tag)
      XCTAssertThrowsError(try context.existingObject(with: id)) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
      XCTAssertTrue(context.object(with: id) === tag)
      try context.save()
      XCTAssertThrowsError(try context.existingObject(with: id))
      XCTAssertThrowsError(try stack.makeContext().existingObject(with: id))
    }
  }

  func testAnUnsavedObjectIsFoundByItsTemporaryIDInItsContextOnly() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let tag = try context.make("Tag", ["name": "a"])
      XCTAssertTrue(context.object(with: tag.objectID) === tag)
      XCTAssertTrue(try context.existingObject(with: tag.objectID) === tag)
      XCTAssertNil(other.registeredObject(for: tag.objectID))
      XCTAssertThrowsError(try other.existingObject(with: tag.objectID))
      XCTAssertNil(other.object(with: tag.objectID)["name"])
    }
  }

  func testAnIDOfAnotherModelFindsNothing() async throws {
    let model = ManagedObjectModel { Entity("Other") { Attribute("name", .string) } }
    let foreign = try await Stack(.inMemory, model: model, classes: ManagedObjectClasses())
    let strangers = foreign.makeContext()
    let stranger = try strangers.make("Other", ["name": "x"])
    try strangers.save()
    try await onEachStore { stack in
      let context = stack.makeContext()
      XCTAssertNil(context.registeredObject(for: stranger.objectID))
      XCTAssertThrowsError(try context.existingObject(with: stranger.objectID))
      XCTAssertNil(context.object(with: stranger.objectID)["name"])
    }
  }
}
