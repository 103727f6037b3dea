import Foundation
import ObjectModel
import XCTest
import _StoreSpecification

@testable import ObjectStore

/// The contents and messages of store errors.
final class StoreErrorTests: XCTestCase {
  private func objectID() throws -> ManagedObjectID {
    let model = SpecificationModels.library
    let space = ObjectIDSpace.register(storeIdentifier: "A", model: model)
    return ManagedObjectID(space: space.number, entityNumber: 0, key: 3)
  }

  func testErrorExposesEntityPropertyAndObject() throws {
    let id = try objectID()
    let value = StoreError(.unreadableValue(entity: "Video", property: "key", id), operation: .read, path: "/store")
    XCTAssertEqual(value.code, .storeCorrupt)
    XCTAssertEqual([value.entityName, value.propertyName, value.path], ["Video", "key", "/store"])
    XCTAssertEqual(value.objectID, id)
    XCTAssertEqual(value.operation, .read)
    XCTAssertTrue(value.message.contains("“Video.key”"), value.message)

    let notOpen = StoreError(.storeOfObjectNotOpen(id), operation: .findObject)
    XCTAssertEqual(notOpen.code, .noOpenStore)
    XCTAssertEqual(notOpen.objectID, id)
    XCTAssertEqual(notOpen.entityName, id.entityName, "that of the object")

    let differing = StoreError(.writtenWithAnotherModel(entities: ["A", "B"], .readOnly), operation: .open)
    XCTAssertEqual(differing.differingEntities, ["A", "B"])
  }

  func testErrorOfACanceledRequestNamesTheOperation() {
    func text(_ operation: StoreOperation) -> String { StoreError(.cancelled(operation), operation: operation).message }
    XCTAssertEqual(text(.fetch), "The fetch was canceled.")
    XCTAssertEqual(text(.batchInsert), "The batch insert was canceled.")
    XCTAssertEqual(StoreError(.migrationCancelled, operation: .migrate).message, "The migration was canceled; the store is unchanged.")
  }

  func testMessageEndsWithTheRemedyInTheWordsOfItsReader() {
    let error = StoreError(.historyOff, operation: .readHistory, path: "/a")
    XCTAssertEqual(
      error.message,
      "The store keeps no history. Set its description's historyTracking, or enable it with “cipherdata history --enable”.")
    XCTAssertEqual("\(error)", error.message + " (/a)")
    XCTAssertEqual(error.description { "\($0)" }, "The store keeps no history. enableHistory (/a)")
    XCTAssertEqual(
      StoreError(.io, "It failed.", underlying: error).description { "\($0)" },
      "It failed. The cause: The store keeps no history. enableHistory (/a)")
  }

  func testRemediesAreSentences() {
    for remedy in Remedy.allCases { XCTAssertTrue(remedy.text.hasSuffix("."), remedy.text) }
    XCTAssertEqual(Set(Remedy.allCases.map(\.text)).count, Remedy.allCases.count)
  }

  func testReasonsWithoutAnObjectHaveACode() {
    let update = StoreError(.nothingToUpdate(entity: "A"), operation: .batchUpdate)
    XCTAssertEqual(update.code, .invalidRequest)
    XCTAssertEqual(update.entityName, "A")
    XCTAssertEqual(StoreError(.resultTypeMismatch).code, .internalInconsistency)
  }

  func testOperationsAreNames() {
    // Names that programs may have stored.
    XCTAssertEqual(StoreOperation(rawValue: "open"), .open)
    XCTAssertEqual(StoreOperation(rawValue: "batch insert"), .batchInsert)
    XCTAssertEqual(StoreOperation(rawValue: "obtain permanent IDs"), .obtainPermanentIDs)
    XCTAssertEqual(StoreError(.io, "It failed.", operation: "upload").operation?.rawValue, "upload")
    XCTAssertEqual("\(StoreError(.busy, "Wait.", operation: .changeKeys, path: "/a"))", "Wait. (/a)")
  }

  func testOnlyACanceledMigrationHasTheCoreDataCode() {
    XCTAssertEqual(StoreError(.migrationCancelled, operation: .migrate).coreDataCode, 134120)
    XCTAssertNil(StoreError(.copyCancelled, operation: .copyStore).coreDataCode)
  }
}
