import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore

/// The identities of entities and properties next to a history's own IDs: equal on all devices, kept by migrations, also for what a model
/// no longer has.
final class HistoryIdentityTests: XCTestCase {
  private func model(_ version: String, @ModelBuilder _ components: () -> [any ModelComponent]) throws -> CompiledModel {
    try CompiledModel(ManagedObjectModel(version: version, components))
  }

  private func ids(_ open: OpenStore) throws -> HistoryIDs {
    try XCTUnwrap(try XCTUnwrap(open.store as? any HistoryStore).historyIDs())
  }

  private func open(_ store: TestStore, _ model: CompiledModel, tracks: Bool? = true) throws -> OpenStore {
    var description = store.description
    description.historyTracking = tracks
    return try OpenStore(description, model: model)
  }

  /// Opens a store and returns its identities by `Entity` and `Entity.property`, and the IDs by identity.
  @discardableResult
  private func identities(
    _ store: TestStore, _ model: CompiledModel, _ body: (HistoryIDs) throws -> Void = { _ in }
  ) throws -> (names: [String: String], ids: [String: Int]) {
    let open = try open(store, model)
    defer { try? open.close() }
    return try identities(ids(open), body)
  }

  private func identities(_ ids: HistoryIDs, _ body: (HistoryIDs) throws -> Void = { _ in }) throws -> (
    names: [String: String], ids: [String: Int]
  ) {
    var (names, numbers): ([String: String], [String: Int]) = ([:], [:])
    func add(_ name: String, _ id: Int) throws {
      let identifier = try XCTUnwrap(ids.identifier(of: id), name)
      XCTAssertEqual(ids.id(of: identifier), id, name)
      (names[name], numbers[identifier.text]) = (identifier.text, id)
    }
    for entity in ids.model.entities {
      try add(entity.name, ids.entity(entity.number))
      for slot in entity.slots where slot.declaringEntity == entity.number && !slot.isTransient {
        try add("\(entity.name).\(slot.name)", ids.slots(of: entity.number)[slot.index])
      }
      for relationship in entity.toManyRelationships where relationship.sourceEntity == entity.number {
        let id = ids.relationship(relationship.id)
        if id > 0 { try add("\(entity.name).\(relationship.name)", id) }
      }
    }
    try body(ids)
    return (names, numbers)
  }

  private func library() throws -> CompiledModel {
    try model("1") {
      Composite("Place") { Attribute("city", .string) }
      Entity("Author") {
        Attribute("name", .string)
        Attribute("home", composite: "Place")
        Relationship("books", toMany: "Book", inverse: "authors").ordered()
      }
      Entity("Book") {
        Attribute("title", .string)
        Relationship("authors", toMany: "Author", inverse: "books")
        Relationship("sequel", to: "Book")
      }
      Entity("Novel", parent: "Book") { Attribute("hero", .string) }
      Entity("Play", parent: "Book") { Attribute("hero", .string) }
    }
  }

  func testIdentitiesFollowFromTheModelInEveryStore() throws {
    let expected = [
      "Author": "Author", "Author.name": "Author/name", "Author.home.city": "Author/home.city", "Author.books": "Author/books",
      "Book": "Book", "Book.title": "Book/title", "Book.authors": "Book/authors", "Book.sequel": "Book/sequel", "Novel": "Novel",
      "Novel.hero": "Novel/hero", "Play": "Play", "Play.hero": "Play/hero",
    ]
    let model = try library()
    XCTAssertEqual(try identities(TestStore(), model).names, expected)
    var description = PersistentStoreDescription(type: .inMemory)
    description.historyTracking = true
    XCTAssertEqual(try identities(ids(OpenStore(description, model: model))).names, expected)
  }

