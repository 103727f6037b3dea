import Foundation
import XCTest

@testable import ObjectModel

/// Object IDs, references and their URIs.
final class ObjectIdentityTests: XCTestCase {
  private func model() throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel(version: "identity") {
        Entity("Author")
        Entity("Book & \"Größe\"/x")
        Entity("Special", parent: "Author")
      })
  }

  func testAReferencePacksEntityAndKey() {
    for entity in [0, 1, 255, 32_767, 32_768, 65_535] {
      for key: Int64 in [1, -1, 1 << 46, -(1 << 46), (1 << 47) - 1, -(1 << 47)] as [Int64] {
        let reference = ObjectReference(entity: entity, key: key)
        XCTAssertEqual(reference.entity, entity)
        XCTAssertEqual(reference.key, key)
        XCTAssertFalse(reference.isNull)
        XCTAssertEqual(ObjectReference(rawValue: reference.rawValue), reference)
      }
    }
    XCTAssertTrue(ObjectReference(rawValue: 0).isNull)
  }

  func testAnIDIsSixteenBytes() {
    XCTAssertEqual(MemoryLayout<ManagedObjectID>.size, 16)
  }

  func testPermanentIDsRoundTripThroughTheirURI() throws {
    let space = ObjectIDSpace.register(storeIdentifier: "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001", model: try model())
    for entity in space.model.entities {
      for key: Int64 in [1, 42, (1 << 46) - 1] as [Int64] {
        let id = ManagedObjectID(space: space.number, entityNumber: UInt32(entity.number), key: key)
        let uri = id.uriRepresentation()
        XCTAssertEqual(uri.scheme, "x-cipherdata")
        XCTAssertEqual(space.objectID(forURI: uri), id, uri.absoluteString)
        XCTAssertEqual(id.entityName, entity.name)
        XCTAssertEqual(id.storeIdentifier, space.storeIdentifier)
        XCTAssertFalse(id.isTemporaryID)
      }
    }
    let id = ManagedObjectID(space: space.number, entityNumber: 0, key: 42)
    XCTAssertEqual(id.description, "x-cipherdata://6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001/Author/p42")
  }

  func testTextualReferencesRoundTripThroughTheirURI() throws {
    let space = ObjectIDSpace.register(storeIdentifier: UUID().uuidString, model: try model())
    let special = try XCTUnwrap(space.model.entity(named: "Special"))
    for text in ["a", "row/7?x=1", "größe 漢", "%2F", "_", "", "1"] {
      let key = space.key(forReference: text, entityNumber: special.number)
      XCTAssertEqual(space.key(forReference: text, entityNumber: special.root), key)
      XCTAssertEqual(space.internedReference(forKey: key), text)
      let id = ManagedObjectID(space: space.number, entityNumber: UInt32(special.number), key: key)
      XCTAssertEqual(space.objectID(forURI: id.uriRepresentation()), id, id.uriString)
    }
    XCTAssertNil(space.internedReference(forKey: 5))
  }

  func testTemporaryIDsAreRecognized() throws {
    let space = ObjectIDSpace.register(storeIdentifier: nil, model: try model())
    let id = ManagedObjectID(space: space.number, entityNumber: 1, key: -7)
    XCTAssertTrue(id.isTemporaryID)
    XCTAssertNil(id.storeIdentifier)
    XCTAssertTrue(id.uriString.hasPrefix("x-cipherdata:///"))
    XCTAssertEqual(space.objectID(forURI: id.uriRepresentation()), id)
  }

  func testForeignURIsAreRejected() throws {
    let space = ObjectIDSpace.register(storeIdentifier: "0A1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001", model: try model())
    let store = "x-cipherdata://0A1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001"
    for text in [
      "http://0A1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001/Author/p1", "x-cipherdata://other/Author/p1", "\(store)/Gone/p1", "\(store)/Author",
      "\(store)/Author/p0", "\(store)/Author/p-1", "\(store)/Author/q1", "\(store)/Author/p", "\(store)/Author/p1/2", "\(store)/Author/t1",
      "\(store)/Author/p99999999999999999999", "\(store)/Author/p70368744177664", store,
    ] {
      XCTAssertNil(URL(string: text).flatMap { space.objectID(forURI: $0) }, text)
    }
  }

  func testReopenedStoresKeepTheirNumber() throws {
    let store = UUID().uuidString
    let first = ObjectIDSpace.register(storeIdentifier: store, model: try model())
    XCTAssertIdentical(ObjectIDSpace.register(storeIdentifier: store, model: try model()), first)
    let other = try CompiledModel(ManagedObjectModel { Entity("Author") })
    XCTAssertNotEqual(ObjectIDSpace.register(storeIdentifier: store, model: other).number, first.number)
    XCTAssertIdentical(ObjectIDSpace.space(first.number), first)
    XCTAssertNil(ObjectIDSpace.space(.max))
  }

  func testStoresOfEqualModelsRetainOneModel() throws {
    struct Reference { weak var model: CompiledModel? }
    var references: [Reference] = []
    var ids: [ManagedObjectID] = []
    for number in 1...100 {
      let model = try model()
      references.append(Reference(model: model))
      let space = ObjectIDSpace.register(storeIdentifier: "7B1A4C1E-\(number)", model: model)
      ids.append(ManagedObjectID(space: space.number, entityNumber: 0, key: Int64(number)))
    }
    XCTAssertLessThanOrEqual(references.count { $0.model != nil }, 1)
    // IDs outlive the models that they were created with.
    XCTAssertEqual(ids.map(\.uriString), (1...100).map { "x-cipherdata://7B1A4C1E-\($0)/Author/p\($0)" })
    XCTAssertEqual(ids.compactMap { ManagedObjectID(uri: $0.uriRepresentation()) }, ids)
  }
}
