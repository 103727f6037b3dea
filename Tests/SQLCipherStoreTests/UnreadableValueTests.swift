// UnreadableValueTests: stored values that are none of their attributes' types, as damage leaves them, are told of and never read as empty ones.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

final class UnreadableValueTests: XCTestCase {
  private typealias Models = SpecificationModels

  private static let model = Result {
    try Models.compiled([
      Models.entity(
        "Item",
        [
          Models.attribute("key", .uuid), Models.attribute("price", .decimal), Models.attribute("link", .uri), Models.text("name"),
          Models.attribute("count", .integer64), Models.attribute("data", .binary),
        ])
    ])
  }

  /// Gives one object of a store to a body, whose columns were set by SQL, in a context of its own each time.
  private func read(_ damage: String, _ body: (ManagedObject, ManagedObjectContext) throws -> Void) async throws {
    let store = try TestStore()
    let model = try Self.model.get()
    let open = try store.open(model)
    try open.insert(
      "Item",
      [
        "key": UUID().slot, "price": Decimal(12).slot, "link": .text("https://example.org"), "name": .text("a"), "count": .int(3),
        "data": .bytes(Data([1])),
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

  private static let damages = ["key": "x'0102'", "price": "x'09'", "link": "''"]

  /// What is told names the property and the object, and nothing of the value.
  private func assertTold(_ error: (any Error)?, _ key: String, _ object: ManagedObject, line: UInt = #line) {
    let error = error as? StoreError
    XCTAssertEqual(error?.code, .storeCorrupt, key, line: line)
    XCTAssertEqual(error?.entityName, "Item", line: line)
    XCTAssertEqual(error?.propertyName, key, line: line)
    XCTAssertEqual(error?.objectID, object.objectID, line: line)
  }

  func testTypedReadsTellOfIt() async throws {
    func read(_ key: String, _ object: ManagedObject, isRequired: Bool) -> Bool {
      let slot = object.compiledEntity.slot(named: key)?.index ?? 0
      switch key {
      case "key":
        return isRequired ? object._value(slot, as: UUID.self) == UUID.emptyValue : object._optionalValue(slot, as: UUID.self) == nil
      case "price": return isRequired ? object._value(slot, as: Decimal.self) == 0 : object._optionalValue(slot, as: Decimal.self) == nil
      default: return isRequired ? object._value(slot, as: URL.self) == URL.emptyValue : object._optionalValue(slot, as: URL.self) == nil
      }
    }
    for (key, damage) in Self.damages {
      for isRequired in [false, true] {
        for hasChanges in [false, true] {
          try await self.read("\"\(key)\" = \(damage)") { object, context in
            if hasChanges { try object.setValue("b", forKey: "name") }
            XCTAssertNil(context.pendingError)
            XCTAssertTrue(read(key, object, isRequired: isRequired), key)
            self.assertTold(context.pendingError, key, object)
            XCTAssertThrowsError(try context.save(), key)
          }
        }
      }
    }
  }

  func testReadsByNameThrowOrTellOfIt() async throws {
    for (key, damage) in Self.damages {
      try await read("\"\(key)\" = \(damage)") { object, context in
        XCTAssertThrowsError(try object.value(forKey: key)) { self.assertTold($0, key, object) }
        XCTAssertThrowsError(try object.value(forKey: key, as: String.self)) { self.assertTold($0, key, object) }
        XCTAssertThrowsError(try object.committedValues(forKeys: [key])) { self.assertTold($0, key, object) }
        XCTAssertNil(context.pendingError, "what was thrown is not told again")
        XCTAssertNil(object[key])
        self.assertTold(context.pendingError, key, object)
      }
    }
  }

  func testMissingAndSoundValuesAreNotToldOf() async throws {
    for damage in ["\"key\" = NULL, price = NULL, link = NULL, name = NULL, data = NULL", "name = 'x'"] {
      try await read(damage) { object, context in
        for slot in object.compiledEntity.slots {
          _ = try object.value(forKey: slot.name)
          switch slot.attributeType {
          case .uuid: _ = (object._optionalValue(slot.index, as: UUID.self), object._value(slot.index, as: UUID.self))
          case .decimal: _ = (object._optionalValue(slot.index, as: Decimal.self), object._value(slot.index, as: Decimal.self))
          case .uri: _ = (object._optionalValue(slot.index, as: URL.self), object._value(slot.index, as: URL.self))
          case .string: _ = (object._optionalValue(slot.index, as: String.self), object._value(slot.index, as: String.self))
          case .binary: _ = (object._optionalValue(slot.index, as: Data.self), object._value(slot.index, as: Data.self))
          default: _ = object._optionalValue(slot.index, as: Int64.self)
          }
        }
        XCTAssertNil(context.pendingError)
      }
    }
  }

  func testTheOthersOfARowAreReadAllTheSame() async throws {
    try await read("\"key\" = x'01'") { object, context in
      XCTAssertEqual(try object.value(forKey: "price") as? Decimal, 12)
      XCTAssertEqual(try object.value(forKey: "name") as? String, "a")
      XCTAssertNil(context.pendingError)
    }
  }
}
