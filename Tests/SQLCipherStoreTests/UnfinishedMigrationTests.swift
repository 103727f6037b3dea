import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore
@testable import StoreFiles

/// The backup of a killed migration is reused if it equals the current store; otherwise the next migration makes a new one.
final class UnfinishedMigrationTests: XCTestCase {
  private static let older = ManagedObjectModel(version: "1") {
    Entity("Book") {
      Attribute("title", .string)
      Attribute("cover", .binary).externalStorage()
    }
  }
  private static let newer = ManagedObjectModel(version: "2") {
    Entity("Book") {
      Attribute("title", .string)
      Attribute("cover", .binary).externalStorage()
      Attribute("pages", .integer64)
    }
  }
  private static let key = StoreKey.raw(SecretBytes([UInt8](repeating: 5, count: 32)))
  private static let otherKey = StoreKey.passphrase("another", .cheapForTests())

  /// A store of the older model, and the backup that a migration made before it was killed.
  private final class Fixture {
    let folder: TemporaryFolder
    let key: StoreKey
    var store: URL { folder.file("library.store") }
    var copy: URL { folder.file("before-1.store") }
    var support: URL { folder.file(".before-1.store_SUPPORT") }

    init(_ key: StoreKey = UnfinishedMigrationTests.key, hasCopy: Bool = true) throws {
      folder = try TemporaryFolder("UnfinishedMigrationTests")
      self.key = key
      try open(older) { context in
        for number in 0..<40 {
          let book = try context.insertObject(entityName: "Book")
          try book.setValue("book \(number)", forKey: "title")
          if number % 10 == 0 { try book.setValue(Data(repeating: UInt8(number), count: 5_000), forKey: "cover") }
        }
      }
      if hasCopy { try makeCopy() }
    }

    func makeCopy() throws {
      let file = try unlock()
      let copy = copy
      try waitFor { try await file.backUp(to: copy) }
    }

    func unlock() throws -> SQLCipherStoreFile {
      let (store, key) = (store, key)
      return try waitFor { try await SQLCipherStoreFile.unlock(at: store, key: key) }
    }

    func description(_ url: URL) -> PersistentStoreDescription {
      var description = PersistentStoreDescription(url: url, key: key)
      description.externalStorageThreshold = 3_000
      return description
    }

    @discardableResult
    func open<Result>(
      _ model: ManagedObjectModel, at url: URL? = nil, _ change: (inout PersistentStoreDescription) -> Void = { _ in },
      _ body: (ManagedObjectContext) throws -> Result
    ) throws -> Result {
      var description = description(url ?? store)
      change(&description)
      let open = try OpenStore(description, model: CompiledModel(model))
      defer { try? open.close() }
      let context = ManagedObjectContext(coordinator: open.coordinator)
      let result = try body(context)
      if context.hasChanges { try context.save() }
      return result
    }

    /// Migrates the store, and returns the reported name of the backup.
    func migrate(_ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws -> String? {
      try open(newer) {
        $0.migrationBackupURL = folder.file("before.store")
        change(&$0)
      } _: { context in
        context.persistentStoreCoordinator.persistentStores[0].migrationBackupURL?.lastPathComponent
      }
    }

    var copies: [String] { folder.fileNames().filter { $0.hasPrefix("before") && $0.hasSuffix(".store") }.sorted() }

    /// The contents of a store of the older model.
    func contents(_ url: URL) throws -> [String] {
      try open(older, at: url) { context in
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).map { book in
          "\(book["title"] as? String ?? "-") \((try book.externalData(forKey: "cover")?.data())?.count ?? 0)"
        }.sorted()
      }
    }
  }

  func testBackupOfAKilledMigrationIsReused() throws {
    for key in [Self.key, Self.otherKey, TestStore.key, .sqlcipherPassphrase("plain", .portable)] {
      let fixture = try Fixture(key)
      let identity = FileIdentity(path: fixture.copy.path)
      let contents = try fixture.contents(fixture.store)
      XCTAssertEqual(try fixture.migrate(), "before-1.store", "\(key)")
      XCTAssertEqual(fixture.copies, ["before-1.store"])
      XCTAssertEqual(FileIdentity(path: fixture.copy.path), identity)
      XCTAssertEqual(try fixture.contents(fixture.copy), contents)
    }
  }

  func testBackupIsReusedForAStoreWithALog() throws {
    let fixture = try Fixture(hasCopy: false)
    // The last save is in the log only.
    let reader = try OpenStore(fixture.description(fixture.store), model: CompiledModel(Self.older))
    try fixture.open(Self.older) { try $0.insertObject(entityName: "Book").setValue("in the log", forKey: "title") }
    try fixture.makeCopy()
    XCTAssertGreaterThan(StoreFile.size(fixture.store.path + "-wal") ?? 0, 0)
    XCTAssertEqual(try fixture.migrate(), "before-1.store")
    XCTAssertEqual(fixture.copies, ["before-1.store"])
    try reader.close()
  }

