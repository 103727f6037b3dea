import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Lightweight migration in place: numbers that change their type, transformers that change their name.
final class MigrationTypeTests: XCTestCase {
  private static let numberTypes: [AttributeType] = [
    .boolean, .integer16, .integer32, .integer64, .float, .double, .decimal,
  ]

  private func model(_ type: AttributeType, _ name: String = "x") -> ManagedObjectModel {
    ManagedObjectModel { Entity("Item") { Attribute(name, type) } }
  }

  /// Values of a type: its limits and random ones.
  private func values(_ type: AttributeType, _ random: inout SeededGenerator) -> [Any?] {
    func integers(_ range: ClosedRange<Int64>) -> [Any?] {
      var values: [Int64] = [
        range.lowerBound, range.upperBound, 0, 1, -1, 127, 32_767, 32_768, 1 << 24, (1 << 24) + 1, 1 << 53, (1 << 53) + 1,
      ]
      for _ in 0..<4 { values.append(Int64.random(in: range, using: &random)) }
      return values.filter(range.contains)
    }
    let fractions: [Double] = [
      0, 0.1, -2.5, 1e10, 1e20, 1e300, .leastNonzeroMagnitude, 1e-130, 9_007_199_254_740_992, .infinity, -.infinity,
    ]
    switch type {
    case .boolean: return [nil, true, false]
    case .integer16: return [nil] + integers(Int64(Int16.min)...Int64(Int16.max))
    case .integer32: return [nil] + integers(Int64(Int32.min)...Int64(Int32.max))
    case .integer64: return [nil] + integers(Int64.min...Int64.max)
    case .float: return [nil] + fractions.map { Float($0) } + (0..<4).map { _ in Float.random(in: -1e6...1e6, using: &random) }
    case .double: return [nil] + fractions + (0..<4).map { _ in Double.random(in: -1e6...1e6, using: &random) }
    default:
      return [nil]
        + ["0", "0.1", "-12.50", "1e20", "1e120", "-1e-120", "9223372036854775807", "9223372036854775808", "0.12345678901234567890"].map {
          Decimal(string: $0)
        }
    }
  }

  private func objects(_ values: [Any?], _ context: ManagedObjectContext) throws {
    for value in values { try context.make("Item", value.map { ["x": $0] } ?? [:]) }
  }

  func testEveryNumberTypeBecomesEveryOtherAndNoValueIsLost() throws {
    var random = SeededGenerator(seed: 40)
    for from in Self.numberTypes {
      for to in Self.numberTypes where to != from {
        let what = "\(from.rawValue) to \(to.rawValue)"
        let all = values(from, &random)
        let slot = try XCTUnwrap(CompiledModel(model(from)).entity(named: "Item")?.slots.first)
        let expected = try all.map { from.converted(try AttributeConversion.slot(from: $0, for: slot), to: to) }
        let fitting = zip(all, expected).filter { $1 != nil }
        let store = try MigratingStore.make(model(from)) { try objects(fitting.map(\.0), $0) }
        try store.open(model(to)) { context in
          let newer = newerAttribute(to)
          for (object, pair) in zip(try context.all("Item"), fitting) {
            let wanted = try AttributeConversion.value(of: XCTUnwrap(pair.1), newer)
            XCTAssertEqual(wanted.map { "\($0)" }, try object.value(forKey: "x").map { "\($0)" }, what)
          }
        }
        try store.check()
        // The stored rows equal those of a store that always had this type.
        let fresh = try MigratingStore.make(model(to)) { context in
          for pair in fitting {
            try context.make("Item", ["x": try AttributeConversion.value(of: XCTUnwrap(pair.1), newerAttribute(to)) as Any])
          }
        }
        let query = "SELECT typeof(x) || ' ' || quote(x) FROM Item ORDER BY _pk"
        XCTAssertEqual(try store.rows(query), try fresh.rows(query), what)
        // One value that the newer type cannot represent prevents the migration.
        guard fitting.count < all.count else { continue }
        let refused = try MigratingStore.make(model(from)) { try objects(all, $0) }
        let before = try refused.contents(model(from))
        let error = assertStoreError(.migrationFailed) { try refused.contents(self.model(to)) }
        let count = all.count - fitting.count
        XCTAssertEqual(error?.propertyName, "x", what)
        XCTAssertTrue(
          error?.message.hasPrefix("\(count) object\(count == 1 ? "" : "s") of “Item” ha") ?? false, "\(what): \(error?.message ?? "")")
        XCTAssertEqual(try refused.contents(model(from)), before, what)
        try refused.check()
      }
    }
  }

