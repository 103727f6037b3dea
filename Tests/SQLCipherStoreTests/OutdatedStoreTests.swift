import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A store that is open under one model version while another connection migrates its file. Each open store has connections of its own, as
/// each process has. `MigrateCommandTests` uses a second process.
final class OutdatedStoreTests: XCTestCase {
  private static func library(
    _ version: String, work: String? = nil, hasAuthor: Bool = true, entryParent: String? = "Log", hasLog: Bool = true,
    tagName: String = "Tag", @EntityBuilder book: () -> [any EntityComponent]
  ) -> ManagedObjectModel {
    let book = book()
    return ManagedObjectModel(version: version) {
      Entity("Author") {
        Attribute("name", .string).required()
        Relationship("books", toMany: "Book", inverse: hasAuthor ? "author" : "authors")
      }
      if let work { Entity(work, abstract: true) { Attribute("title", .string) } }
      Entity("Book", parent: work) {
        book
        if hasAuthor {
          Relationship("author", to: "Author", inverse: "books")
        } else {
          Relationship("authors", toMany: "Author", inverse: "books").renamed(from: "author")
        }
        Relationship("tags", toMany: tagName, inverse: "books")
      }
      Entity("Novel", parent: "Book") { Attribute("hero", .string) }
      Entity(tagName) {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "tags")
      }.renamed(from: "Tag")
      if hasLog { Entity("Log") { Attribute("line", .string) } }
      Entity("Entry", parent: hasLog ? entryParent : nil) { Attribute("word", .string) }
    }
  }

  private static let title = Attribute("title", .string)
  private static let pages = Attribute("pages", .integer32)
  private static let junk = Attribute("junk", .string)

  private static let older = library("older") {
    title
    pages
    junk
  }

  /// The migration targets: with other tables, with other columns, and with the same columns but another meaning.
  private static let newer: [String: ManagedObjectModel] = [
    "an attribute is renamed": library("2") {
      Attribute("heading", .string).renamed(from: "title")
      pages
      junk
    },
    "two attributes change places": library("2") {
      Attribute("title", .string).renamed(from: "junk").hashModifier("swapped")
      pages
      Attribute("junk", .string).renamed(from: "title")
    },
    "an attribute is widened": library("2") {
      title
      Attribute("pages", .integer64)
      junk
    },
    "an attribute is removed": library("2") {
      title
      pages
    },
    "an attribute is added": library("2") {
      title
      pages
      junk
      Attribute("language", .string).required().initially("en")
    },
    "an entity is renamed": library("2", tagName: "Label") {
      title
      pages
      junk
    },
    "an entity is removed": library("2", hasLog: false) {
      title
      pages
      junk
    },
    "a to-one relationship becomes to-many": library("2", hasAuthor: false) {
      title
      pages
      junk
    },
    "an entity gets a parent": library("2", work: "Work") {
      pages
      junk
    },
    "a subentity becomes a root": library("2", entryParent: nil) {
      title
      pages
      junk
    },
  ]

  private func filled() throws -> MigratingStore {
    try MigratingStore.make(Self.older) { context in
      let tags = try (0..<3).map { try context.make("Tag", ["name": "tag \($0)"]) }
      for number in 0..<4 {
        let author = try context.make("Author", ["name": "author \(number)"])
        try context.make(
          "Book",
          ["title": "book \(number)", "pages": 10 * number, "junk": "junk \(number)", "author": author, "tags": Set([tags[number % 3]])])
      }
      for number in 4..<6 { try context.make("Novel", ["title": "book \(number)", "hero": "hero \(number)"]) }
      try context.make("Log", ["line": "line"])
      try context.make("Entry", ["line": "line", "word": "word"])
    }
  }

  private func isOutdated(_ what: String, _ body: () throws -> Void) {
    let error = assertStoreError(.modelIncompatible, body)
    XCTAssertNotNil(error, what)
    XCTAssertTrue(error?.message.contains("reopen it") ?? false, what)
    XCTAssertEqual(error?.coreDataCode, 134100)
    XCTAssertNotNil(error?.path)
  }

  // MARK: Another model

  func testOutdatedStoreRejectsReadsAndWrites() throws {
    for (change, model) in Self.newer.sorted(by: { $0.key < $1.key }) {
      let store = try filled()
      let outdated = try OpenStore(store.store.description, model: CompiledModel(Self.older))
      let context = ManagedObjectContext(coordinator: outdated.coordinator)
      let books = try context.all("Book")
      XCTAssertEqual(books[0]["title"] as? String, "book 0")
      let fault = try XCTUnwrap(books.last)
      let ids = books.map(\.objectID)
      let reserved = try outdated.newIDs("Log", count: 2)

      let current = try OpenStore(store.store.description, model: CompiledModel(model))
      let contents = try ManagedObjectContext(coordinator: current.coordinator).contents()

      isOutdated("\(change): fetch") { _ = try outdated.rows(FetchSpecification(entityName: "Book")) }
      isOutdated("\(change): fetch of another entity") { _ = try outdated.rows(FetchSpecification(entityName: "Log")) }
      isOutdated("\(change): count") { _ = try outdated.count("Author") }
      isOutdated("\(change): identifiers") { _ = try outdated.ids(FetchSpecification(entityName: "Novel")) }
      isOutdated("\(change): fault") { _ = try outdated.row(ids[0]) }
      isOutdated("\(change): faults") { _ = try outdated.store.newValuesForObjects(with: ids, in: outdated.scope) }
      isOutdated("\(change): members") { _ = try outdated.members(ids[0], "tags") }
      isOutdated("\(change): fetch of a context") { _ = try context.all("Tag") }
      isOutdated("\(change): save") { _ = try outdated.save { try $0.insert("Log", ["line": .text("late")]) } }
      isOutdated("\(change): identifiers for many") { _ = try outdated.newIDs("Log", count: 5_000) }
      isOutdated("\(change): batch insert") {
        _ = try context.execute(BatchInsertRequest(entityName: "Log", objects: [["line": "late"]]))
      }
      isOutdated("\(change): batch update") {
        _ = try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "late"]))
      }
      isOutdated("\(change): batch delete") { _ = try context.execute(BatchDeleteRequest(entityName: "Book")) }
      isOutdated("\(change): metadata") { try outdated.persistentStore.setUserMetadata(["late": "yes"]) }
      isOutdated("\(change): transaction") { try outdated.store.performTransaction {} }
      isOutdated("\(change): clean-up") { _ = try outdated.coordinator.finishDeferredLightweightMigrationTask() }
      // The context keeps its changes, and saving keeps failing.
      try fault.setValue("late", forKey: "title")
      for _ in 0..<2 { isOutdated("\(change): save of a context") { try context.save() } }
      XCTAssertTrue(fault.hasChanges)
      XCTAssertEqual(reserved.count, 2)

      XCTAssertEqual(try ManagedObjectContext(coordinator: current.coordinator).contents(), contents, change)
      XCTAssertEqual(current.persistentStore.metadata.userMetadata, [:])
      try current.close()
      try outdated.close()
      XCTAssertEqual(try store.contents(model), contents, change)
      try store.check()
    }
  }

  func testOutdatedErrorNamesTheVersionAndDifferingEntities() throws {
    let store = try filled()
    let outdated = try OpenStore(store.store.description, model: CompiledModel(Self.older))
    let newer = Self.library("spring edition") {
      Self.title
      Self.pages
    }
    XCTAssertEqual(try store.contents(newer).count, 15)
    let error = assertStoreError(.modelIncompatible) { try outdated.count("Tag") }
    XCTAssertEqual(error?.differingEntities, ["Book"])
    XCTAssertTrue(error?.message.contains("spring edition") ?? false, error?.message ?? "")
    XCTAssertEqual(error?.path, store.url.path)
    try outdated.close()
  }

  /// A thread saves continuously while another store migrates the file. Every acknowledged save is present, and nothing else.
  func testSavesFailAfterTheMigrationAndNoneIsLost() throws {
    let store = try filled()
    let outdated = try OpenStore(store.store.description, model: CompiledModel(Self.older))
    let saved = Atomic<Int>(0)
    let ending = Mutex<(any Error)?>(nil)
    let began = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        while saved.load(ordering: .relaxed) < 100_000 {
          try outdated.insert("Log", ["line": .text("line")])
          if saved.add(1, ordering: .relaxed).newValue == 20 { began.signal() }
        }
      } catch { ending.withLock { $0 = error } }
      began.signal()
      ended.signal()
    }
    began.wait()
    let model = Self.library("2") {
      Self.title
      Self.pages
    }
    let current = try OpenStore(store.store.description, model: CompiledModel(model))
    ended.wait()
    XCTAssertEqual((ending.withLock { $0 } as? StoreError)?.code, .modelIncompatible, "\(ending.withLock { String(describing: $0) })")
    XCTAssertGreaterThanOrEqual(saved.load(ordering: .relaxed), 20)
    XCTAssertEqual(try current.count("Log"), saved.load(ordering: .relaxed) + 2)
    try current.close()
    try outdated.close()
    try store.check()
  }

  func testReadOnlyOutdatedStoreIsRejected() throws {
    let store = try filled()
    var description = store.store.description
    description.isReadOnly = true
    let outdated = try OpenStore(description, model: CompiledModel(Self.older))
    XCTAssertEqual(try outdated.count("Book"), 6)
    let model = try XCTUnwrap(Self.newer["two attributes change places"])
    try OpenStore(store.store.description, model: CompiledModel(model)).close()
    isOutdated("fetch") { _ = try outdated.texts("title", FetchSpecification(entityName: "Book")) }
    try outdated.close()
  }

  func testLargeValueOfARejectedSaveLeavesNoFile() throws {
    func model(_ version: String, _ name: String) -> ManagedObjectModel {
      ManagedObjectModel(version: version) {
        Entity("Photo") {
          Attribute(name, .binary).externalStorage().renamed(from: "data")
        }
      }
    }
    let large = Data(repeating: 7, count: 300_000)
    let store = try MigratingStore.make(model("1", "data")) { try $0.make("Photo", ["data": large]) }
    let outdated = try OpenStore(store.store.description, model: CompiledModel(model("1", "data")))
    let context = ManagedObjectContext(coordinator: outdated.coordinator)
    let photo = try context.one("Photo")
    XCTAssertEqual(photo["data"] as? Data, large)
    try OpenStore(store.store.description, model: CompiledModel(model("2", "picture"))).close()
    let support = { store.store.folder.fileNames().filter { $0.contains("_SUPPORT/") } }
    let before = support()
    XCTAssertFalse(before.isEmpty)
    try photo.setValue(Data(repeating: 8, count: 400_000), forKey: "data")
    try context.make("Photo", ["data": Data(repeating: 9, count: 500_000)])
    isOutdated("save") { try context.save() }
    XCTAssertEqual(support(), before)
    try outdated.close()
    try store.open(model("2", "picture")) { XCTAssertEqual(try $0.one("Photo")["picture"] as? Data, large) }
  }

  // MARK: The same model

  func testDeferredCleanupDoesNotAffectStoresWithTheSameModel() throws {
    let store = try filled()
    let model = try CompiledModel(
      Self.library("2", hasLog: false) {
        Self.title
        Self.pages
      })
    var description = store.store.description
    description.defersLightweightMigration = true
    let first = try OpenStore(description, model: model)
    let second = try OpenStore(description, model: model)
    XCTAssertEqual(first.persistentStore.metadata.deferredMigrationTasks.count, 2)
    XCTAssertEqual(try second.count("Book"), 6)
    var expected = 6
    while try first.coordinator.finishDeferredLightweightMigrationTask() {
      try second.insert("Book", ["title": .text("more")])
      expected += 1
      XCTAssertEqual(try second.count("Book"), expected)
      XCTAssertEqual(try second.texts("title", FetchSpecification(entityName: "Book")).count, expected)
    }
    XCTAssertEqual(expected, 8)
    // The other store has nothing left to do either.
    XCTAssertFalse(try second.coordinator.finishDeferredLightweightMigrationTask())
    try first.close()
    try second.close()
    try store.check()
  }

  func testIndexesCreatedByAnotherProcessHaveNoEffect() throws {
    let store = try filled()
    let first = try OpenStore(store.store.description, model: CompiledModel(Self.older))
    XCTAssertEqual(try first.count("Book"), 6)
    let indexed = Self.library("indexed") {
      Self.title
      Self.pages
      Self.junk
      Index("byPages", on: "pages")
    }
    let second = try OpenStore(store.store.description, model: CompiledModel(indexed))
    XCTAssertEqual(try store.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE '%byPages%'"), ["1"])
    try store.store.execute("CREATE INDEX foreign_index ON Book (title)")
    try first.insert("Book", ["title": .text("first")])
    try second.insert("Book", ["title": .text("second")])
    XCTAssertEqual(try first.count("Book"), 8)
    XCTAssertEqual(try second.count("Book"), 8)
    try first.persistentStore.setUserMetadata(["a": "b"])
    try second.close()
    try first.close()
  }

  func testRestoredModelIsAcceptedOnlyWithTheSameColumns() throws {
    let store = try filled()
    var description = store.store.description
    description.defersLightweightMigration = true
    let open = try OpenStore(description, model: CompiledModel(Self.older))
    // Renaming there and back: the columns equal those that the store was opened with.
    try OpenStore(description, model: CompiledModel(XCTUnwrap(Self.newer["an attribute is renamed"]))).close()
    assertStoreError(.modelIncompatible) { try open.count("Book") }
    let back = Self.library("3") {
      Attribute("title", .string).renamed(from: "heading")
      Self.pages
      Self.junk
    }
    try OpenStore(description, model: CompiledModel(back)).close()
    try open.insert("Book", ["title": .text("last"), "junk": .text("junk")])
    XCTAssertEqual(
      try open.texts("title", FetchSpecification(entityName: "Book", predicate: FetchPredicate(format: "title == 'last'"))), ["last"])
    // Removing and adding again: the old values do not belong to the new attribute.
    try OpenStore(description, model: CompiledModel(XCTUnwrap(Self.newer["an attribute is removed"]))).close()
    try OpenStore(
      description,
      model: CompiledModel(
        Self.library("4") {
          Self.title
          Self.pages
          Self.junk
        })
    ).close()
    let error = assertStoreError(.modelIncompatible) { try open.count("Book") }
    XCTAssertEqual(error?.differingEntities, [])
    assertStoreError(.modelIncompatible) { try open.insert("Book", ["title": .text("late")]) }
    try open.close()
    try store.check()
  }
}
