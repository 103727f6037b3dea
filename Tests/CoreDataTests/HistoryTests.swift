// The history of a store is asked, merged and shortened, and contexts are pinned to states of their stores.
import CoreData
import Foundation
import XCTest

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

  func testTransactionsTellWhoHasChangedWhat() throws {
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

  func testWhatOthersHaveWrittenIsMergedByTransactions() throws {
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
      // What the store has done by itself has no author.
      XCTAssertEqual(found?.compactMap(\.author), ["import"])
      request.resultType = .count
      XCTAssertEqual((try stack.context.execute(request) as? NSPersistentHistoryResult)?.result as? Int, 1)
      let token = stack.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
      try stack.context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: token))
      XCTAssertEqual(try transactions(stack, after: nil).count, 1)
    }
  }

  func testAPinnedContextReadsOneState() throws {
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