  private func newerAttribute(_ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name: "x", type: type, isOptional: true)
  }

  func testATypeChangesWithNameRequirementHierarchyAndIndexAtOnce() throws {
    let older = ManagedObjectModel {
      Entity("Base") {
        Attribute("count", .integer64)
        Attribute("note", .string)
      }
      Entity("Left", parent: "Base")
      Entity("Right", parent: "Base") { Attribute("price", .double) }
    }
    let newer = ManagedObjectModel {
      Entity("Base") {
        Attribute("amount", .double).required().initially(0.5).renamed(from: "count")
        Attribute("note", .string)
        Index("byAmount", on: "amount")
      }
      Entity("Left", parent: "Base")
      Entity("Right", parent: "Base") { Attribute("price", .decimal) }
    }
    for defers in [false, true] {
      let store = try MigratingStore.make(older) { context in
        try context.make("Base", ["count": 3, "note": "b"])
        try context.make("Left", ["note": "l"])
        try context.make("Right", ["count": -1 << 53, "price": 12.25])
      }
      let after = try store.contents(newer) { $0.defersLightweightMigration = defers }
      XCTAssertEqual(
        after,
        [
          "Base/1": ["amount": "3.0", "note": "b"], "Left/2": ["amount": "0.5", "note": "l"],
          "Right/3": ["amount": "-9007199254740992.0", "price": "12.25"],
        ])
      try store.check()
      // 0.5 is not an integer.
      let error = assertStoreError(.migrationFailed) { try store.contents(older.version("3")) }
      XCTAssertEqual(error?.propertyName, "count")
    }
  }

  func testFractionIsNeverTruncatedAndTheErrorNamesTheEntity() throws {
    let older = ManagedObjectModel {
      Entity("Base") { Attribute("x", .double) }
      Entity("Left", parent: "Base")
    }
    let newer = ManagedObjectModel {
      Entity("Base") { Attribute("x", .integer32) }
      Entity("Left", parent: "Base")
    }
    let store = try MigratingStore.make(older) { context in
      try context.make("Base", ["x": 2.0])
      try context.make("Left", ["x": 2.5])
    }
    let before = try store.contents(older)
    let error = assertStoreError(.migrationFailed) { try store.contents(newer) }
    XCTAssertEqual(error?.entityName, "Base")
    XCTAssertEqual(error?.coreDataCode, 134110)
    XCTAssertEqual(try store.contents(older), before)
    try store.open(older) { context in try context.one("Left").setValue(7.0, forKey: "x") }
    XCTAssertEqual(try store.contents(newer)["Left/2"], ["x": "7"])
    try store.check()
  }

  func testConvertedNumbersKeepTheirConstraint() throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Item") {
          Attribute("x", type)
          Unique("x")
        }
      }
    }
    let store = try MigratingStore.make(model(.double)) { context in
      try context.make("Item", ["x": 0.1])
      try context.make("Item", ["x": 0.1.nextUp])
    }
    // Two numbers that are equal as `Float`.
    assertStoreError(.migrationConstraintViolation) { try store.contents(model(.float)) }
    XCTAssertEqual(try store.contents(model(.decimal)).count, 2)
    try store.open(model(.decimal)) { context in
      try context.make("Item", ["x": Decimal(string: "0.1") as Any])
      XCTAssertThrowsError(try context.save())
      context.reset()
    }
    try store.check()
  }

  func testTransformerNameCanBeAddedRemovedAndChanged() throws {
    func model(_ name: String?, _ more: Bool) -> ManagedObjectModel {
      var attribute = AttributeDescription(name: "tags", type: .transformable, isOptional: true)
      attribute.valueTransformerName = name
      return ManagedObjectModel {
        Entity("Item") {
          PropertyDescription.attribute(attribute)
          if more { Attribute("title", .string) }
        }
      }
    }
    let names = [nil, "", "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer"]
    for older in names {
      for newer in names {
        let store = try MigratingStore.make(model(older, false)) { context in
          let item = try context.make("Item")
          try item.setValue(["a", "b"], forKey: "tags")
        }
        let bytes = try store.rows("SELECT hex(tags) FROM Item")
        for model in [model(newer, false), model(newer, true)] {
          let difference = ModelDifference(from: try CompiledModel(self.older(older)), to: try CompiledModel(model))
          XCTAssertEqual(difference.obstacles, [])
          try store.open(model) { context in
            let tags = try context.one("Item").value(forKey: "tags", as: [String].self)
            XCTAssertEqual(tags, ["a", "b"], "\(older ?? "none") to \(newer ?? "none")")
          }
          XCTAssertEqual(try store.rows("SELECT hex(tags) FROM Item"), bytes)
        }
        try store.check()
      }
    }
  }

  private func older(_ name: String?) -> ManagedObjectModel {
    var attribute = AttributeDescription(name: "tags", type: .transformable, isOptional: true)
    attribute.valueTransformerName = name
    return ManagedObjectModel { Entity("Item") { PropertyDescription.attribute(attribute) } }
  }

  func testADerivedAttributeOfAnotherTypeIsComputedAgain() throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Order") {
          Attribute("sum", type).derived("lines.amount.@sum")
          Relationship("lines", toMany: "Line", inverse: "order")
        }
        Entity("Line") {
          Attribute("amount", .integer32)
          Relationship("order", to: "Order", inverse: "lines")
        }
      }
    }
    let store = try MigratingStore.make(model(.integer64)) { context in
      let order = try context.make("Order")
      for amount in [2, 40] { try context.make("Line", ["amount": amount, "order": order]) }
    }
    for type: AttributeType in [.double, .decimal, .integer32, .float, .integer16] {
      try store.open(model(type)) { context in
        let order = try context.one("Order")
        XCTAssertEqual(order["sum"].map { "\($0)" }, type == .double || type == .float ? "42.0" : "42", type.rawValue)
      }
      try store.check()
    }
  }

  func testHistoryReturnsOlderNumbersAsTheNewType() throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel { Entity("Item") { Attribute("x", type).preservedOnDeletion() } }
    }
    let store = try MigratingStore()
    func open(_ type: AttributeType, _ body: (ManagedObjectContext) throws -> Void) throws {
      try store.open(model(type), { $0.historyTracking = true }, body)
    }
    try open(.integer64) { context in
      try context.make("Item", ["x": 7])
      try context.save()
      context.delete(try context.one("Item"))
    }
    for (type, check) in [
      (AttributeType.double, { (value: Any?) in value as? Double == 7 }), (.decimal, { $0 as? Decimal == 7 }),
      (.integer16, { $0 as? Int == 7 }),
    ] {
      try open(type) { context in
        let transactions = try context.persistentStoreCoordinator.execute(.fetchHistory(after: nil)).transactions
        let changes = transactions.flatMap { $0.changes ?? [] }.filter { $0.changeType == .delete }
        let value = changes.first?.tombstone?["x"]
        XCTAssertTrue(check(value), "\(type.rawValue): \(String(describing: value))")
      }
    }
  }
}
