import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Lightweight migration in place: relationships that change their storage keep their links.
final class MigrationRelationshipTests: XCTestCase {
  /// The cardinality of one side.
  private enum Side: String, CaseIterable {
    case absent, one, many, ordered
  }

  /// Two entities, related by `a.bs` and `b.as` with any cardinalities.
  private func model(_ a: Side, _ b: Side, rule: DeleteRule = .nullify) -> ManagedObjectModel {
    ManagedObjectModel { pair(a, b, rule: rule) }
  }

  @ModelBuilder private func pair(_ a: Side, _ b: Side, _ suffix: String = "", rule: DeleteRule = .nullify) -> [any ModelComponent] {
    Entity("A\(suffix)") {
      Attribute("name", .string)
      relationship(a, "bs", "B\(suffix)", b == .absent ? nil : "as", rule)
    }
    Entity("B\(suffix)") {
      Attribute("name", .string)
      relationship(b, "as", "A\(suffix)", a == .absent ? nil : "bs", rule)
    }
  }

  private func relationship(
    _ side: Side, _ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule
  ) -> [any EntityComponent] {
    switch side {
    case .absent: []
    case .one: [Relationship(name, to: destination, inverse: inverse).onDelete(rule)]
    case .many: [Relationship(name, toMany: destination, inverse: inverse).onDelete(rule)]
    case .ordered: [Relationship(name, toMany: destination, inverse: inverse).ordered().onDelete(rule)]
    }
  }

  /// Links a1 with b1, and a2 with b2.
  private func fill(_ a: Side, _ b: Side, _ suffix: String = "") -> (ManagedObjectContext) throws -> Void {
    { context in
      for index in 1...2 {
        let first = try context.make("A\(suffix)", ["name": "a\(index)"])
        let second = try context.make("B\(suffix)", ["name": "b\(index)"])
        switch (a, b) {
        case (.one, _): try first.setValue(second, forKey: "bs")
        case (.many, _): try first.setValue([second] as Set, forKey: "bs")
        case (.ordered, _): try first.setValue([second], forKey: "bs")
        case (.absent, .one): try second.setValue(first, forKey: "as")
        case (.absent, .many): try second.setValue([first] as Set, forKey: "as")
        case (.absent, .ordered): try second.setValue([first], forKey: "as")
        case (.absent, .absent): break
        }
      }
    }
  }

  func testEveryCombinationOfCardinalitiesMigrates() throws {
    let kinds = Side.allCases.flatMap { a in Side.allCases.map { (a, $0) } }.filter { $0 != .absent || $1 != .absent }
    for (a, b) in kinds {
      // One pair of entities for each target kind of the relationship.
      let older = ManagedObjectModel { for index in kinds.indices { pair(a, b, "\(index)") } }
      let newer = ManagedObjectModel { for (index, kind) in kinds.enumerated() { pair(kind.0, kind.1, "\(index)") } }
      let store = try MigratingStore.make(older) { context in for index in kinds.indices { try fill(a, b, "\(index)")(context) } }
      let after = try store.contents(newer)
      let names = after.compactMapValues { $0["name"] }
      for (index, kind) in kinds.enumerated() {
        let what = "\(a)/\(b) to \(kind.0)/\(kind.1)"
        // A new side takes its links from its inverse, if the inverse existed.
        let hasLinks = kind.0 != .absent && a != .absent || kind.1 != .absent && b != .absent
        for (key, object) in after where key.hasPrefix("A\(index)/") {
          let number = object["name"]?.last.map(String.init) ?? "?"
          XCTAssertEqual(object["bs"].flatMap { names[$0] }, kind.0 != .absent && hasLinks ? "b\(number)" : nil, what)
        }
        for (key, object) in after where key.hasPrefix("B\(index)/") {
          let number = object["name"]?.last.map(String.init) ?? "?"
          XCTAssertEqual(object["as"].flatMap { names[$0] }, kind.1 != .absent && hasLinks ? "a\(number)" : nil, what)
        }
      }
      XCTAssertEqual(after.count, kinds.count * 4)
      try store.check()
    }
  }

  func testToOneChangedToManyKeepsItsLinksAndOrder() throws {
    let older = model(.one, .ordered)
    let newer = model(.many, .ordered)
    let store = try MigratingStore.make(older) { context in
      let first = try context.make("A", ["name": "a1"])
      let second = try context.make("A", ["name": "a2"])
      let owner = try context.make("B")
      try owner.setValue([second, first], forKey: "as")
    }
    let before = try store.contents(older)
    XCTAssertEqual(try store.contents(newer), before)
    XCTAssertEqual(try store.contents(older.version("3")), before)
    try store.check()
  }

