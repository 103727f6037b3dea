import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import ObjectContext

/// Nested contexts with typed classes, validation, large values, constraints and counts of statements.
final class NestedContextTests: XCTestCase {
  func testNestedContextUsesTheClassesOfTheParent() async throws {
    try await onEachStore { stack in
      let parent = stack.makeContext()
      let made = try parent.make("Book", ["title": "A"])
      let child = ManagedObjectContext(parent: parent)
      let book = try XCTUnwrap(try child.existingObject(with: made.objectID) as? Book)
      book.title = "B"
      XCTAssertEqual(try child.all(Book.self, sortedBy: "title").map(\.title), ["B"])
      try child.save()
      XCTAssertEqual((made as? Book)?.title, "B")
    }
  }

  func testChildValidatesBeforeNotifyingItsParent() async throws {
    let model = ManagedObjectModel {
      Entity("Note") {
        Attribute("text", .string).required()
        Attribute("stars", .integer16).range(0...5)
      }
    }
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let parent = stack.makeContext()
      let child = ManagedObjectContext(parent: parent)
      let note = try child.insertObject(entityName: "Note")
      try note.setValue(Int16(9), forKey: "stars")
      XCTAssertThrowsError(try child.save()) { error in
        XCTAssertEqual((error as? ValidationError)?.code, .multipleErrors, "\(error)")
      }
      XCTAssertFalse(parent.hasChanges)
      XCTAssertTrue(child.hasChanges)
      try note.setValue("t", forKey: "text")
      try note.setValue(Int16(3), forKey: "stars")
      try child.save()
      XCTAssertEqual(parent.insertedObjects.count, 1)
      try parent.save()
    }
  }

  func testLargeValuesPassThroughUnread() async throws {
    let model = ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
      }
    }
    let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let parent = stack.makeContext()
      let child = ManagedObjectContext(parent: parent)
      let film = try child.insertObject(entityName: "Film")
      try film.setExternalData(ExternalData(large), forKey: "poster")
      try film.setValue("F", forKey: "title")
      try child.save()
      let there = try parent.existingObject(with: film.objectID)
      XCTAssertEqual(there["poster"] as? Data, large)
      try parent.save()
      // Another child sees the parent's unsaved values; stored values stay in place.
      try there.setValue("G", forKey: "title")
      let other = ManagedObjectContext(parent: parent)
      let same = try other.existingObject(with: film.objectID)
      XCTAssertEqual(same["title"] as? String, "G")
      XCTAssertEqual(same["poster"] as? Data, large)
      try same.setValue(Data([1, 2, 3]), forKey: "poster")
      try other.save()
      try parent.save()
      let fresh = stack.makeContext()
      let stored = try fresh.existingObject(with: film.objectID)
      XCTAssertEqual(stored["poster"] as? Data, Data([1, 2, 3]))
      XCTAssertEqual(stored["title"] as? String, "G")
    }
  }

  func testDerivedValuesReflectTheLastSaveToTheStore() async throws {
    let model = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Attribute("key", .string).derived("lowercase:(name)")
      }
    }
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let parent = stack.makeContext()
      let person = try parent.insertObject(entityName: "Person")
      try person.setValue("ANNA", forKey: "name")
      try parent.save()
      let child = ManagedObjectContext(parent: parent)
      let here = try child.existingObject(with: person.objectID)
      try here.setValue("BERTA", forKey: "name")
      try child.save()
      XCTAssertEqual(here["key"] as? String, "anna")
      XCTAssertEqual(person["key"] as? String, "anna")
      try parent.save()
      XCTAssertEqual(person["key"] as? String, "berta")
      child.refresh(here, mergeChanges: true)
      XCTAssertEqual(here["key"] as? String, "berta")
    }
  }

  func testConstraintIsCheckedOnTheSaveToTheStore() async throws {
    let model = ManagedObjectModel {
      Entity("Tag") {
        Attribute("name", .string)
        Unique("name")
      }
    }
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let parent = stack.makeContext()
      try parent.insertObject(entityName: "Tag").setValue("red", forKey: "name")
      try parent.save()
      let child = ManagedObjectContext(parent: parent)
      try child.insertObject(entityName: "Tag").setValue("red", forKey: "name")
      try child.save()
      assertStoreError(.constraintConflict) { try parent.save() }
      parent.rollback()
      XCTAssertEqual(try parent.count(for: FetchRequest<ManagedObject>(entityName: "Tag")), 1)
    }
  }

  func testAsynchronousFetchShowsTheStateOfTheParent() async throws {
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: Library.model, classes: Library.classes)
      let parent = stack.makeContext()
      for title in ["A", "B", "C"] { try parent.make("Book", ["title": title]) }
      try parent.save()
      let books = try parent.all(Book.self, sortedBy: "title")
      books[0].title = "Z"
      parent.delete(books[1])
      let child = ManagedObjectContext(parent: parent)
      var request = FetchRequest<Book>(entityName: "Book")
      request.sortDescriptors = [FetchSortDescriptor("title")]
      let found = try await child.asynchronousFetch(request).value()
      XCTAssertEqual(found.map(\.title), ["C", "Z"])
    }
  }

  func testPrefetchedMembersMatchTheParent() async throws {
    try await onEachStore { stack in
      let parent = stack.makeContext()
      let (anna, berta) = (try parent.make("Author", ["name": "Anna"]), try parent.make("Author", ["name": "Berta"]))
      for title in ["A", "B", "C"] { try parent.make("Book", ["title": title, "author": anna]) }
      try parent.save()
      let books = try parent.all(Book.self, sortedBy: "title")
      books[0].author = berta as? Author
      parent.delete(books[1])
      (try parent.make("Book", ["title": "D"]) as? Book)?.author = berta as? Author
      (berta as? Author)?.name = "Bertha"
      let child = ManagedObjectContext(parent: parent)
      var request = FetchRequest<Author>(entityName: "Author")
      request.sortDescriptors = [FetchSortDescriptor("name")]
      request.relationshipKeyPathsForPrefetching = ["books"]
      let found = try child.fetch(request)
      XCTAssertEqual(found.map(\.name), ["Anna", "Bertha"])
      XCTAssertEqual(found.map { $0.books.map(\.title).sorted() }, [["C"], ["A", "D"]])
      var byBook = FetchRequest<Book>(entityName: "Book")
      byBook.sortDescriptors = [FetchSortDescriptor("title")]
      byBook.relationshipKeyPathsForPrefetching = ["author"]
      let other = ManagedObjectContext(parent: parent)
      XCTAssertEqual(try other.fetch(byBook).map { $0.author?.name }, ["Bertha", "Anna", "Bertha"])
    }
  }

  func testAnObjectIsFoundByAConstraintInTheParent() async throws {
    let model = ManagedObjectModel {
      Entity("Tag") {
        Attribute("name", .string)
        Unique("name")
      }
    }
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let parent = stack.makeContext()
      let red = try parent.insertObject(entityName: "Tag")
      try red.setValue("red", forKey: "name")
      let child = ManagedObjectContext(parent: parent)
      let found = try child.findOrCreate(ManagedObject.self, entityName: "Tag", keys: ["name"], values: [["red"], ["blue"]])
      XCTAssertEqual(found.map(\.isInserted), [false, true])
      XCTAssertEqual(found[0].objectID, red.objectID)
      try child.save()
      try parent.save()
      XCTAssertEqual(try stack.makeContext().count(for: FetchRequest<ManagedObject>(entityName: "Tag")), 2)
    }
  }

  @MainActor func testChildOfTheViewContextMergesWithIt() async throws {
    let container = try PersistentContainer(
      name: "library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let made = try container.viewContext.make("Book", ["title": "book"])
    try container.viewContext.save()
    container.viewContext.automaticallyMergesChangesFromParent = true
    let child = ManagedObjectContext(parent: container.viewContext)
    child.automaticallyMergesChangesFromParent = true
    let book = try child.existingObject(with: made.objectID)
    // The stream buffers elements until they are awaited.
    let changes = child.changes()
    _ = try await container.performBackgroundTask { context in
      try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "new"]))
    }
    for await change in changes where change.refreshed.contains(book.objectID) { break }
    XCTAssertEqual(book.text("title"), "new")
    XCTAssertEqual(made.text("title"), "new")
  }

  func testCleanParentUsesNoStatement() async throws {
    let stack = try await Stack(.sqlcipher, model: Library.model, classes: Library.classes)
    let writer = stack.makeShortLivedContext()
    for number in 0..<100 { try writer.make("Book", ["title": "\(number)"]) }
    try writer.save()
    let statements = try XCTUnwrap(stack.statements)
    func count(_ context: ManagedObjectContext) throws -> Int {
      stack.forgetRows()
      statements.reset()
      for book in try context.all(Book.self, sortedBy: "title") { _ = book.title }
      return statements.count
    }
    let parent = stack.makeContext()
    let direct = try count(stack.makeContext())
    XCTAssertEqual(try count(ManagedObjectContext(parent: parent)), direct)
    XCTAssertEqual(try count(ManagedObjectContext(parent: ManagedObjectContext(parent: parent))), direct)
    // Saving objects that the child has read makes no request to the stores.
    let child = ManagedObjectContext(parent: parent)
    let books = try child.all(Book.self, sortedBy: "title")
    for book in books { book.title = "new" }
    statements.reset()
    try child.save()
    XCTAssertEqual(statements.count, 0)
    XCTAssertEqual(parent.updatedObjects.count, 100)
  }
}
