import Foundation
import ObjectContext
@_spi(Generated) import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Lightweight migration in place: attributes, entities and hierarchies, with the data before and after.
final class MigrationTests: XCTestCase {
  private func book(_ more: [any EntityComponent] = [], name: String = "Book") -> ManagedObjectModel {
    ManagedObjectModel {
      Entity(name) {
        Attribute("title", .string)
        more
      }
    }
  }

  private func migrate(
    _ older: ManagedObjectModel, _ newer: ManagedObjectModel, fill: (ManagedObjectContext) throws -> Void,
    file: StaticString = #filePath, line: UInt = #line, _ body: (ManagedObjectContext) throws -> Void = { _ in }
  ) throws -> [String: [String: String]] {
    let store = try MigratingStore.make(older, fill)
    let contents = try store.open(newer) { context in
      let contents = try context.contents()
      try body(context)
      return contents
    }
    try store.check(file: file, line: line)
    return contents
  }

  private let two: (ManagedObjectContext) throws -> Void = { context in
    try context.make("Book", ["title": "Emma"])
    try context.save()
    try context.make("Book", ["title": "Persuasion"])
  }

  // MARK: Attributes

  func testAddedAttributeIsNil() throws {
    let after = try migrate(book(), book([Attribute("subtitle", .string)]), fill: two) { context in
      try context.one("Book", "title", "Emma").setValue("a novel", forKey: "subtitle")
    }
    XCTAssertEqual(after, ["Book/1": ["title": "Emma"], "Book/2": ["title": "Persuasion"]])
  }

  func testAnAddedAttributeHasItsDefaultValueInStoredObjects() throws {
    let newer = book([
      Attribute("pages", .integer32).required().initially(7), Attribute("price", .decimal).required().initially(Decimal(string: "12.5")!),
      Attribute("weight", .double).required().initially(0.1), Attribute("third", .double).required().initially(-1e-300 / 3),
      Attribute("kind", .string).required().initially("it's \"new\""), Attribute("hidden", .boolean).required().initially(false),
      Attribute("code", .uuid).required().initially(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!),
      Attribute("made", .date).required().initially(Date(timeIntervalSinceReferenceDate: 1234.0625)),
      Attribute("large", .integer64).required().initially(Int64.min),
    ])
    let store = try MigratingStore.make(book(), two)
    try store.open(newer) { context in
      for object in try context.all("Book") {
        XCTAssertEqual(object["pages"] as? Int32, 7)
        XCTAssertEqual(object["price"] as? Decimal, Decimal(string: "12.5"))
        XCTAssertEqual(object["weight"] as? Double, 0.1)
        XCTAssertEqual(object["third"] as? Double, -1e-300 / 3)
        XCTAssertEqual(object["kind"] as? String, "it's \"new\"")
        XCTAssertEqual(object["hidden"] as? Bool, false)
        XCTAssertEqual((object["code"] as? UUID)?.uuidString, "01234567-89AB-CDEF-0123-456789ABCDEF")
        XCTAssertEqual((object["made"] as? Date)?.timeIntervalSinceReferenceDate, 1234.0625)
        XCTAssertEqual(object["large"] as? Int64, .min)
      }
    }
    try store.check()
  }

  func testRemovedAttributeIsDeletedFromTheFile() throws {
    let store = try MigratingStore.make(book([Attribute("secret", .string)])) { context in
      try context.make("Book", ["title": "Emma", "secret": "s"])
    }
    XCTAssertEqual(try store.contents(book()), ["Book/1": ["title": "Emma"]])
    try store.check()
    XCTAssertEqual(try store.rows("SELECT sql FROM sqlite_master WHERE sql LIKE '%secret%'"), [])
  }

  func testAttributeIsRenamedWithoutRewritingRows() throws {
    let newer = ManagedObjectModel { Entity("Book") { Attribute("name", .string).renamed(from: "title") } }
    let store = try MigratingStore.make(book(), two)
    store.store.observer.reset()
    XCTAssertEqual(try store.contents(newer), ["Book/1": ["name": "Emma"], "Book/2": ["name": "Persuasion"]])
    XCTAssertFalse(store.store.observer.statements.contains { $0.hasPrefix("UPDATE") || $0.hasPrefix("INSERT") || $0.hasPrefix("ALTER") })
    try store.check()
  }

