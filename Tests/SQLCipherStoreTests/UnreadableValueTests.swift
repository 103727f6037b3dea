import Foundation
@_spi(Generated) import ObjectContext
@_spi(Generated) import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Stored values of the wrong type, as damage leaves them, are reported and never read as empty values.
final class UnreadableValueTests: XCTestCase {
  private typealias Models = SpecificationModels

  private static let model = Result {
    try Models.compiled([
      Models.entity(
        "Item",
        [
          Models.attribute("key", .uuid), Models.attribute("price", .decimal), Models.attribute("link", .uri), Models.text("name"),
          Models.attribute("count", .integer64), Models.attribute("data", .binary), Models.attribute("isOn", .boolean),
          Models.attribute("size", .double), Models.attribute("scale", .float), Models.attribute("date", .date),
        ])
    ])
  }

  /// Calls `body` with an object whose columns SQL has damaged, each time in a new context.
  private func read(_ damage: String, _ body: (ManagedObject, ManagedObjectContext) throws -> Void) async throws {
    let store = try TestStore()
    let model = try Self.model.get()
    let open = try store.open(model)
    try open.insert(
      "Item",
      [
        "key": Slot(UUID()), "price": Slot(Decimal(12)), "link": .text("https://example.org"), "name": .text("a"), "count": .int(3),
        "data": .bytes(Data([1])), "isOn": .int(1), "size": .real(1.5), "scale": .real(0.5), "date": .real(1),
      ])
    try open.close()
    try store.execute("UPDATE Item SET \(damage)")
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    let opened = try await coordinator.addPersistentStore(with: store.description)
    let context = ManagedObjectContext(coordinator: coordinator, classes: ManagedObjectClasses([:]))
    let items: [ManagedObject] = try context.fetch(FetchRequest(entityName: "Item"))
    try body(XCTUnwrap(items.first), context)
    withExtendedLifetime(context) {}
    try coordinator.remove(opened)
  }

  private static let damages: [(key: String, sql: String)] = [
    ("key", "x'0102'"), ("price", "x'09'"), ("link", "''"),
    // Values of a storage class other than the attribute's. SQLite would convert them to 0, a prefix or a copy.
    ("count", "'twelve'"), ("count", "'12 pieces'"), ("count", "1.5"), ("count", "x'31'"), ("isOn", "'yes'"), ("size", "'1.5 m'"),
    ("size", "x'31'"), ("scale", "'none'"), ("date", "'2024-01-01'"), ("name", "x'61'"), ("link", "x'61'"), ("data", "'text'"),
    ("data", "1.5"), ("key", "'0123456789abcdef'"), ("price", "12"),
    // Invalid UTF-8.
    ("name", "CAST(x'61FF62' AS TEXT)"), ("link", "CAST(x'61FF62' AS TEXT)"),
  ]

  /// Returns whether a typed read of a property yields the default for nil.
  private func isNothing(_ key: String, _ object: ManagedObject, isRequired: Bool) -> Bool {
    func isNothing<Value: StoredAttributeValue & Equatable>(_ type: Value.Type) -> Bool {
      let slot = object.compiledEntity.slot(named: key)?.index ?? 0
      return isRequired ? object.value(slot, as: type) == type.emptyValue : object.optionalValue(slot, as: type) == nil
    }
    return switch object.compiledEntity.slot(named: key)?.attributeType {
    case .uuid: isNothing(UUID.self)
    case .decimal: isNothing(Decimal.self)
    case .uri: isNothing(URL.self)
    case .boolean: isNothing(Bool.self)
    case .double: isNothing(Double.self)
    case .float: isNothing(Float.self)
    case .date: isNothing(Date.self)
    case .string: isNothing(String.self)
    case .binary: isNothing(Data.self)
    default: isNothing(Int64.self)
    }
  }

  /// The error names the property and the object, and contains no part of the value.
  private func assertReported(_ error: (any Error)?, _ key: String, _ object: ManagedObject, line: UInt = #line) {
    let error = error as? StoreError
    XCTAssertEqual(error?.code, .storeCorrupt, key, line: line)
    XCTAssertEqual(error?.entityName, "Item", line: line)
    XCTAssertEqual(error?.propertyName, key, line: line)
    XCTAssertEqual(error?.objectID, object.objectID, line: line)
  }

  func testTypedReadsReportUnreadableValues() async throws {
    for (key, damage) in Self.damages {
      for isRequired in [false, true] {
        for hasChanges in [false, true] {
          try await self.read("\"\(key)\" = \(damage)") { object, context in
            if hasChanges { try object.setValue(key == "count" ? 1.5 : 7, forKey: key == "count" ? "size" : "count") }
            XCTAssertNil(context.pendingError)
            XCTAssertTrue(self.isNothing(key, object, isRequired: isRequired), damage)
            self.assertReported(context.pendingError, key, object)
            XCTAssertThrowsError(try context.save(), damage)
          }
        }
      }
    }
  }

