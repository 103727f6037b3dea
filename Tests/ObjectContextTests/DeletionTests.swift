import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Deletion, the flags of deleted objects, and delete rules over graphs (rows C2, M15 and table 1b).
final class DeletionTests: XCTestCase {
  func testDeletedObjectHasNoContextAfterTheSave() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      context.delete(tag)
      XCTAssertTrue(tag.isDeleted)
      XCTAssertTrue(tag.hasChanges)
      XCTAssertTrue(tag.hasPersistentChangedValues)
      XCTAssertEqual(context.deletedObjects, [tag])
      XCTAssertTrue(tag.managedObjectContext === context)
      try context.save()
      XCTAssertFalse(tag.isDeleted)
      XCTAssertFalse(tag.hasChanges)
      XCTAssertNil(tag.managedObjectContext)
      XCTAssertNil(context.registeredObject(for: tag.objectID))
      XCTAssertEqual(tag.text("name"), "a")
      XCTAssertEqual(try stack.makeContext().objects("Tag"), [])
    }
  }

  func testDeletingAnObjectThatAResetRemovedIsAnError() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (tag, deleted) = (try context.make("Tag", ["name": "a"]), try context.make("Tag", ["name": "b"]))
      try context.save()
      context.delete(deleted)
      try context.save()
      context.delete(deleted)
      XCTAssertNil(context.pendingError, "the object is deleted already")
      let new = try context.make("Tag", ["name": "c"])
      context.reset()
      context.delete(deleted)
      context.delete(new)
      XCTAssertNil(context.pendingError, "the store has no such object")
      context.delete(tag)
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .objectNotFound)
      XCTAssertThrowsError(try context.save()) {
        XCTAssertEqual(($0 as? StoreError)?.operation, .delete)
        XCTAssertEqual(($0 as? StoreError)?.objectID, tag.objectID)
      }
      try context.save()
    }
  }

  func testDeletedNewObjectLeavesNoTrace() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      let id = tag.objectID
      context.delete(tag)
      context.processPendingChanges()
      XCTAssertFalse(context.hasChanges)
      XCTAssertFalse(tag.isDeleted)
      XCTAssertFalse(tag.isInserted)
      XCTAssertNil(tag.managedObjectContext)
      XCTAssertNil(context.registeredObject(for: id))
      XCTAssertEqual(context.deletedObjects, [])
      try context.save()
      XCTAssertEqual(try context.objects("Tag"), [])
    }
  }

  func testDeletingTwiceHasNoAdditionalEffect() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      context.delete(author)
      context.delete(author)
      XCTAssertEqual(author.log.filter { $0.hasPrefix("prepare") }.count, 1)
      try context.save()
      context.delete(author)
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testAnObjectOfAnotherContextIsNotDeleted() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let tag = try other.make("Tag", ["name": "a"])
      context.delete(tag)
      XCTAssertFalse(tag.isDeleted)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    }
  }

  func testNullifyClearsTheOtherSideOnceChangesAreProcessed() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (shelf, book) = (try context.make("Shelf"), try context.make("Book", ["title": "T"]))
      try book.setValue(shelf, forKey: "shelf")
      try context.save()
      context.delete(shelf)
      context.processPendingChanges()
      XCTAssertNil(book.one("shelf"))
      XCTAssertTrue(book.isUpdated)
      try context.save()
      XCTAssertNil(try stack.makeContext().objects("Book").first?.one("shelf"))
    }
  }

  func testAMemberThatIsDeletedLeavesItsOwner() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      for title in ["1", "2", "3"] { try context.make("Book", ["title": title, "author": author]) }
      try context.save()
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.all(Author.self).first)
      XCTAssertEqual(same.books.count, 3)
      let victim = try XCTUnwrap(same.books.first { $0.title == "2" })
      other.delete(victim)
      XCTAssertEqual(Set(same.books.map(\.title)), ["1", "3"])
      XCTAssertEqual(same.toManyCount(0), 2)
      try other.save()
      XCTAssertEqual(Set(same.books.map(\.title)), ["1", "3"])
      XCTAssertEqual(same.toManyCount(0), 2)
      XCTAssertEqual(try same.objectIDs(forRelationshipNamed: "books").count, 2)
    }
  }

  func testDeletedMembersAreRemovedFromRelationshipsWithoutInverse() async throws {
    let model = ManagedObjectModel {
      Entity("Album") { Relationship("photos", toMany: "Photo").onDelete(.nullify) }
      Entity("Photo") { Attribute("name", .string) }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let photos = try ["a", "b", "c"].map { try context.make("Photo", ["name": $0]) }
      let album = try context.make("Album", ["photos": photos])
      try context.save()
      context.delete(photos[1])
      XCTAssertEqual(album.sortedNames("photos"), ["a", "c"])
      try context.save()
      XCTAssertEqual(album.sortedNames("photos"), ["a", "c"])
      XCTAssertEqual(try album.mutableSetValue(forKey: "photos").count, 2)
      let other = stack.makeContext()
      XCTAssertEqual(try other.objects("Album").first?.sortedNames("photos"), ["a", "c"])
    }
  }

  func testCascadesRunFromTheSideThatDeclaresThem() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let book = try context.make("Book", ["title": "T", "author": author])
      try context.save()
      context.delete(book)
      try context.save()
      XCTAssertFalse(author.isDeleted)
      XCTAssertEqual(try stack.makeContext().objects("Author").count, 1)
    }
  }

  func testCascadeCyclesTerminate() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let people = try (0..<3).map { try context.make("Person", ["name": "\($0)"]) }
      for position in 0..<3 { try people[position].setValue(people[(position + 1) % 3], forKey: "parent") }
      try context.save()
      let other = stack.makeContext()
      other.delete(try other.named("1", "Person"))
      try other.save()
      XCTAssertEqual(try stack.makeContext().objects("Person"), [])
    }
  }

  func testACascadeReachesUnsavedObjects() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      try context.save()
      let book = try context.make("Book", ["title": "T", "author": author])
      context.delete(author)
      try context.save()
      XCTAssertNil(book.managedObjectContext)
      XCTAssertEqual(try stack.makeContext().objects("Book"), [])
    }
  }

  func testDenyAllowsDeletionWhenTheRelationshipIsEmptyOrAllAreDeleted() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let agent = try context.make("Agent", ["name": "G"])
      let author = try context.make("Author", ["name": "A", "agent": agent])
      try context.save()
      context.delete(agent)
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? ValidationError
        XCTAssertEqual(error?.code, .deletionDenied)
        XCTAssertEqual(error?.key, "client")
        XCTAssertEqual(error?.objectID, agent.objectID)
      }
      XCTAssertTrue(agent.isDeleted)
      try author.setValue(nil, forKey: "agent")
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Agent"), [])
    }
  }

  func testNoActionLeavesAReferenceThatReadsAsDeleted() async throws {
    let model = ManagedObjectModel {
      Entity("Owner") { Relationship("pets", toMany: "Pet", inverse: "owner").onDelete(.noAction) }
      Entity("Pet") {
        Attribute("name", .string)
        Relationship("owner", to: "Owner", inverse: "pets")
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let owner = try context.make("Owner")
      try context.make("Pet", ["name": "Rex", "owner": owner])
      try context.save()
      context.delete(owner)
      try context.save()
      let other = stack.makeContext()
      let pet = try XCTUnwrap(other.objects("Pet").first)
      let dangling = try XCTUnwrap(pet.one("owner"))
      XCTAssertEqual(dangling.many("pets").count, 1)
      XCTAssertThrowsError(try other.existingObject(with: dangling.objectID))
      XCTAssertEqual(pet.text("name"), "Rex")
      try pet.setValue("Max", forKey: "name")
      try other.save()
      XCTAssertEqual(try stack.makeContext().objects("Pet").first?.text("name"), "Max")
    }
  }

  func testDeletingARequiredDestinationFailsTheSave() async throws {
    let model = ManagedObjectModel {
      Entity("Owner") { Relationship("pets", toMany: "Pet", inverse: "owner") }
      Entity("Pet") { Relationship("owner", to: "Owner", inverse: "pets").required() }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let owner = try context.make("Owner")
      let pet = try context.make("Pet", ["owner": owner])
      try context.save()
      context.delete(owner)
      XCTAssertThrowsError(try context.save()) {
        XCTAssertEqual(($0 as? ValidationError)?.code, .missingValue)
        XCTAssertEqual(($0 as? ValidationError)?.objectID, pet.objectID)
      }
      context.delete(pet)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Pet"), [])
    }
  }

  func testARelationshipToADeletedNewObjectIsRejected() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let book = try context.make("Book", ["title": "T"])
      context.delete(author)
      context.processPendingChanges()
      XCTAssertThrowsError(try book.setValue(author, forKey: "author")) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      XCTAssertNil(book.one("author"))
      try context.save()
      XCTAssertNil(try stack.makeContext().objects("Book").first?.one("author"))
    }
  }

  func testRelationshipToAnObjectDeletedByTheSaveIsRejected() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let tag = try context.make("Tag", ["name": "t"])
      let book = try context.make("Book", ["title": "T"])
      try context.save()
      context.delete(author)
      context.delete(tag)
      context.processPendingChanges()
      try book.setValue(author, forKey: "author")
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      try book.setValue(nil, forKey: "author")
      try book.mutableSetValue(forKey: "tags").add(tag)
      XCTAssertEqual(book.many("tags"), [])
      try context.save()
      let same = try XCTUnwrap(stack.makeContext().objects("Book").first)
      XCTAssertNil(same.one("author"))
      XCTAssertEqual(same.many("tags"), [])
      XCTAssertEqual(book.many("tags"), [])
    }
  }

  func testCascadeOfTwentyThousandLevelsDoesNotRecurse() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let context = stack.makeContext()
      var parent: ManagedObject?
      for number in 0..<20_000 {
        let person = try context.make("Person", ["name": "\(number)"])
        try person.setValue(parent, forKey: "parent")
        parent = person
      }
      try context.save()
      let other = stack.makeContext()
      other.delete(try other.named("0", "Person"))
      try other.save()
      XCTAssertEqual(try stack.makeContext().objects("Person").count, 0)
    }
  }

  func testCascadeToTwentyThousandMembersUsesFewStatements() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      do {
        let context = stack.makeContext()
        let root = try context.make("Person", ["name": "root"])
        for number in 0..<20_000 { try context.make("Person", ["name": "\(number)", "parent": root]) }
        try context.save()
      }
      stack.forgetRows()
      let other = stack.makeContext()
      other.delete(try other.named("root", "Person"))
      stack.statements?.reset()
      other.processPendingChanges()
      XCTAssertEqual(other.deletedObjects.count, 20_001)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 200)
      try other.save()
      XCTAssertEqual(try stack.makeContext().objects("Person").count, 0)
    }
  }
}
