import CoreData
import Foundation
import StoreKeys
import XCTest

/// The history of a store is fetched, merged and purged, and contexts are pinned to query generations.
final class HistoryTests: XCTestCase {
  private func withHistory(_ body: (LibraryStack) throws -> Void) throws {
    let stack = try LibraryStack(options: [NSPersistentHistoryTrackingKey: true as NSNumber])
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    XCTAssertNil(stack.loadError)
    try body(stack)
  }

  private func transactions(_ stack: LibraryStack, after token: NSPersistentHistoryToken?) throws -> [NSPersistentHistoryTransaction] {
    let result = try stack.context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token)) as? NSPersistentHistoryResult
    return try XCTUnwrap(result?.result as? [NSPersistentHistoryTransaction])
  }

  func testTransactionsRecordAuthorsAndChanges() throws {
    try withHistory { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let token = stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
      XCTAssertNotNil(token)
      (stack.context.name, stack.context.transactionAuthor) = ("view", "app")
      book.pages = 9
      try stack.context.save()
      let found = try transactions(stack, after: token)
      XCTAssertEqual(found.map(\.author), ["app"])
      XCTAssertEqual(found.first?.contextName, "view")
      let change = try XCTUnwrap(found.first?.changes?.first)
      XCTAssertEqual(change.changeType, .update)
      XCTAssertEqual(change.changedObjectID, book.objectID)
      XCTAssertEqual(change.updatedProperties?.map(\.name), ["pages"])
      XCTAssertTrue(change.transaction === found.first)
      XCTAssertEqual(try transactions(stack, after: found.first?.token).count, 0)
    }
  }

  func testHistoryContainsOnlyChangesOfTheApplication() throws {
    try withHistory { stack in
      XCTAssertEqual(try transactions(stack, after: nil).count, 0)
      let start = try XCTUnwrap(stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
      stack.context.transactionAuthor = "app"
      let book = stack.book("Emma")
      try stack.context.save()
      book.title = "Clueless"
      try stack.context.save()
      stack.context.delete(book)
      try stack.context.save()
      let requests: [NSPersistentHistoryChangeRequest] = [
        .fetchHistory(after: .distantPast), .fetchHistory(after: start), .fetchHistory(after: NSPersistentHistoryToken?.none),
        .fetchHistory(after: NSPersistentHistoryTransaction?.none),
      ]
      for request in requests {
        let found = try XCTUnwrap(
          (stack.context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
        XCTAssertEqual(found.map(\.author), ["app", "app", "app"])
        XCTAssertEqual(found.map { $0.changes?.map(\.changeType) }, [[.insert], [.update], [.delete]])
        XCTAssertEqual(found.map { $0.changes?.first?.updatedProperties?.map(\.name) }, [nil, ["title"], nil])
        XCTAssertEqual(found.first?.changes?.first?.changedObjectID, book.objectID)
      }
      let fetch = try XCTUnwrap(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = NSPredicate(format: "author != %@", "app")
      let others = try stack.context.execute(NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)) as? NSPersistentHistoryResult
      XCTAssertEqual((others?.result as? [NSPersistentHistoryTransaction])?.count, 0)
      // Deleting before the first transaction deletes nothing, and all tokens stay valid.
      let first = try XCTUnwrap(transactions(stack, after: nil).first)
      try stack.context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: first))
      XCTAssertEqual(try transactions(stack, after: start).count, 3)
      let second = try transactions(stack, after: nil)[1]
      try stack.context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: second))
      XCTAssertEqual(try transactions(stack, after: nil).count, 2)
      XCTAssertThrowsError(try transactions(stack, after: start)) { error in
        XCTAssertEqual((error as NSError).code, NSPersistentHistoryTokenExpiredError)
      }
    }
  }

  func testAMigrationIsATransactionWithoutChanges() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coredata-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func open(_ model: NSManagedObjectModel) throws -> NSPersistentContainer {
      let container = NSPersistentContainer(name: "Boxes", managedObjectModel: model)
      let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("boxes.store"))
      description.encryptionKey = .raw(SecretBytes(Array(repeating: 7, count: 32)))
      description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      return container
    }
    let older = try open(.boxes("name"))
    older.viewContext.transactionAuthor = "app"
    NSEntityDescription.insertNewObject(forEntityName: "Box", into: older.viewContext).setValue("red", forKey: "name")
    try older.viewContext.save()
    for store in older.persistentStoreCoordinator.persistentStores { try older.persistentStoreCoordinator.remove(store) }
    let newer = try open(.boxes("name", "size"))
    let context = newer.viewContext
    context.transactionAuthor = "app"
    let box = try XCTUnwrap(context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")).first)
    box.setValue("large", forKey: "size")
    try context.save()
    let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: .distantPast)) as? NSPersistentHistoryResult
    let found = try XCTUnwrap(result?.result as? [NSPersistentHistoryTransaction])
    XCTAssertEqual(found.map(\.author), ["app", "com.apple.coredata.schemamigrator", "app"])
    XCTAssertEqual(found.map { $0.changes?.count }, [1, 0, 1])
    XCTAssertEqual(found.last?.changes?.first?.updatedProperties?.map(\.name), ["size"])
  }

  func testUpdatedPropertiesBelongToTheModelOfTheOpenStore() throws {
    try withHistory { stack in
      // Another model, loaded later, has an entity with the same name and other properties.
      let other = NSPersistentStoreCoordinator(managedObjectModel: .named("Book", attributes: ["colour"]))
      try other.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
      let book = stack.book("Emma")
      try stack.context.save()
      book.title = "Clueless"
      try stack.context.save()
      let change = try XCTUnwrap(transactions(stack, after: nil).last?.changes?.first)
      XCTAssertEqual(change.updatedProperties?.map(\.name), ["title"])
      XCTAssertNotNil(change.changedObjectID.entity.propertiesByName["title"])
      XCTAssertEqual(other.persistentStores.count, 1)
    }
  }

  func testEachKindOfChangeRecordsItsObjects() throws {
    try withHistory { stack in
      let (author, book) = (Author(context: stack.context), stack.book("Emma"))
      author.name = "Austen"
      try stack.context.save()
      func changes(_ work: () throws -> Void) throws -> [String] {
        let token = stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
        try work()
        return try transactions(stack, after: token).flatMap { $0.changes ?? [] }.map { change in
          let names = change.updatedProperties.map { $0.map(\.name).sorted().joined(separator: ",") } ?? "none"
          return "\(change.changedObjectID.entityName) \(change.changeType.rawValue) \(names)"
        }.sorted()
      }
      XCTAssertEqual(
        try changes {
          book.author = author
          book.title = "Clueless"
          try stack.context.save()
        }, ["Book 1 author,title"])
      XCTAssertEqual(
        try changes {
          author.addToFavourites(book)
          try stack.context.save()
        }, ["Author 1 favourites"])
      XCTAssertEqual(
        try changes {
          let update = NSBatchUpdateRequest(entityName: "Book")
          update.propertiesToUpdate = ["pages": 7]
          try stack.context.execute(update)
        }, ["Book 1 pages"])
      XCTAssertEqual(
        try changes {
          try stack.context.execute(NSBatchInsertRequest(entityName: "Book", objects: [["title": "Evelina"]]))
        }, ["Book 0 none"])
      XCTAssertEqual(
        try changes {
          let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
          fetch.predicate = NSPredicate(format: "title == 'Evelina'")
          try stack.context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
        }, ["Book 2 none"])
    }
  }

  func testTransactionsOfOtherWritersAreMerged() throws {
    try withHistory { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      let objectID = book.objectID
      let token = stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
      let background = stack.container.newBackgroundContext()
      try background.performAndWait {
        background.transactionAuthor = "import"
        (background.object(with: objectID) as? Book)?.title = "Clueless"
        try background.save()
      }
      XCTAssertEqual(book.title, "Emma")
      for transaction in try transactions(stack, after: token) {
        stack.context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
      }
      XCTAssertEqual(book.title, "Clueless")
    }
  }

  func testTransactionsAreFilteredAndDeleted() throws {
    try withHistory { stack in
      for author in ["app", "import", "app"] {
        stack.context.transactionAuthor = author
        stack.book(author)
        try stack.context.save()
      }
      let fetch = try XCTUnwrap(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = NSPredicate(format: "%K != %@", "author", "app")
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      let found = (try stack.context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
      XCTAssertEqual(found?.map(\.author), ["import"])
      request.resultType = .count
      XCTAssertEqual((try stack.context.execute(request) as? NSPersistentHistoryResult)?.result as? Int, 1)
      let token = stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
      try stack.context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: token))
      XCTAssertEqual(try transactions(stack, after: nil).count, 1)
    }
  }

  func testPinnedContextsReadOneSnapshot() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      try stack.context.save()
      let reader = stack.container.newBackgroundContext()
      let counts = try reader.performAndWait { () -> [Int] in
        XCTAssertNil(reader.queryGenerationToken)
        try reader.setQueryGenerationFrom(.current)
        let before = try reader.count(for: NSFetchRequest<Book>(entityName: "Book"))
        stack.book("Persuasion")
        try stack.context.save()
        let pinned = try reader.count(for: NSFetchRequest<Book>(entityName: "Book"))
        XCTAssertNotNil(reader.queryGenerationToken)
        try reader.setQueryGenerationFrom(nil)
        return [before, pinned, try reader.count(for: NSFetchRequest<Book>(entityName: "Book"))]
      }
      XCTAssertEqual(counts, [1, 1, 2])
    }
  }
}
