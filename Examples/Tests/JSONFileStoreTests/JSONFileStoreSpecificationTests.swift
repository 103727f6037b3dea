import Foundation
import JSONFileStore
import CipherDataEngine
import XCTest
import _StoreSpecification

/// The JSON file store, as the specification tests it.
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

  func testStoreDescriptionControlsIndentation() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    PersistentStoreCoordinator.registerStoreClass(JSONFileStore.self, forStoreType: .jsonFile)
    for isIndented in [true, false] {
      let url = folder.appendingPathComponent("\(isIndented).json")
      let description = try PersistentStoreDescription(type: .jsonFile, url: url, options: ["isIndented": isIndented])
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: SpecificationModels.library.model)
      try coordinator.remove(try await coordinator.addPersistentStore(with: description))
      XCTAssertEqual(try String(contentsOf: url, encoding: .utf8).contains("\n"), isIndented)
    }
  }

  /// An unsupported feature of a store class causes an error that says so.
  func testHistoryTrackingIsRejected() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    PersistentStoreCoordinator.registerStoreClass(JSONFileStore.self, forStoreType: .jsonFile)
    var description = PersistentStoreDescription(type: .jsonFile, url: folder.appendingPathComponent("store.json"))
    description.historyTracking = true
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: SpecificationModels.library.model)
    do {
      _ = try await coordinator.addPersistentStore(with: description)
      XCTFail("the store was opened")
    } catch let error as StoreError { XCTAssertEqual(error.code, .unsupported) }
    description.historyTracking = nil
    _ = try await coordinator.addPersistentStore(with: description)
    XCTAssertNil(try coordinator.currentPersistentHistoryToken())
    XCTAssertThrowsError(try coordinator.execute(.fetchHistory(after: nil))) {
      XCTAssertEqual(($0 as? StoreError)?.code, .unsupported)
    }
  }

  func testObjectsOverTheStoreMeetTheSpecification() {
    verify(
      JSONFileStoreUnderTest(), meets: StoreSpecification.objectSuites,
      exceptions: [
        SpecificationException(
          suite: "TransactionObserverSpecification", case: "testABatchDeleteReportsLinksAndClearedReferences",
          reason: "Only the library's own stores report the links that a batch delete removes.")
      ])
  }
}
