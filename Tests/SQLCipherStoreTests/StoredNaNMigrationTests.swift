// StoredNaNMigrationTests: migrations over NaN that an older version of the library has stored in decimals.
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore

final class StoredNaNMigrationTests: XCTestCase {
  private let older = ManagedObjectModel(version: "1") {
    Entity("Item") {
      Attribute("name", .string)
      Attribute("amount", .decimal)
      Attribute("real", .double)
    }
  }
  private let newer = ManagedObjectModel(version: "2") {
    Entity("Item") {
      Attribute("name", .string)
      Attribute("amount", .decimal)
      Attribute("real", .double)
      Attribute("note", .string)
    }
  }

  /// Three items with the amounts 1.5, NaN and nil.
  private func makeStore(_ real: Double? = nil) throws -> MigratingStore {
    let store = try MigratingStore()
    let open = try OpenStore(store.store.description, model: CompiledModel(older))
    try open.save { save in
      for (name, amount) in [("a", Slot(Decimal(1.5))), ("b", Slot(Decimal.nan)), ("c", .null)] {
        try save.insert("Item", ["name": .text(name), "amount": amount, "real": real.map { .real($0) } ?? .null])
      }
    }
    try open.close()
    return store
  }

  private func amounts(
    _ store: MigratingStore, _ model: ManagedObjectModel, key: String = "amount", entity: String = "Item",
    _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> [String] {
    try store.open(model, change) { context in
      try context.all(entity).map { item in item[key].map { ($0 as? Decimal)?.isNaN == true ? "NaN" : "\($0)" } ?? "nil" }
    }
  }

  private func changesNothing(_ store: MigratingStore, line: UInt = #line) throws {
    XCTAssertEqual(try amounts(store, older), ["1.5", "NaN", "nil"], line: line)
    try store.check(line: line)
  }

  // MARK: Lightweight

  func testALightweightMigrationKeepsTheNaNOfAnAttributeOfTheSameType() throws {
    let models: [(String, String, ManagedObjectModel)] = [
      ("Item", "amount", newer),
      (
        "Item", "sum",
        ManagedObjectModel {
          Entity("Item") {
            Attribute("name", .string)
            Attribute("sum", .decimal).renamed(from: "amount")
            Attribute("real", .double)
          }
        }
      ),
      (
        "Thing", "amount",
        ManagedObjectModel {
          Entity("Thing") {
            Attribute("name", .string).required().initially("")
            Attribute("amount", .decimal)
            Attribute("real", .float)
            Index("byAmount", on: "amount")
          }.renamed(from: "Item")
        }
      ),
      (
        "Item", "amount",
        ManagedObjectModel {
          Entity("Base") { Attribute("amount", .decimal) }
          Entity("Item", parent: "Base") {
            Attribute("name", .string)
            Attribute("real", .double)
          }
        }
      ),
    ]
    for (entity, key, model) in models {
      let store = try makeStore()
      XCTAssertEqual(try amounts(store, model, key: key, entity: entity), ["1.5", "NaN", "nil"], "\(entity).\(key)")
      try store.check()
      // The object that has it is found, and corrected.
      try store.open(model) { context in
        let request = FetchRequest<ManagedObject>(
          entityName: entity, predicate: try FetchPredicate(format: "%K < %@", key, -Decimal.greatestFiniteMagnitude))
        let found = try context.fetch(request)
        XCTAssertEqual(found.map { $0["name"] as? String }, ["b"])
        for item in found { try item.setValue(Decimal(2), forKey: key) }
      }
      XCTAssertEqual(try amounts(store, model, key: key, entity: entity), ["1.5", "2", "nil"])
    }
  }

  func testANaNOfADecimalThatGetsAnotherTypeIsRejected() throws {
    for type in [AttributeType.double, .float, .integer16, .integer32, .integer64, .boolean] {
      let model = ManagedObjectModel {
        Entity("Item") {
          Attribute("name", .string)
          Attribute("amount", type)
          Attribute("real", .double)
        }
      }
      let store = try makeStore()
      try store.open(older) { try $0.one("Item", "name", "a").setValue(Decimal(1), forKey: "amount") }
      let error = assertStoreError(.migrationFailed) { try amounts(store, model) }
      XCTAssertEqual(error?.entityName, "Item", type.rawValue)
      XCTAssertEqual(error?.propertyName, "amount", type.rawValue)
      XCTAssertEqual(
        error?.message.hasPrefix("1 object of “Item” has a value in “amount” that the type \(type.rawValue) cannot hold."), true)
      XCTAssertEqual(try amounts(store, older), ["1", "NaN", "nil"])
      // Corrected in the older model, the store is migrated.
      try store.open(older) { try $0.one("Item", "name", "b").setValue(nil, forKey: "amount") }
      XCTAssertEqual(try amounts(store, model).count, 3)
      try store.check()
    }
  }

  func testANaNOfADoubleIsNilWhereTheDoubleBecomesADecimal() throws {
    // SQLite has no NaN.
    let store = try makeStore(.nan)
    let model = ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string)
        Attribute("amount", .decimal)
        Attribute("real", .decimal)
      }
    }
    XCTAssertEqual(try amounts(store, model, key: "real"), ["nil", "nil", "nil"])
    try store.check()
  }

  func testARequiredDecimalWithADefaultKeepsItsNaN() throws {
    let model = ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string)
        Attribute("amount", .decimal).required().initially(7)
        Attribute("real", .double)
      }
    }
    let store = try makeStore()
    XCTAssertEqual(try amounts(store, model), ["1.5", "NaN", "7"])
    try store.check()
  }

  // MARK: Mapping models

  private func mappings(_ mapping: EntityMapping) -> MappingModel {
    MappingModel([mapping], from: ManagedObjectModelReference(older), to: ManagedObjectModelReference(newer))
  }

  private func refused(
    _ store: MigratingStore, _ key: String, line: UInt = #line, _ change: (inout PersistentStoreDescription) -> Void
  ) throws {
    XCTAssertThrowsError(try amounts(store, newer, change), line: line) { error in
      let reason = (error as? StoreError)?.underlying as? ValidationError ?? error as? ValidationError
      XCTAssertEqual(reason?.entityName, "Item", "\(error)", line: line)
      XCTAssertEqual(reason?.key, key, "\(error)", line: line)
      XCTAssertTrue(
        "\(error)".contains("Item.\(key): is not a number (NaN), which no store keeps; set a number, or nil"), "\(error)", line: line)
    }
    try changesNothing(store, line: line)
  }

  func testAMappingThatCopiesANaNIsRejected() throws {
    let store = try makeStore()
    for mapping in [
      EntityMapping(.copy, from: "Item", to: "Item"),
      EntityMapping(
        .transform, from: "Item", to: "Item", attributeMappings: [PropertyMapping(name: "amount", sourceKeyPath: "amount")]),
      EntityMapping(
        .transform, from: "Item", to: "Item", attributeMappings: [try PropertyMapping(name: "amount", format: "$source.amount * 2")]),
    ] {
      try refused(store, "amount") { $0.mappingModels = [mappings(mapping)] }
    }
  }

  func testAMappingThatComputesNaNIsRejected() throws {
    let store = try makeStore()
    for (key, value) in [("amount", Decimal.nan), ("amount", Double.nan), ("real", Double.nan)] as [(String, any Sendable)] {
      let computed = PropertyMapping(name: key) { source, _ -> (any Sendable)? in
        guard source["name"] as? String == "a" else { return nil }
        return value
      }
      let mapping = EntityMapping(.transform, from: "Item", to: "Item", attributeMappings: [computed])
      try refused(store, key) { $0.mappingModels = [mappings(mapping)] }
    }
  }

  func testAMappingCorrectsANaN() throws {
    let store = try makeStore()
    let mapping = EntityMapping(
      .copy, from: "Item", to: "Item",
      attributeMappings: [
        PropertyMapping(name: "amount") { source, _ in (source["amount"] as? Decimal).flatMap { $0.isNaN ? nil : $0 } }
      ])
    XCTAssertEqual(try amounts(store, newer) { $0.mappingModels = [mappings(mapping)] }, ["1.5", "nil", "nil"])
    try store.check()
  }

  // MARK: Custom stages

  private func stage(_ handler: @escaping @Sendable (CustomMigration) throws -> Void) -> StagedMigrationManager {
    StagedMigrationManager([
      CustomMigrationStage(migratingFrom: ManagedObjectModelReference(older), to: ManagedObjectModelReference(newer), handler: handler)
    ])
  }

  func testAStageThatSetsNaNIsRejected() throws {
    let store = try makeStore()
    for (key, value) in [("amount", Decimal.nan), ("amount", Double.nan), ("real", Double.nan)] as [(String, any Sendable)] {
      try refused(store, key) {
        $0.stagedMigrationManager = stage { try $0.destination.one("Item", "name", "a").setValue(value, forKey: key) }
      }
      try refused(store, key) {
        $0.stagedMigrationManager = stage { try $0.destination.make("Item", [key: value]) }
      }
    }
  }

  func testAStageKeepsANaNThatItDoesNotSet() throws {
    let store = try makeStore()
    let manager = stage { try $0.forEach("Item") { _, new in try new.setValue("x", forKey: "note") } }
    XCTAssertEqual(try amounts(store, newer) { $0.stagedMigrationManager = manager }, ["1.5", "NaN", "nil"])
    try store.check()
  }

  func testAStageCorrectsANaN() throws {
    let store = try makeStore()
    let manager = stage { migration in
      try migration.forEach("Item") { old, new in
        try new.setValue("x", forKey: "note")
        if (old["amount"] as? Decimal)?.isNaN == true { try new.setValue(Decimal(0), forKey: "amount") }
      }
    }
    XCTAssertEqual(try amounts(store, newer) { $0.stagedMigrationManager = manager }, ["1.5", "0", "nil"])
    try store.check()
  }
}
