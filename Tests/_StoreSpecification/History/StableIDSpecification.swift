import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Stable IDs of objects: the same wherever the object is, and found again.
public final class StableIDSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testObjectsAreFoundByTheirStableIDs", { $0.testObjectsAreFoundByTheirStableIDs }),
        ("testStableIDsAreUniqueAcrossEntities", { $0.testStableIDsAreUniqueAcrossEntities }),
        ("testStableIDsArePersistent", { $0.testStableIDsArePersistent }),
        ("testStoresWithoutStableIDsReturnNil", { $0.testStoresWithoutStableIDsReturnNil }),
        ("testExistingObjectsReceiveStableIDs", { $0.testExistingObjectsReceiveStableIDs }),
        ("testADeletedObjectKeepsItsIDAndIsNotFound", { $0.testADeletedObjectKeepsItsIDAndIsNotFound }),
        ("testADeletedObjectKeepsItsIDWhileItExists", { $0.testADeletedObjectKeepsItsIDWhileItExists }),
        ("testAnObjectHasNoIDBeforeItsInsertionIsCommitted", { $0.testAnObjectHasNoIDBeforeItsInsertionIsCommitted }),
        ("testAnObjectOfANestedContextHasNoIDBeforeItIsStored", { $0.testAnObjectOfANestedContextHasNoIDBeforeItIsStored }),
        ("testObjectsOfClosedStoresThrow", { $0.testObjectsOfClosedStoresThrow }),
        ("testAssignedIDsReplaceTheStoresOwn", { $0.testAssignedIDsReplaceTheStoresOwn }),
        ("testAnAssignedIDIsUnique", { $0.testAnAssignedIDIsUnique }),
        ("testARolledBackAssignmentHasNoEffect", { $0.testARolledBackAssignmentHasNoEffect }),
        ("testPurgingRemovesAssignedIDsOfDeletedObjects", { $0.testPurgingRemovesAssignedIDsOfDeletedObjects }),
      ] as [(String, (StableIDSpecification) -> () throws -> Void)])
  }

  private func makeTracked(_ model: CompiledModel = SpecificationModels.library) throws -> OpenStore {
    try openStore(in: makeFolder(), model) { $0.tracksObjectIdentity = true }
  }

  func testObjectsAreFoundByTheirStableIDs() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let books = try (1...50).map { try context.insert("Book", ["title": "\($0)"]) }
    XCTAssertEqual(try context.stableIDs(of: books), Array(repeating: nil, count: 50), "No object is saved yet.")
    try context.save()
    let ids = try context.stableIDs(of: books).map { try XCTUnwrap($0) }
    XCTAssertEqual(Set(ids).count, 50)
    XCTAssertEqual(try books[7].stableID, ids[7])
    let other = open.newContext()
    for (book, id) in zip(books, ids) { XCTAssertEqual(try other.object(forStableID: id)?.objectID, book.objectID) }
    XCTAssertNil(try other.object(forStableID: UUID()))
    let child = ManagedObjectContext(parent: other)
    XCTAssertEqual(try child.object(forStableID: ids[3])?.text("title"), "4")
  }

  func testStableIDsAreUniqueAcrossEntities() throws {
    let open = try makeTracked(SpecificationModels.assets)
    let context = open.newContext()
    let objects = try ["Photo", "Video", "Clip", "Letter", "Note"].flatMap { name in try (0..<5).map { _ in try context.insert(name) } }
    try context.save()
    let ids = try context.stableIDs(of: objects).compactMap { $0 }
    XCTAssertEqual(Set(ids).count, objects.count)
    for (object, id) in zip(objects, ids) { XCTAssertEqual(try context.object(forStableID: id), object) }
  }

  func testStableIDsArePersistent() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var open = try openStore(in: folder) { $0.tracksObjectIdentity = true }
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let id = try tag.stableID
    XCTAssertNotNil(id)
    try open.close()
    open = try openStore(in: folder)
    XCTAssertEqual(try find("Tag", "name", "a", in: open.newContext()).stableID, id)
    try open.close()
    open = try openStore(in: folder) { $0.tracksObjectIdentity = false }
    XCTAssertNil(try find("Tag", "name", "a", in: open.newContext()).stableID)
  }

  func testStoresWithoutStableIDsReturnNil() throws {
    let open = try makeStore()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    XCTAssertNil(try tag.stableID)
    XCTAssertNil(try context.object(forStableID: UUID()))
    XCTAssertThrowsError(try open.coordinator.setStableIDs([(tag.objectID, UUID())], in: open.persistentStore)) {
      XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
    }
  }

  func testExistingObjectsReceiveStableIDs() throws {
    let open = try makeStore()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let identities = try XCTUnwrap(open.store as? any IdentityStore)
    try identities.setTracksObjectIdentity(true)
    let id = try XCTUnwrap(tag.stableID)
    let other = open.newContext()
    XCTAssertEqual(try other.object(forStableID: id)?.text("name"), "a")
    try identities.setTracksObjectIdentity(true)
    XCTAssertEqual(try tag.stableID, id)
  }

  func testADeletedObjectKeepsItsIDAndIsNotFound() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let id = try XCTUnwrap(tag.stableID)
    context.delete(tag)
    XCTAssertNil(try context.object(forStableID: id))
    try context.save()
    XCTAssertNil(try open.newContext().object(forStableID: id))
    XCTAssertEqual(try open.coordinator.stableIDs(of: [tag.objectID]), [id])
    let next = try context.insert("Tag", ["name": "b"])
    try context.save()
    XCTAssertNotEqual(try next.stableID, id)
  }

  func testADeletedObjectKeepsItsIDWhileItExists() throws {
    let open = try makeTracked()
    let context = open.newContext()
    context.undoManager = ContextUndoManager()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let id = try XCTUnwrap(tag.stableID)
    context.undoManager?.removeAllActions()
    context.delete(tag)
    XCTAssertEqual(try tag.stableID, id)
    try context.save()
    XCTAssertEqual(try tag.stableID, id)
    try context.undo()
    XCTAssertEqual(try tag.stableID, id, "The restored object is not saved yet.")
    try context.save()
    XCTAssertEqual(try tag.stableID, id)
    XCTAssertEqual(try context.object(forStableID: id), tag)
    try context.redo()
    try context.save()
    XCTAssertEqual(try tag.stableID, id)
    XCTAssertNil(try context.object(forStableID: id))
    let other = try context.insert("Tag", ["name": "b"])
    try context.save()
    let otherID = try XCTUnwrap(other.stableID)
    XCTAssertNotEqual(otherID, id)
    context.reset()
    XCTAssertEqual(try other.stableID, otherID)
  }

  func testAnObjectHasNoIDBeforeItsInsertionIsCommitted() throws {
    final class Refusal: TransactionObserver {
      struct Refused: Error {}
      func didChange(_ change: RowChange, in transaction: ObservedTransaction) {}
      func willCommit(_ transaction: ObservedTransaction) throws { throw Refused() }
      func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
      func didCommit(_ transaction: ObservedTransaction) {}
      func didRollback(_ transaction: ObservedTransaction) {}
    }
    let open = try makeTracked()
    let context = open.newContext()
    let tags = try ["a", "b"].map { try context.insert("Tag", ["name": $0]) }
    try context.obtainPermanentIDs(for: tags)
    XCTAssertFalse(tags[0].objectID.isTemporaryID)
    XCTAssertEqual(try context.stableIDs(of: tags), [nil, nil])
    let refusal = Refusal()
    try open.coordinator.addTransactionObserver(refusal)
    XCTAssertThrowsError(try context.save())
    XCTAssertEqual(try context.stableIDs(of: tags), [nil, nil])
    open.coordinator.removeTransactionObserver(refusal)
    context.delete(tags[1])
    try context.save()
    let ids = try context.stableIDs(of: tags)
    XCTAssertNotNil(ids[0])
    XCTAssertNil(ids[1], "The object was never saved.")
    let discarded = try context.insert("Tag", ["name": "c"])
    try context.obtainPermanentIDs(for: [discarded])
    context.rollback()
    XCTAssertNil(try discarded.stableID)
  }

  func testAnObjectOfANestedContextHasNoIDBeforeItIsStored() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let child = ManagedObjectContext(parent: context)
    let grandchild = ManagedObjectContext(parent: child)
    let tag = try grandchild.insert("Tag", ["name": "a"])
    try grandchild.save()
    XCTAssertNil(try tag.stableID)
    try child.save()
    XCTAssertNil(try tag.stableID)
    let same = try XCTUnwrap(child.fetch(FetchRequest<ManagedObject>(entityName: "Tag")).first)
    XCTAssertNil(try same.stableID)
    try context.save()
    let id = try XCTUnwrap(tag.stableID)
    XCTAssertEqual(try same.stableID, id)
    XCTAssertEqual(try child.object(forStableID: id), same)
    XCTAssertEqual(try context.object(forStableID: id)?.objectID, tag.objectID)
  }

  func testObjectsOfClosedStoresThrow() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let id = try XCTUnwrap(tag.stableID)
    try open.close()
    for read in [{ _ = try tag.stableID }, { _ = try context.stableIDs(of: [tag]) }, { _ = try context.object(forStableID: id) }] {
      XCTAssertThrowsError(try read()) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore, "\($0)") }
    }
  }

  func testAssignedIDsReplaceTheStoresOwn() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tags = try ["a", "b"].map { try context.insert("Tag", ["name": $0]) }
    try context.save()
    let (own, foreign) = (try XCTUnwrap(tags[0].stableID), UUID())
    try open.coordinator.setStableIDs([(tags[0].objectID, foreign)], in: open.persistentStore)
    XCTAssertEqual(try tags[0].stableID, foreign)
    XCTAssertEqual(try context.object(forStableID: foreign), tags[0])
    XCTAssertNil(try context.object(forStableID: own))
    // The former ID is free again.
    try open.coordinator.setStableIDs([(tags[1].objectID, own)], in: open.persistentStore)
    XCTAssertEqual(try context.object(forStableID: own), tags[1])
  }

  func testAnAssignedIDIsUnique() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tags = try ["a", "b"].map { try context.insert("Tag", ["name": $0]) }
    try context.save()
    let ids = try context.stableIDs(of: tags).map { try XCTUnwrap($0) }
    XCTAssertThrowsError(try open.coordinator.setStableIDs([(tags[0].objectID, ids[1])], in: open.persistentStore)) {
      XCTAssertTrue("\($0)".contains(ids[1].uuidString), "\($0)")
    }
    try open.coordinator.setStableIDs([(tags[0].objectID, ids[0])], in: open.persistentStore)
    XCTAssertEqual(try context.stableIDs(of: tags), ids)
  }

  func testARolledBackAssignmentHasNoEffect() throws {
    struct Failure: Error {}
    let open = try makeTracked()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "a"])
    try context.save()
    let (id, own) = (tag.objectID, try tag.stableID)
    XCTAssertThrowsError(
      try context.performTransaction {
        try open.coordinator.setStableIDs([(id, UUID())], in: open.persistentStore)
        XCTAssertNotEqual(try open.coordinator.stableIDs(of: [id]), [own])
        throw Failure()
      })
    XCTAssertEqual(try open.coordinator.stableIDs(of: [id]), [own])
  }

  func testPurgingRemovesAssignedIDsOfDeletedObjects() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tags = try ["a", "b", "c"].map { try context.insert("Tag", ["name": $0]) }
    let book = try context.insert("Book", ["title": "d"])
    try context.save()
    let (objectIDs, own) = (tags.map(\.objectID), try context.stableIDs(of: tags))
    let foreign = (0..<3).map { _ in UUID() }
    let assigned = [(objectIDs[0], foreign[0]), (objectIDs[1], foreign[1]), (book.objectID, foreign[2])]
    try open.coordinator.setStableIDs(assigned.map { (objectID: $0, id: $1) }, in: open.persistentStore)
    XCTAssertEqual(try open.coordinator.purgeStableIDs(in: open.persistentStore), 0)
    context.delete(tags[0])
    context.delete(tags[2])
    try context.save()
    XCTAssertEqual(try open.coordinator.stableIDs(of: objectIDs), [foreign[0], foreign[1], own[2]], "Deleted objects keep their IDs.")
    XCTAssertEqual(try open.coordinator.purgeStableIDs(in: open.persistentStore), 1)
    XCTAssertEqual(try open.coordinator.stableIDs(of: objectIDs), [own[0], foreign[1], own[2]])
    XCTAssertEqual(try open.coordinator.stableIDs(of: [book.objectID]), [foreign[2]])
    XCTAssertEqual(try open.coordinator.purgeStableIDs(in: open.persistentStore), 0)
    let plain = try openStore(in: makeFolder())
    XCTAssertThrowsError(try plain.coordinator.purgeStableIDs(in: plain.persistentStore))
  }
}
