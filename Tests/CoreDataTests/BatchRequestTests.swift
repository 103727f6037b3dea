import CoreData
import Foundation
import XCTest

/// Batch requests insert, change and delete rows without objects; asynchronous fetches do not block a context.
final class BatchRequestTests: XCTestCase {
  func testRowsAreInsertedFromDictionaries() throws {
    try LibraryStack.with { stack in
      let request = NSBatchInsertRequest(entityName: "Book", objects: (0..<50).map { ["title": "Book \($0)", "pages": $0] })
      request.resultType = .objectIDs
      let result = try XCTUnwrap(stack.context.execute(request) as? NSBatchInsertResult)
      XCTAssertEqual((result.result as? [NSManagedObjectID])?.count, 50)
      XCTAssertEqual(try titles(stack).count, 50)
    }
  }

  private func titles(_ stack: LibraryStack) throws -> [String] {
    let request: NSFetchRequest<Book> = Book.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return try stack.context.fetch(request).map { $0.title ?? "" }
  }

  func testRowsAreInsertedByHandlers() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      try stack.context.save()
      var left = ["Emma", "Persuasion"]
      let dictionaries = NSBatchInsertRequest(entity: Book.entity()) { (row: NSMutableDictionary) in
        guard let title = left.popLast() else { return true }
        row["title"] = title
        row["pages"] = NSNumber(value: 7)
        row["author"] = author
        return false
      }
      dictionaries.resultType = .count
      XCTAssertEqual((try stack.context.execute(dictionaries) as? NSBatchInsertResult)?.result as? Int, 2)
      left = ["Evelina"]
      let objects = NSBatchInsertRequest(entity: Book.entity()) { (object: NSManagedObject) in
        guard let title = left.popLast(), let book = object as? Book else { return true }
        book.title = title
        book.state = .lent
        return false
      }
      XCTAssertEqual((try stack.context.execute(objects) as? NSBatchInsertResult)?.result as? Bool, true)
      left = ["plain"]
      try stack.context.execute(
        NSBatchInsertRequest(entityName: "Note") { (object: NSManagedObject) in
          guard let text = left.popLast() else { return true }
          object.setValue(text, forKey: "text")
          return false
        })
      XCTAssertEqual(try titles(stack), ["Emma", "Evelina", "Persuasion"])
      XCTAssertEqual(author.books?.count, 2)
      let notes = try stack.context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
      XCTAssertEqual(notes.map { $0.value(forKey: "text") as? String }, ["plain"])
    }
  }

  func testMergePolicyResolvesDuplicateUniqueValues() throws {
    try LibraryStack.with { stack in
      let identifier = UUID()
      let book = stack.book("Emma", pages: 1)
      book.identifier = identifier
      try stack.context.save()
      let request = NSBatchInsertRequest(entityName: "Book", objects: [["title": "Clueless", "identifier": identifier]])
      XCTAssertThrowsError(try stack.context.execute(request)) { XCTAssertEqual(($0 as NSError).domain, NSCocoaErrorDomain) }
      stack.context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
      try stack.context.execute(request)
      XCTAssertEqual(book.title, "Emma")
      stack.context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try stack.context.execute(request)
      XCTAssertEqual(book.title, "Clueless")
      XCTAssertEqual(book.pages, 1)
    }
  }

  func testMatchingRowsAreUpdated() throws {
    try LibraryStack.with { stack in
      let books = [stack.book("a", pages: 1), stack.book("b", pages: 2), stack.book("c", pages: 3)]
      try stack.context.save()
      let request = NSBatchUpdateRequest(entityName: "Book")
      request.predicate = NSPredicate(format: "pages > %d", 1)
      request.propertiesToUpdate = [
        "isRead": true, "cover": NSNull(), Book.entity().attributesByName["price"]!: NSDecimalNumber(string: "1.5"),
      ]
      request.resultType = .updatedObjectsCountResultType
      let result = try XCTUnwrap(stack.context.execute(request) as? NSBatchUpdateResult)
      XCTAssertEqual(result.result as? Int, 2)
      XCTAssertEqual(books.map(\.isRead), [false, true, true])
      XCTAssertEqual(books[1].price, NSDecimalNumber(string: "1.5"))
      request.propertiesToUpdate = ["tilte": "x"]
      XCTAssertThrowsError(try stack.context.execute(request)) { XCTAssertTrue("\($0)".contains("tilte"), "\($0)") }
      request.propertiesToUpdate = ["title": NSObject()]
      XCTAssertThrowsError(try stack.context.execute(request))
    }
  }

  func testFetchedObjectsAreDeleted() throws {
    try LibraryStack.with { stack in
      let kept = stack.book("a", pages: 1)
      for number in 0..<5 { stack.book("b \(number)", pages: 2) }
      try stack.context.save()
      let fetch: NSFetchRequest<NSFetchRequestResult> = Book.fetchRequest()
      fetch.predicate = NSPredicate(format: "pages == 2")
      let request = NSBatchDeleteRequest(fetchRequest: fetch)
      request.resultType = .resultTypeObjectIDs
      let result = try stack.context.execute(request) as? NSBatchDeleteResult
      let deleted = try XCTUnwrap(result?.result as? [NSManagedObjectID])
      XCTAssertEqual(deleted.count, 5)
      XCTAssertEqual(try titles(stack), ["a"])
      try stack.context.execute(NSBatchDeleteRequest(objectIDs: [kept.objectID]))
      XCTAssertEqual(try titles(stack), [])
    }
  }

  func testBatchRequestChangesMergeIntoOtherContexts() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma", pages: 1)
      try stack.context.save()
      let background = stack.container.newBackgroundContext()
      let objectIDs = try background.performAndWait { () -> [NSManagedObjectID] in
        let update = NSBatchUpdateRequest(entityName: "Book")
        update.propertiesToUpdate = ["pages": 9]
        update.resultType = .updatedObjectIDsResultType
        return (try background.execute(update) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID] ?? []
      }
      XCTAssertEqual(book.pages, 1)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: objectIDs], into: [stack.context])
      XCTAssertEqual(book.pages, 9)
      try background.performAndWait { _ = try background.execute(NSBatchDeleteRequest(objectIDs: objectIDs)) }
      let uris = objectIDs.map { $0.uriRepresentation() }
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: uris], into: [stack.context])
      XCTAssertNil(book.managedObjectContext)
    }
  }

  func testAsynchronousFetchReturnsResultsOnTheContextQueue() throws {
    try LibraryStack.with { stack in
      for number in 0..<300 { stack.book("Book \(number)", pages: Int32(number)) }
      try stack.context.save()
      let fetch: NSFetchRequest<Book> = Book.fetchRequest()
      fetch.predicate = NSPredicate(format: "pages < 200")
      let done = expectation(description: "fetched")
      let request = NSAsynchronousFetchRequest(fetchRequest: fetch) { result in
        XCTAssertTrue(Thread.isMainThread)
        XCTAssertEqual(result.finalResult?.count, 200)
        XCTAssertNil(result.operationError)
        done.fulfill()
      }
      let result = try XCTUnwrap(stack.context.execute(request) as? NSAsynchronousFetchResult<Book>)
      XCTAssertNil(result.finalResult)
      wait(for: [done], timeout: 60)
      XCTAssertEqual(result.finalResult?.count, 200)
      XCTAssertTrue(result.managedObjectContext === stack.context)
      XCTAssertEqual(result.progress?.fractionCompleted, 1)
    }
  }

  func testAsynchronousFetchOfIDsAndCancellation() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      try stack.context.save()
      let context = stack.container.newBackgroundContext()
      let fetch = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      fetch.resultType = .managedObjectIDResultType
      let found = expectation(description: "found")
      let request = NSAsynchronousFetchRequest(fetchRequest: fetch) { result in
        XCTAssertEqual(result.finalResult?.count, 1)
        found.fulfill()
      }
      _ = try context.performAndWait { try context.execute(request) }
      wait(for: [found], timeout: 60)
      let ended = expectation(description: "ended")
      let objects: NSFetchRequest<Book> = Book.fetchRequest()
      try context.performAndWait {
        let result = try context.execute(
          NSAsynchronousFetchRequest(fetchRequest: objects) { result in
            XCTAssertNil(result.finalResult)
            XCTAssertNotNil(result.operationError)
            ended.fulfill()
          })
        (result as? NSPersistentStoreAsynchronousResult)?.cancel()
      }
      wait(for: [ended], timeout: 60)
    }
  }

  func testFetchRequestsExecuteWithinAPerformBlock() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      try stack.context.save()
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      XCTAssertThrowsError(try request.execute())
      XCTAssertEqual(try stack.context.performAndWait { try request.execute() }.map(\.title), ["Emma"])
      let background = stack.container.newBackgroundContext()
      XCTAssertEqual(try background.performAndWait { try request.execute().first?.managedObjectContext === background }, true)
      XCTAssertThrowsError(try stack.context.execute(NSPersistentStoreRequest()))
    }
  }
}
