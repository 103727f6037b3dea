import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Derived values of unreadable stored values are errors, never computed from the remaining values.
final class UnreadableDerivationTests: XCTestCase {
  private static let model = Result {
    try CompiledModel(
      ManagedObjectModel {
        Entity("Order") {
          Attribute("total", .decimal).derived("items.@sum.price")
          Attribute("mean", .double).derived("items.@avg.price")
          Relationship("items", toMany: "Item", inverse: "order")
        }
        Entity("Item") {
          Attribute("price", .decimal)
          Attribute("size", .double)
          Attribute("name", .string)
          Relationship("order", to: "Order", inverse: "items")
          Relationship("labels", toMany: "Label", inverse: "item")
        }
        Entity("Label") {
          Attribute("size", .double).derived("item.size")
          Attribute("name", .string).derived("item.name")
          Attribute("price", .decimal).derived("item.price")
          Relationship("item", to: "Item", inverse: "labels")
        }
      })
  }

  /// An order with two items, one of which SQL has damaged.
  private func damaged(_ damage: String, _ body: (ManagedObjectContext, ManagedObject, ManagedObject) throws -> Void) async throws {
    let store = try TestStore()
    let model = try Self.model.get()
    func withContext(_ body: (ManagedObjectContext) throws -> Void) async throws {
      let coordinator = PersistentStoreCoordinator(compiledModel: model)
      let opened = try await coordinator.addPersistentStore(with: store.description)
      let context = ManagedObjectContext(coordinator: coordinator, classes: ManagedObjectClasses([:]))
      try body(context)
      withExtendedLifetime(context) {}
      try coordinator.remove(opened)
    }
    try await withContext { context in
      let order = try context.insert("Order", [:])
      for price in [1, 2] { try context.insert("Item", ["price": Decimal(price), "size": 1.5, "name": "a", "order": order]) }
      try context.save()
    }
    // The triggers record changes with a function that only the library registers.
    let file = try await SQLCipherStoreFile.unlock(at: store.url, key: TestStore.key)
    let connection = try Connection(opening: store.url.path, key: try file.keyring.databaseKey())
    try connection.registerFunction(name: "cd_derive", argumentCount: 3) { $0.setResultNull() }
    try connection.execute("UPDATE Item SET \(damage) WHERE _pk = (SELECT min(_pk) FROM Item)")
    connection.close()
    try await withContext { context in
      let order = try XCTUnwrap(context.fetch(FetchRequest<ManagedObject>(entityName: "Order")).first)
      let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).sorted { $0.objectID.key < $1.objectID.key }
      try body(context, order, items[0])
    }
  }

  func testSumsAndAveragesOfADamagedDecimalAreReported() async throws {
    for damage in ["price = x'09'", "price = 'twelve'"] {
      try await damaged(damage) { context, order, _ in
        try context.insert("Item", ["price": Decimal(3), "order": order])
        assertStoreError(.storeCorrupt) { try context.save() }
      }
    }
  }

  func testCopiesOfDamagedValuesAreReported() async throws {
    for damage in ["size = 'big'", "name = x'61'", "name = CAST(x'61FF62' AS TEXT)", "price = x'09'"] {
      try await damaged(damage) { context, _, item in
        try context.insert("Label", ["item": item])
        assertStoreError(.storeCorrupt) { try context.save() }
      }
    }
  }

  func testOtherDerivedValuesAreComputed() async throws {
    try await damaged("size = 'big'") { context, order, _ in
      try context.insert("Item", ["price": Decimal(3), "order": order])
      try context.save()
      XCTAssertEqual(try order.value(forKey: "total") as? Decimal, 6)
      XCTAssertEqual(try order.value(forKey: "mean") as? Double, 2)
    }
  }
}
