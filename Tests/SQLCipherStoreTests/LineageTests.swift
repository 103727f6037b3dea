import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore
@testable import StoreFiles

/// The lineage of a store's file: kept by what continues the file, and replaced in every copy.
final class LineageTests: XCTestCase {
  private static let key = StoreKey.raw(SecretBytes([UInt8](repeating: 7, count: 32)))

  private static func description(_ url: URL) -> PersistentStoreDescription { PersistentStoreDescription(url: url, key: key) }

  private func makeStore() throws -> (folder: TemporaryFolder, url: URL) {
    let folder = try TemporaryFolder("Lineage")
    let url = folder.file("original.store")
    var description = Self.description(url)
    description.historyTracking = true
    let open = try OpenStore(description, model: SpecificationModels.library)
    for number in 0..<200 { try open.insert("Tag", ["name": .text("\(number)")]) }
    try open.close()
    return (folder, url)
  }

  /// Opens a store and returns its UUID and its lineage.
  private func open(_ url: URL, isReadOnly: Bool = false, key: StoreKey? = nil) throws -> (store: String, lineage: String?) {
    var description = Self.description(url)
    description.isReadOnly = isReadOnly
    if let key { description.key = key }
    let open = try OpenStore(description, model: SpecificationModels.library)
    defer { try? open.close() }
    XCTAssertEqual(try open.count("Tag"), 200)
    let metadata = open.persistentStore.metadata
    return (metadata.storeIdentifier, metadata.lineageIdentifier)
  }

  private func unlock(_ url: URL, _ key: StoreKey? = nil) throws -> SQLCipherStoreFile {
    let key = key ?? Self.key
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  private func information(_ url: URL) throws -> StoreFileInformation {
    let file = try unlock(url)
    return try waitFor { try await file.information() }
  }

  func testLineageIsKeptByOpeningRenamingAndUsingTheFile() throws {
    let (folder, url) = try makeStore()
    let first = try open(url)
    let lineage = try XCTUnwrap(first.lineage)
    XCTAssertNotNil(UUID(uuidString: lineage))
    XCTAssertNotEqual(lineage, first.store)
    XCTAssertEqual(try open(url).lineage, lineage)
    XCTAssertEqual(try open(url, isReadOnly: true).lineage, lineage)
    XCTAssertEqual(try information(url).lineageIdentifier, lineage)
    let metadata = try waitFor {
      try await PersistentStoreCoordinator.metadataForPersistentStore(with: Self.description(url))
    }
    XCTAssertEqual(metadata.lineageIdentifier, lineage)
    let moved = folder.file("moved.store")
    for suffix in ["", ".keys"] {
      try FileManager.default.moveItem(atPath: url.path + suffix, toPath: moved.path + suffix)
    }
    XCTAssertEqual(try open(moved).lineage, lineage)
  }

  func testRotationAndCompactionKeepTheLineage() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    let lineage = try XCTUnwrap(open(url).lineage)
    try waitFor { [file = try unlock(url)] in try await file.rotateDataKey() }
    XCTAssertEqual(try information(url).lineageIdentifier, lineage)
    XCTAssertEqual(try open(url).lineage, lineage)
    try waitFor { [file = try unlock(url)] in _ = try await file.compact() }
    XCTAssertEqual(try information(url).lineageIdentifier, lineage)
    XCTAssertEqual(try open(url).lineage, lineage)
  }

