import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Lightweight migration in place: relationships with a new or renamed inverse.
final class MigrationInverseTests: XCTestCase {
  private enum Side: String, CaseIterable {
    case one, many, ordered
  }

  private func relationship(_ side: Side, _ name: String, _ destination: String, _ inverse: String?) -> Relationship {
    switch side {
    case .one: Relationship(name, to: destination, inverse: inverse)
    case .many: Relationship(name, toMany: destination, inverse: inverse)
    case .ordered: Relationship(name, toMany: destination, inverse: inverse).ordered()
    }
  }

  private func model(_ a: Side, _ b: Side, _ first: String = "member", _ second: String = "user") -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("User") {
        Attribute("name", .string)
        relationship(a, first, "Member", second)
      }
      Entity("Member") {
        Attribute("name", .string)
        relationship(b, second, "User", first)
      }
    }
  }

  /// Four objects of each entity, linked as both sides allow.
  private func fill(_ a: Side, _ b: Side) -> (ManagedObjectContext) throws -> Void {
    { context in
      let users = try (1...4).map { try context.make("User", ["name": "u\($0)"]) }
      let members = try (1...4).map { try context.make("Member", ["name": "m\($0)"]) }
      switch (a, b) {
      case (.one, .one): for index in 0..<3 { try users[index].setValue(members[3 - index], forKey: "member") }
      case (.one, .many), (.one, .ordered):
        for index in 0..<3 { try users[index].setValue(members[index / 2], forKey: "member") }
        if b == .ordered { try members[0].setValue([users[1], users[0]], forKey: "user") }
      case (_, .one):
        for index in 0..<3 { try members[index].setValue(users[index / 2], forKey: "user") }
        if a == .ordered { try users[0].setValue([members[1], members[0]], forKey: "member") }
      default:
        let own = [[3, 0], [0, 1, 2], [2]]
        for (index, numbers) in own.enumerated() {
          let found = numbers.map { members[$0] }
          try users[index].setValue(a == .ordered ? found as Any : Set(found), forKey: "member")
        }
        if b == .ordered { try members[2].setValue([users[2], users[1]], forKey: "user") }
      }
    }
  }

  private func renamed(_ contents: [String: [String: String]], _ names: [String: String]) -> [String: [String: String]] {
    contents.mapValues { object in Dictionary(uniqueKeysWithValues: object.map { (names[$0.key] ?? $0.key, $0.value) }) }
  }

  func testOneSideCanBeRenamedWithoutARenamingIdentifier() throws {
    for a in Side.allCases {
      for b in Side.allCases {
        for (newer, names) in [(("members", "user"), ["member": "members"]), (("member", "owner"), ["user": "owner"])] {
          let what = "\(a)/\(b) \(newer)"
          let store = try MigratingStore.make(model(a, b), fill(a, b))
          let before = try store.contents(model(a, b))
          store.store.observer.reset()
          let after = model(a, b, newer.0, newer.1)
          XCTAssertEqual(try store.contents(after), renamed(before, names), what)
          XCTAssertFalse(
            store.store.observer.statements.contains {
              $0.hasPrefix("INSERT OR") || $0.hasPrefix("UPDATE OR") || $0.hasPrefix("CREATE TABLE")
            },
            "\(what): rows were written")
          try store.check()
          // Back again.
          XCTAssertEqual(try store.contents(model(a, b).version("3")), before, what)
          try store.check()
        }
      }
    }
  }

  func testOneSideCanBeRenamedAndCardinalityChanged() throws {
    for a in Side.allCases {
      for b in Side.allCases {
        for c in Side.allCases {
          for d in Side.allCases where c != a || d != b {
            let what = "\(a)/\(b) to \(c)/\(d)"
            let store = try MigratingStore.make(model(a, b)) { context in
              for index in 1...2 {
                let member = try context.make("Member", ["name": "m\(index)"])
                let value: Any = a == .one ? member : a == .ordered ? [member] : Set([member])
                try context.make("User", ["name": "u\(index)", "member": value])
              }
            }
            let after = try store.contents(model(c, d, "members"))
            let names = after.compactMapValues { $0["name"] }
            for index in 1...2 {
              let user = after.values.first { $0["name"] == "u\(index)" }
              let member = after.values.first { $0["name"] == "m\(index)" }
              XCTAssertEqual(user?["members"].flatMap { names[$0] }, "m\(index)", what)
              XCTAssertEqual(member?["user"].flatMap { names[$0] }, "u\(index)", what)
            }
            try store.check()
          }
        }
      }
    }
  }

  func testNoStoredValueIsDroppedWhereOneSideWasRenamed() throws {
    let difference = ModelDifference(
      from: try CompiledModel(model(.many, .one)), to: try CompiledModel(model(.many, .one, "members")))
    XCTAssertEqual(difference.changes.map(\.description), ["User.members: renamed from member"])
    XCTAssertFalse(difference.changes.contains { $0.dropsValues })
  }

  /// `User.pinned` and `User.latest` name inverses that do not lead back. `User.members` and `Member.user` are inverse to each other.
  private func oneSidedModel(_ side: Side, _ inverse: Side, version: String, latest: String? = "latestIn") -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("User") {
        Attribute("name", .string)
        if version != "1" { Attribute("added", .string) }
        Relationship("members", toMany: "Member", inverse: "user")
        Relationship("pinned", toMany: "Member", inverse: "user")
        relationship(side, "latest", "Member", latest)
      }
      Entity("Member") {
        Attribute("name", .string)
        Relationship("user", to: "User", inverse: "members")
        relationship(inverse, "latestIn", "User", nil)
      }
    }.version(version)
  }

  func testAOneSidedInverseKeepsEveryLink() throws {
    for side in Side.allCases {
      // A to-one relationship without a declared inverse becomes the inverse of the to-many relationship that names it.
      for inverse in Side.allCases {
        let store = try MigratingStore.make(oneSidedModel(side, inverse, version: "1")) { context in
          let members = try (1...3).map { try context.make("Member", ["name": "m\($0)"]) }
          let users = try (1...2).map { try context.make("User", ["name": "u\($0)"]) }
          try users[0].setValue(Set(members[0...1]), forKey: "members")
          try users[1].setValue(Set([members[1], members[2]]), forKey: "pinned")
          for (user, member) in zip(users, members) {
            let value: Any = side == .one ? member : side == .ordered ? [member] : Set([member])
            try user.setValue(value, forKey: "latest")
          }
        }
        let before = try store.contents(oneSidedModel(side, inverse, version: "1"))
        XCTAssertEqual(before.values.filter { $0["latest"] != nil }.count, 2)
        XCTAssertEqual(before.values.filter { $0["latestIn"] != nil }.count, 2)
        XCTAssertEqual(before.values.filter { $0["pinned"] != nil }.count, 1)
        XCTAssertEqual(try store.contents(oneSidedModel(side, inverse, version: "2")), before, "\(side)/\(inverse)")
        try store.check()
        if inverse == .one, side != .one { continue }
        // The inverse is no longer declared: both sides are stored as before.
        XCTAssertEqual(try store.contents(oneSidedModel(side, inverse, version: "3", latest: nil)), before, "\(side)/\(inverse)")
        try store.check()
      }
    }
  }

  /// Two relationship pairs between two entities.
  private func pairs(_ first: (String, String), _ second: (String, String), _ sides: (Side, Side) = (.one, .one)) -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("A") {
        Attribute("name", .string)
        relationship(sides.0, first.0, "B", first.1)
        relationship(sides.0, second.0, "B", second.1)
      }
      Entity("B") {
        Attribute("name", .string)
        relationship(sides.1, first.1, "A", first.0)
        relationship(sides.1, second.1, "A", second.0)
      }
    }
  }

  func testSplitInversesBothKeepTheirLinks() throws {
    let older = ManagedObjectModel {
      Entity("A") { Relationship("x", to: "B", inverse: "y") }
      Entity("B") { Relationship("y", toMany: "A", inverse: "x") }
    }
    // Each side has a new inverse.
    let newer = ManagedObjectModel {
      Entity("A") {
        Relationship("x", to: "B", inverse: "z")
        Relationship("w", toMany: "B", inverse: "y")
      }
      Entity("B") {
        Relationship("y", toMany: "A", inverse: "w")
        Relationship("z", toMany: "A", inverse: "x")
      }
    }
    let store = try MigratingStore.make(older) { context in
      let owner = try context.make("B")
      for _ in 1...2 { try context.make("A", ["x": owner]) }
    }
    let after = try store.contents(newer)
    XCTAssertEqual(after["B/1"], ["y": "A/1 A/2", "z": "A/1 A/2"])
    XCTAssertEqual(after["A/1"], ["x": "B/1", "w": "B/1"])
    try store.check()
  }

  func testSwappedInversesKeepAllLinksOrReportConflicts() throws {
    let older = pairs(("x", "y"), ("v", "z"))
    let newer = pairs(("x", "z"), ("v", "y"))
    func make(_ body: (ManagedObject, ManagedObject, ManagedObject, ManagedObject) throws -> Void) throws -> MigratingStore {
      try MigratingStore.make(older) { context in
        let objects = try ["A", "A", "B", "B"].map { try context.make($0) }
        try body(objects[0], objects[1], objects[2], objects[3])
      }
    }
    let agreeing = try make { a1, a2, b1, b2 in
      try a1.setValue(b1, forKey: "x")
      try a2.setValue(b2, forKey: "v")
    }
    let after = try agreeing.contents(newer)
    XCTAssertEqual(
      after,
      [
        "A/1": ["x": "B/1", "v": "B/1"], "B/1": ["y": "A/1", "z": "A/1"], "A/2": ["x": "B/2", "v": "B/2"], "B/2": ["y": "A/2", "z": "A/2"],
      ])
    try agreeing.check()
    let contradicting = try make { a1, _, b1, b2 in
      try a1.setValue(b1, forKey: "x")
      try a1.setValue(b2, forKey: "v")
    }
    let before = try contradicting.contents(older)
    let error = assertStoreError(.migrationFailed) { try contradicting.contents(newer) }
    XCTAssertTrue(error?.message.contains("contradict") ?? false, error?.message ?? "")
    XCTAssertEqual(try contradicting.contents(older), before)
    try contradicting.check()
  }

  func testSwappedManyToManyInversesHaveTheLinksOfBoth() throws {
    let store = try MigratingStore.make(pairs(("x", "y"), ("v", "z"), (.many, .many))) { context in
      let objects = try ["A", "A", "B", "B"].map { try context.make($0) }
      try objects[0].setValue(Set([objects[2]]), forKey: "x")
      try objects[0].setValue(Set([objects[3]]), forKey: "v")
      try objects[1].setValue(Set([objects[2]]), forKey: "v")
    }
    let after = try store.contents(pairs(("x", "z"), ("v", "y"), (.many, .many)))
    XCTAssertEqual(after["A/1"], ["x": "B/1 B/2", "v": "B/1 B/2"])
    XCTAssertEqual(after["A/2"], ["x": "B/1", "v": "B/1"])
    XCTAssertEqual(after["B/1"], ["y": "A/1 A/2", "z": "A/1 A/2"])
    try store.check()
  }

  func testLinksMergedIntoOneColumnAreCompared() throws {
    func model(_ inverse: Bool) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("A") {
          if inverse { Relationship("x", to: "B", inverse: "z") } else { Relationship("x", toMany: "B") }
        }
        Entity("B") { Relationship("z", to: "A", inverse: inverse ? "x" : nil) }
      }
    }
    let store = try MigratingStore.make(model(false)) { context in
      let (a, b1, b2) = (try context.make("A"), try context.make("B"), try context.make("B"))
      try a.setValue(Set([b1]), forKey: "x")
      try b2.setValue(a, forKey: "z")
    }
    let error = assertStoreError(.migrationFailed) { try store.contents(model(true)) }
    XCTAssertTrue(error?.message.contains("contradict") ?? false, error?.message ?? "")
    try store.open(model(false)) { try $0.all("B")[1].setValue(nil, forKey: "z") }
    XCTAssertEqual(try store.contents(model(true)), ["A/1": ["x": "B/1"], "B/1": ["z": "A/1"], "B/2": [:]])
    try store.check()
  }

  func testSymmetricRelationshipGetsASeparateInverse() throws {
    let older = ManagedObjectModel { Entity("Person") { Relationship("friends", toMany: "Person", inverse: "friends") } }
    let newer = ManagedObjectModel {
      Entity("Person") {
        Relationship("friends", toMany: "Person", inverse: "friendOf")
        Relationship("friendOf", toMany: "Person", inverse: "friends")
      }
    }
    let store = try MigratingStore.make(older) { context in
      let people = try (1...3).map { _ in try context.make("Person") }
      try people[0].setValue(Set([people[1], people[2]]), forKey: "friends")
    }
    let before = try store.contents(older)
    let after = try store.contents(newer)
    for (key, object) in before { XCTAssertEqual(after[key], ["friends": object["friends"] ?? "", "friendOf": object["friends"] ?? ""]) }
    try store.check()
    XCTAssertEqual(try store.contents(older.version("3")), before)
    try store.check()
  }
}
