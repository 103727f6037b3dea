import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// A pinned context reads an unchanging state of the store until it advances.
public final class QueryGenerationSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testContextIsPinnedOnTheNextRead", { $0.testContextIsPinnedOnTheNextRead }),
        ("testPinnedFetchesOfEveryKindDoNotChange", { $0.testPinnedFetchesOfEveryKindDoNotChange }),
        ("testPinnedFaultsAndMembersDoNotChange", { $0.testPinnedFaultsAndMembersDoNotChange }),
        ("testPinnedContextReadsDeletedRows", { $0.testPinnedContextReadsDeletedRows }),
        ("testATokenPinsOtherContexts", { $0.testATokenPinsOtherContexts }),
        ("testTokenRetainsItsGeneration", { $0.testTokenRetainsItsGeneration }),
        ("testNilTokenReadsTheNewestState", { $0.testNilTokenReadsTheNewestState }),
        ("testPinnedPagesAndBatchesDoNotChange", { $0.testPinnedPagesAndBatchesDoNotChange }),
        ("testPinnedPrefetchedObjectsDoNotChange", { $0.testPinnedPrefetchedObjectsDoNotChange }),
        ("testPinnedLargeValuesDoNotChange", { $0.testPinnedLargeValuesDoNotChange }),
        ("testUnfiredFaultsReadTheCurrentGeneration", { $0.testUnfiredFaultsReadTheCurrentGeneration }),
        ("testUnsavedChangesOverrideTheGeneration", { $0.testUnsavedChangesOverrideTheGeneration }),
        ("testSaveOverNewerChangesConflicts", { $0.testSaveOverNewerChangesConflicts }),
        ("testMergePolicyResolvesConflictsWithTheNewestGeneration", { $0.testMergePolicyResolvesConflictsWithTheNewestGeneration }),
        ("testMembersOfADeletedOwnerAreNotSaved", { $0.testMembersOfADeletedOwnerAreNotSaved }),
        ("testOwnSavesAdvanceTheGeneration", { $0.testOwnSavesAdvanceTheGeneration }),
        ("testOtherChangesAreInvisibleUntilMerged", { $0.testOtherChangesAreInvisibleUntilMerged }),
        ("testAutomaticMergesAdvanceTheGeneration", { $0.testAutomaticMergesAdvanceTheGeneration }),
        ("testResetAndRefreshAdvanceTheGeneration", { $0.testResetAndRefreshAdvanceTheGeneration }),
        ("testBatchRequestsUseTheNewestGeneration", { $0.testBatchRequestsUseTheNewestGeneration }),
        ("testTransactionReadsTheNewestState", { $0.testTransactionReadsTheNewestState }),
        ("testFailedTransactionAdvancesTheGeneration", { $0.testFailedTransactionAdvancesTheGeneration }),
        ("testSixteenGenerationsCanBePinned", { $0.testSixteenGenerationsCanBePinned }),
        ("testTokenOfAnotherStoreIsRejected", { $0.testTokenOfAnotherStoreIsRejected }),
        ("testStoreReportsGenerationHolders", { $0.testStoreReportsGenerationHolders }),
        ("testContextsShareOneGeneration", { $0.testContextsShareOneGeneration }),
      ] as [(String, (QueryGenerationSpecification) -> () throws -> Void)]
    ).map { name, body in
      (name, { suite in if try (suite as? QueryGenerationSpecification)?.storeHasGenerations() ?? true { try body(suite) } })
    }
  }

  /// Whether the store supports query generations. If not, checks the error.
  private func storeHasGenerations() throws -> Bool {
    let open = try makeStore()
    if type(of: open.store).hasQueryGenerations { return true }
    let context = open.newContext()
    assertStoreError(.unsupported) { try context.setQueryGeneration(from: .current) }
    XCTAssertNil(context.queryGenerationToken)
    XCTAssertEqual(open.persistentStore.queryGenerations, [])
    return false
  }

  struct Stop: Error {}

  /// Makes a store with books, their author and tags, and a context that changes it.
  func makeLibrary(_ model: CompiledModel = SpecificationModels.library) throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore(model)
    let writer = open.newContext()
    let author = try writer.insert("Author", ["name": "Joyce"])
    let tag = try writer.insert("Tag", ["name": "novel"])
    for (number, title) in ["Dubliners", "Ulysses", "Exiles"].enumerated() {
      let book = try writer.insert("Book", ["title": title, "pages": Int64(number * 100), "author": author])
      try book.setValue(Set([tag]), forKey: "tags")
    }
    try writer.save()
    return (open, writer)
  }

  func books(_ format: String? = nil) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Book")
    request.predicate = try format.map { try FetchPredicate(format: $0) }
    request.sortDescriptors = [FetchSortDescriptor("title")]
    return request
  }

  func titles(_ context: ManagedObjectContext) throws -> [String] { try context.texts("title", books()) }

  /// Renames one book, deletes one and inserts one.
  func change(_ writer: ManagedObjectContext) throws {
    try find("Book", "title", "Ulysses", in: writer).setValue("Finnegans Wake", forKey: "title")
    writer.delete(try find("Book", "title", "Exiles", in: writer))
    try writer.insert("Book", ["title": "Stephen Hero", "author": try find("Author", "name", "Joyce", in: writer)])
    try writer.save()
  }

  static let before = ["Dubliners", "Exiles", "Ulysses"]
  static let after = ["Dubliners", "Finnegans Wake", "Stephen Hero"]

  func testContextIsPinnedOnTheNextRead() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    XCTAssertNil(context.queryGenerationToken)
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(context.queryGenerationToken, .current)
    try change(writer)
    XCTAssertEqual(try titles(context), Self.after)
    XCTAssertNotEqual(context.queryGenerationToken, .current)
    XCTAssertNotNil(context.queryGenerationToken)
    try writer.insert("Book", ["title": "Chamber Music"])
    try writer.save()
    XCTAssertEqual(try titles(context), Self.after)
  }

  func testPinnedFetchesOfEveryKindDoNotChange() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books()), 3)
    try change(writer)
    XCTAssertEqual(try context.count(for: books()), 3)
    XCTAssertEqual(try titles(context), Self.before)
    XCTAssertEqual(try context.count(for: books("title == 'Ulysses'")), 1)
    XCTAssertEqual(try context.fetch(books("ANY tags.name == 'novel'")).count, 3)
    XCTAssertEqual(try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Book")).count, 3)
    let dictionaries = FetchRequest<[String: Any]>(entityName: "Book").selecting("title")
    XCTAssertEqual(Set(try context.fetch(dictionaries).compactMap { $0["title"] as? String }), Set(Self.before))
    var unread = try books()
    unread.includesPropertyValues = false
    XCTAssertEqual(try context.texts("title", unread), Self.before)
    let other = open.newContext()
    XCTAssertEqual(try titles(other), Self.after)
  }

  func testPinnedFaultsAndMembersDoNotChange() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Author"))
    let author = context.object(with: try XCTUnwrap(ids.first))
    try change(writer)
    try find("Author", "name", "Joyce", in: writer).setValue("James Joyce", forKey: "name")
    try find("Book", "title", "Dubliners", in: writer).setValue(Set<ManagedObject>(), forKey: "tags")
    try writer.save()
    XCTAssertEqual(author.text("name"), "Joyce")
    let books = author.members("books")
    XCTAssertEqual(Set(books.compactMap { $0.text("title") }), Set(Self.before))
    for book in books {
      XCTAssertEqual(book.members("tags").compactMap { $0.text("name") }, ["novel"])
      XCTAssertEqual(book.object("author"), author)
    }
    XCTAssertNil(context.pendingError)
  }

  func testPinnedContextReadsDeletedRows() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let request = FetchRequest<ManagedObjectID>(entityName: "Book", predicate: .compare("title", .equal, "Exiles"))
    let id = try XCTUnwrap(context.fetch(request).first)
    try change(writer)
    XCTAssertEqual(context.object(with: id).text("title"), "Exiles")
    XCTAssertEqual(try context.existingObject(with: id).integer("pages"), 200)
    XCTAssertFalse(context.object(with: id).isDeleted)
    try context.setQueryGeneration(from: .current)
    context.refreshAllObjects()
    assertStoreError(.objectNotFound) { try context.existingObject(with: id) }
  }

  func testATokenPinsOtherContexts() throws {
    let (open, writer) = try makeLibrary()
    let (first, second) = (open.newContext(), open.newContext())
    try first.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(first), Self.before)
    let token = try XCTUnwrap(first.queryGenerationToken)
    try change(writer)
    try second.setQueryGeneration(from: token)
    XCTAssertEqual(second.queryGenerationToken, token)
    XCTAssertEqual(try titles(second), Self.before)
    try first.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(first), Self.after)
    XCTAssertEqual(try titles(second), Self.before)
    XCTAssertNotEqual(first.queryGenerationToken, token)
    let store = open.coordinator
    let found = try waitFor { () -> Int in
      let context = ManagedObjectContext(coordinator: store)
      try context.setQueryGeneration(from: token)
      return try context.count(for: FetchRequest<ManagedObject>(entityName: "Book", predicate: .compare("title", .equal, "Ulysses")))
    }
    XCTAssertEqual(found, 1)
  }

  func testTokenRetainsItsGeneration() throws {
    let (open, writer) = try makeLibrary()
    var token: QueryGenerationToken?
    do {
      let context = open.newContext()
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try context.count(for: books()), 3)
      token = context.queryGenerationToken
    }
    try change(writer)
    let context = open.newContext()
    try context.setQueryGeneration(from: token)
    XCTAssertEqual(try titles(context), Self.before)
    try context.setQueryGeneration(from: nil)
    token = nil
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 0)
  }

  func testNilTokenReadsTheNewestState() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(context), Self.before)
    context.reset()
    try change(writer)
    try context.setQueryGeneration(from: nil)
    XCTAssertNil(context.queryGenerationToken)
    XCTAssertEqual(try titles(context), Self.after)
    try writer.insert("Book", ["title": "Chamber Music"])
    try writer.save()
    XCTAssertEqual(try context.count(for: books()), 4)
  }

  func testPinnedPagesAndBatchesDoNotChange() throws {
    let open = try makeStore()
    let writer = open.newContext()
    for number in 0..<60 { try writer.insert("Book", ["title": String(format: "%02d", number), "pages": Int64(0)]) }
    try writer.save()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    var request = try books()
    request.fetchBatchSize = 10
    let batched = try context.fetch(request, batchSize: 10)
    let lazily = try context.fetch(request)
    XCTAssertEqual(batched[0].integer("pages"), 0)
    func write(_ pages: Int64) throws {
      for book in try writer.all("Book") { try book.setValue(pages, forKey: "pages") }
      try writer.insert("Book", ["title": "later \(pages)"])
      try writer.save()
    }
    try write(1)
    XCTAssertEqual(batched.map { $0.integer("pages") }, Array(repeating: 0, count: 60))
    XCTAssertEqual(lazily.map { $0.integer("pages") }, Array(repeating: 0, count: 60))
    var visited = 0
    try context.enumerateBatches(of: try books(), size: 7) { books, _ in
      for book in books {
        if visited % 20 == 0 { try write(Int64(visited) + 2) }
        XCTAssertEqual(book.integer("pages"), 0)
        visited += 1
      }
    }
    XCTAssertEqual(visited, 60)
    visited = 0
    try context.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 25) { objects, _ in visited += objects.count }
    XCTAssertEqual(visited, 60)
    XCTAssertNil(context.pendingError)
  }

  func testPinnedPrefetchedObjectsDoNotChange() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books()), 3)
    try change(writer)
    try find("Tag", "name", "novel", in: writer).setValue("fiction", forKey: "name")
    try writer.save()
    var request = FetchRequest<ManagedObject>(entityName: "Author")
    request.relationshipKeyPathsForPrefetching = ["books.tags"]
    request.returnsObjectsAsFaults = false
    let author = try XCTUnwrap(context.fetch(request).first)
    XCTAssertEqual(Set(author.members("books").compactMap { $0.text("title") }), Set(Self.before))
    XCTAssertEqual(Set(author.members("books").flatMap { $0.members("tags") }.compactMap { $0.text("name") }), ["novel"])
  }

  func testPinnedLargeValuesDoNotChange() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Film") {
          Attribute("title", .string)
          Attribute("poster", .binary).externalStorage()
        }
      })
    let open = try makeStore(model)
    let writer = open.newContext()
    func bytes(_ byte: UInt8) -> Data { Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ byte }) }
    for (number, title) in ["A", "B", "C"].enumerated() { try writer.insert("Film", ["title": title, "poster": bytes(UInt8(number))]) }
    try writer.save()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let films = FetchRequest<ManagedObject>(entityName: "Film").sorted(by: "title")
    let found = try context.fetch(films)
    try find("Film", "title", "A", in: writer).setValue(bytes(77), forKey: "poster")
    writer.delete(try find("Film", "title", "B", in: writer))
    try find("Film", "title", "C", in: writer).setValue(nil, forKey: "poster")
    try writer.save()
    for (number, film) in found.enumerated() { XCTAssertEqual(film["poster"] as? Data, bytes(UInt8(number)), "\(number)") }
    let value = try XCTUnwrap(found[1].externalData(forKey: "poster"))
    XCTAssertEqual(try value.data(), bytes(1))
    context.object(with: found[0].objectID).managedObjectContext?.refresh(found[0], mergeChanges: false)
    XCTAssertEqual(found[0]["poster"] as? Data, bytes(0))
    let same = FetchRequest<ManagedObject>(entityName: "Film", predicate: .compare("poster", .equal, bytes(1)))
    XCTAssertEqual(try context.fetch(same), [found[1]])
    let dictionaries = FetchRequest<[String: Any]>(entityName: "Film").selecting("poster")
    XCTAssertEqual(try context.fetch(dictionaries).count { $0["poster"] as? Data == bytes(2) }, 1)
    context.refreshAllObjects()
    XCTAssertEqual(try context.fetch(films).map { $0["poster"] as? Data }, [bytes(77), nil])
  }

  func testUnfiredFaultsReadTheCurrentGeneration() throws {
    let (open, writer) = try makeLibrary()
    let pinned = open.newContext()
    try pinned.setQueryGeneration(from: .current)
    XCTAssertEqual(try pinned.count(for: books()), 3)
    try change(writer)
    let context = open.newContext()
    let found = try context.fetch(books())
    hold(found)
    try context.setQueryGeneration(from: pinned.queryGenerationToken)
    XCTAssertEqual(found[1].text("title"), "Ulysses", "its row was read from the newest state, and has not been exposed")
    XCTAssertEqual(try titles(context), Self.before)
  }

  func testUnsavedChangesOverrideTheGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    try find("Book", "title", "Dubliners", in: context).setValue("A", forKey: "title")
    try context.insert("Book", ["title": "Z"])
    try change(writer)
    XCTAssertEqual(try titles(context), ["A", "Exiles", "Ulysses", "Z"])
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books()), 4)
    context.refreshAllObjects()
    XCTAssertEqual(try titles(context), ["A", "Finnegans Wake", "Stephen Hero", "Z"])
    try context.save()
    XCTAssertEqual(try titles(open.newContext()), ["A", "Finnegans Wake", "Stephen Hero", "Z"])
  }
}