  func testToManyChangedToOneReportsObjectsWithSeveralMembers() throws {
    for (older, newer) in [
      (model(.many, .absent), model(.one, .absent)), (model(.many, .many), model(.one, .many)), (model(.many, .one), model(.one, .one)),
    ] {
      let store = try MigratingStore.make(older) { context in
        for _ in 1...3 {
          let bs = [try context.make("B"), try context.make("B")]
          try context.make("A", ["bs": Set(bs)])
        }
        try context.make("A", ["bs": [try context.make("B")] as Set])
      }
      let before = try store.contents(older)
      let error = assertStoreError(.migrationFailed) { try store.contents(newer) }
      XCTAssertEqual(error?.entityName, "A")
      XCTAssertEqual(error?.propertyName, "bs")
      XCTAssertTrue(error?.message.contains("3 objects") ?? false, "\(error?.message ?? "")")
      XCTAssertEqual(error?.coreDataCode, 134110)
      XCTAssertEqual(try store.contents(older), before, "the store is as it was")
      try store.check()
    }
  }

  func testUnorderedMembersBecomeOrderedByKey() throws {
    for (older, newer) in [(model(.many, .one), model(.ordered, .one)), (model(.many, .many), model(.ordered, .many))] {
      let store = try MigratingStore.make(older) { context in
        try context.make("A", ["bs": Set(try (1...5).map { try context.make("B", ["name": "b\($0)"]) })])
      }
      try store.open(newer) { context in
        let owner = try context.one("A")
        var members = try XCTUnwrap(owner["bs"] as? [ManagedObject])
        XCTAssertEqual(members.map(\.objectID.key), members.map(\.objectID.key).sorted())
        members.insert(try context.make("B", ["name": "new"]), at: 2)
        try owner.setValue(members, forKey: "bs")
        try context.save()
        context.reset()
        let read = try XCTUnwrap(try context.one("A")["bs"] as? [ManagedObject])
        XCTAssertEqual(read[2]["name"] as? String, "new")
        XCTAssertEqual(read.count, 6)
      }
      try store.check()
      XCTAssertEqual(try store.contents(older.version("3")).count, 7)
    }
  }

  func testDeleteRulesChangeTheForeignKeysAndClearDanglingReferences() throws {
    let older = model(.one, .many, rule: .noAction)
    let newer = model(.one, .many, rule: .nullify)
    let store = try MigratingStore.make(older) { context in
      let kept = try context.make("B", ["name": "kept"])
      let gone = try context.make("B", ["name": "gone"])
      try context.make("A", ["name": "a1", "bs": kept])
      try context.make("A", ["name": "a2", "bs": gone])
      try context.save()
      context.delete(gone)
    }
    XCTAssertEqual(try store.number("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%REFERENCES%'"), 0)
    let after = try store.contents(newer)
    XCTAssertEqual(after.values.filter { $0["bs"] != nil }.count, 1)
    XCTAssertEqual(try store.number("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%REFERENCES%'"), 1)
    try store.check()
    XCTAssertEqual(try store.contents(older.version("3")), after)
    XCTAssertEqual(try store.number("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%REFERENCES%'"), 0)
  }

  func testRelationshipsAreRenamedWithoutRewritingRows() throws {
    let older = model(.many, .many)
    let newer = ManagedObjectModel {
      Entity("A") {
        Attribute("name", .string)
        Relationship("links", toMany: "B", inverse: "backs").renamed(from: "bs")
      }
      Entity("B") {
        Attribute("name", .string)
        Relationship("backs", toMany: "A", inverse: "links").renamed(from: "as")
      }
    }
    let store = try MigratingStore.make(older, fill(.many, .many))
    store.store.observer.reset()
    let after = try store.contents(newer)
    XCTAssertEqual(after["A/1"]?["links"], "B/1")
    XCTAssertEqual(after["B/2"]?["backs"], "A/2")
    XCTAssertFalse(store.store.observer.statements.contains { $0.hasPrefix("INSERT") || $0.hasPrefix("CREATE TABLE") })
    try store.check()
  }

