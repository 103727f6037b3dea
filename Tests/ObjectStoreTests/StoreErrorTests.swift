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

    let noObject = StoreError(.noObject(id), operation: .findObject)
    XCTAssertEqual(noObject.code, .objectNotFound)
    XCTAssertEqual(noObject.objectID, id)
    XCTAssertEqual(noObject.entityName, id.entityName, "that of the object")

    let differing = StoreError(.writtenWithAnotherModel(entities: ["A", "B"], .readOnly), operation: .open)
    XCTAssertEqual(differing.differingEntities, ["A", "B"])
  }

  func testMessageDependsOnTheOperation() {
    func text(_ reason: StoreError.Reason, _ operation: StoreOperation) -> String { StoreError(reason, operation: operation).message }
    XCTAssertEqual(text(.cancelled, .fetch), "The fetch was canceled.")
    XCTAssertEqual(text(.cancelled, .batchInsert), "The batch insert was canceled.")
    XCTAssertEqual(text(.cancelled, .migrate), "The migration was canceled.")
    XCTAssertEqual(text(.abstractEntity("A"), .save), "The entity “A” is abstract: it has no objects.")
    XCTAssertEqual(text(.abstractEntity("A"), .batchInsert), "The entity “A” is abstract; insert rows of one of its subentities.")
    XCTAssertEqual(text(.wrongNumberOfIDs(given: 1, asked: 2), .batchInsert), "The store returned 1 IDs for 2 rows.")
  }

  func testUnnamedOperationsUseAFixedListOfMessages() {
    let sentences = StoreError.Misuse.allCases.map(\.rawValue) + StoreError.InternalInconsistency.allCases.map(\.rawValue)
    for sentence in sentences { XCTAssertTrue(sentence.hasSuffix("."), sentence) }
    let inserted = StoreError(.misuse(.insertedTwice, entity: "A"), operation: .insert)
    XCTAssertEqual(inserted.code, .invalidRequest)
    XCTAssertEqual(inserted.entityName, "A")
    XCTAssertEqual(StoreError(.internalInconsistency(.otherResult)).code, .internalInconsistency)
  }

  func testOperationMessagesAreUnique() {
    XCTAssertEqual(Set(StoreOperation.allCases.map(\.rawValue)).count, StoreOperation.allCases.count)
    // Raw values that programs may have stored.
    XCTAssertEqual(StoreOperation(rawValue: "open"), .open)
    XCTAssertEqual(StoreOperation(rawValue: "batch insert"), .batchInsert)
    XCTAssertEqual(StoreOperation(rawValue: "obtain permanent IDs"), .obtainPermanentIDs)
    XCTAssertEqual("\(StoreError(.busy, "Wait.", operation: .changeKeys, path: "/a"))", "Wait. (/a)")
  }

  func testOnlyACanceledMigrationHasTheCoreDataCode() {
    XCTAssertEqual(StoreError(.cancelled, operation: .migrate).coreDataCode, 134120)
    XCTAssertNil(StoreError(.cancelled, operation: .copyStore).coreDataCode)
  }
}