  func testAttributeCanReuseTheNameOfARenamedOne() throws {
    let newer = ManagedObjectModel {
      Entity("Book") {
        Attribute("name", .string).renamed(from: "title")
        Attribute("title", .integer32)
      }
    }
    let after = try migrate(book(), newer, fill: two) { context in
      try context.one("Book", "name", "Emma").setValue(3, forKey: "title")
    }
    XCTAssertEqual(after, ["Book/1": ["name": "Emma"], "Book/2": ["name": "Persuasion"]])
  }

  func testTwoAttributesSwapTheirNames() throws {
    let older = book([Attribute("other", .string)])
    let newer = ManagedObjectModel {
      Entity("Book") {
        // Swapping the names of equal attributes alone does not change the version hash.
        Attribute("title", .string).renamed(from: "other").hashModifier("2")
        Attribute("other", .string).renamed(from: "title")
      }
    }
    let after = try migrate(older, newer, fill: { try $0.make("Book", ["title": "a", "other": "b"]) })
    XCTAssertEqual(after, ["Book/1": ["title": "b", "other": "a"]])
  }

  func testOptionalityChangesInBothDirections() throws {
    let older = book([Attribute("pages", .integer32), Attribute("year", .integer32).required()])
    let newer = book([Attribute("pages", .integer32).required().initially(9), Attribute("year", .integer32)])
    let after = try migrate(older, newer) { context in
      try context.make("Book", ["title": "a", "year": 1])
      try context.make("Book", ["title": "b", "pages": 2, "year": 3])
    }
    XCTAssertEqual(Set(after.values), [["title": "a", "pages": "9", "year": "1"], ["title": "b", "pages": "2", "year": "3"]])
  }

  func testNumbersAreWidened() throws {
    let older = book([
      Attribute("a", .integer16), Attribute("b", .integer32), Attribute("c", .boolean), Attribute("d", .float), Attribute("e", .uri),
    ])
    let newer = book([
      Attribute("a", .integer64), Attribute("b", .integer64), Attribute("c", .integer16), Attribute("d", .double), Attribute("e", .string),
    ])
    let after = try migrate(older, newer) { context in
      try context.make("Book", ["a": 1, "b": 2, "c": true, "d": Float(0.5), "e": URL(string: "https://example.org/x")!])
    }
    XCTAssertEqual(after, ["Book/1": ["a": "1", "b": "2", "c": "1", "d": "0.5", "e": "https://example.org/x"]])
  }

  func testTransientAttributesBecomePersistentAndBack() throws {
    let older = book([Attribute("a", .string).transient(), Attribute("b", .string)])
    let newer = book([Attribute("a", .string), Attribute("b", .string).transient()])
    let after = try migrate(older, newer, fill: { try $0.make("Book", ["title": "t", "a": "x", "b": "y"]) }) { context in
      try context.one("Book").setValue("z", forKey: "a")
    }
    XCTAssertEqual(after, ["Book/1": ["title": "t"]])
  }

  func testPartsOfACompositeAreAddedRenamedAndRemoved() throws {
    func model(_ parts: [any EntityComponent], name: String = "home") -> ManagedObjectModel {
      ManagedObjectModel {
        Composite("Address") { parts }
        Entity("Person") {
          Attribute(name, composite: "Address").renamed(from: "home")
        }
      }
    }
    let older = model([Attribute("street", .string), Attribute("town", .string), Attribute("fax", .string)])
    let newer = model(
      [Attribute("street", .string), Attribute("city", .string).renamed(from: "town"), Attribute("zip", .string)], name: "address")
    let store = try MigratingStore.make(older) { context in
      let person = try context.insertObject(entityName: "Person")
      try person.setValue("Main", forKeyPath: "home.street")
      try person.setValue("Bath", forKeyPath: "home.town")
      try person.setValue("1", forKeyPath: "home.fax")
    }
    let after = try store.contents(newer)
    try store.check()
    XCTAssertEqual(after, ["Person/1": ["address.street": "Main", "address.city": "Bath"]])
  }

