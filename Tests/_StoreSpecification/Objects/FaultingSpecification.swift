import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Values are read lazily, and released again.
public final class FaultingSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testFetchedObjectsAreFaults", { $0.testFetchedObjectsAreFaults }),
        ("testOnlyPropertyAccessFiresAFault", { $0.testOnlyPropertyAccessFiresAFault }),
        ("testDestinationsAreFaults", { $0.testDestinationsAreFaults }),
        ("testRelationshipsAreReadOnAccess", { $0.testRelationshipsAreReadOnAccess }),
        ("testFaultDescriptionShowsAFault", { $0.testFaultDescriptionShowsAFault }),
        ("testRefreshDropsOrKeepsChanges", { $0.testRefreshDropsOrKeepsChanges }),
        ("testRefreshDistinguishesEntitiesWithEqualKeys", { $0.testRefreshDistinguishesEntitiesWithEqualKeys }),
        ("testAMissingRowMakesTheObjectDeleted", { $0.testAMissingRowMakesTheObjectDeleted }),
        ("testMissingRowThrowsIfConfigured", { $0.testMissingRowThrowsIfConfigured }),
        ("testAllValuesOfAGraphAreReadThroughFaults", { $0.testAllValuesOfAGraphAreReadThroughFaults }),
        ("testPrefetchedRelationshipsHaveTheSameMembers", { $0.testPrefetchedRelationshipsHaveTheSameMembers }),
        ("testObjectsWithoutPropertyValuesReadThemLater", { $0.testObjectsWithoutPropertyValuesReadThemLater }),
      ] as [(String, (FaultingSpecification) -> () throws -> Void)])
  }

  private func makeLibrary() throws -> OpenStore {
    let open = try makeStore()
    let context = open.newContext()
    for index in 0..<30 {
      let author = try context.insert("Author", ["name": "author \(index)", "born": 1900 + index])
      for number in 0..<(index % 4) {
        try context.insert("Book", ["title": "book \(index).\(number)", "author": author, "pages": index * 10 + number])
      }
    }
    try context.save()
    return open
  }

  func testFetchedObjectsAreFaults() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Author")
    let authors = try context.fetch(request)
    XCTAssertEqual(authors.count, 30)
    XCTAssertTrue(authors.allSatisfy(\.isFault))
    request.returnsObjectsAsFaults = false
    XCTAssertTrue(try context.fetch(request).allSatisfy { !$0.isFault })
  }

  func testOnlyPropertyAccessFiresAFault() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let authors = try context.all("Author")
    let author = authors[0]
    _ = (author.objectID, author.entity, author.hashValue, author == authors[1], author.description, author.isDeleted, author.hasChanges)
    _ = (author.changedValues(), try author.objectIDs(forRelationshipNamed: "books"), author.managedObjectContext)
    XCTAssertTrue(author.isFault)
    XCTAssertNotNil(author.text("name"))
    XCTAssertFalse(author.isFault)
    try authors[1].setValue("set", forKey: "name")
    XCTAssertFalse(authors[1].isFault)
    XCTAssertTrue(authors[2].isFault)
  }

  func testDestinationsAreFaults() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let book = try find("Book", "title", "book 7.2", in: context)
    let author = try XCTUnwrap(book.object("author"))
    XCTAssertTrue(author.isFault)
    XCTAssertEqual(author.integer("born"), 1907)
    XCTAssertFalse(author.isFault)
    XCTAssertEqual(Set(author.members("books").compactMap { $0.text("title") }), ["book 7.0", "book 7.1", "book 7.2"])
  }

  func testRelationshipsAreReadOnAccess() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let author = try find("Author", "name", "author 6", in: context)
    XCTAssertTrue(author.hasFault(forRelationshipNamed: "books"))
    XCTAssertEqual(author.members("books").count, 2)
    XCTAssertFalse(author.hasFault(forRelationshipNamed: "books"))
    XCTAssertEqual(try author.objectIDs(forRelationshipNamed: "books").count, 2)
  }

  func testFaultDescriptionShowsAFault() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let author = try find("Author", "name", "author 6", in: context)
    XCTAssertTrue(author.description.contains("data: <fault>"), author.description)
    XCTAssertTrue(author.description.contains(author.objectID.uriString))
    _ = author.text("name")
    XCTAssertTrue(author.description.contains("author 6"))
    XCTAssertTrue(author.description.contains("<relationship fault: 'books'>"), author.description)
  }

  func testRefreshDropsOrKeepsChanges() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let author = try find("Author", "name", "author 3", in: context)
    try author.setValue("mine", forKey: "name")
    let other = open.newContext()
    try find("Author", "name", "author 3", in: other).setValue(1, forKey: "born")
    try other.save()
    XCTAssertEqual(author.integer("born"), 1903, "What was read stays until it is refreshed.")
    context.refresh(author, mergeChanges: true)
    XCTAssertEqual(author.integer("born"), 1)
    XCTAssertEqual(author.text("name"), "mine")
    XCTAssertTrue(author.hasChanges)
    context.refresh(author, mergeChanges: false)
    XCTAssertTrue(author.isFault)
    XCTAssertFalse(author.hasChanges)
    XCTAssertEqual(author.text("name"), "author 3")
    XCTAssertFalse(context.hasChanges)
  }

  func testRefreshDistinguishesEntitiesWithEqualKeys() throws {
    let open = try makeStore()
    let context = open.newContext()
    var objects: [(object: ManagedObject, key: String)] = []
    for (entity, key) in [("Author", "name"), ("Chapter", "title"), ("Shelf", "name"), ("Tag", "name")] {
      for index in 0..<3 { objects.append((try context.insert(entity, [key: "\(entity) \(index)"]), key)) }
    }
    try context.save()
    for (object, key) in objects { try object.setValue((object.text(key) ?? "") + " changed", forKey: key) }
    context.refreshAllObjects()
    for (object, key) in objects { XCTAssertTrue(object.text(key)?.hasPrefix(object.entity.name) ?? false, "\(object)") }
    for (object, key) in objects {
      let committed = try object.committedValues(forKeys: [key])[key] as? String
      XCTAssertEqual(committed.map { $0 + " changed" }, object.text(key))
    }
  }

  func testAMissingRowMakesTheObjectDeleted() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    let id = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "author 0")))[0]
    let other = open.newContext()
    other.delete(try other.existingObject(with: id))
    try other.save()
    let author = context.object(with: id)
    XCTAssertNil(author.text("name"))
    XCTAssertTrue(author.isDeleted)
    XCTAssertEqual(author.members("books"), [])
  }

  func testMissingRowThrowsIfConfigured() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    context.shouldDeleteInaccessibleFaults = false
    try find("Author", "name", "author 1", in: context).setValue(1, forKey: "born")
    let author = context.object(with: try open.newID("Author"))
    XCTAssertNil(author.text("name"))
    assertStoreError(.objectNotFound) { try context.save() }
    try context.save()
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Author", predicate: .compare("born", .equal, 1))), 1)
  }

  func testAllValuesOfAGraphAreReadThroughFaults() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Book")
    request.sortDescriptors = [FetchSortDescriptor("pages")]
    let books = try context.fetch(request)
    for book in books {
      let author = try XCTUnwrap(book.object("author"))
      let born = try XCTUnwrap(author.integer("born"))
      XCTAssertEqual((book.integer("pages") ?? 0) / 10, born - 1900)
      XCTAssertEqual(author.members("books").count, Int(born - 1900) % 4)
    }
    XCTAssertEqual(books.count, (0..<30).reduce(0) { $0 + $1 % 4 })
  }

  func testPrefetchedRelationshipsHaveTheSameMembers() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Author")
    request.relationshipKeyPathsForPrefetching = ["books"]
    for author in try context.fetch(request) {
      XCTAssertFalse(author.hasFault(forRelationshipNamed: "books"))
      XCTAssertEqual(author.members("books").count, Int((author.integer("born") ?? 0) - 1900) % 4)
    }
    var byBook = FetchRequest<ManagedObject>(entityName: "Book")
    byBook.relationshipKeyPathsForPrefetching = ["author.books", "tags"]
    let other = open.newContext()
    for book in try other.fetch(byBook) {
      XCTAssertTrue(book.object("author")?.members("books").contains(book) ?? false)
      XCTAssertEqual(book.members("tags"), [])
    }
  }

  func testObjectsWithoutPropertyValuesReadThemLater() throws {
    let open = try makeLibrary()
    let context = open.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Author")
    request.includesPropertyValues = false
    let authors = try context.fetch(request)
    XCTAssertEqual(Set(authors.compactMap { $0.text("name") }).count, 30)
  }
}