  func testEntitiesThatSwapTheirOrderKeepTheJoinTable() throws {
    let older = model(.many, .ordered)
    // The lower number, which determines the name of a new store's table, now belongs to the other side.
    let newer = ManagedObjectModel {
      Entity("Z") {
        Attribute("name", .string)
        Relationship("bs", toMany: "B", inverse: "as")
      }.renamed(from: "A")
      Entity("B") {
        Attribute("name", .string)
        Relationship("as", toMany: "Z", inverse: "bs").ordered()
      }
    }
    let store = try MigratingStore.make(older) { context in
      let members = try (1...3).map { try context.make("A", ["name": "\($0)"]) }
      try context.make("B").setValue(members.reversed() as [ManagedObject], forKey: "as")
      try context.make("B").setValue(members, forKey: "as")
    }
    let before = try store.contents(older).mapValues { $0.mapValues { $0.replacing("A/", with: "Z/") } }
    try store.open(newer) { context in
      let after = try context.contents()
      for (key, value) in before { XCTAssertEqual(after[key.replacing("A/", with: "Z/")], value) }
      let owner = try XCTUnwrap(try context.all("B").first)
      var members = try XCTUnwrap(owner["as"] as? [ManagedObject])
      members.append(try context.make("Z", ["name": "new"]))
      try owner.setValue(members, forKey: "as")
      try context.save()
      context.reset()
      XCTAssertEqual((try context.all("B").first?["as"] as? [ManagedObject])?.last?["name"] as? String, "new")
    }
    try store.check()
  }

  func testARelationshipBecomesItsOwnInverse() throws {
    let older = ManagedObjectModel { Entity("Person") { Relationship("friends", toMany: "Person") } }
    let newer = ManagedObjectModel { Entity("Person") { Relationship("friends", toMany: "Person", inverse: "friends") } }
    let store = try MigratingStore.make(older) { context in
      let people = try (1...3).map { _ in try context.make("Person") }
      try people[0].setValue([people[1], people[2]] as Set, forKey: "friends")
    }
    let after = try store.contents(newer)
    XCTAssertEqual(after.values.filter { $0["friends"]?.split(separator: " ").count == 1 }.count, 2)
    XCTAssertEqual(after.values.filter { $0["friends"]?.split(separator: " ").count == 2 }.count, 1)
    try store.check()
    XCTAssertEqual(try store.contents(older.version("3")), after)
  }

  func testInverseAddedLaterMergesTheLinksOfBothSides() throws {
    func model(_ inverse: Bool) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("A") {
          Attribute("name", .string)
          Relationship("b", to: "B", inverse: inverse ? "as" : nil)
        }
        Entity("B") { Relationship("as", toMany: "A", inverse: inverse ? "b" : nil) }
      }
    }
    let store = try MigratingStore.make(model(false)) { context in
      let (a1, a2, b1, b2) = (try context.make("A"), try context.make("A"), try context.make("B"), try context.make("B"))
      try a1.setValue(b1, forKey: "b")
      try b2.setValue([a2] as Set, forKey: "as")
    }
    let after = try store.contents(model(true))
    XCTAssertEqual(after.values.compactMap { $0["b"] }.count, 2)
    XCTAssertEqual(after.values.compactMap { $0["as"] }.count, 2)
    try store.check()
    let other = try MigratingStore.make(model(false)) { context in
      let (a, b1, b2) = (try context.make("A"), try context.make("B"), try context.make("B"))
      try a.setValue(b1, forKey: "b")
      try b2.setValue([a] as Set, forKey: "as")
    }
    let error = assertStoreError(.migrationFailed) { try other.contents(model(true)) }
    XCTAssertEqual(error?.propertyName, "b")
  }

  func testReferencesFollowWhenTheDestinationGainsAndLosesSubentities() throws {
    func model(_ hasSubentities: Bool) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("A") {
          Relationship("one", to: "B", inverse: "backs")
          Relationship("many", toMany: "B")
        }
        Entity("B") { Relationship("backs", toMany: "A", inverse: "one") }
        if hasSubentities {
          Entity("B1", parent: "B")
          Entity("B0", parent: "B")
        }
      }
    }
    let store = try MigratingStore.make(model(false)) { context in
      let b = try context.make("B")
      try context.make("A", ["one": b, "many": [b] as Set])
    }
    let before = try store.contents(model(false))
    try store.open(model(true)) { context in
      XCTAssertEqual(try context.contents(), before)
      let sub = try context.make("B1")
      try context.make("A", ["one": sub, "many": [sub] as Set])
    }
    try store.check()
    let between = try store.contents(model(true))
    XCTAssertEqual(between.keys.filter { $0.hasPrefix("B1/") }.count, 1)
    XCTAssertEqual(try store.contents(model(false).version("3"))["A/1"], before["A/1"])
    try store.check()
    XCTAssertEqual(try store.contents(model(true).version("4")).keys.filter { $0.hasPrefix("B") }.count, 1)
    try store.check()
  }
}