  // MARK: Entities

  func testEntitiesAreAddedRenamedAndRemoved() throws {
    let older = ManagedObjectModel {
      Entity("Book") { Attribute("title", .string) }
      Entity("Loan") { Attribute("day", .string) }
    }
    let newer = ManagedObjectModel {
      Entity("Work") { Attribute("title", .string) }.renamed(from: "Book")
      Entity("Book") { Attribute("isbn", .string) }
    }
    let store = try MigratingStore.make(older) { context in
      try context.make("Book", ["title": "Emma"])
      try context.make("Loan", ["day": "today"])
    }
    let after = try store.open(newer) { context in
      try context.make("Book", ["isbn": "1"])
      try context.make("Work", ["title": "new"])
      try context.save()
      return try context.contents()
    }
    try store.check()
    XCTAssertEqual(after["Work/1"], ["title": "Emma"])
    XCTAssertEqual(after["Book/1"], ["isbn": "1"])
    XCTAssertEqual(after.values.filter { $0["title"] == "new" }.count, 1)
    XCTAssertEqual(after.count, 3)
    XCTAssertEqual(try store.contents(newer), after)
  }

  func testRenamingIdentifiersWorkAcrossSkippedVersions() throws {
    let first = ManagedObjectModel { Entity("A") { Attribute("a", .string) } }
    let second = ManagedObjectModel { Entity("B") { Attribute("b", .string).renamed(from: "a") }.renamed(from: "A") }
    let third = ManagedObjectModel { Entity("C") { Attribute("c", .string).renamed(from: "a") }.renamed(from: "A") }
    let through = try MigratingStore.make(first, { try $0.make("A", ["a": "x"]) })
    XCTAssertEqual(try through.contents(second), ["B/1": ["b": "x"]])
    XCTAssertEqual(try through.contents(third), ["C/1": ["c": "x"]])
    let skipping = try MigratingStore.make(first, { try $0.make("A", ["a": "x"]) })
    XCTAssertEqual(try skipping.contents(third), ["C/1": ["c": "x"]])
  }

  func testObjectsKeepTheirURIsAndTheStoreItsIdentifier() throws {
    let store = try MigratingStore.make(book([Attribute("gone", .string)]), two)
    let before = try store.open(book([Attribute("gone", .string)])) {
      try $0.all("Book").map { $0.objectID.uriRepresentation().absoluteString }
    }
    let after = try store.open(book()) { try $0.all("Book").map { $0.objectID.uriRepresentation().absoluteString } }
    XCTAssertEqual(before, after)
    XCTAssertEqual(before.count, 2)
  }

  // MARK: Hierarchies

