import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// New objects: registration, defaults, flags (rows C1 and M5).
final class InsertionTests: XCTestCase {
  func testANewObjectIsRegisteredUnderATemporaryID() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      XCTAssertTrue(tag.isInserted)
      XCTAssertFalse(tag.isFault)
      XCTAssertTrue(tag.objectID.isTemporaryID)
      XCTAssertTrue(tag.managedObjectContext === context)
      XCTAssertTrue(context.registeredObject(for: tag.objectID) === tag)
      XCTAssertEqual(context.insertedObjects, [tag])
      XCTAssertTrue(context.registeredObjects.contains(tag))
      XCTAssertTrue(context.hasChanges)
    }
  }

  func testIsInsertedUntilSaved() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      XCTAssertFalse(tag.isInserted)
      XCTAssertFalse(tag.hasChanges)
      XCTAssertEqual(context.insertedObjects, [])
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testChangedNewObjectIsNotUpdated() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      context.processPendingChanges()
      try tag.setValue("b", forKey: "name")
      XCTAssertTrue(tag.isInserted)
      XCTAssertFalse(tag.isUpdated)
      XCTAssertEqual(context.updatedObjects, [])
    }
  }

  func testAwakeFromInsertIsCalledOnceWithDefaults() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      XCTAssertEqual(author.log, ["awakeFromInsert"])
      XCTAssertEqual(Book(context: context).price, 9.5)
      author.name = "Ada"
      context.processPendingChanges()
      XCTAssertEqual(author.log, ["awakeFromInsert"])
    }
  }

  func testAnAbstractEntityHasNoObjects() async throws {
    let model = ManagedObjectModel {
      Entity("Shape", abstract: true) { Attribute("name", .string) }
      Entity("Circle", parent: "Shape")
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      XCTAssertThrowsError(try context.insertObject(entityName: "Shape")) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
      XCTAssertFalse(context.hasChanges)
      try context.make("Circle", ["name": "round"])
      try context.save()
      XCTAssertEqual(try context.objects("Shape").map { $0.entity.name }, ["Circle"])
    }
  }

  func testUnknownEntityErrorListsKnownEntities() async throws {
    try await onEachStore([.inMemory]) { stack in
      XCTAssertThrowsError(try stack.makeContext().insertObject(entityName: "Bok")) {
        let error = $0 as? StoreError
        XCTAssertEqual(error?.entityName, "Bok")
        XCTAssertTrue(error?.message.contains("Book") ?? false)
      }
    }
  }

  func testValuesSetInAwakeFromInsertAreSaved() async throws {
    final class Stamped: ManagedObject {
      override func awakeFromInsert() { try? setValue("stamped", forKey: "name") }
    }
    let classes = ManagedObjectClasses(["Tag": Stamped.self])
    try await onEachStore(classes: classes) { stack in
      let context = stack.makeContext()
      try context.make("Tag")
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Tag").map { $0.text("name") }, ["stamped"])
    }
  }
}
