import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The state of a store after a migration ends at any point. A killed process leaves its files as the system has them, so a copy of the
/// files represents a kill at that moment, hundreds of times in one run. `MigrateCommandTests` kills real processes.
final class MigrationCrashTests: XCTestCase {
  private static let older = ManagedObjectModel(version: "1") {
    Entity("Author") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
    }
    Entity("Book") {
      Attribute("title", .string).required()
      Attribute("pages", .integer32)
      Attribute("junk", .string)
      Relationship("author", to: "Author", inverse: "books")
      Relationship("tags", toMany: "Tag", inverse: "books")
    }
    Entity("Novel", parent: "Book") { Attribute("hero", .string) }
    Entity("Tag") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "tags")
    }
    Entity("Log") { Attribute("line", .string) }
  }

  /// Renamed, added and removed attributes, a new parent, an order, cardinalities, constraints and indexes.
  private static let newer = ManagedObjectModel(version: "2") {
    Entity("Writer") {
      Attribute("fullName", .string).required().renamed(from: "name")
      Attribute("country", .string).required().initially("?")
      Relationship("books", toMany: "Book", inverse: "authors").ordered()
      Unique("fullName")
    }.renamed(from: "Author")
    Entity("Work", abstract: true) { Attribute("title", .string).required() }
    Entity("Book", parent: "Work") {
      Attribute("pages", .integer64).required().initially(1)
      Relationship("authors", toMany: "Writer", inverse: "books").renamed(from: "author")
      Relationship("tags", toMany: "Tag", inverse: "books").ordered()
      Relationship("readers", toMany: "Reader", inverse: "books")
      Index("byPages", on: "pages")
    }
    Entity("Novel", parent: "Book") { Attribute("hero", .string) }
    Entity("Tag") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "tags")
    }
    Entity("Reader") { Relationship("books", toMany: "Book", inverse: "readers") }
  }

  private static let key = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))

  private func description(_ url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: Self.key)
    description.durability = .fast
    description.createsStore = false
    return description
  }

  private func open(_ model: ManagedObjectModel, _ description: PersistentStoreDescription) throws -> PersistentStoreCoordinator {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    _ = try waitFor { try await coordinator.addPersistentStore(with: description) }
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func make(_ url: URL, authors: Int) throws {
    var description = description(url)
    description.createsStore = true
    let coordinator = try open(Self.older, description)
    let context = ManagedObjectContext(coordinator: coordinator)
    func insert(_ entity: String, _ values: [String: Any]) throws -> ManagedObject {
      let object = try context.insertObject(entityName: entity)
      for (key, value) in values { try object.setValue(value, forKey: key) }
      return object
    }
    let tags = try (0..<9).map { try insert("Tag", ["name": "tag \($0)"]) }
    for number in 0..<authors {
      let author = try insert("Author", ["name": "author \(number)"])
      for index in 0..<3 {
        var values: [String: Any] = ["title": "\(number)/\(index) " + String(repeating: "x", count: 100), "junk": "junk", "author": author]
        values["tags"] = Set([tags[(number + index) % 9], tags[(number + 4) % 9]])
        if index > 0 { values["pages"] = 100 * index + number }
        _ = try insert(index == 2 ? "Novel" : "Book", values)
      }
      _ = try insert("Log", ["line": "line \(number)"])
    }
    try context.save()
    try close(coordinator)
  }

  /// The contents of a store of the older or newer model in comparable form; nil if the store has the other model.
  private func contents(_ url: URL, isNewer: Bool) throws -> [String]? {
    var description = description(url)
    description.shouldMigrateStoreAutomatically = false
    let coordinator: PersistentStoreCoordinator
    do {
      coordinator = try open(isNewer ? Self.newer : Self.older, description)
    } catch let error as StoreError where [.migrationNeeded, .storeNewerThanModel].contains(error.code) {
      return nil
    }
    defer { try? close(coordinator) }
    let context = ManagedObjectContext(coordinator: coordinator)
    let books = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
    let lines = books.map { book in
      let names: [String]
      if isNewer {
        names = (book["authors"] as? Set<ManagedObject> ?? []).map { $0["fullName"] as? String ?? "?" }
      } else {
        names = [(book["author"] as? ManagedObject)?["name"] as? String ?? "?"]
      }
      let tags =
        (isNewer
        ? (book["tags"] as? [ManagedObject] ?? []).map { $0["name"] as? String ?? "?" }
        : (book["tags"] as? Set<ManagedObject> ?? []).map { $0["name"] as? String ?? "?" }).sorted()
      let pages = (book["pages"] as? Int64) ?? (book["pages"] as? Int32).map(Int64.init) ?? 1
      return "\(book.objectID.uriRepresentation().lastPathComponent) \(book.entity.name) \(book["title"] ?? "") \(pages) \(names) \(tags)"
    }
    return lines.sorted()
  }

  func testCrashDuringMigrationLeavesACompleteStore() throws {
    let folder = try TemporaryFolder("MigrationCrashTests")
    let url = folder.file("test.store")
    try make(url, authors: 120)
    let before = try XCTUnwrap(contents(url, isNewer: false))
    let points = CrashPoints(of: url, in: folder)
    var description = description(url)
    // A small cache moves the other pages to the log before the commit.
    description.cacheSize = 64 << 10
    description.migrationBatchSize = 5
    description.sqlObserver = SQLObserver(beforeEach: { _ in points.note() })
    description.migrationProgress = { _ in points.note() }
    let coordinator = try open(Self.newer, description)
    points.note()
    try close(coordinator)
    XCTAssertEqual(try contents(url, isNewer: true), before)
    let copies = points.copies
    XCTAssertGreaterThan(copies.count, 200)
    var newerFrom: Int?
    for (number, copy) in copies.enumerated() {
      if let old = try contents(copy, isNewer: false) {
        XCTAssertNil(newerFrom, "point \(number) is older than one before")
        XCTAssertEqual(old, before, "point \(number)")
      } else {
        newerFrom = newerFrom ?? number
        XCTAssertEqual(try contents(copy, isNewer: true), before, "point \(number)")
      }
      if number % 20 == 0 {
        let file = try waitFor { try await SQLCipherStoreFile.unlock(at: copy, key: Self.key) }
        XCTAssertEqual(try waitFor { try await file.verify(.full) }, [], "point \(number)")
      }
    }
    XCTAssertNotNil(newerFrom)
    XCTAssertGreaterThan(newerFrom ?? 0, 100, "Nearly all points are before the commit.")
  }
}
