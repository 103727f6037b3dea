import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Lookup of objects by their unique values (row F21).
final class FindOrCreateTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Item", class: "Item") {
      Attribute("code", .string)
      Attribute("number", .integer64)
      Attribute("rate", .decimal)
      Attribute("note", .string)
      Relationship("maker", to: "Maker", inverse: "items")
      Unique("code")
      Unique("maker", "number")
      Unique("rate")
    }
    Entity("Special", class: "Special", parent: "Item")
    Entity("Other", class: "Other", parent: "Item")
    Entity("Maker", class: "Maker") {
      Attribute("name", .string)
      Relationship("items", toMany: "Item", inverse: "maker")
      Unique("name")
    }
  }
  class Item: ManagedObject {}
  final class Special: Item {}
  final class Other: Item {}
  final class Maker: ManagedObject {}
  private let classes = ManagedObjectClasses(["Item": Item.self, "Special": Special.self, "Other": Other.self, "Maker": Maker.self])

  private func onItems(_ kinds: [StoreKind] = StoreKind.allCases, _ body: (Stack) throws -> Void) async throws {
    try await onEachStore(kinds, model: model, classes: classes) { stack in
      let context = stack.makeShortLivedContext()
      for number in 0..<10 { try context.make("Item", ["code": "c\(number)", "number": number, "rate": Decimal(number) / 4]) }
      try context.save()
      try body(stack)
    }
  }

  func testObjectIsFoundOrCreated() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      var made = 0
      let found = try context.findOrCreate(Item.self, where: ["code": "c3"]) { _ in made += 1 }
      XCTAssertEqual(found["number"] as? Int64, 3)
      XCTAssertEqual(made, 0)
      let new = try context.findOrCreate(Item.self, where: ["code": "new"]) { item in
        XCTAssertEqual(item.text("code"), "new")
        try item.setValue("made", forKey: "note")
        made += 1
      }
      XCTAssertTrue(new.isInserted)
      XCTAssertEqual(made, 1)
      // Unsaved objects are found too.
      XCTAssertTrue(try context.findOrCreate(Item.self, where: ["code": "new"]) === new)
      try found.setValue("renamed", forKey: "code")
      XCTAssertTrue(try context.findOrCreate(Item.self, where: ["code": "renamed"]) === found)
      XCTAssertFalse(try context.findOrCreate(Item.self, where: ["code": "c3"]) === found)
      try context.save()
      XCTAssertEqual(try context.count(for: FetchRequest<Item>(entityName: "Item")), 12)
    }
  }

  func testDeletedObjectIsCreatedAgain() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      let old = try context.findOrCreate(Item.self, where: ["code": "c3"])
      context.delete(old)
      let new = try context.findOrCreate(Item.self, where: ["code": "c3"])
      XCTAssertFalse(new === old)
      try context.save()
      XCTAssertEqual(try context.objects("Item", where: "code == 'c3'"), [new])
    }
  }

  func testManyAreFoundWithOneStatementInValueOrder() async throws {
    try await onItems([.sqlcipher]) { stack in
      let context = stack.makeContext()
      stack.statements?.reset()
      let codes = (0..<600).reversed().map { "c\($0 % 300)" }
      let items = try context.findOrCreate(Item.self, keys: ["code"], values: codes.map { [$0] })
      XCTAssertEqual(stack.statements?.texts.filter { $0.hasPrefix("SELECT") }.count, 1, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(items.map { $0.text("code") ?? "" }, codes)
      XCTAssertEqual(Set(items).count, 300)
      XCTAssertEqual(items.filter(\.isInserted).count, 580)
      XCTAssertEqual(try context.findOrCreate(Item.self, keys: ["code"], values: []), [])
    }
  }

  func testKeyCanHaveSeveralProperties() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      let makers = try context.findOrCreate(Maker.self, keys: ["name"], values: [["a"], ["b"]])
      try context.save()
      let pairs: [[any FetchConstantConvertible]] = (0..<1_000).map { [$0 / 2, makers[$0 % 2]] }
      let first = try context.findOrCreate(Item.self, keys: ["number", "maker"], values: pairs)
      XCTAssertEqual(Set(first).count, 1_000)
      XCTAssertEqual(first[7].one("maker")?.text("name"), "b")
      XCTAssertEqual(first[7]["number"] as? Int64, 3)
      XCTAssertEqual(makers[0].many("items").count, 500)
      try context.save()
      let other = stack.makeContext()
      let ids: [[any FetchConstantConvertible]] = (0..<1_000).map { [$0 / 2, makers[$0 % 2].objectID] }
      let again = try other.findOrCreate(Item.self, keys: ["number", "maker"], values: ids)
      XCTAssertEqual(again.map(\.objectID), first.map(\.objectID))
      // With a new object as a part of the key.
      let maker = try context.findOrCreate(Maker.self, where: ["name": "new"])
      let item = try context.findOrCreate(Item.self, where: ["maker": maker, "number": 1])
      XCTAssertTrue(try context.findOrCreate(Item.self, where: ["maker": maker, "number": 1]) === item)
    }
  }

  func testValuesAreComparedAsTheyAreStored() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      XCTAssertEqual(try context.findOrCreate(Item.self, where: ["rate": Decimal(1) / 4]).text("code"), "c1")
      XCTAssertEqual(try context.findOrCreate(Item.self, where: ["rate": 1]).text("code"), "c4")
      // Texts that look alike but differ.
      let items = try context.findOrCreate(Item.self, keys: ["code"], values: [["caf\u{E9}"], ["cafe\u{301}"], ["caf\u{E9}"]])
      XCTAssertTrue(items[0] === items[2])
      XCTAssertFalse(items[0] === items[1])
    }
  }

  func testSubentityObjectsMatchAndSiblingObjectsDoNot() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      let special = try context.findOrCreate(Special.self, where: ["code": "s"])
      XCTAssertEqual(special.entity.name, "Special")
      XCTAssertTrue(try context.findOrCreate(Item.self, where: ["code": "s"]) === special)
      XCTAssertThrowsError(try context.findOrCreate(Other.self, where: ["code": "s"])) {
        XCTAssertTrue("\($0)".contains("Special"), "\($0)")
      }
    }
  }

  func testNonUniqueKeyErrorListsUniqueKeys() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      for keys in [["note"], ["number"], ["code", "number"], ["nothing"], []] {
        XCTAssertThrowsError(try context.findOrCreate(Item.self, keys: keys, values: [])) { error in
          XCTAssertEqual((error as? StoreError)?.code, .invalidRequest)
          XCTAssertTrue("\(error)".contains("(code)") && "\(error)".contains("uniqueness constraint"), "\(error)")
        }
      }
      XCTAssertThrowsError(try context.findOrCreate(Item.self, where: ["code": 4])) {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .wrongType)
      }
      XCTAssertThrowsError(try context.findOrCreate(Item.self, where: ["code": String?.none]))
      XCTAssertThrowsError(try context.findOrCreate(Item.self, keys: ["number", "maker"], values: [[1]]))
      XCTAssertThrowsError(try context.findOrCreate(ManagedObject.self, entityName: "Itm", keys: ["code"], values: []))
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testThrowingPreparationRemovesTheObject() async throws {
    struct Failure: Error {}
    try await onItems { stack in
      let context = stack.makeContext()
      XCTAssertThrowsError(try context.findOrCreate(Item.self, where: ["code": "x"]) { _ in throw Failure() }) {
        XCTAssertTrue($0 is Failure)
      }
      context.processPendingChanges()
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testEntityCanBeNamed() async throws {
    try await onItems { stack in
      let context = stack.makeContext()
      let found = try context.findOrCreate(ManagedObject.self, entityName: "Item", keys: ["code"], values: [["c1"]])
      XCTAssertEqual(found.first?["number"] as? Int64, 1)
      let special = try context.findOrCreate(Item.self, entityName: "Special", where: ["code": "s"])
      XCTAssertTrue(special is Special)
      func assertRejected<Object: ManagedObject>(_ type: Object.Type, line: UInt = #line) {
        XCTAssertThrowsError(try context.findOrCreate(type, entityName: "Special", where: ["code": "t"]), line: line) { error in
          XCTAssertEqual((error as? StoreError)?.code, .invalidRequest, line: line)
          XCTAssertTrue("\(error)".contains("Special") && "\(error)".contains("\(type)"), "\(error)", line: line)
        }
      }
      assertRejected(Other.self)
      assertRejected(Maker.self)
      XCTAssertEqual(context.insertedObjects, [special], "An object of another class is not created.")
    }
  }
}
