import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// What the history records of migrations: the changes that they make, and nothing else.
final class MigrationHistoryTests: XCTestCase {
  private typealias Contents = MigratingStore.Contents
  private typealias Change = MigratingStore.Change

  /// Compares the contents of a store before and after a migration with the recorded changes.
  ///
  /// - Parameter former: The former names of renamed entities, and of properties as `Entity.property`.
  private func assertComplete(
    _ changes: [Change], _ before: Contents, _ after: Contents, former: [String: String] = [:], _ message: String = "",
    file: StaticString = #filePath, line: UInt = #line
  ) {
    var renamed: [String: String] = [:]
    for (key, value) in former where !key.contains(".") { renamed[value] = key }
    /// The present name of an object, also where it is the value of another one.
    func present(_ value: String) -> String {
      value.split(separator: " ").map { part in
        let parts = part.split(separator: "/")
        return parts.count == 2 && Int(parts[1]) != nil ? (renamed[String(parts[0])] ?? String(parts[0])) + "/" + parts[1] : String(part)
      }.joined(separator: " ")
    }
    func kinds(_ entity: String, _ property: String?) -> Set<Change.Kind> {
      Set(changes.filter { $0.entityName == entity && $0.propertyName == property }.map(\.kind))
    }
    for (name, older) in before {
      let current = present(name)
      let entity = String(current.split(separator: "/")[0])
      guard let newer = after[current] else {
        XCTAssertEqual(kinds(String(name.split(separator: "/")[0]), nil), [.objectsRemoved], "\(message) \(name)", file: file, line: line)
        continue
      }
      var seen: Set<String> = []
      for property in Set(newer.keys).union(older.keys) {
        let olderName = former["\(entity).\(property)"] ?? property
        if newer[property] != nil { seen.insert(olderName) }
      }
      for (property, value) in newer {
        let olderName = former["\(entity).\(property)"] ?? property
        if older[olderName].map(present) == value { continue }
        let told = kinds(entity, property)
        XCTAssertFalse(
          told.isDisjoint(with: [.filled, .completed, .converted, .computed, .moved, .rewritten]),
          "\(message) \(current).\(property): \(older[olderName] ?? "nil") became \(value)", file: file, line: line)
        if told == [.filled] || told == [.completed] {
          let values = changes.filter { $0.entityName == entity && $0.propertyName == property }.map(\.value)
          XCTAssertEqual(values.map { $0.map { "\($0)" } }, [value], message, file: file, line: line)
        }
      }
      for (property, value) in older where !seen.contains(property) {
        // Destinations of removed entities are gone with them.
        let removed = Set(changes.filter { $0.kind == .objectsRemoved }.map(\.entityName))
        if value.split(separator: " ").allSatisfy({ removed.contains(String($0.split(separator: "/")[0])) }) { continue }
        XCTAssertFalse(
          kinds(entity, property).isDisjoint(with: [.propertyRemoved, .rewritten])
            && changes.allSatisfy { $0.entityName != entity || $0.formerPropertyName != property },
          "\(message) \(current) lost \(property) \(value)", file: file, line: line)
      }
    }
    for name in after.keys {
      XCTAssertTrue(before.keys.contains { present($0) == name }, "\(message) \(name) is new", file: file, line: line)
    }
  }

  // MARK: Lightweight migrations

  private func book(_ properties: any EntityComponent...) -> ManagedObjectModel { ManagedObjectModel { Entity("Book") { properties } } }

