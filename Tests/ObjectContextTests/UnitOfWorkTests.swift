import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// The changed objects, those of the current event, and the state after saves.
final class UnitOfWorkTests: XCTestCase {
  /// Saved objects of a context without changes.
  private func withSaved(_ count: Int, _ body: ([ManagedObject]) throws -> Void) async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Library.model)
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let context = ManagedObjectContext(coordinator: coordinator)
    let books = try (0..<count).map { try context.make("Book", ["title": "\($0)"]) }
    try context.save()
    try body(books)
    withExtendedLifetime(context) {}
  }

  private func makeNew(_ count: Int) throws -> [ManagedObject] {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Library.model)
    let entity = try XCTUnwrap(Library.model.entity(named: "Book"))
    return try (0..<count).map { _ in try ManagedObject(entity: entity, of: coordinator) }
  }

  func testDeletedNewObjectsAreRemovedAfterTheirRulesRun() throws {
    // Few objects are searched for one by one, many in one pass.
    for count in [3, 9] {
      let books = try makeNew(count)
      var work = UnitOfWork()
      for book in books { work.recordInsertion(book) }
      _ = work.takePending()
      XCTAssertFalse(work.hasEvent)
      let gone = Array(books.dropFirst())
      for book in gone { work.recordDeletion(book) }
      XCTAssertTrue(work.hasEvent)
      XCTAssertEqual(work.takeDeletedInsertions(), [], "The rules come first.")
      while work.takeUnpropagated() != nil {}
      XCTAssertEqual(work.takeDeletedInsertions(), gone)
      XCTAssertEqual(work.inserted, [books[0]])
      XCTAssertEqual(work.deleted, [])
    }
  }

  func testRepeatedlyChangedObjectIsListedOnce() async throws {
    try await withSaved(2) { books in
      var work = UnitOfWork()
      XCTAssertTrue(work.isEmpty)
      XCTAssertFalse(work.hasEvent)
      for _ in 0..<3 { for book in books { work.recordUpdate(book) } }
      XCTAssertEqual(work.updated, books)
      XCTAssertTrue(books.allSatisfy(\.isUpdated))
      for _ in 0..<2 { work.recordDeletion(books[0]) }
      XCTAssertEqual(work.deleted, [books[0]])
      XCTAssertTrue(books[0].isDeleted)
      XCTAssertEqual(work.objects, [books[0], books[1], books[0]])
      XCTAssertEqual(work.filter { $0 === books[1] }, [books[1]])
      XCTAssertFalse(work.isEmpty)
    }
  }

  func testTakingObjectsEndsTheirEvent() async throws {
    try await withSaved(3) { books in
      var work = UnitOfWork()
      work.recordInsertion(books[0])
      work.recordUpdate(books[1])
      XCTAssertTrue(work.hasPendingChanges)
      XCTAssertEqual(work.takePending(), [books[0], books[1]])
      XCTAssertFalse(work.hasEvent)
      XCTAssertEqual(work.takePending(), [])
      XCTAssertEqual(work.inserted, [books[0]], "The work stays.")
      work.recordUpdate(books[2])
      work.restorePending([books[1], books[2]])
      XCTAssertEqual(work.takePending(), [books[2], books[1]], "Who is in the event is not put into it again.")
    }
  }

  func testDeleteRulesAreAppliedOnceToEachObject() async throws {
    try await withSaved(3) { books in
      var work = UnitOfWork()
      work.recordDeletion(books[0])
      work.recordDeletion(books[1])
      XCTAssertTrue(work.takeUnpropagated() === books[0])
      // Delete rules cascade while they are applied.
      work.recordDeletion(books[2])
      XCTAssertTrue(work.takeUnpropagated() === books[1])
      XCTAssertTrue(work.takeUnpropagated() === books[2])
      XCTAssertNil(work.takeUnpropagated())
      XCTAssertEqual(work.takeDeletedInsertions(), [], "None of them is new.")
    }
  }

  func testSavedObjectsAreRemovedAndOthersStay() async throws {
    try await withSaved(3) { books in
      var work = UnitOfWork()
      for book in books { work.recordUpdate(book) }
      work.recordDeletion(books[2])
      work.lock(books[0])
      XCTAssertTrue(work.hasLocked)
      let all = work.objectsToSave()
      XCTAssertEqual(all.deleted, [books[2]])
      work.remove([books[0]])
      XCTAssertFalse(work.hasLocked)
      XCTAssertEqual(work.updated, [books[1], books[2]])
      XCTAssertEqual(work.takePending(), [books[1], books[2]])
      XCTAssertEqual(work.saveCount, 0)
      work.finishSave(of: work.objectsToSave())
      XCTAssertEqual(work.saveCount, 1)
      XCTAssertEqual(work.deleted, [])
      work.recordUpdate(books[0])
      XCTAssertTrue(work.updated.contains(books[0]), "A removed object can be added again.")
    }
  }

  func testEndReturnsAllChanges() async throws {
    try await withSaved(2) { books in
      var work = UnitOfWork()
      work.recordInsertion(books[0])
      work.recordUpdate(books[1])
      let former = work.finishSave()
      XCTAssertEqual(Set(former.objects), Set(books), "The caller holds them until the lists are whole again.")
      XCTAssertTrue(work.isEmpty)
      XCTAssertFalse(work.hasEvent)
      XCTAssertEqual(work.saveCount, 1)
      XCTAssertNil(work.takeUnpropagated())
      work.recordInsertion(books[1])
      XCTAssertEqual(work.inserted, [books[1]])
      XCTAssertEqual(work.removeAll().objects, [books[1]])
      XCTAssertEqual(work.saveCount, 1, "What is forgotten was not saved.")
    }
  }
}
