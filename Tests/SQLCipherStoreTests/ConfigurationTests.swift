import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Stores that contain one configuration of a model.
final class ConfigurationTests: XCTestCase {
  private typealias Models = SpecificationModels

  private func model() throws -> CompiledModel {
    var model = ManagedObjectModel(entities: [
      Models.entity("Author", [Models.text("name"), Models.toMany("books", "Book", "author")]),
      Models.entity("Book", [Models.text("title"), Models.toOne("author", "Author", "books"), Models.toMany("notes", "Note")]),
      Models.entity("Note", [Models.text("body")]),
    ])
    model.configurations = [
      ModelConfiguration(name: "People", entityNames: ["Author"]), ModelConfiguration(name: "Works", entityNames: ["Book", "Note"]),
    ]
    return try CompiledModel(model)
  }

  private func open(_ store: TestStore, _ configuration: String?) throws -> OpenStore {
    var description = store.description
    description.configuration = configuration
    return try OpenStore(description, model: model())
  }

  func testStoreHasOnlyTheTablesOfItsConfiguration() throws {
    let store = try TestStore()
    let works = try open(store, "Works")
    let book = try works.insert("Book", ["title": .text("t")])
    XCTAssertEqual(try works.value(book, "title"), .text("t"))
    assertStoreError(.entityNotInStore) { try works.count("Author") }
    assertStoreError(.entityNotInStore) { try works.newID("Author") }
    let tables = try store.ddl().filter { $0.hasPrefix("CREATE TABLE") && !$0.contains("cipherdata_") }
    XCTAssertEqual(tables.count, 3)
    XCTAssertFalse(tables.contains { $0.contains("REFERENCES \"Author\"") })
  }

  func testStoreWithObjectsKeepsTheirEntities() throws {
    let store = try TestStore()
    let works = try open(store, "Works")
    try works.insert("Book", ["title": .text("t")])
    try works.close()
    XCTAssertNoThrow(try open(store, "Works").close())
    let error = assertStoreError(.migrationFailed) { try open(store, "People") }
    XCTAssertEqual(error?.entityName, "Book")
    XCTAssertEqual(error?.differingEntities, ["Author", "Book", "Note"])
    // Entities that only the other configuration has are added, and removed again while they are empty.
    let all = try open(store, nil)
    XCTAssertEqual(try all.count("Author"), 0)
    XCTAssertEqual(try all.count("Book"), 1)
    try all.close()
    XCTAssertEqual(try open(store, "Works").count("Book"), 1)
  }

  func testKeyPathIntoAnotherStoreIsNil() throws {
    let store = try TestStore()
    let works = try open(store, "Works")
    try works.insert("Book", ["title": .text("t")])
    let named = FetchPredicate.compare("author.name", .equal, "Ada")
    XCTAssertEqual(try works.count(FetchSpecification(entityName: "Book", predicate: named)), 0)
    XCTAssertEqual(try works.count(FetchSpecification(entityName: "Book", predicate: !named)), 1)
    var fetch = FetchSpecification(entityName: "Book")
    fetch.sortDescriptors = [FetchSortDescriptor("author.name")]
    fetch.propertiesToFetch = ["title", "author.name"]
    XCTAssertEqual(try works.dictionaries(fetch).rows, [[.text("t"), .null]])
    let other = try TestStore()
    let people = try open(other, "People")
    let author = try people.insert("Author", ["name": .text("Ada")])
    XCTAssertEqual(try people.members(author, "books"), [])
    XCTAssertEqual(try people.count(FetchSpecification(entityName: "Author", predicate: .compare("books.@count", .equal, 0))), 1)
    XCTAssertEqual(
      try people.count(FetchSpecification(entityName: "Author", predicate: .compare("books.title", .equal, "t", modifier: .none))), 1)
  }

  func testLongListsWorkOnReadOnlyStoresAndInTransactions() throws {
    let store = try TestStore()
    let works = try open(store, "Works")
    let names = (0..<600).map { "\($0)" }
    let fetch = FetchSpecification(entityName: "Note", predicate: .compare("body", .in, names))
    try works.store.performTransaction {
      try works.insert("Note", ["body": .text("7")])
      XCTAssertEqual(try works.count(fetch), 1)
      try works.insert("Note", ["body": .text("8")])
      XCTAssertEqual(try works.count(fetch), 2)
    }
    try works.close()
    var description = store.description
    description.configuration = "Works"
    description.isReadOnly = true
    let readOnly = try OpenStore(description, model: model())
    XCTAssertEqual(try readOnly.count(fetch), 2)
    XCTAssertEqual(try readOnly.count(fetch), 2)
  }

  func testManyThreadsPrepareNewQueriesConcurrently() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.insert("Book", ["title": .text("t"), "pages": .int(5)])
    try waitFor {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for thread in 0..<6 {
          group.addTask {
            for round in 0..<60 {
              let key = ["pages", "year", "rating"][(round + thread) % 3]
              let conditions = (0...(round % 5)).map { FetchPredicate.compare(key, .notEqual, Int64($0 + 1_000)) }
              XCTAssertEqual(try open.count(FetchSpecification(entityName: "Book", predicate: .and(conditions))), 1)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
