import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Requests are errors before stores are loaded, after they are closed, or for an entity that no open store contains.
final class NoOpenStoreTests: XCTestCase {
  private func container(_ descriptions: [PersistentStoreDescription]) throws -> PersistentContainer {
    try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes, persistentStoreDescriptions: descriptions)
  }

  private let authors = FetchRequest<Author>(entityName: "Author")

  /// All requests to a context that need a store.
  private func requests() throws -> [(name: String, ask: (ManagedObjectContext) throws -> Void)] {
    let authors = authors
    var groups = FetchRequest<[String: Any]>(entityName: "Author")
    groups.propertiesToFetch = try FetchProperty.list(format: "count(*) AS n")
    var prefetching = authors
    prefetching.relationshipKeyPathsForPrefetching = ["books"]
    var batched = authors
    batched.fetchBatchSize = 10
    var filtered = authors
    filtered.allowsInMemoryFiltering = true
    filtered.predicate = .block { (author: Author) in !author.name.isEmpty }
    var committed = authors
    committed.includesPendingChanges = false
    let (plain, inMemory) = (prefetching, filtered)
    return [
      ("fetch", { _ = try $0.fetch(authors) }), ("prefetch", { _ = try $0.fetch(plain) }), ("batches", { _ = try $0.fetch(batched) }),
      ("filter", { _ = try $0.fetch(inMemory) }), ("saved values", { _ = try $0.fetch(committed) }),
      ("IDs", { _ = try $0.fetch(FetchRequest<ManagedObjectID>(entityName: "Author")) }), ("groups", { _ = try $0.fetch(groups) }),
      ("dictionaries", { _ = try $0.fetch(FetchRequest<[String: Any]>(entityName: "Author")) }),
      ("count", { _ = try $0.count(for: authors) }), ("count of dictionaries", { _ = try $0.count(for: groups) }),
      ("pages", { _ = try $0.fetch(authors, batchSize: 10) }), ("enumerate", { try $0.enumerateBatches(of: authors) { _, _ in } }),
      ("explain", { _ = try $0.explain(authors) }), ("asynchronous fetch", { _ = try $0.asynchronousFetch(authors) }),
      ("batch insert", { _ = try $0.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "a"]])) }),
      ("batch update", { _ = try $0.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": 1])) }),
      ("batch delete", { _ = try $0.execute(BatchDeleteRequest(entityName: "Tag")) }),
      ("batch delete of nothing", { _ = try $0.execute(BatchDeleteRequest(objectIDs: [])) }),
      ("transaction", { try $0.performTransaction {} }),
      (
        "save",
        {
          Author(context: $0).name = "A"
          try $0.save()
        }
      ),
      ("permanent IDs", { try $0.obtainPermanentIDs(for: [Author(context: $0)]) }),
    ]
  }

  private func assertNoOpenStore(_ name: String, _ body: () throws -> Void, line: UInt = #line) {
    XCTAssertThrowsError(try body(), name, line: line) { error in
      XCTAssertEqual((error as? StoreError)?.code, .noOpenStore, "\(name): \(error)", line: line)
      XCTAssertTrue("\(error)".contains("loadPersistentStores()"), "\(name): \(error)", line: line)
    }
  }

  @MainActor func testRequestsBeforeStoresAreLoadedThrow() async throws {
    let folder = try TemporaryFolder()
    for descriptions in [[], [PersistentStoreDescription(type: .inMemory)], [.encrypted(in: folder)]] {
      let container = try container(descriptions)
      for (name, ask) in try requests() {
        let context = container.newBackgroundContext()
        assertNoOpenStore(name) { try ask(context) }
      }
      XCTAssertThrowsError(try container.viewContext.fetch(authors))
      do {
        for try await _ in container.values(of: authors, { $0.name }) { XCTFail("a value") }
        XCTFail("no error")
      } catch let error as StoreError { XCTAssertEqual(error.code, .noOpenStore) }
      do {
        let rows = AsyncStream<[String: any Sendable]> { $0.finish() }
        _ = try await container.newBackgroundContext().insert(rows: rows, into: "Tag")
        XCTFail("no error")
      } catch let error as StoreError { XCTAssertEqual(error.code, .noOpenStore) }
      // With a store, all requests succeed.
      if descriptions.isEmpty { container.persistentStoreDescriptions = [PersistentStoreDescription(type: .inMemory)] }
      try await container.loadPersistentStores()
      for (name, ask) in try requests() where name != "save" && name != "permanent IDs" {
        let context = container.newBackgroundContext()
        XCTAssertNoThrow(try ask(context), name)
      }
      try container.close()
    }
  }

  func testRequestsAfterStoresAreClosedThrow() async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let container = try container([kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)])
      try await container.loadPersistentStores()
      let context = container.newBackgroundContext()
      let author = Author(context: context)
      author.name = "A"
      let (book, tag) = (Book(context: context), Tag(context: context))
      (book.title, book.author, tag.name) = ("T", author, "t")
      try context.save()
      let ids = [author, book, tag].map(\.objectID)
      try container.close()

      for (name, ask) in try requests() {
        let context = container.newBackgroundContext()
        assertNoOpenStore(name) { try ask(context) }
      }
      let other = container.newBackgroundContext()
      for id in ids {
        // A fault reports the error through the context's next throwing call. Until then its values are nil, and it never counts as
        // deleted.
        let fault = other.object(with: id)
        XCTAssertNil(fault["name"] ?? fault["title"])
        XCTAssertFalse(fault.isDeleted)
        XCTAssertEqual((other.pendingError as? StoreError)?.code, .noOpenStore)
        assertNoOpenStore("save after a fault") { try other.save() }
        assertNoOpenStore("existing object") { _ = try other.existingObject(with: id) }
        assertNoOpenStore("batch delete of objects") { _ = try other.execute(BatchDeleteRequest(objectIDs: [id])) }
      }
      let unread = try XCTUnwrap(other.object(with: ids[0]) as? Author)
      XCTAssertEqual(unread.books.count, 0)
      assertNoOpenStore("members") { try other.save() }

      // Loaded values can be read, but not saved.
      XCTAssertEqual(author.name, "A")
      XCTAssertNil(context.pendingError)
      author.name = "B"
      assertNoOpenStore("save of a change") { try context.save() }
      XCTAssertTrue(author.isUpdated)
      context.refresh(author, mergeChanges: true)
      assertNoOpenStore("refresh") { try context.save() }
      context.rollback()
      context.delete(tag)
      assertNoOpenStore("save of a deletion") { try context.save() }
      XCTAssertTrue(tag.isDeleted)
    }
  }

  func testRequestsSucceedAfterReopening() async throws {
    let folder = try TemporaryFolder()
    let container = try container([.encrypted(in: folder)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let author = Author(context: context)
    author.name = "A"
    try context.save()
    context.refresh(author, mergeChanges: false)
    try container.close()
    XCTAssertEqual(author.name, "")
    XCTAssertTrue(author.isFault)
    assertNoOpenStore("fetch") { _ = try context.fetch(authors) }
    try await container.loadPersistentStores()
    XCTAssertEqual(author.name, "A")
    author.name = "B"
    // A name that could not be read was returned as an empty text. The first save fails, so that values derived from it are not saved
    // unnoticed.
    assertNoOpenStore("save") { try context.save() }
    try context.save()
    XCTAssertEqual(try context.fetch(authors).map(\.name), ["B"])
    try container.close()
  }

  // MARK: With other stores open

  private let divided = ManagedObjectModel {
    Entity("Party", abstract: true) { Attribute("name", .string) }
    Entity("Person", parent: "Party") { Attribute("age", .integer64) }
    Entity("Setting") { Attribute("name", .string) }
    Configuration("People", entities: "Party", "Person")
    Configuration("Settings", entities: "Setting")
  }

  func testEntityWithoutAnOpenStoreIsReportedWithItsConfiguration() async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: divided)
      var description = kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)
      description.configuration = "People"
      let store = try await coordinator.addPersistentStore(with: description)
      let context = ManagedObjectContext(coordinator: coordinator)
      try context.make("Person", ["name": "A"])
      try context.save()

      let settings = FetchRequest<ManagedObject>(entityName: "Setting")
      func assertNotInStore(_ name: String, mentions text: String = "“Settings”", _ body: () throws -> Void) {
        XCTAssertThrowsError(try body(), name) { error in
          XCTAssertEqual((error as? StoreError)?.code, .entityNotInStore, "\(name): \(error)")
          XCTAssertEqual((error as? StoreError)?.entityName, "Setting", name)
          XCTAssertTrue("\(error)".contains(text), "\(name): \(error)")
        }
      }
      assertNotInStore("fetch") { _ = try context.fetch(settings) }
      assertNotInStore("count") { _ = try context.count(for: settings) }
      assertNotInStore("IDs") { _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Setting")) }
      assertNotInStore("dictionaries") { _ = try context.fetch(FetchRequest<[String: Any]>(entityName: "Setting")) }
      assertNotInStore("explain") { _ = try context.explain(settings) }
      assertNotInStore("batch insert") { _ = try context.execute(BatchInsertRequest(entityName: "Setting", objects: [["name": "a"]])) }
      assertNotInStore("batch delete") { _ = try context.execute(BatchDeleteRequest(entityName: "Setting")) }
      var named = settings
      named.affectedStores = [store.identifier]
      assertNotInStore("a named store", mentions: "affectedStores") { _ = try context.fetch(named) }
      try context.make("Setting", ["name": "s"])
      assertNotInStore("save") { try context.save() }
      context.rollback()
      // The parent entity is abstract, and its objects exist.
      XCTAssertEqual(try context.objects("Party").count, 1)

      var elsewhere = FetchRequest<ManagedObject>(entityName: "Person")
      elsewhere.affectedStores = [store.identifier, "no such store"]
      XCTAssertThrowsError(try context.fetch(elsewhere)) { error in
        XCTAssertEqual((error as? StoreError)?.code, .noOpenStore)
        XCTAssertTrue("\(error)".contains("no such store"), "\(error)")
      }
      try coordinator.remove(store)
    }
  }

  func testFindOrCreateCreatesNothingWithoutAStore() async throws {
    let coordinator = try PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel {
        Entity("Code") {
          Attribute("name", .string)
          Unique("name")
        }
      })
    let context = ManagedObjectContext(coordinator: coordinator)
    assertNoOpenStore("find or create") { _ = try context.findOrCreate(ManagedObject.self, entityName: "Code", where: ["name": "a"]) }
    XCTAssertFalse(context.hasChanges)
  }

  func testObjectAssignedToAClosedStoreIsNotSavedElsewhere() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: divided)
    for _ in 0..<2 { try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)) }
    let context = ManagedObjectContext(coordinator: coordinator)
    let (closed, open) = (coordinator.persistentStores[1], coordinator.persistentStores[0])
    let person = try context.make("Person", ["name": "A"])
    try context.assign(person, to: closed)
    try coordinator.remove(closed)
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
    try context.assign(person, to: open)
    try context.save()
    XCTAssertTrue(coordinator.persistentStore(of: person.objectID) === open)
  }
}