  /// A property's renaming identifier can stay its first name, or be the name in the previous version.
  func testRenamingOverSeveralVersionsKeepsTheIdentity() throws {
    let first = try library()
    func renamed(_ version: String, _ suffix: String, from former: String, entity: String) throws -> CompiledModel {
      try model(version) {
        Composite("Place") { Attribute("city\(suffix)", .string).renamed(from: "city\(former)") }
        Entity("Author\(suffix)") {
          Attribute("name\(suffix)", .string).renamed(from: "name\(former)")
          Attribute("home\(suffix)", composite: "Place").renamed(from: "home\(former)")
          Relationship("books\(suffix)", toMany: "Book", inverse: "authors\(suffix)").ordered().renamed(from: "books\(former)")
        }.renamed(from: "Author\(entity)")
        Entity("Book") {
          Attribute("title", .string)
          Relationship("authors\(suffix)", toMany: "Author\(suffix)", inverse: "books\(suffix)").renamed(from: "authors\(former)")
          Relationship("sequel", to: "Book")
        }
        Entity("Novel", parent: "Book") { Attribute("hero\(suffix)", .string).renamed(from: "hero\(former)") }
        Entity("Play", parent: "Book") { Attribute("hero\(suffix)", .string).renamed(from: "hero\(former)") }
      }
    }
    let second = try renamed("2", "2", from: "", entity: "")
    for (third, usesFirstNames) in [
      (try renamed("3", "3", from: "", entity: ""), true), (try renamed("3", "3", from: "2", entity: "2"), false),
    ] {
      let store = try TestStore()
      let before = try identities(store, first)
      let middle = try identities(store, second)
      XCTAssertEqual(middle.ids, before.ids)
      XCTAssertEqual(middle.names["Author2.name2"], "Author/name")
      XCTAssertEqual(middle.names["Author2.home2.city2"], "Author/home.city")
      XCTAssertEqual(middle.names["Book.authors2"], "Book/authors")
      let fresh = try identities(TestStore(), third).names
      var own: [String: Int] = [:]
      let after = try identities(store, third) { ids in
        // A device whose store was created with this version derives its identities from it alone.
        for (name, identifier) in fresh { own[name] = ids.id(of: StableIdentifier(text: identifier)) }
      }
      XCTAssertEqual(after.ids, before.ids)
      XCTAssertEqual(own, after.names.compactMapValues { after.ids[$0] })
      // Nothing changes when the store is opened again, or its history is restarted.
      XCTAssertEqual(try identities(store, third).names, after.names)
      try open(store, third, tracks: false).close()
      XCTAssertEqual(try identities(store, third).names, after.names)
      if usesFirstNames { XCTAssertEqual(fresh, after.names) } else { XCTAssertEqual(fresh["Author3.name3"], "Author2/name2") }
    }
    XCTAssertEqual(try identities(TestStore(), second).names["Author2.name2"], "Author/name")
  }

  func testWhatAModelNoLongerHasKeepsItsIdentity() throws {
    let store = try TestStore()
    let first = try identities(store, library())
    let smaller = try model("2") {
      Entity("Author") { Attribute("fullName", .string).renamed(from: "name") }
      Entity("Book") { Attribute("title", .string) }
    }
    let removed = ["Author/home.city", "Author/books", "Book/authors", "Book/sequel", "Novel", "Novel/hero", "Play", "Play/hero"]
    let second = try identities(store, smaller) { ids in
      for identifier in removed {
        let id = try XCTUnwrap(ids.id(of: StableIdentifier(text: identifier)), identifier)
        XCTAssertEqual(id, first.ids[identifier])
        XCTAssertEqual(ids.identifier(of: id)?.text, identifier)
      }
      XCTAssertNil(ids.id(of: StableIdentifier(text: "Author/fullName/x")))
      XCTAssertNil(ids.identifier(of: 10_000))
    }
    XCTAssertEqual(second.names, ["Author": "Author", "Author.fullName": "Author/name", "Book": "Book", "Book.title": "Book/title"])
    // A property with the former name of a renamed one is another one. One with the name of a removed one has its identity and another ID.
    let larger = try model("3") {
      Entity("Author") {
        Attribute("fullName", .string).renamed(from: "name")
        Attribute("name", .string)
      }
      Entity("Book") {
        Attribute("title", .string)
        Relationship("sequel", to: "Book")
      }
      Entity("Novel", parent: "Book") { Attribute("hero", .string) }
    }
    let third = try identities(store, larger)
    XCTAssertEqual(third.names["Author.fullName"], "Author/name")
    XCTAssertEqual(third.ids["Author/name"], first.ids["Author/name"])
    XCTAssertEqual(third.names["Author.name"], "Author/name~name")
    XCTAssertEqual(third.names["Novel.hero"], "Novel/hero")
    XCTAssertNotEqual(third.ids["Novel/hero"], first.ids["Novel/hero"])
    XCTAssertEqual(third.names, try identities(TestStore(), larger).names)
    // Without its renaming identifier, the renamed property keeps its identity in this store, and the other one too.
    let last = try model("4") {
      Entity("Author") {
        Attribute("fullName", .string)
        Attribute("name", .string)
        Attribute("born", .date)
      }
      Entity("Book") {
        Attribute("title", .string)
        Relationship("sequel", to: "Book")
      }
      Entity("Novel", parent: "Book") { Attribute("hero", .string) }
    }
    let fourth = try identities(store, last)
    XCTAssertEqual(fourth.names["Author.fullName"], "Author/name")
    XCTAssertEqual(fourth.names["Author.name"], "Author/name~name")
    XCTAssertEqual(Set(fourth.names.values).count, fourth.names.count)
  }

  /// A renaming identifier that is removed without a new version does not change what the store has.
  func testIdentityDoesNotChangeWithoutAMigration() throws {
    let store = try TestStore()
    let renamed = try model("1") { Entity("Author") { Attribute("fullName", .string).renamed(from: "name") } }
    let plain = try model("1") { Entity("Author") { Attribute("fullName", .string) } }
    XCTAssertEqual(renamed.checksum, plain.checksum)
    XCTAssertEqual(try identities(store, renamed).names["Author.fullName"], "Author/name")
    XCTAssertEqual(try identities(store, plain).names["Author.fullName"], "Author/name")
    let other = try TestStore()
    XCTAssertEqual(try identities(other, plain).names["Author.fullName"], "Author/fullName")
    XCTAssertEqual(try identities(other, renamed).names["Author.fullName"], "Author/fullName")
  }
}