  private func media(_ more: [any EntityComponent] = []) -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("Item", abstract: true) { Attribute("name", .string) }
      Entity("Book", parent: "Item") { Attribute("pages", .integer32) }
      Entity("Film", parent: "Item") { Attribute("minutes", .integer32) }
      Entity("Shelf") {
        Relationship("items", toMany: "Item", inverse: "shelf").ordered()
        Relationship("favourite", to: "Item")
        Relationship("seen", toMany: "Item")
      }
      Entity("Place") { Relationship("shelves", toMany: "Shelf") }
    }.with("Item", [Relationship("shelf", to: "Shelf", inverse: "items")] + more)
  }

  private let fillMedia: (ManagedObjectContext) throws -> Void = { context in
    let shelf = try context.make("Shelf")
    var items: [ManagedObject] = []
    for index in 1...3 {
      items.append(try context.make("Film", ["name": "f\(index)", "minutes": index]))
      items.append(try context.make("Book", ["name": "b\(index)", "pages": index * 100]))
    }
    try shelf.setValue(items.reversed() as [ManagedObject], forKey: "items")
    try shelf.setValue(items[0], forKey: "favourite")
    try shelf.setValue(Set(items[1...3]), forKey: "seen")
  }

  /// The contents with names in place of keys, which tests cannot predict.
  private func named(_ contents: [String: [String: String]]) -> [String: [String: String]] {
    let names = contents.compactMapValues { $0["name"] }
    var result: [String: [String: String]] = [:]
    for (key, values) in contents {
      result[names[key] ?? key] = values.mapValues { text in
        text.split(separator: " ").map { names[String($0)] ?? String($0) }.joined(separator: " ")
      }
    }
    return result
  }

  func testSubentitiesAreInsertedBeforeOthers() throws {
    let store = try MigratingStore.make(media(), fillMedia)
    let before = named(try store.contents(media()))
    let newer = media().adding { Entity("Atlas", parent: "Item") { Attribute("scale", .integer32) } }
    let after = try store.open(newer) { context in
      let atlas = try context.make("Atlas", ["name": "a", "scale": 5])
      let shelf = try context.one("Shelf")
      try context.save()
      XCTAssertEqual(atlas.entity.name, "Atlas")
      XCTAssertEqual((shelf["favourite"] as? ManagedObject)?.entity.name, "Film")
      context.delete(atlas)
      try context.save()
      return try context.contents()
    }
    XCTAssertEqual(named(after), before)
    try store.check()
  }

  func testRemovedSubentityDeletesItsObjectsAndLinks() throws {
    let store = try MigratingStore.make(media(), fillMedia)
    let after = named(try store.contents(media().removing("Book")))
    XCTAssertEqual(Set(after.keys), ["f1", "f2", "f3", "Shelf/1"])
    XCTAssertEqual(after["Shelf/1"], ["items": "f3 f2 f1", "favourite": "f1", "seen": "f2"])
    try store.check()
    let other = try MigratingStore.make(media(), fillMedia)
    XCTAssertEqual(named(try other.contents(media().removing("Film")))["Shelf/1"]?["favourite"], nil)
    try other.check()
  }

  func testAParentIsInsertedAndRemovedWithItsProperties() throws {
    let flat = ManagedObjectModel {
      Entity("Book") {
        Attribute("name", .string)
        Attribute("pages", .integer32)
        Relationship("shelf", to: "Shelf", inverse: "books")
      }
      Entity("Shelf") { Relationship("books", toMany: "Book", inverse: "shelf") }
    }
    let deep = ManagedObjectModel {
      Entity("Item", abstract: true) { Attribute("name", .string) }
      Entity("Work", parent: "Item") { Relationship("shelf", to: "Shelf", inverse: "books") }
      Entity("Book", parent: "Work") { Attribute("pages", .integer32) }
      Entity("Film", parent: "Work")
      Entity("Shelf") { Relationship("books", toMany: "Work", inverse: "shelf") }
    }
    let store = try MigratingStore.make(flat) { context in
      let shelf = try context.make("Shelf")
      try context.make("Book", ["name": "a", "pages": 1, "shelf": shelf])
    }
    let before = try store.contents(flat)
    XCTAssertEqual(try store.contents(deep), before)
    try store.check()
    XCTAssertEqual(try store.contents(flat.version("again")), before)
    try store.check()
  }

  func testPropertiesMoveUpFromSeveralSubentitiesAndDownAgain() throws {
    func model(isUp: Bool) -> ManagedObjectModel {
      let common: [any EntityComponent] = [
        Attribute("name", .string), Attribute("rating", .integer16), Relationship("owner", to: "Person"),
        Relationship("tags", toMany: "Person"),
      ]
      return ManagedObjectModel {
        Entity("Item") { if isUp { common } }
        Entity("Book", parent: "Item") { if !isUp { common } }
        Entity("Film", parent: "Item") { if !isUp { common } }
        Entity("Person")
      }
    }
    let store = try MigratingStore.make(model(isUp: false)) { context in
      let person = try context.make("Person")
      try context.make("Book", ["name": "b", "rating": 1, "owner": person, "tags": [person] as Set])
      try context.make("Film", ["name": "f", "rating": 2, "owner": person, "tags": [person] as Set])
      try context.make("Item")
    }
    let before = try store.contents(model(isUp: false))
    XCTAssertEqual(try store.contents(model(isUp: true)), before)
    try store.check()
    XCTAssertEqual(try store.contents(model(isUp: false).version("2")), before)
    try store.check()
  }

  func testSubentityBecomesARootEntity() throws {
    let newer = ManagedObjectModel {
      Entity("Item", abstract: true) {
        Attribute("name", .string)
        Relationship("shelf", to: "Shelf", inverse: "items")
      }
      Entity("Film", parent: "Item") { Attribute("minutes", .integer32) }
      Entity("Book") {
        Attribute("name", .string)
        Attribute("pages", .integer32)
      }
      Entity("Shelf") {
        Relationship("items", toMany: "Item", inverse: "shelf").ordered()
        Relationship("favourite", to: "Item")
        Relationship("seen", toMany: "Item")
      }
      Entity("Place") { Relationship("shelves", toMany: "Shelf") }
    }
    let store = try MigratingStore.make(media(), fillMedia)
    // The newer model has no equivalent for the shelf's references to books.
    XCTAssertThrowsError(try store.contents(newer)) { error in
      XCTAssertEqual((error as? StoreError)?.code, .mappingNotInferred)
    }
    let apart = ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity("Book", parent: "Item") { Attribute("pages", .integer32) }
    }
    let split = ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity("Book") {
        Attribute("name", .string)
        Attribute("pages", .integer32)
      }
    }
    let second = try MigratingStore.make(apart) { context in
      try context.make("Item", ["name": "i"])
      try context.make("Book", ["name": "b", "pages": 3])
    }
    let before = try second.contents(apart)
    let after = try second.open(split) { context in
      let contents = try context.contents()
      try context.make("Book", ["name": "new"])
      try context.make("Item", ["name": "new"])
      try context.save()
      XCTAssertEqual(try context.contents().count, 4)
      return contents
    }
    XCTAssertEqual(after, before)
    try second.check()
  }

  func testEntitiesBecomeAbstractAndConcrete() throws {
    let concrete = ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity("Book", parent: "Item")
    }
    let abstract = ManagedObjectModel {
      Entity("Item", abstract: true) { Attribute("name", .string) }
      Entity("Book", parent: "Item")
    }
    let store = try MigratingStore.make(concrete) { try $0.make("Book", ["name": "b"]) }
    XCTAssertEqual(try store.contents(abstract), ["Book/1": ["name": "b"]])
    XCTAssertEqual(try store.contents(concrete.version("2")), ["Book/1": ["name": "b"]])
    try store.open(concrete.version("2")) { context in for index in 1...3 { try context.make("Item", ["name": "\(index)"]) } }
    let error = assertStoreError(.migrationFailed) { try store.contents(abstract.version("2")) }
    XCTAssertEqual(error?.entityName, "Item")
    XCTAssertTrue(error?.message.contains("3 objects") ?? false, "\(error?.message ?? "")")
    XCTAssertEqual(try store.contents(concrete.version("2")).count, 4)
  }
}

extension ManagedObjectModel {
  /// Returns a copy with added properties of an entity.
  func with(_ entityName: String, _ components: [any EntityComponent]) -> ManagedObjectModel {
    var copy = self
    for index in copy.entities.indices where copy.entities[index].name == entityName {
      for component in components { component.add(to: &copy.entities[index]) }
    }
    return copy
  }

  func adding(@ModelBuilder _ components: () -> [any ModelComponent]) -> ManagedObjectModel {
    var copy = self
    for component in components() { component.add(to: &copy) }
    return copy
  }

  func removing(_ entityName: String) -> ManagedObjectModel {
    var copy = self
    copy.entities.removeAll { $0.name == entityName }
    return copy
  }

  func version(_ name: String) -> ManagedObjectModel {
    var copy = self
    copy.versionIdentifiers = [name]
    return copy
  }
}
