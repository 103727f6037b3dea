import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Temporary and permanent IDs, and their URIs (row C16).
final class ObjectIDTests: XCTestCase {
  func testSaveReplacesTheTemporaryID() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let novel = try context.make("Novel", ["title": "N"])
      let temporary = novel.objectID
      XCTAssertTrue(temporary.isTemporaryID)
      XCTAssertTrue(temporary.uriString.hasPrefix("x-cipherdata:///Novel/t"), temporary.uriString)
      try context.save()
      let permanent = novel.objectID
      XCTAssertNotEqual(temporary, permanent)
      XCTAssertEqual(permanent.entityName, "Novel")
      XCTAssertEqual(permanent.uriString, "x-cipherdata://\(stack.store.identifier)/Novel/p\(permanent.key)")
      XCTAssertTrue(stack.coordinator.persistentStore(of: permanent) === stack.store)
      XCTAssertNil(stack.coordinator.persistentStore(of: temporary))
      XCTAssertNil(context.registeredObject(for: temporary))
    }
  }

  func testAnIDFetchedThroughASuperentityNamesTheObjectsOwnEntity() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      try context.make("Novel", ["title": "N"])
      try context.save()
      let ids = try stack.makeContext().fetch(FetchRequest<ManagedObjectID>(entityName: "Book"))
      XCTAssertEqual(ids.map(\.entityName), ["Novel"])
    }
  }

  func testObjectIDRoundTripsThroughItsURI() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      let uri = tag.objectID.uriRepresentation()
      XCTAssertEqual(stack.coordinator.managedObjectID(forURIRepresentation: uri), tag.objectID)
      let strange = try XCTUnwrap(URL(string: "x-cipherdata://00000000-0000-0000-0000-000000000000/Tag/p1"))
      XCTAssertNil(stack.coordinator.managedObjectID(forURIRepresentation: strange))
    }
  }

  func testPermanentIDsCanBeObtainedBeforeTheSave() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let book = try context.make("Book", ["title": "1", "author": author])
      let temporary = author.objectID
      try context.obtainPermanentIDs(for: [author, book])
      let permanent = author.objectID
      XCTAssertFalse(permanent.isTemporaryID)
      XCTAssertTrue(author.isInserted)
      XCTAssertTrue(context.object(with: temporary) === author)
      XCTAssertThrowsError(try stack.makeContext().existingObject(with: permanent))
      try context.save()
      XCTAssertEqual(author.objectID, permanent)
      XCTAssertEqual(try stack.makeContext().existingObject(with: permanent).text("name"), "A")
    }
  }

  func testRelationshipsUseNewIDs() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      let (first, second) = (Book(context: context), Book(context: context))
      (first.title, second.title) = ("1", "2")
      (first.author, second.author) = (author, author)
      let tag = Tag(context: context)
      tag.name = "t"
      first.tags = [tag]
      try context.obtainPermanentIDs(for: [author, first, second, tag])
      author.addToToMany(first, at: 0)
      XCTAssertEqual(author.toManyCount(0), 2)
      author.removeFromToMany(first, at: 0)
      XCTAssertNil(first.author)
      XCTAssertEqual(author.books, [second])
      first.removeFromToMany(tag, at: 0)
      XCTAssertEqual(tag.books, [])
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.all(Author.self).first?.books.map(\.title), ["2"])
      XCTAssertEqual(try other.all(Tag.self).first?.books, [])
    }
  }

  func testFailedSaveLeavesAGraphThatCanBeChangedAndSaved() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let model = try context.make("Author", ["name": "A"])
      let book = try context.make("Book", ["title": "1", "author": model])
      // The save has obtained IDs before the store rejects it.
      let clash = try context.make("Tag", ["name": "x"])
      let other = stack.makeContext()
      try context.save()
      try other.existingObject(with: clash.objectID).setValue("theirs", forKey: "name")
      try other.save()
      try clash.setValue("mine", forKey: "name")
      let late = try context.make("Book", ["title": "2", "author": model])
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .mergeConflict) }
      XCTAssertFalse(late.objectID.isTemporaryID)
      XCTAssertTrue(late.isInserted)
      try model.mutableSetValue(forKey: "books").remove(late)
      XCTAssertNil(late.one("author"))
      try late.setValue(model, forKey: "author")
      XCTAssertEqual(model.many("books"), [book, late])
      context.refresh(clash, mergeChanges: true)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Author").first?.many("books").count, 2)
    }
  }

  func testKeysAreNeverReused() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let first = try context.make("Tag", ["name": "a"])
      try context.save()
      context.delete(first)
      try context.save()
      let second = try context.make("Tag", ["name": "b"])
      try context.save()
      XCTAssertNotEqual(first.objectID, second.objectID)
    }
  }
}
