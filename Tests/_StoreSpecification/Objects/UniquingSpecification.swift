import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// One object for each row in a context; lookup of objects by ID.
public final class UniquingSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAContextHasOneObjectForARow", { $0.testAContextHasOneObjectForARow }),
        ("testContextsHaveTheirOwnObjects", { $0.testContextsHaveTheirOwnObjects }),
        ("testARegisteredObjectKeepsItsUnsavedValues", { $0.testARegisteredObjectKeepsItsUnsavedValues }),
        ("testObjectsAreFoundByID", { $0.testObjectsAreFoundByID }),
        ("testAnObjectWithoutARowIsNotFound", { $0.testAnObjectWithoutARowIsNotFound }),
        ("testAnIDIsTemporaryUntilTheSave", { $0.testAnIDIsTemporaryUntilTheSave }),
        ("testUnreferencedObjectsAreReleased", { $0.testUnreferencedObjectsAreReleased }),
        ("testContextRetainsChangedObjects", { $0.testContextRetainsChangedObjects }),
        ("testObjectKeepsItsIdentityAcrossTheSave", { $0.testObjectKeepsItsIdentityAcrossTheSave }),
        ("testObjectIDFindsItsObjectAfterReopening", { $0.testObjectIDFindsItsObjectAfterReopening }),
      ] as [(String, (UniquingSpecification) -> () throws -> Void)])
  }

  private func makeAuthors() throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore()
    let context = open.newContext()
    let bob = try context.insert("Author", ["name": "Bob"])
    try context.insert("Author", ["name": "Ada", "mentor": bob])
    try context.save()
    return (open, open.newContext())
  }

  func testAContextHasOneObjectForARow() throws {
    let (_, context) = try makeAuthors()
    let ada = try find("Author", "name", "Ada", in: context)
    XCTAssertTrue(try find("Author", "name", "Ada", in: context) === ada)
    let bob = try find("Author", "name", "Bob", in: context)
    XCTAssertTrue(ada.object("mentor") === bob)
    XCTAssertTrue(bob.members("pupils").first === ada)
    XCTAssertTrue(context.object(with: ada.objectID) === ada)
    XCTAssertTrue(try context.existingObject(with: ada.objectID) === ada)
  }

  func testContextsHaveTheirOwnObjects() throws {
    let (open, first) = try makeAuthors()
    let second = open.newContext()
    let (one, other) = (try find("Author", "name", "Ada", in: first), try find("Author", "name", "Ada", in: second))
    XCTAssertFalse(one === other)
    XCTAssertEqual(one.objectID, other.objectID)
    try one.setValue("Adele", forKey: "name")
    XCTAssertEqual(other.text("name"), "Ada")
  }

  func testARegisteredObjectKeepsItsUnsavedValues() throws {
    let (open, context) = try makeAuthors()
    let ada = try find("Author", "name", "Ada", in: context)
    try ada.setValue(1815, forKey: "born")
    try open.save { try $0.update(ada.objectID, ["born": .int(7)]) }
    let again = try context.all("Author").first { $0 === ada }
    XCTAssertEqual(again?.integer("born"), 1815)
  }

  func testObjectsAreFoundByID() throws {
    let (open, context) = try makeAuthors()
    let id = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "Ada")))[0]
    XCTAssertNil(context.registeredObject(for: id))
    let ada = context.object(with: id)
    XCTAssertTrue(ada.isFault)
    XCTAssertTrue(context.registeredObject(for: id) === ada)
    XCTAssertEqual(ada.text("name"), "Ada")
    XCTAssertEqual(ada.objectID, id)
    XCTAssertEqual(try open.newContext().existingObject(with: id).text("name"), "Ada")
  }

  func testAnObjectWithoutARowIsNotFound() throws {
    let (open, context) = try makeAuthors()
    let never = try open.newID("Author")
    assertStoreError(.objectNotFound) { try context.existingObject(with: never) }
    let ada = try find("Author", "name", "Ada", in: context)
    let id = ada.objectID
    context.delete(ada)
    assertStoreError(.objectNotFound) { try context.existingObject(with: id) }
    try context.save()
    assertStoreError(.objectNotFound) { try context.existingObject(with: id) }
    assertStoreError(.objectNotFound) { try open.newContext().existingObject(with: id) }
  }

  func testAnIDIsTemporaryUntilTheSave() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    let temporary = ada.objectID
    XCTAssertTrue(temporary.isTemporaryID)
    XCTAssertTrue(context.registeredObject(for: temporary) === ada)
    try context.save()
    XCTAssertFalse(ada.objectID.isTemporaryID)
    XCTAssertNotEqual(ada.objectID, temporary)
    XCTAssertEqual(ada.objectID.storeIdentifier, open.persistentStore.identifier)
    let bob = try context.insert("Author", ["name": "Bob"])
    try context.obtainPermanentIDs(for: [bob])
    let permanent = bob.objectID
    XCTAssertFalse(permanent.isTemporaryID)
    XCTAssertTrue(bob.isInserted)
    try context.save()
    XCTAssertEqual(bob.objectID, permanent)
    XCTAssertEqual(try open.value(permanent, "name"), .text("Bob"))
  }

  func testUnreferencedObjectsAreReleased() throws {
    let (_, context) = try makeAuthors()
    var ada: ManagedObject? = try find("Author", "name", "Ada", in: context)
    let id = try XCTUnwrap(ada).objectID
    XCTAssertEqual(ada?.text("name"), "Ada")
    ada = nil
    XCTAssertNil(context.registeredObject(for: id))
    XCTAssertEqual(context.registeredObjects.count, 0)
  }

  func testContextRetainsChangedObjects() throws {
    let (open, context) = try makeAuthors()
    try find("Author", "name", "Ada", in: context).setValue("Adele", forKey: "name")
    try context.insert("Author", ["name": "Eve"])
    XCTAssertEqual(context.updatedObjects.count, 1)
    XCTAssertEqual(context.insertedObjects.count, 1)
    try context.save()
    XCTAssertEqual(Set(try open.texts("name", FetchSpecification(entityName: "Author"))), ["Adele", "Bob", "Eve"])
    XCTAssertEqual(context.registeredObjects.count, 0)
  }

  func testObjectKeepsItsIdentityAcrossTheSave() throws {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ada"])
    let book = try context.insert("Book", ["title": "Notes", "author": author])
    try context.save()
    XCTAssertTrue(book.object("author") === author)
    XCTAssertEqual(author.members("books"), [book])
    XCTAssertTrue(try find("Book", "title", "Notes", in: context) === book)
  }

  func testObjectIDFindsItsObjectAfterReopening() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    try context.save()
    let uri = ada.objectID.uriRepresentation()
    try open.close()
    open = try openStore(in: folder)
    let id = try XCTUnwrap(open.coordinator.managedObjectID(forURIRepresentation: uri))
    XCTAssertEqual(try open.newContext().existingObject(with: id).text("name"), "Ada")
  }
}
