import CoreData
import Foundation
import XCTest

/// Contexts fetch, change and save as in Core Data.
final class ContextTests: XCTestCase {
  func testObjectsAreFetchedByConditionsAndInOrder() throws {
    try LibraryStack.with { stack in
      for (title, pages) in [("Emma", 400), ("Persuasion", 250), ("Evelina", 500), ("emerald", 10)] {
        stack.book(title, pages: Int32(pages))
      }
      try stack.context.save()
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      request.predicate = NSPredicate(format: "title BEGINSWITH[c] %@ AND %K > %d", "e", "pages", 100)
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
      XCTAssertEqual(try stack.context.fetch(request).map(\.title), ["Evelina", "Emma"])
      request.predicate = NSCompoundPredicate(orPredicateWithSubpredicates: [
        NSPredicate(format: "pages < %ld", 20), NSPredicate(format: "title IN %@", ["Emma", "Persuasion"]),
      ])
      request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
      request.fetchLimit = 2
      XCTAssertEqual(try stack.context.fetch(request).map(\.pages), [10, 250])
      XCTAssertEqual(try stack.context.count(for: NSFetchRequest<Book>(entityName: "Book")), 4)
      let template = NSPredicate(format: "pages == $COUNT").withSubstitutionVariables(["COUNT": 500])
      XCTAssertEqual(try stack.context.fetch(request).filter { template.evaluate(with: $0) }.count, 0)
      XCTAssertTrue(NSPredicate(format: "title == 'a'").evaluate(with: ["title": "a"]))
    }
  }

  func testOtherResultsAreFetched() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma", pages: 400)
      try stack.context.save()
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      ids.resultType = .managedObjectIDResultType
      XCTAssertEqual(try stack.context.fetch(ids), [book.objectID])
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["title", "pages"]
      XCTAssertEqual(try stack.context.fetch(rows), [["title": "Emma", "pages": 400]])
      let anything: NSFetchRequest<any NSFetchRequestResult> = Author.fetchRequest()
      XCTAssertEqual(try stack.context.fetch(anything).count, 0)
      XCTAssertEqual(Book.entity().name, "Book")
      let wrong = NSFetchRequest<Author>(entityName: "Book")
      XCTAssertThrowsError(try stack.context.fetch(wrong))
    }
  }

  func testInvalidPredicateFormatsAreThrownByTheFetch() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      request.predicate = NSPredicate(format: "title ==== %@", "x")
      XCTAssertThrowsError(try stack.context.fetch(request))
      request.predicate = NSPredicate(format: "titel == %@", "x")
      XCTAssertThrowsError(try stack.context.fetch(request)) { XCTAssertTrue("\($0)".contains("titel"), "\($0)") }
      XCTAssertFalse(NSPredicate(format: "title ==== %@", "x").evaluate(with: ["title": "x"]))
      XCTAssertThrowsError(try NSPredicate(checking: "title ="))
    }
  }

  func testObjectErrorsAreCoreDataErrors() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      XCTAssertThrowsError(try stack.context.save()) { error in
        let error = error as NSError
        XCTAssertEqual(error.domain, NSCocoaErrorDomain)
        XCTAssertEqual(error.code, NSValidationMissingMandatoryPropertyError)
        XCTAssertEqual(error.userInfo[NSValidationKeyErrorKey] as? String, "name")
      }
      _ = Book(context: stack.context)
      XCTAssertThrowsError(try stack.context.save()) { error in
        let error = error as NSError
        XCTAssertEqual(error.code, NSValidationMultipleErrorsError)
        XCTAssertEqual((error.userInfo[NSDetailedErrorsKey] as? [NSError])?.count, 2)
      }
      stack.context.delete(author)
      stack.context.rollback()
      XCTAssertFalse(stack.context.hasChanges)
    }
  }

  func testLifeCycleFunctionsAreCalled() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      XCTAssertNotNil(book.identifier)
      XCTAssertEqual(book.startedSaves, 0)
      try stack.context.save()
      XCTAssertGreaterThan(book.startedSaves, 0)
      XCTAssertTrue(book.managedObjectContext === stack.context)
      XCTAssertEqual(book.entity.name, "Book")
      XCTAssertEqual(book.entity.managedObjectClassName, "CoreDataTests.Book")
      XCTAssertTrue(book.isEqual(book))
    }
  }

  func testOverriddenInitializersCreateObjects() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      XCTAssertTrue(author.isMadeByItsOwnInitializer)
      author.name = "Austen"
      try stack.context.save()
      stack.context.reset()
      let request: NSFetchRequest<Author> = Author.fetchRequest()
      let found = try XCTUnwrap(stack.context.fetch(request).first)
      XCTAssertFalse(found.isMadeByItsOwnInitializer)
      XCTAssertEqual(found.name, "Austen")
    }
  }

  func testObjectsCreatedWithoutAContextCanBeInserted() throws {
    try LibraryStack.with { stack in
      let entity = try XCTUnwrap(NSEntityDescription.entity(forEntityName: "Book", in: stack.context))
      let book = Book(entity: entity, insertInto: nil)
      book.title = "Emma"
      XCTAssertNil(book.managedObjectContext)
      stack.context.insert(book)
      try stack.context.save()
      XCTAssertFalse(book.objectID.isTemporaryID)
      XCTAssertEqual(
        stack.container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: book.objectID.uriRepresentation()), book.objectID)
      XCTAssertTrue(try stack.context.existingObject(with: book.objectID) === book)
      let other = Book(entity: entity, insertInto: stack.context)
      XCTAssertEqual(stack.context.insertedObjects, [other])
      other.title = "Persuasion"
      stack.context.delete(book)
      XCTAssertEqual(stack.context.deletedObjects, [book])
      try stack.context.save()
      XCTAssertThrowsError(try stack.context.existingObject(with: book.objectID))
    }
  }

  func testBackgroundSavesAreMerged() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      stack.context.automaticallyMergesChangesFromParent = true
      let objectID = book.objectID
      let background = stack.container.newBackgroundContext()
      let title = try background.performAndWait { () -> String? in
        let same = try background.existingObject(with: objectID) as? Book
        XCTAssertFalse(same === book)
        same?.title = "Clueless"
        try background.save()
        return same?.title
      }
      XCTAssertEqual(title, "Clueless")
      stack.context.processPendingChanges()
      XCTAssertEqual(book.title, "Clueless")
    }
  }

  func testMergePolicyResolvesConflicts() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let objectID = book.objectID
      let background = stack.container.newBackgroundContext()
      try background.performAndWait {
        (try background.existingObject(with: objectID) as? Book)?.title = "theirs"
        try background.save()
      }
      book.title = "ours"
      XCTAssertThrowsError(try stack.context.save()) { XCTAssertEqual(($0 as NSError).code, NSManagedObjectMergeError) }
      stack.context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
      try stack.context.save()
      stack.context.refreshAllObjects()
      XCTAssertEqual(book.title, "ours")
    }
  }

  func testBackgroundTasksReturnValues() async throws {
    let stack = try LibraryStack()
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let count = try await stack.container.performBackgroundTask { context in
      for index in 0..<20 { Book(context: context).title = "Book \(index)" }
      try context.save()
      return try context.count(for: NSFetchRequest<Book>(entityName: "Book"))
    }
    XCTAssertEqual(count, 20)
    let context = stack.container.newBackgroundContext()
    let titles = try await context.perform {
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      request.fetchLimit = 1
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      return try context.fetch(request).compactMap(\.title)
    }
    XCTAssertEqual(titles, ["Book 0"])
  }
}
