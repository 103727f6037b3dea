import CoreData
import Foundation
import ObjectStore
import StoreKeys
import XCTest

/// Changes in a history name the properties of updates and nothing else, for every kind of store and every level of the history.
final class HistoryChangeTests: XCTestCase {
  /// A kind of store with a history.
  private struct Kind {
    let type: String
    let level: HistoryLevel
    var name: String { "\(type), \(level)" }
  }

  private static let kinds = [NSSQLiteStoreType, NSInMemoryStoreType].flatMap { type in
    HistoryLevel.allCases.map { Kind(type: type, level: $0) }
  }

  private var folder = URL(fileURLWithPath: "/dev/null")

  override func setUpWithError() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("changes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() { try? FileManager.default.removeItem(at: folder) }

  /// Runs `body` in a context on a new store of each kind. Core Data has no levels, so the store is opened below the CoreData module.
  private func inEachStore(_ body: @escaping @Sendable (NSManagedObjectContext, String) throws -> Void) async throws {
    let model = try XCTUnwrap(NSManagedObjectModel.mergedModel(from: nil))
    for (number, kind) in Self.kinds.enumerated() {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(number).sqlite"))
      description.type = kind.type
      description.encryptionKey = .raw(SecretBytes(Array(repeating: 7, count: 32)))
      var value = try description.value()
      (value.historyTracking, value.historyLevel) = (true, kind.level)
      try await coordinator.coordinator.addPersistentStore(with: value)
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      try await context.perform { try body(context, kind.name) }
    }
  }

  /// All transactions of the history.
  private static func transactions(
    _ context: NSManagedObjectContext, _ resultType: NSPersistentHistoryResultType
  ) throws -> [NSPersistentHistoryTransaction]? {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: NSPersistentHistoryToken?.none)
    request.resultType = resultType
    return (try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
  }

  /// Asserts the changes that `work` adds to the history.
  private static func assert(
    _ expected: [String], _ context: NSManagedObjectContext, _ kind: String, line: UInt = #line, _ work: () throws -> Void
  ) throws {
    let token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    try work()
    if context.hasChanges { try context.save() }
    for type in [NSPersistentHistoryResultType.transactionsAndChanges, .changesOnly] {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      request.resultType = type
      let result = (try context.execute(request) as? NSPersistentHistoryResult)?.result
      let changes =
        result as? [NSPersistentHistoryChange] ?? (result as? [NSPersistentHistoryTransaction])?.flatMap { $0.changes ?? [] } ?? []
      let found = changes.map { change in
        let names = change.updatedProperties.map { "[" + $0.map(\.name).sorted().joined(separator: ", ") + "]" } ?? "nil"
        XCTAssertEqual(change.updatedProperties == nil, change.changeType != .update, kind, line: line)
        return "\(change.changeType) \(change.changedObjectID.entityName) \(names)"
      }
      XCTAssertEqual(found.sorted(), expected, "\(kind), \(type)", line: line)
    }
  }

  private static func book(_ title: String, in context: NSManagedObjectContext) -> Book {
    let book = Book(context: context)
    book.title = title
    return book
  }

  func testSavesRecordUpdatedProperties() async throws {
    try await inEachStore { context, kind in
      let author = Author(context: context)
      let (book, comic) = (Self.book("Emma", in: context), Comic(context: context))
      try Self.assert(["insert Author nil", "insert Book nil", "insert Comic nil"], context, kind) {
        author.name = "Austen"
        book.author = author
        comic.title = "Sketches"
      }
      try Self.assert(["update Book [title]"], context, kind) { book.title = "Clueless" }
      try Self.assert(["update Book [pages, price, rating]"], context, kind) {
        (book.pages, book.price) = (5, 12)
        book.setValue(4.5, forKey: "rating")
      }
      try Self.assert(["update Book [rating]"], context, kind) { book.setValue(nil, forKey: "rating") }
      try Self.assert(["update Book [author]"], context, kind) { book.author = nil }
      try Self.assert(["update Author [name]", "update Book [author, title]"], context, kind) {
        author.name = "Jane Austen"
        (book.author, book.title) = (author, "Emma")
      }
      // A subentity's own and inherited properties.
      try Self.assert(["update Comic [artist, title]"], context, kind) { (comic.artist, comic.title) = ("Cassandra", "Portraits") }
      try Self.assert(["update Comic [writer]"], context, kind) { comic.writer = author }
      // Several saves are several updates.
      try Self.assert(["update Book [pages]", "update Book [title]"], context, kind) {
        book.pages = 6
        try context.save()
        book.title = "Lady Susan"
      }
      // An inserted object that changes before the save is an insertion only.
      try Self.assert(["delete Book nil", "insert Book nil"], context, kind) {
        let other = Self.book("Evelina", in: context)
        try context.obtainPermanentIDs(for: [other])
        (other.title, other.pages) = ("Cecilia", 9)
        context.delete(book)
      }
    }
  }

  func testRelationshipsNullifiedByDeleteRulesAreRecorded() async throws {
    try await inEachStore { context, kind in
      let author = Author(context: context)
      author.name = "Austen"
      let (book, comic) = (Self.book("Emma", in: context), Comic(context: context))
      (book.author, comic.title, comic.writer) = (author, "Sketches", author)
      try context.save()
      try Self.assert(["delete Author nil", "delete Book nil", "update Comic [writer]"], context, kind) { context.delete(author) }
    }
  }

  func testBatchRequestsRecordUpdatedProperties() async throws {
    try await inEachStore { context, kind in
      try Self.assert(["insert Book nil", "insert Book nil"], context, kind) {
        try context.execute(NSBatchInsertRequest(entityName: "Book", objects: [["title": "Emma"], ["title": "Evelina"]]))
      }
      try Self.assert(["insert Book nil"], context, kind) {
        var isDone = false
        let insertion = NSBatchInsertRequest(entityName: "Book") { (row: NSMutableDictionary) in
          defer { isDone = true }
          row["title"] = "Cecilia"
          return isDone
        }
        try context.execute(insertion)
      }
      try Self.assert(["update Book [isRead, pages]", "update Book [isRead, pages]", "update Book [isRead, pages]"], context, kind) {
        let update = NSBatchUpdateRequest(entityName: "Book")
        update.propertiesToUpdate = ["pages": NSExpression(format: "pages + 1"), "isRead": true]
        try context.execute(update)
      }
      try Self.assert(["update Book [rating]"], context, kind) {
        let update = NSBatchUpdateRequest(entityName: "Book")
        update.predicate = NSPredicate(format: "title == 'Emma'")
        update.propertiesToUpdate = ["rating": 4.5]
        try context.execute(update)
      }
      try Self.assert(["delete Book nil", "delete Book nil"], context, kind) {
        let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
        fetch.predicate = NSPredicate(format: "title != 'Emma'")
        try context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
      }
    }
  }

  func testABatchInsertThatMergesIntoARowIsAnUpdate() async throws {
    try await inEachStore { context, kind in
      let identifier = UUID()
      let book = Self.book("Emma", in: context)
      book.identifier = identifier
      try context.save()
      context.mergePolicy = .mergeByPropertyObjectTrump
      try Self.assert(["insert Book nil", "update Book [pages, title]"], context, kind) {
        try context.execute(
          NSBatchInsertRequest(
            entityName: "Book",
            objects: [
              ["title": "Clueless", "pages": 5, "identifier": identifier] as [String: Any],
              ["title": "Evelina", "identifier": UUID()] as [String: Any],
            ]))
      }
    }
  }

  func testTransactionsWithoutChangesHaveNone() async throws {
    try await inEachStore { context, kind in
      let book = Self.book("Emma", in: context)
      try context.save()
      book.title = "Clueless"
      try context.save()
      let found = try Self.transactions(context, .transactionsOnly)
      XCTAssertEqual(found?.map { $0.changes == nil }, [true, true], kind)
    }
  }

  func testOnlyDeletionsHaveTombstones() async throws {
    try await inEachStore { context, kind in
      let book = Self.book("Emma", in: context)
      try context.save()
      book.title = "Clueless"
      try context.save()
      context.delete(book)
      try context.save()
      let found = try Self.transactions(context, .transactionsAndChanges)
      let changes = (found ?? []).flatMap { $0.changes ?? [] }
      XCTAssertEqual(changes.map(\.changeType), [.insert, .update, .delete], kind)
      XCTAssertEqual(changes.prefix(2).map { $0.tombstone == nil }, [true, true], kind)
    }
  }
}