  func testBackupOfAnotherStateIsNotReused() throws {
    let changes: [(String, (Fixture) throws -> Void)] = [
      ("a save", { try $0.open(Self.older) { try $0.insertObject(entityName: "Book").setValue("late", forKey: "title") } }),
      (
        "a changed value",
        { fixture in
          try fixture.open(Self.older) { context in
            try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))[0].setValue("changed", forKey: "title")
          }
        }
      ),
      (
        "a changed key",
        { fixture in
          let file = try fixture.unlock()
          try waitFor { _ = try await file.addKey(Self.otherKey) }
        }
      ),
      (
        "a rotation",
        { fixture in
          let file = try fixture.unlock()
          try waitFor { try await file.rotateDataKey() }
        }
      ),
      ("a damaged page", { try Self.damage($0.copy) }),
      (
        "a file that ends early",
        { XCTAssertEqual(truncate($0.copy.path, off_t((StoreFile.size($0.copy.path) ?? 0) - 4_096)), 0) }
      ),
      ("no large values", { try FileManager.default.removeItem(at: $0.support) }),
      (
        "a damaged large value",
        { fixture in
          let names = try FileManager.default.contentsOfDirectory(atPath: fixture.support.path).filter { $0.count == 32 }
          try Self.damage(fixture.support.appendingPathComponent(try XCTUnwrap(names.first)))
        }
      ),
      ("no key file", { try FileManager.default.removeItem(atPath: $0.copy.path + ".keys") }),
      ("a damaged key file", { try Self.damage(URL(fileURLWithPath: $0.copy.path + ".keys")) }),
      ("a file of something else", { try Data("mine".utf8).write(to: $0.copy) }),
      (
        "another store",
        { fixture in
          try StoreRemoval.destroy(fixture.copy.path)
          try fixture.open(Self.older, at: fixture.copy) { try $0.insertObject(entityName: "Book").setValue("another", forKey: "title") }
        }
      ),
    ]
    for (name, change) in changes {
      let fixture = try Fixture()
      try change(fixture)
      let before = try Data(contentsOf: fixture.copy)
      let contents = try fixture.contents(fixture.store)
      XCTAssertEqual(try fixture.migrate(), "before-1-2.store", name)
      XCTAssertEqual(try Data(contentsOf: fixture.copy), before, name)
      XCTAssertEqual(fixture.copies, ["before-1-2.store", "before-1.store"], name)
      XCTAssertEqual(try fixture.contents(fixture.folder.file("before-1-2.store")), contents, name)
    }
  }

  private static func damage(_ url: URL) throws {
    var bytes = try Data(contentsOf: url)
    bytes[bytes.startIndex + bytes.count / 2 + 7] ^= 0x10
    try bytes.write(to: url)
  }

  func testBackupWithAnUnnamedKeyFileIsReusedAndCompleted() throws {
    let fixture = try Fixture()
    try FileManager.default.moveItem(atPath: fixture.copy.path + ".keys", toPath: fixture.copy.path + ".keys.new")
    XCTAssertEqual(try fixture.migrate(), "before-1.store")
    XCTAssertEqual(fixture.folder.fileNames().filter { $0.hasPrefix("before") }, ["before-1.store", "before-1.store.keys"])
  }

  func testPartialBackupOfAKilledMigrationIsReplaced() throws {
    let fixture = try Fixture()
    // The backup before it gets its final name.
    try FileManager.default.moveItem(at: fixture.copy, to: fixture.folder.file(".before-1.store.new"))
    try FileManager.default.moveItem(atPath: fixture.copy.path + ".keys", toPath: fixture.copy.path + ".keys.new")
    try Data().write(to: fixture.folder.file("before-1.store.keys.lock"))
    try Data("half a page".utf8).write(to: fixture.folder.file(".before-1.store.new-journal"))
    let contents = try fixture.contents(fixture.store)
    XCTAssertEqual(try fixture.migrate(), "before-1.store")
    XCTAssertEqual(
      Set(fixture.folder.fileNames().filter { $0.contains("before") && !$0.contains("/") }),
      ["before-1.store", "before-1.store.keys", ".before-1.store_SUPPORT"])
    XCTAssertEqual(try fixture.contents(fixture.copy), contents)
  }

  func testFailedMigrationKeepsAnExistingBackup() throws {
    let fixture = try Fixture()
    try fixture.open(Self.older) { context in
      for _ in 0..<2 { try context.insertObject(entityName: "Book").setValue("twice", forKey: "title") }
    }
    try StoreRemoval.destroy(fixture.copy.path)
    try fixture.makeCopy()
    let unique = ManagedObjectModel(version: "2") {
      Entity("Book") {
        Attribute("title", .string)
        Attribute("cover", .binary).externalStorage()
        Unique("title")
      }
    }
    for _ in 0..<2 {
      XCTAssertThrowsError(
        try fixture.open(unique) {
          $0.migrationBackupURL = fixture.folder.file("before.store")
        } _: { _ in
        }
      ) { XCTAssertEqual(($0 as? StoreError)?.code, .migrationConstraintViolation) }
      XCTAssertEqual(fixture.copies, ["before-1.store"])
    }
    // A failing migration removes a backup of its own.
    try StoreRemoval.destroy(fixture.copy.path)
    XCTAssertThrowsError(
      try fixture.open(unique) {
        $0.migrationBackupURL = fixture.folder.file("before.store")
      } _: { _ in
      })
    XCTAssertEqual(fixture.copies, [])
  }

  func testBackupComparisonReportsProgressAndCanBeCanceled() throws {
    let fixture = try Fixture(hasCopy: false)
    try fixture.open(Self.older) { context in
      for number in 0..<6_000 {
        try context.insertObject(entityName: "Book").setValue(String(repeating: "\(number) ", count: 90), forKey: "title")
      }
    }
    try fixture.makeCopy()
    let cancellation = RequestCancellation()
    XCTAssertThrowsError(
      try fixture.migrate {
        $0.migrationCancellation = cancellation
        $0.migrationProgress = { _ in cancellation.cancel() }
      }
    ) { XCTAssertEqual(($0 as? StoreError)?.code, .cancelled) }
    XCTAssertEqual(fixture.copies, ["before-1.store"])
    XCTAssertEqual(try fixture.migrate(), "before-1.store")
  }
}