  func testRenamedAndAddedOptionalPropertiesChangeNothing() throws {
    let older = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Attribute("pages", .integer16)
        Relationship("tags", toMany: "Tag", inverse: "books").ordered()
        Relationship("author", to: "Author", inverse: "books")
      }
      Entity("Tag") { Relationship("books", toMany: "Book", inverse: "tags") }
      Entity("Author") { Relationship("books", toMany: "Book", inverse: "author").ordered() }
    }
    let newer = ManagedObjectModel {
      Entity("Work") {
        Attribute("name", .string).renamed(from: "title")
        Attribute("pages", .integer64)
        Attribute("note", .string)
        Relationship("labels", toMany: "Label", inverse: "works").ordered().renamed(from: "tags")
        Relationship("writer", to: "Author", inverse: "works").renamed(from: "author")
        Relationship("readers", toMany: "Author", inverse: "read")
        Index("byName", on: "name")
      }.renamed(from: "Book")
      Entity("Label") { Relationship("works", toMany: "Work", inverse: "labels").renamed(from: "books") }.renamed(from: "Tag")
      Entity("Author") {
        Relationship("works", toMany: "Work", inverse: "writer").ordered().renamed(from: "books")
        Relationship("read", toMany: "Work", inverse: "readers")
      }
      Entity("Shelf") { Attribute("place", .string).required().initially("?") }
    }
    for level in HistoryLevel.allCases {
      let store = try MigratingStore.tracked(older, level) { context in
        let author = try context.make("Author")
        let tags = [try context.make("Tag"), try context.make("Tag")]
        for number in 1...3 {
          let book = try context.make("Book", ["title": "\(number)", "pages": Int16(number), "author": author])
          try book.setValue(number == 2 ? tags : tags.reversed(), forKey: "tags")
        }
        try author.setValue(try context.all("Book").reversed() as [ManagedObject], forKey: "books")
      }
      let (before, after, changes) = try store.migrateTracked(older, newer)
      XCTAssertEqual(changes.lines, [])
      assertComplete(
        changes, before, after,
        former: [
          "Work": "Book", "Label": "Tag", "Work.name": "title", "Work.labels": "tags", "Work.writer": "author", "Label.works": "books",
          "Author.works": "books",
        ])
    }
  }

  func testFilledCompletedConvertedAndRemovedPropertiesAreRecorded() throws {
    let older = book(
      Attribute("title", .string), Attribute("pages", .integer32), Attribute("price", .double), Attribute("old", .string),
      Attribute("link", .uri))
    let newer = book(
      Attribute("title", .string).required().initially("untitled"), Attribute("pages", .double), Attribute("price", .double),
      Attribute("count", .integer64).required().initially(7), Attribute("weight", .double).required().initially(0.1),
      Attribute("kind", .string).initially("novel"), Attribute("link", .string))
    for level in HistoryLevel.allCases {
      let store = try MigratingStore.tracked(older, level) { context in
        try context.make("Book", ["title": "One", "pages": Int32(3), "old": "x"])
        try context.make("Book", ["pages": Int32(4), "link": try XCTUnwrap(URL(string: "https://example.org"))])
      }
      let (before, after, changes) = try store.migrateTracked(older, newer)
      let isRecorded = level == .values
      XCTAssertEqual(
        Set(changes.lines),
        [
          "completed Book.title" + (isRecorded ? " untitled" : ""), "converted Book.pages", "propertyRemoved Book.old",
          "filled Book.count" + (isRecorded ? " 7" : ""), "filled Book.weight" + (isRecorded ? " 0.1" : ""),
          "filled Book.kind" + (isRecorded ? " novel" : ""),
        ])
      if isRecorded {
        let told = Set(changes.filter { $0.kind == .converted }.compactMap(\.propertyName))
        XCTAssertEqual(told, ["pages"])
        let without = { (contents: Contents) in contents.mapValues { $0.filter { $0.key != "pages" } } }
        assertComplete(changes, without(before), without(after))
      }
    }
  }

  func testRemovedEntitiesAndTheirReferencesAreRecorded() throws {
    let older = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Relationship("author", to: "Person", inverse: "books")
        Relationship("readers", toMany: "Person", inverse: "read")
      }
      Entity("Person") {
        Relationship("books", toMany: "Book", inverse: "author")
        Relationship("read", toMany: "Book", inverse: "readers")
      }
      Entity("Critic", parent: "Person") { Attribute("paper", .string) }
      Entity("Log") { Attribute("line", .string) }
    }
    let newer = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Relationship("author", to: "Person", inverse: "books")
        Relationship("readers", toMany: "Person", inverse: "read")
      }
      Entity("Person") {
        Relationship("books", toMany: "Book", inverse: "author")
        Relationship("read", toMany: "Book", inverse: "readers")
      }
    }
    let store = try MigratingStore.tracked(older) { context in
      let people = [try context.make("Person"), try context.make("Critic", ["paper": "Post"])]
      for person in people { try context.make("Book", ["author": person, "readers": Set(people)]) }
      try context.make("Book", ["author": people[0], "readers": Set([people[1]])])
      try context.make("Log", ["line": "one"])
    }
    let (before, after, changes) = try store.migrateTracked(older, newer)
    XCTAssertEqual(Set(changes.lines), ["objectsRemoved Critic", "objectsRemoved Log"])
    XCTAssertEqual(after.count, before.count - 2)
    // The lists of readers contain removed objects.
    assertComplete(changes, before.mapValues { $0.filter { $0.key != "readers" } }, after.mapValues { $0.filter { $0.key != "readers" } })
  }

  func testPropertiesThatMoveWithinATreeAreRecorded() throws {
    let older = ManagedObjectModel {
      Entity("Work") {
        Attribute("title", .string)
        Attribute("code", .string)
      }
      Entity("Book", parent: "Work") { Attribute("pages", .integer32) }
      Entity("Film", parent: "Work") { Attribute("seconds", .integer32) }
    }
    // The code moves down to both subentities, the pages move up.
    let newer = ManagedObjectModel {
      Entity("Work") {
        Attribute("title", .string)
        Attribute("pages", .integer32)
      }
      Entity("Book", parent: "Work") { Attribute("code", .string) }
      Entity("Film", parent: "Work") {
        Attribute("seconds", .integer32)
        Attribute("code", .string)
      }
      Entity("Short", parent: "Film") {}
    }
    let store = try MigratingStore.tracked(older) { context in
      try context.make("Work", ["title": "w", "code": "0"])
      try context.make("Book", ["title": "b", "code": "1", "pages": Int32(7)])
      try context.make("Film", ["title": "f", "code": "2", "seconds": Int32(8)])
    }
    let (before, after, changes) = try store.migrateTracked(older, newer)
    assertComplete(changes, before, after)
    let found = Set(changes.lines)
    XCTAssertTrue(found.contains("propertyRemoved Work.code"), "\(found)")
    XCTAssertEqual(found.filter { $0.hasPrefix("moved") || $0.hasPrefix("propertyRemoved") }, found)
    XCTAssertFalse(found.contains { $0.contains("title") || $0.contains("seconds") }, "\(found)")
  }

  /// The cardinality of one side of a relationship.
  private enum Side: String, CaseIterable { case absent, one, many, ordered }

  @ModelBuilder private func pair(_ a: Side, _ b: Side, _ suffix: String) -> [any ModelComponent] {
    Entity("A\(suffix)") {
      Attribute("name", .string)
      relationship(a, "bs", "B\(suffix)", b == .absent ? nil : "as")
    }
    Entity("B\(suffix)") {
      Attribute("name", .string)
      relationship(b, "as", "A\(suffix)", a == .absent ? nil : "bs")
    }
  }

  private func relationship(_ side: Side, _ name: String, _ destination: String, _ inverse: String?) -> [any EntityComponent] {
    switch side {
    case .absent: []
    case .one: [Relationship(name, to: destination, inverse: inverse)]
    case .many: [Relationship(name, toMany: destination, inverse: inverse)]
    case .ordered: [Relationship(name, toMany: destination, inverse: inverse).ordered()]
    }
  }

  /// The pairs of objects that either side of a relationship contains.
  private func links(_ contents: Contents, _ index: Int) -> Set<[String]> {
    var links: Set<[String]> = []
    for (name, values) in contents where name.hasPrefix("A\(index)/") {
      for other in values["bs"]?.split(separator: " ") ?? [] { links.insert([name, String(other)]) }
    }
    for (name, values) in contents where name.hasPrefix("B\(index)/") {
      for other in values["as"]?.split(separator: " ") ?? [] { links.insert([String(other), name]) }
    }
    return links
  }

  /// The properties under which the history records the links.
  private func recorded(_ a: Side, _ b: Side, _ index: Int) -> Set<String> {
    let toOnes = Set([a == .one ? "A\(index).bs" : nil, b == .one ? "B\(index).as" : nil].compactMap { $0 })
    return toOnes.isEmpty ? [a != .absent ? "A\(index).bs" : "B\(index).as"] : toOnes
  }

  func testEveryChangeOfCardinalitiesIsRecordedIfItChangesMembers() throws {
    let kinds = Side.allCases.flatMap { a in Side.allCases.map { (a, $0) } }.filter { $0 != .absent || $1 != .absent }
    for (a, b) in kinds {
      let older = ManagedObjectModel { for index in kinds.indices { pair(a, b, "\(index)") } }
      let newer = ManagedObjectModel { for (index, kind) in kinds.enumerated() { pair(kind.0, kind.1, "\(index)") } }
      let store = try MigratingStore.tracked(older, .properties) { context in
        for index in kinds.indices {
          for number in 1...2 {
            let first = try context.make("A\(index)", ["name": "a\(number)"])
            let second = try context.make("B\(index)", ["name": "b\(number)"])
            func set(_ object: ManagedObject, _ side: Side, _ name: String, _ value: ManagedObject) throws {
              try object.setValue(side == .one ? value : side == .many ? Set([value]) : [value] as Any, forKey: name)
            }
            if a != .absent { try set(first, a, "bs", second) } else { try set(second, b, "as", first) }
          }
        }
      }
      let (before, after, changes) = try store.migrateTracked(older, newer)
      for (index, kind) in kinds.enumerated() {
        let told = changes.lines.filter { $0.contains("A\(index).") || $0.contains("B\(index).") }
        let what = "\(a)/\(b) to \(kind.0)/\(kind.1): \(told)"
        if kind == (a, b) { XCTAssertEqual(told, [], what) }
        let (old, new) = (links(before, index), links(after, index))
        XCTAssertEqual(old.count, 2)
        // The history records the links of a relationship and its inverse in one place.
        let (former, present) = (recorded(a, b, index), recorded(kind.0, kind.1, index))
        if new.isEmpty {
          XCTAssertTrue(told.contains { $0.hasPrefix("propertyRemoved") }, what)
        } else {
          XCTAssertEqual(new, old, what)
          let isToOne = (a == .one || b == .one, kind.0 == .one || kind.1 == .one)
          // Two names of one join table have the same links.
          let isSame = isToOne == (false, false)
          for name in isToOne.0 == isToOne.1 ? present.subtracting(former) : present where !isSame {
            XCTAssertTrue(told.contains { $0 == "rewritten \(name)" || $0.hasPrefix("rewritten \(name) from ") }, what)
          }
        }
        let isMade = kind.0 == .ordered && ![.ordered, .absent].contains(a) || kind.1 == .ordered && ![.ordered, .absent].contains(b)
        if isMade { XCTAssertTrue(told.contains { $0.hasPrefix("rewritten") }, "\(a)/\(b) to \(kind): \(told)") }
      }
    }
  }

  func testComputedValuesAreRecordedWhenAStoreIsOpened() throws {
    func model(_ expression: String) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("List") {
          Attribute("total", .integer64).derived(expression)
          Relationship("items", toMany: "Item", inverse: "list")
        }
        Entity("Special", parent: "List") {}
        Entity("Item") {
          Attribute("size", .integer64)
          Relationship("list", to: "List", inverse: "items")
        }
      }
    }
    let store = try MigratingStore.tracked(model("items.@count")) { context in
      let list = try context.make("List")
      for number in 1...3 { try context.make("Item", ["size": Int64(number), "list": list]) }
    }
    let (before, after, changes) = try store.migrateTracked(model("items.@count"), model("items.@sum.size"))
    assertComplete(changes, before, after)
    XCTAssertEqual(changes.lines, ["computed List.total", "computed Special.total"])
  }

  func testOpenContextsAreRefreshedWhenAnotherProcessComputesValues() throws {
    func model(_ expression: String) throws -> CompiledModel {
      try CompiledModel(
        ManagedObjectModel {
          Entity("List") {
            Attribute("size", .integer64)
            Attribute("total", .integer64).derived(expression)
          }
        })
    }
    let store = try TestStore()
    var description = store.description
    description.historyTracking = true
    let open = try OpenStore(description, model: model("size"))
    let context = open.newContext()
    let list = try context.insert("List", ["size": Int64(7)])
    try context.save()
    let token = try open.coordinator.currentPersistentHistoryToken()
    try OpenStore(store.description, model: model("size")).close()
    let set = try open.coordinator.changeSets(afterHistory: token).changes
    XCTAssertEqual(set.map(\.isEmpty), [true], "nothing was computed")
    XCTAssertEqual(list["total"] as? Int64, 7)
  }
}
