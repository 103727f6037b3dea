import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

/// Behavior specific to a store without a file.
final class InMemoryStoreTests: XCTestCase {
  private func makeStore() throws -> InMemoryStore {
    let model = SpecificationModels.library
    return try InMemoryStore(
      configuration: StoreConfiguration(
        description: PersistentStoreDescription(type: .inMemory), model: model, entityNumbers: model.entities.map(\.number)))
  }

  func testIdentityIsStableWhileTheStoreIsOpen() throws {
    let store = try makeStore()
    let identifier = try store.loadMetadata().storeIdentifier
    XCTAssertEqual(try store.loadMetadata().storeIdentifier, identifier)
    let lineage = try XCTUnwrap(store.loadMetadata().lineageIdentifier)
    XCTAssertEqual(try store.loadMetadata().lineageIdentifier, lineage)
    try store.setUserMetadata(["a": "b"])
    XCTAssertEqual(try store.loadMetadata().userMetadata, ["a": "b"])
    try store.close()
    let next = try store.loadMetadata()
    XCTAssertNotEqual(next.storeIdentifier, identifier)
    XCTAssertNotEqual(next.lineageIdentifier, lineage)
    XCTAssertEqual(next.userMetadata, [:])
  }

  func testRequestsToAnUnopenedStoreThrow() throws {
    let store = try makeStore()
    let scope = RequestScope(objectIDSpace: .register(storeIdentifier: UUID().uuidString, model: SpecificationModels.library))
    XCTAssertThrowsError(try store.execute(.fetch(FetchSpecification(entityName: "Tag")), in: scope))
    XCTAssertThrowsError(try store.obtainPermanentIDs(for: [], in: scope))
    XCTAssertThrowsError(try store.performTransaction {})
  }

  func testNestedTransactionRollsBackAlone() throws {
    struct Stop: Error {}
    let open = try OpenStore(PersistentStoreDescription(type: .inMemory), model: SpecificationModels.library)
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("outer")])
      XCTAssertThrowsError(
        try open.store.performTransaction {
          try open.insert("Tag", ["name": .text("inner")])
          throw Stop()
        })
      XCTAssertEqual(try open.count("Tag"), 1)
    }
    XCTAssertEqual(try open.texts("name", FetchSpecification(entityName: "Tag")), ["outer"])
    try open.close()
  }
}
