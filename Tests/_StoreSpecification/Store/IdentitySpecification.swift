import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// The IDs of objects, and rows found by them.
public final class IdentitySpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testPermanentIDsAreUniqueAndAscending", { $0.testPermanentIDsAreUniqueAndAscending }),
        ("testIDsOfSeveralEntitiesAreObtainedTogether", { $0.testIDsOfSeveralEntitiesAreObtainedTogether }),
        ("testKeysAreNeverReused", { $0.testKeysAreNeverReused }),
        ("testEntityHierarchySharesItsKeys", { $0.testEntityHierarchySharesItsKeys }),
        ("testObjectIDIsResolvedFromItsURI", { $0.testObjectIDIsResolvedFromItsURI }),
        ("testReferenceObjectsIdentifyObjectIDs", { $0.testReferenceObjectsIdentifyObjectIDs }),
        ("testRowsOfManyObjectsAreReadTogether", { $0.testRowsOfManyObjectsAreReadTogether }),
        ("testMissingRowsAreOmittedFromTheResult", { $0.testMissingRowsAreOmittedFromTheResult }),
        ("testRowsOfSeveralEntitiesAreReadTogether", { $0.testRowsOfSeveralEntitiesAreReadTogether }),
        ("testObtainingIDsWritesNoRow", { $0.testObtainingIDsWritesNoRow }),
      ] as [(String, (IdentitySpecification) -> () throws -> Void)])
  }

  func testPermanentIDsAreUniqueAndAscending() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Author", count: 3_000)
    XCTAssertEqual(Set(ids).count, ids.count)
    for id in ids {
      XCTAssertFalse(id.isTemporaryID)
      XCTAssertGreaterThan(id.key, 0)
      XCTAssertEqual(id.entityName, "Author")
    }
    XCTAssertEqual(ids[0].storeIdentifier, open.persistentStore.identifier)
    let others = try open.newIDs("Author", count: 2)
    XCTAssertTrue(Set(ids).isDisjoint(with: others))
  }

  func testIDsOfSeveralEntitiesAreObtainedTogether() throws {
    let open = try makeStore()
    let names = ["Book", "Author", "Tag", "Book", "Author"]
    let temporary = try names.enumerated().map {
      ManagedObjectID(space: open.scope.objectIDSpace.number, entityNumber: UInt32(try open.entity($1).number), key: Int64(-$0 - 1))
    }
    let ids = try open.store.obtainPermanentIDs(for: temporary, in: open.scope)
    XCTAssertEqual(ids.map(\.entityName), names)
    XCTAssertEqual(Set(ids).count, names.count)
    XCTAssertEqual(try open.store.obtainPermanentIDs(for: [], in: open.scope), [])
  }

  func testKeysAreNeverReused() throws {
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    var seen: Set<Int64> = []
    for round in 0..<3 {
      let ids = try open.newIDs("Author", count: 3)
      XCTAssertTrue(seen.isDisjoint(with: ids.map(\.key)), "Round \(round)")
      seen.formUnion(ids.map(\.key))
      try open.save { save in for id in ids { try save.insert(id, ["name": .text("\(round)")]) } }
      try open.save { save in for id in ids { try save.delete(id) } }
      if storeUnderTest.keepsRows {
        try open.close()
        open = try openStore(in: folder)
      }
    }
  }

  func testEntityHierarchySharesItsKeys() throws {
    let open = try makeStore(SpecificationModels.assets)
    let ids = try open.newIDs("Photo", count: 2) + open.newIDs("Clip", count: 2) + open.newIDs("Letter", count: 2)
    XCTAssertEqual(Set(ids.map(\.key)).count, 6)
  }

  func testObjectIDIsResolvedFromItsURI() throws {
    let open = try makeStore()
    let id = try open.insert("Author", ["name": .text("Ada")])
    let uri = id.uriRepresentation()
    XCTAssertEqual(uri.scheme, "x-cipherdata")
    XCTAssertEqual(open.coordinator.managedObjectID(forURIRepresentation: uri), id)
    let other = try makeStore()
    XCTAssertNil(other.coordinator.managedObjectID(forURIRepresentation: uri), "Another store's object is not this one's.")
  }

  func testReferenceObjectsIdentifyObjectIDs() throws {
    let open = try makeStore()
    let id = try open.insert("Author", ["name": .text("Ada")])
    let reference = open.store.referenceObject(for: id, in: open.scope)
    XCTAssertEqual(open.store.newObjectID(for: try open.entity("Author"), referenceObject: reference, in: open.scope), id)
  }

  func testRowsOfManyObjectsAreReadTogether() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Author", count: 2_100)
    try open.save { save in for (index, id) in ids.enumerated() { try save.insert(id, ["born": .int(Int64(index))]) } }
    var generator = SeededGenerator(seed: 7)
    let rows = try open.store.newValuesForObjects(with: ids.shuffled(using: &generator), in: open.scope)
    XCTAssertEqual(rows.count, ids.count)
    let born = Dictionary(uniqueKeysWithValues: try rows.map { ($0.key, try open.value($0, "born")) })
    for (index, id) in ids.enumerated() where born[id.key] != .int(Int64(index)) { XCTFail("The row of \(id) is another's.") }
  }

  func testMissingRowsAreOmittedFromTheResult() throws {
    let open = try makeStore()
    let there = try open.insert("Author", ["name": .text("Ada")])
    let never = try open.newID("Author")
    let rows = try open.store.newValuesForObjects(with: [never, there], in: open.scope)
    XCTAssertEqual(rows.map(\.reference), [there.reference])
    XCTAssertEqual(try open.store.newValuesForObjects(with: [], in: open.scope).count, 0)
  }

  func testRowsOfSeveralEntitiesAreReadTogether() throws {
    let open = try makeStore(SpecificationModels.assets)
    let photo = try open.insert("Photo", ["name": .text("sea"), "title": .text("Sea"), "width": .int(10)])
    let clip = try open.insert("Clip", ["name": .text("wave"), "start": .int(3), "title": .int(7)])
    let note = try open.insert("Note", ["body": .text("both")])
    let rows = try open.store.newValuesForObjects(with: [note, clip, photo], in: open.scope)
    XCTAssertEqual(Set(rows.map(\.reference)), [photo.reference, clip.reference, note.reference])
    XCTAssertEqual(try open.value(photo, "title"), .text("Sea"))
    XCTAssertEqual(try open.value(clip, "title"), .int(7))
  }

  func testObtainingIDsWritesNoRow() throws {
    let open = try makeStore()
    _ = try open.newIDs("Author", count: 5)
    XCTAssertEqual(try open.count("Author"), 0)
  }
}