  func testMigrationKeepsTheLineageAndItsBackupGetsAnother() throws {
    let store = try MigratingStore.make(ManagedObjectModel { Entity("Book") { Attribute("title", .string) } }) {
      try $0.insertObject(entityName: "Book")
    }
    let newer = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Attribute("pages", .integer32)
      }
    }
    func lineage(_ url: URL) throws -> String? {
      let file = try unlock(url, TestStore.key)
      return try waitFor { try await file.information() }.lineageIdentifier
    }
    let before = try XCTUnwrap(lineage(store.url))
    let backup = store.url.deletingLastPathComponent().appendingPathComponent("before.store")
    try store.open(newer, { ($0.migrationBackupURL, $0.namesMigrationBackupExactly) = (backup, true) }) { context in
      XCTAssertEqual(context.persistentStoreCoordinator.persistentStores.first?.metadata.lineageIdentifier, before)
    }
    XCTAssertEqual(try lineage(store.url), before)
    let copied = try XCTUnwrap(lineage(backup))
    XCTAssertNotEqual(copied, before)
  }

  func testEveryCopyOfTheLibraryHasALineageOfItsOwn() throws {
    let (folder, url) = try makeStore()
    let original = try open(url)
    let other = StoreKey.raw(SecretBytes([UInt8](repeating: 9, count: 32)))
    let file = try unlock(url)
    let (backup, rekeyed, plain) = (folder.file("backup.store"), folder.file("rekeyed.store"), folder.file("plain.sqlite"))
    let (imported, again) = (folder.file("imported.store"), folder.file("again.store"))
    try waitFor {
      try await file.backUp(to: backup)
      try await file.backUp(to: rekeyed, key: other)
      try await file.exportPlaintext(to: plain, includesHistory: true)
      _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: imported, key: Self.key)
      _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: again, key: Self.key)
    }
    let replaced = folder.file("replaced.store")
    let coordinator = PersistentStoreCoordinator(compiledModel: SpecificationModels.library)
    let moved = folder.file("moved.store")
    try waitFor {
      try await coordinator.replacePersistentStore(with: Self.description(replaced), withPersistentStoreFrom: Self.description(backup))
      let store = try await coordinator.addPersistentStore(with: Self.description(url))
      let result = try await coordinator.migratePersistentStore(store, to: Self.description(moved))
      XCTAssertNotNil(result.metadata.lineageIdentifier)
      try coordinator.remove(result)
    }
    var lineages: Set<String> = [try XCTUnwrap(original.lineage)]
    let copies = [backup, replaced, moved, imported, again, rekeyed]
    for copy in copies {
      let key = copy == rekeyed ? other : Self.key
      let file = try unlock(copy, key)
      let information = try waitFor { try await file.information() }
      XCTAssertEqual(information.storeIdentifier, original.store)
      let lineage = try XCTUnwrap(information.lineageIdentifier, copy.lastPathComponent)
      XCTAssertTrue(lineages.insert(lineage).inserted, copy.lastPathComponent)
      XCTAssertEqual(try open(copy, key: key).lineage, lineage, "it is assigned once")
    }
    // Restoring replaces the original's lineage too.
    try waitFor {
      try await coordinator.replacePersistentStore(with: Self.description(url), withPersistentStoreFrom: Self.description(backup))
    }
    XCTAssertTrue(lineages.insert(try XCTUnwrap(open(url).lineage)).inserted)
  }

  func testCopyOfAnotherProgramGetsItsLineageWhenItIsOpenedForWriting() throws {
    let (folder, url) = try makeStore()
    // Without birth times, such copies cannot be detected.
    guard StoreFile.birth(url.path) != nil else { return }
    let original = try open(url)
    let lineage = try XCTUnwrap(original.lineage)
    var lineages: Set<String> = [lineage]
    let preparations: [(String, @Sendable (SQLCipherStoreFile) async throws -> Void)] = [
      ("plain", { _ in }), ("compacted", { _ = try await $0.compact() }), ("rotated", { try await $0.rotateDataKey() }),
    ]
    for (name, prepare) in preparations {
      let copy = folder.file("\(name).store")
      for suffix in ["", ".keys"] {
        try FileManager.default.copyItem(atPath: url.path + suffix, toPath: copy.path + suffix)
      }
      XCTAssertNil(try information(copy).lineageIdentifier)
      XCTAssertNil(try open(copy, isReadOnly: true).lineage)
      let file = try unlock(copy)
      try waitFor { try await prepare(file) }
      let other = try open(copy)
      XCTAssertEqual(other.store, original.store)
      XCTAssertTrue(lineages.insert(try XCTUnwrap(other.lineage)).inserted, name)
      XCTAssertEqual(try open(copy).lineage, other.lineage)
      XCTAssertEqual(try open(copy, isReadOnly: true).lineage, other.lineage)
    }
    XCTAssertEqual(try open(url).lineage, lineage)
  }

  func testALostLineageIsReplaced() throws {
    let store = try TestStore()
    try store.open().close()
    func lineage(isReadOnly: Bool = false) throws -> String? {
      var description = store.description
      description.isReadOnly = isReadOnly
      let open = try OpenStore(description, model: SpecificationModels.library)
      defer { try? open.close() }
      XCTAssertEqual(try open.count("Tag"), 0)
      return open.persistentStore.metadata.lineageIdentifier
    }
    var known: Set<String> = [try XCTUnwrap(lineage())]
    for damage in ["DROP TABLE cipherdata_lineage", "DELETE FROM cipherdata_lineage", "UPDATE cipherdata_lineage SET birth = NULL"] {
      try store.execute(damage)
      if StoreFile.birth(store.url.path) != nil || !damage.hasPrefix("UPDATE") {
        XCTAssertNil(try lineage(isReadOnly: true), damage)
        XCTAssertTrue(known.insert(try XCTUnwrap(lineage())).inserted, damage)
      }
    }
  }

  func testOpeningWritesNothingIfTheLineageIsKnown() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    let before = try Data(contentsOf: url)
    _ = try open(url)
    XCTAssertEqual(try Data(contentsOf: url), before)
  }
}
