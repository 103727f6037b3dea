// JSONFileStoreSpecificationTests: the example's store keeps the contract that the built-in stores keep.
import Foundation
import JSONFileStore
import ObjectStore
import XCTest
import _StoreSpecification

/// The JSON file store, as the specification sees it.
struct JSONFileStoreUnderTest: StoreUnderTest {
  let name = "JSONFile"
  let keepsRows = true

  func register() { PersistentStoreCoordinator.registerStoreClass(JSONFileStore.self, forStoreType: .jsonFile) }

  func storeDescription(in folder: URL) -> PersistentStoreDescription {
    PersistentStoreDescription(type: .jsonFile, url: folder.appendingPathComponent("store.json"))
  }
}

final class JSONFileStoreSpecificationTests: XCTestCase {
  func testTheStoreMeetsTheSpecification() {
    verify(JSONFileStoreUnderTest(), meets: StoreSpecification.storeSuites)
  }

  func testObjectsOverTheStoreMeetTheSpecification() {
    verify(JSONFileStoreUnderTest(), meets: StoreSpecification.objectSuites)
  }
}
