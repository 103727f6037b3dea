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

/// Models at and beyond the limits of SQLite: those within them work, others are rejected before a file is created or changed.
final class SchemaLimitTests: XCTestCase {
  private static let limit = LibraryVersion.maximumColumns

  private static let entities = ["Base", "Left", "Middle", "Right"]

  /// A hierarchy whose table has a given number of columns: key, version, entity, and the attributes of a root and three subentities.
  private func tree(columns: Int, _ prefix: String = "", _ change: (inout AttributeDescription) -> Void = { _ in }) -> ManagedObjectModel {
    let part = (columns - 5) / 3
    func attributes(_ name: String, _ count: Int) -> [any EntityComponent] {
      (0..<count).map { index in
        var attribute = AttributeDescription(name: "\(prefix)\(name)\(index)", type: .integer64, isOptional: true)
        change(&attribute)
        return PropertyDescription.attribute(attribute)
      }
    }
    return ManagedObjectModel {
      Entity("Base") { attributes("a", columns - 3 - 3 * part) }
      for name in Self.entities.dropFirst() { Entity(name, parent: "Base") { attributes(name, part) } }
    }
  }

  private func assertLimit(_ error: StoreError?, _ words: [String], line: UInt = #line) {
    for word in words { XCTAssertTrue(error?.message.contains(word) ?? false, "\(word): \(error?.message ?? "no error")", line: line) }
  }

