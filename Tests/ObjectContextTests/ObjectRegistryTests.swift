import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Registered objects by ID, and the permanent IDs of new ones.
final class ObjectRegistryTests: XCTestCase {
  private func makeCoordinator() throws -> PersistentStoreCoordinator { try PersistentStoreCoordinator(managedObjectModel: Library.model) }

  private func makeRegistry(_ coordinator: PersistentStoreCoordinator) -> ObjectRegistry {
    ObjectRegistry(RowSource(coordinator, origin: 1), model: coordinator.compiledModel)
  }

  private func makeObject(_ coordinator: PersistentStoreCoordinator, _ name: String = "Book") throws -> ManagedObject {
    let entity = try XCTUnwrap(coordinator.managedObjectModel.entity(named: name))
    return try ManagedObject(entity: entity, of: coordinator)
  }

  private func permanentID(_ object: ManagedObject, key: Int64, space: UInt32) -> ManagedObjectID {
    ManagedObjectID(space: space, entityNumber: UInt32(object.objectID.reference.entity), key: key)
  }

  func testANewObjectIsFoundByItsTemporaryIDUntilItHasAPermanentOne() throws {
    let coordinator = try makeCoordinator()
    var registry = makeRegistry(coordinator)
    let book = try makeObject(coordinator)
    let temporary = book.objectID
    XCTAssertNil(registry.insert(book))
    XCTAssertTrue(registry.newObject(temporary.reference) === book)
    XCTAssertNil(registry.permanentID(temporary.reference))
    XCTAssertEqual(registry.savedReference(temporary.reference), temporary.reference)

    let permanent = permanentID(book, key: 7, space: 41)
    XCTAssertNil(registry.adopt(permanent, for: book))
    XCTAssertEqual(book.objectID, permanent)
    XCTAssertNil(registry.newObject(temporary.reference))
    XCTAssertTrue(registry.object(permanent.reference, space: 41) === book)
    // Relationships that were set before still contain its temporary ID.
    XCTAssertEqual(registry.permanentID(temporary.reference), permanent)
    XCTAssertEqual(registry.savedReference(temporary.reference), permanent.reference)
    XCTAssertEqual(registry.savedReference(permanent.reference), permanent.reference)

    registry.forgetPermanentIDs()
    XCTAssertNil(registry.permanentID(temporary.reference))
    XCTAssertTrue(registry.object(permanent.reference, space: 41) === book)
  }

  func testOneKeyInTwoStoresIdentifiesTwoObjects() throws {
    let coordinator = try makeCoordinator()
    var registry = makeRegistry(coordinator)
    let books = try (0..<2).map { _ in try makeObject(coordinator) }
    for (book, space) in zip(books, [41, 42] as [UInt32]) {
      XCTAssertNil(registry.adopt(permanentID(book, key: 7, space: space), for: book))
    }
    let reference = books[0].objectID.reference
    XCTAssertEqual(reference, books[1].objectID.reference)
    XCTAssertTrue(registry.object(reference, space: 41) === books[0])
    XCTAssertTrue(registry.object(reference, space: 42) === books[1])
    XCTAssertNil(registry.object(reference, space: 43))
  }

  func testKeysAreUniquePerEntityHierarchy() throws {
    let coordinator = try makeCoordinator()
    var registry = makeRegistry(coordinator)
    let (novel, author) = (try makeObject(coordinator, "Novel"), try makeObject(coordinator, "Author"))
    for object in [novel, author] { XCTAssertNil(registry.adopt(permanentID(object, key: 7, space: 41), for: object)) }
    let book = try XCTUnwrap(coordinator.compiledModel.entity(named: "Book"))
    XCTAssertTrue(registry.object(author.objectID.reference, space: 41) === author)
    XCTAssertTrue(registry.object(ObjectReference(entity: book.number, key: 7), space: 41) === novel)
  }

  func testReplacementObjectStaysRegisteredWhenTheOldOneIsRemoved() throws {
    let coordinator = try makeCoordinator()
    var registry = makeRegistry(coordinator)
    let (first, second) = (try makeObject(coordinator), try makeObject(coordinator))
    XCTAssertNil(registry.adopt(permanentID(first, key: 7, space: 41), for: first))
    XCTAssertNil(registry.adopt(permanentID(second, key: 7, space: 41), for: second))
    XCTAssertNil(registry.remove(first))
    XCTAssertTrue(registry.object(second.objectID.reference, space: 41) === second)
    XCTAssertNil(registry.remove(second))
    XCTAssertNil(registry.object(second.objectID.reference, space: 41))
  }
}
