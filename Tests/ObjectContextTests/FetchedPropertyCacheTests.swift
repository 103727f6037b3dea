import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// The results of fetched properties are cached by owner and name until they are released.
final class FetchedPropertyCacheTests: XCTestCase {
  func testListsAreCachedByOwnerAndName() throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Library.model)
    let entity = try XCTUnwrap(Library.model.entity(named: "Author"))
    let (one, other) = (try ManagedObject(entity: entity, of: coordinator), try ManagedObject(entity: entity, of: coordinator))
    let ids = (1...3).map { ManagedObjectID(space: 1, entityNumber: 0, key: $0) }
    var lists = FetchedPropertyCache()
    XCTAssertNil(lists.ids("best", of: one))
    lists.forget(one)
    lists.keep(ids, "best", of: one)
    lists.keep([], "worst", of: one)
    lists.keep([ids[0]], "best", of: other)
    XCTAssertEqual(lists.ids("best", of: one), ids)
    XCTAssertEqual(lists.ids("worst", of: one), [], "Found nothing is not the same as never asked.")
    XCTAssertEqual(lists.ids("best", of: other), [ids[0]])
    lists.keep([ids[2]], "best", of: one)
    XCTAssertEqual(lists.ids("best", of: one), [ids[2]])

    lists.forget(one)
    XCTAssertNil(lists.ids("best", of: one))
    XCTAssertNil(lists.ids("worst", of: one))
    XCTAssertEqual(lists.ids("best", of: other), [ids[0]])
    lists.removeAll()
    XCTAssertNil(lists.ids("best", of: other))
  }
}