  func testEntityHierarchyWithTooManyColumnsIsRejectedBeforeCreation() throws {
    let store = try TestStore()
    let error = assertStoreError(.invalidRequest) { try store.open(CompiledModel(self.tree(columns: Self.limit + 1))) }
    assertLimit(error, ["“Base”, “Left”, “Middle”, “Right” share a table", "\(Self.limit + 1) columns", "at most \(Self.limit)"])
    XCTAssertEqual(error?.entityName, "Base")
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: store.folder.url.path), [])
    // The failed creation left no file at this URL.
    try store.open(CompiledModel(tree(columns: 10))).close()
    let single = ManagedObjectModel { Entity("Wide") { (0..<Self.limit).map { Attribute("a\($0)", .integer64) } } }
    let other = assertStoreError(.invalidRequest) { try TestStore().open(CompiledModel(single)) }
    assertLimit(other, ["“Wide” needs \(Self.limit + 2) columns"])
    // An older library binds fewer values per statement than a table has columns.
    guard LibraryVersion.maximumVariables < Self.limit else { return }
    let row = ManagedObjectModel { Entity("Wide") { (0..<LibraryVersion.maximumVariables).map { Attribute("a\($0)", .integer64) } } }
    assertLimit(
      assertStoreError(.invalidRequest) { try TestStore().open(CompiledModel(row)) },
      ["“Wide” has", "\(LibraryVersion.maximumVariables) at once"])
  }

  func testInMemoryStoreIsNotCopiedBeyondTheColumnLimit() throws {
    let folder = try TemporaryFolder("SchemaLimitTests")
    defer { folder.remove() }
    let coordinator = PersistentStoreCoordinator(compiledModel: try CompiledModel(tree(columns: Self.limit + 1)))
    let url = folder.file("copy.store")
    let store = try waitFor { try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)) }
    let error = assertStoreError(.invalidRequest) {
      try waitFor { try await coordinator.migratePersistentStore(store, to: PersistentStoreDescription(url: url, key: TestStore.key)) }
    }
    assertLimit(error, ["\(Self.limit + 1) columns"])
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.url.path), [])
    XCTAssertTrue(coordinator.persistentStores.contains { $0 === store })
  }

  func testEntityHierarchyWithTheMaximumNumberOfColumnsWorks() throws {
    let model = tree(columns: Self.limit)
    let store = try MigratingStore()
    try store.open(model) { context in
      for name in Self.entities {
        let object = try context.make(name)
        for slot in object.compiledEntity.slots { try object.setValue(slot.index, forKey: slot.name) }
      }
    }
    try store.open(model) { context in
      for name in Self.entities {
        var request = FetchRequest<ManagedObject>(entityName: name)
        request.sortDescriptors = [FetchSortDescriptor("a0"), FetchSortDescriptor("a1", ascending: false)]
        request.includesSubentities = false
        let object = try XCTUnwrap(context.fetch(request).first)
        for slot in object.compiledEntity.slots { XCTAssertEqual(object[slot.name] as? Int, slot.index) }
        for slot in object.compiledEntity.slots { try object.setValue(slot.index + 1, forKey: slot.name) }
      }
      try context.save()
      context.delete(try context.one("Left"))
    }
    try store.check()
  }

  func testMigrationToTooManyColumnsIsRejectedAndKeepsTheStore() throws {
    let older = tree(columns: 20)
    let newer = tree(columns: Self.limit + 7)
    let store = try MigratingStore.make(older) { try $0.make("Left", ["a0": 1, "Left1": 2]) }
    let before = try store.bytes()
    let url = store.url
    let plan = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).migrationPlan(to: newer) }
    XCTAssertFalse(plan.isPossible)
    assertLimit(plan.conflicts.first, ["“Base”, “Left”, “Middle”, “Right”", "\(Self.limit + 7) columns"])
    for defers in [false, true] {
      let error = assertStoreError(.migrationFailed) { try store.contents(newer) { $0.defersLightweightMigration = defers } }
      assertLimit(error, ["“Base”, “Left”, “Middle”, “Right”", "\(Self.limit + 7) columns", "\(Self.limit)", "the store is unchanged"])
    }
    XCTAssertEqual(try store.bytes(), before)
    XCTAssertEqual(try store.contents(older), ["Left/1": ["a0": "1", "Left1": "2"]])
    try store.check()
  }

  func testDeferredColumnsNeverFillATable() throws {
    // Old and new columns together would exceed the limit: the table is copied.
    let count = Self.limit - 200
    let store = try MigratingStore.make(tree(columns: count, "old")) { try $0.make("Left", ["oldLeft1": 1]) }
    XCTAssertEqual(try store.contents(tree(columns: count, "new")) { $0.defersLightweightMigration = true }, ["Left/1": [:]])
    try store.check()
  }

  func testEveryAttributeOfAWideTableCanChangeTogether() throws {
    let store = try MigratingStore.make(tree(columns: Self.limit)) { context in
      try context.make("Left", ["a0": 7, "Left500": 8])
      try context.make("Right")
    }
    // Each attribute needs a condition to find the objects without a value.
    let required = tree(columns: Self.limit) { attribute in
      attribute.isOptional = false
      attribute.defaultValue = .int(Int64(attribute.name.utf8.count))
    }
    let after = try store.contents(required)
    XCTAssertEqual(after["Left/1"]?["a0"], "7")
    XCTAssertEqual(after["Left/1"]?["Left500"], "8")
    XCTAssertEqual(after["Left/1"]?["Left501"], "7")
    XCTAssertEqual(after["Right/2"]?["Right10"], "7")
    let converted = tree(columns: Self.limit) { $0.type = .double }
    XCTAssertEqual(try store.contents(converted)["Left/1"]?["Left500"], "8.0")
    try store.check()
  }

  func testIndexesWithTooManyColumnsAreSkipped() throws {
    let count = 300
    func model(_ indexed: Bool) -> ManagedObjectModel {
      var model = ManagedObjectModel { Entity("Item") { (0..<count).map { Attribute("a\($0)", .string) } } }
      if indexed {
        for (name, elements) in [("all", count), ("repeated", Self.limit + 1)] {
          model.entities[0].indexes.append(
            FetchIndexDescription(name: name, elements: (0..<elements).map { FetchIndexElement(property: "a\($0 % count)") }))
        }
      }
      return model
    }
    let store = try MigratingStore.make(model(true)) { try $0.make("Item", ["a7": "seven"]) }
    try store.open(model(true)) { context in
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.predicate = try FetchPredicate(format: "a7 == 'seven'")
      XCTAssertEqual(try context.fetch(request).count, 1)
    }
    try store.check()
    // An index does not change the model's version: opening for writing creates those within the limits.
    let plain = try MigratingStore.make(model(false)) { try $0.make("Item", ["a7": "seven"]) }
    XCTAssertEqual(try plain.contents(model(true)).count, 1)
    try plain.check()
  }

  func testManyLargeValuesEntitiesAndLongNamesAreUnlimited() throws {
    let long = String(repeating: "n", count: 50_000)
    func model(_ more: Bool) -> ManagedObjectModel {
      ManagedObjectModel {
        (0..<6).map { number in
          Entity("Large\(number)") { (0..<120).map { Attribute("data\($0)", .binary).externalStorage() } }
        }
        (0..<600).map { number in
          Entity("Small\(number)") {
            Attribute("x", .integer64)
            Relationship("next", toMany: "Small\((number + 1) % 600)")
          }
        }
        Entity("Long\(long)") {
          Attribute("a\(long)", .string)
          Relationship("r\(long)", toMany: "Long\(long)", inverse: "i\(long)")
          Relationship("i\(long)", toMany: "Long\(long)", inverse: "r\(long)")
          Index("x\(long)", on: "a\(long)")
          Unique("a\(long)")
          if more { Attribute("b\(long)", .string) }
        }
      }
    }
    let store = try MigratingStore.make(model(false)) { context in
      try context.make("Large3", ["data7": Data(repeating: 3, count: 200_000)])
      let small = try context.make("Small599", ["x": 9])
      try small.setValue(Set([try context.make("Small0")]), forKey: "next")
      let object = try context.make("Long\(long)", ["a\(long)": "text"])
      try object.setValue(Set([object]), forKey: "r\(long)")
    }
    try store.open(model(true)) { context in
      XCTAssertEqual((try context.one("Large3")["data7"] as? Data)?.count, 200_000)
      XCTAssertEqual((try context.one("Small599")["next"] as? Set<ManagedObject>)?.count, 1)
      let object = try context.one("Long\(long)")
      XCTAssertEqual(object["i\(long)"] as? Set<ManagedObject>, [object])
    }
    let url = store.url
    XCTAssertEqual(try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).verify(.full) }, [])
  }

  func testKeyPathThroughTooManyTablesIsAFetchError() throws {
    let model = ManagedObjectModel {
      Entity("Node") {
        Attribute("value", .integer64)
        Relationship("next", to: "Node", inverse: "previous")
        Relationship("previous", toMany: "Node", inverse: "next")
      }
    }
    let store = try MigratingStore.make(model) { try $0.make("Node", ["value": 1]) }
    try store.open(model) { context in
      for steps in [10, 63, 64, 200] {
        var request = FetchRequest<ManagedObject>(entityName: "Node")
        request.predicate = try FetchPredicate(format: String(repeating: "next.", count: steps) + "value == 1")
        do {
          let found = try context.fetch(request)
          XCTAssertEqual(found.count, 0)
        } catch let error as StoreError {
          XCTAssertEqual(error.code, .nestingTooDeep, "\(steps): \(error)")
        }
      }
    }
  }
}
