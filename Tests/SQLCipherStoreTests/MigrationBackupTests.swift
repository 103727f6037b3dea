import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import ObjectContext
@testable import SQLCipherStore

/// The backup that a migration makes: its name, and when it is made.
final class MigrationBackupTests: XCTestCase {
  private func model(_ version: String?, _ attributes: String...) -> ManagedObjectModel {
    var model = ManagedObjectModel(entities: [EntityDescription(name: "Book")])
    model.versionIdentifiers = version.map { [$0] } ?? []
    model.entities[0].properties = attributes.map { .attribute(AttributeDescription(name: $0, type: .string, isOptional: true)) }
    return model
  }

  private func store(_ model: ManagedObjectModel) throws -> (store: MigratingStore, folder: URL) {
    let store = try MigratingStore.make(model) { try $0.insertObject(entityName: "Book") }
    return (store, store.url.deletingLastPathComponent())
  }

  /// Opens a store with a backup URL, and returns the name of the backup that the store reports.
  @discardableResult
  private func open(_ store: MigratingStore, _ model: ManagedObjectModel, backup: URL) throws -> String? {
    try store.open(model, { $0.migrationBackupURL = backup }) { context in
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")), 1)
      return context.persistentStoreCoordinator.persistentStores[0].migrationBackupURL?.lastPathComponent
    }
  }

  private func backups(_ folder: URL, _ name: String = "before") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(name) && $0.hasSuffix(".store") }.sorted()
  }

  func testBackupURLAppliesToEveryMigration() throws {
    let (store, folder) = try store(model("a 1/2", "x"))
    let url = folder.appendingPathComponent("before.store")
    XCTAssertNil(try open(store, model("a 1/2", "x"), backup: url))
    XCTAssertEqual(try backups(folder), [], "no migration is needed")
    XCTAssertEqual(try open(store, model("2", "x", "y"), backup: url), "before-a_1_2.store")
    XCTAssertNil(try open(store, model("2", "x", "y"), backup: url))
    XCTAssertEqual(try open(store, model(nil, "x", "y", "z"), backup: url), "before-2.store")
    let checksum = try CompiledModel(model(nil, "x", "y", "z")).checksum
    XCTAssertEqual(try open(store, model("4", "x", "y", "z", "last"), backup: url), "before-\(checksum.prefix(8)).store")
    XCTAssertEqual(try backups(folder), ["before-2.store", "before-\(checksum.prefix(8)).store", "before-a_1_2.store"].sorted())
    // Each copy contains its version.
    var copy = store.store.description
    copy.url = folder.appendingPathComponent("before-a_1_2.store")
    let opened = try OpenStore(copy, model: CompiledModel(model("a 1/2", "x")))
    XCTAssertEqual(
      try ManagedObjectContext(coordinator: opened.coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Book")), 1)
    try opened.close()
  }

  func testBackupHasAShareOfTheTotalProgress() throws {
    let (store, folder) = try store(model("1", "x"))
    let reports = Mutex<[MigrationProgress]>([])
    try store.open(
      model("2", "x", "y"),
      {
        $0.migrationBackupURL = folder.appendingPathComponent("before.store")
        $0.migrationProgress = { report in reports.withLock { $0.append(report) } }
      }
    ) { _ in }
    let all = reports.withLock { $0 }
    let fractions = all.map(\.fractionCompleted)
    XCTAssertEqual(fractions, fractions.sorted())
    XCTAssertEqual(fractions.filter { $0 == 1 }.count, 1)
    XCTAssertEqual(fractions.last, 1)
    let copying = all.filter { $0.phase == "copying the store before its migration" }.map(\.fractionCompleted)
    XCTAssertEqual(copying.last, 0.25)
    XCTAssertGreaterThanOrEqual(try XCTUnwrap(fractions.dropFirst(copying.count).first), 0.25)
  }

  func testMigrationCanceledDuringBackupLeavesNoBackup() throws {
    let (store, folder) = try store(model("1", "x"))
    let cancellation = RequestCancellation()
    XCTAssertThrowsError(
      try store.open(
        model("2", "x", "y"),
        {
          $0.migrationBackupURL = folder.appendingPathComponent("before.store")
          $0.migrationCancellation = cancellation
          $0.migrationProgress = { _ in cancellation.cancel() }
        }
      ) { _ in }
    ) { XCTAssertEqual(($0 as? StoreError)?.code, .cancelled) }
    XCTAssertEqual(try backups(folder), [])
    try store.open(model("1", "x")) { context in
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")), 1)
    }
  }

  func testExistingBackupNameGetsANumber() throws {
    let (store, folder) = try store(model("1", "x"))
    // The same for one of which only the key file is left.
    try Data("mine".utf8).write(to: folder.appendingPathComponent("before-1"))
    try Data("mine".utf8).write(to: folder.appendingPathComponent("before-1-2.keys"))
    XCTAssertEqual(try open(store, model("2", "x", "y"), backup: folder.appendingPathComponent("before")), "before-1-3")
    XCTAssertEqual(try Data(contentsOf: folder.appendingPathComponent("before-1")), Data("mine".utf8))
    XCTAssertEqual(try Data(contentsOf: folder.appendingPathComponent("before-1-2.keys")), Data("mine".utf8))
  }

  func testOpeningWithoutMigrationMakesNoBackup() throws {
    let (store, folder) = try store(model("1", "x"))
    // A folder that does not exist.
    let nowhere = folder.appendingPathComponent("missing/before.store")
    var impossible = model("2", "x")
    impossible.entities[0].properties = [.attribute(AttributeDescription(name: "x", type: .integer64))]
    XCTAssertThrowsError(try open(store, impossible, backup: nowhere)) { XCTAssertEqual(($0 as? StoreError)?.code, .mappingNotInferred) }
    XCTAssertNil(try open(store, model("1", "x"), backup: nowhere))
    XCTAssertThrowsError(
      try store.open(
        model("2", "x", "y"),
        {
          $0.migrationBackupURL = nowhere
          $0.shouldMigrateStoreAutomatically = false
        }
      ) { _ in }
    ) { XCTAssertEqual(($0 as? StoreError)?.code, .migrationNeeded) }
    XCTAssertThrowsError(try open(store, model("2", "x", "y"), backup: nowhere), "a migration without its copy")
    XCTAssertNil(try open(store, model("1", "x"), backup: nowhere))
    // An application that is older than the store.
    try open(store, model("2", "x", "y"), backup: folder.appendingPathComponent("before.store"))
    XCTAssertThrowsError(try open(store, model("1", "x"), backup: nowhere)) {
      XCTAssertEqual(($0 as? StoreError)?.code, .storeNewerThanModel)
    }
  }

  func testFailedMigrationLeavesNoBackup() throws {
    let store = try MigratingStore.make(model("1", "x")) { context in
      for _ in 1...2 { try context.insertObject(entityName: "Book").setValue("same", forKey: "x") }
    }
    var unique = model("2", "x")
    unique.entities[0].uniquenessConstraints = [["x"]]
    let folder = store.url.deletingLastPathComponent()
    XCTAssertThrowsError(try open(store, unique, backup: folder.appendingPathComponent("before.store"))) {
      XCTAssertEqual(($0 as? StoreError)?.code, .migrationConstraintViolation)
    }
    XCTAssertEqual(try backups(folder), [])
  }
}