  func testReadsByNameThrowOrReportUnreadableValues() async throws {
    for (key, damage) in Self.damages {
      try await read("\"\(key)\" = \(damage)") { object, context in
        XCTAssertThrowsError(try object.value(forKey: key)) { self.assertReported($0, key, object) }
        XCTAssertThrowsError(try object.value(forKey: key, as: String.self)) { self.assertReported($0, key, object) }
        XCTAssertThrowsError(try object.committedValues(forKeys: [key])) { self.assertReported($0, key, object) }
        XCTAssertNil(context.pendingError, "a thrown error is not reported again")
        XCTAssertNil(object[key])
        self.assertReported(context.pendingError, key, object)
      }
    }
  }

  func testNilAndValidValuesAreNotReported() async throws {
    for damage in [
      "\"key\" = NULL, price = NULL, link = NULL, name = NULL, data = NULL, count = NULL, isOn = NULL, size = NULL, scale = NULL, date = NULL",
      "name = 'x', size = 2, date = 3", "name = '', data = x'', count = 0, isOn = 0, size = 0, scale = 0, date = 0",
    ] {
      try await read(damage) { object, context in
        for slot in object.compiledEntity.slots {
          _ = try object.value(forKey: slot.name)
          _ = (self.isNothing(slot.name, object, isRequired: true), self.isNothing(slot.name, object, isRequired: false))
        }
        XCTAssertNil(context.pendingError)
      }
    }
  }

  func testSavePreservesUnreadableValuesUntilSet() async throws {
    let damaged = "count = 'twelve', isOn = 'yes', size = 'b', name = x'61', data = 'text'"
    try await read(damaged) { object, context in
      try object.setValue(2.5, forKey: "scale")
      try context.save()
      XCTAssertThrowsError(try object.value(forKey: "count"), "the saved row") { self.assertReported($0, "count", object) }
      context.refreshAllObjects()
      XCTAssertThrowsError(try object.value(forKey: "name")) { self.assertReported($0, "name", object) }
      XCTAssertEqual(try object.value(forKey: "scale") as? Float, 2.5)
      // A missing value differs from an unreadable one.
      try object.setValue(nil, forKey: "count")
      try object.setValue(true, forKey: "isOn")
      try context.save()
      context.refreshAllObjects()
      let other = ManagedObjectContext(coordinator: context.persistentStoreCoordinator, classes: ManagedObjectClasses([:]))
      let again = try other.existingObject(with: object.objectID)
      XCTAssertNil(try again.value(forKey: "count"))
      XCTAssertEqual(try again.value(forKey: "isOn") as? Bool, true)
      XCTAssertThrowsError(try again.value(forKey: "size")) { self.assertReported($0, "size", again) }
      XCTAssertNil(context.pendingError)
    }
  }

  func testConflictSnapshotsThrowForUnreadableValues() async throws {
    for (key, damage) in Self.damages where key != "count" {
      try await read("\"\(key)\" = \(damage)") { object, context in
        let other = ManagedObjectContext(coordinator: context.persistentStoreCoordinator, classes: ManagedObjectClasses([:]))
        try other.existingObject(with: object.objectID).setValue(8, forKey: "count")
        try object.setValue(7, forKey: "count")
        try other.save()
        var conflicts: [MergeConflict] = []
        XCTAssertThrowsError(try context.save()) { conflicts = ($0 as? StoreError)?.mergeConflicts ?? [] }
        let stored = try XCTUnwrap(conflicts.first?.storeSnapshot)
        XCTAssertThrowsError(try stored[key], damage) { self.assertReported($0, key, object) }
        XCTAssertThrowsError(try stored.value(key, as: Bool.self), damage)
        XCTAssertEqual(try stored["count"] as? Int64, 8)
      }
    }
  }

  func testDictionariesReportUnreadableValues() async throws {
    for (key, damage) in Self.damages {
      try await read("\"\(key)\" = \(damage)") { object, context in
        var request = FetchRequest<[String: Any]>(entityName: "Item")
        request.propertiesToFetch = [.keyPath(key)]
        XCTAssertThrowsError(try context.fetch(request), "\(key) \(damage)") { error in
          XCTAssertEqual((error as? StoreError)?.code, .storeCorrupt, "\(key) \(damage): \(error)")
          XCTAssertEqual((error as? StoreError)?.propertyName, key)
        }
      }
    }
  }

  func testInMemoryEvaluationThrowsForUnreadableValues() async throws {
    // Predicates treat a URL as text.
    for (key, damage) in Self.damages where damage != "''" {
      try await read("\"\(key)\" = \(damage)") { object, context in
        for predicate in try [
          FetchPredicate(format: "%K != nil", argumentArray: [key]), FetchPredicate(format: "%K == %K", argumentArray: [key, key]),
        ] {
          XCTAssertThrowsError(try predicate.evaluate(with: object), "\(key) \(damage)") { self.assertReported($0, key, object) }
          XCTAssertNil(context.pendingError, "a thrown error is not reported again")
        }
      }
    }
  }

  func testOtherValuesOfTheRowAreReadable() async throws {
    try await read("\"key\" = x'01', count = 'twelve'") { object, context in
      XCTAssertEqual(try object.value(forKey: "price") as? Decimal, 12)
      XCTAssertEqual(try object.value(forKey: "name") as? String, "a")
      XCTAssertNil(context.pendingError)
    }
  }
}
