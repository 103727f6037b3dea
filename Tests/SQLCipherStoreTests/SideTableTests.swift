import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Tables of a component of another module: written with the objects, kept by everything that copies or migrates a store.
final class SideTableTests: XCTestCase {
  private let journal = JournalComponent()

  private func open(
    _ store: TestStore, _ owners: [any SideTableOwner]? = nil, _ model: CompiledModel = SpecificationModels.library,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> OpenStore {
    var description = store.description
    description.sideTableOwners = owners ?? [journal]
    change(&description)
    return try OpenStore(description, model: model)
  }

  private func access(_ open: OpenStore, _ owner: (any SideTableOwner)? = nil) throws -> SideTableAccess {
    try XCTUnwrap((open.store as? SQLCipherIncrementalStore)?.sideTables(of: owner ?? journal))
  }

  private func format(_ store: TestStore) throws -> Int {
    try waitFor { [url = store.url] in try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).information().formatVersion }
  }

  // MARK: Writing

  func testTablesAreWrittenInTheTransactionOfObjects() throws {
    let store = try TestStore()
    let open = try open(store)
    let tables = try access(open)
    XCTAssertEqual(try tables.state(), .absent)
    XCTAssertEqual(try tables.counts(), [:])
    XCTAssertFalse(try store.ddl().contains { $0.contains("journal") }, "Reading creates no tables.")
    let context = open.newContext()
    let tags = try (0..<5).map { try context.insert("Tag", ["name": "\($0)"]) }
    try context.save()
    XCTAssertEqual(try tables.state(), .usable)
    XCTAssertEqual(try tables.counts(), ["Tag": 5])
    context.delete(tags[0])
    try context.save()
    try context.execute(BatchInsertRequest(entityName: "Tag", objects: (0..<20).map { ["name": "batch \($0)"] }))
    XCTAssertEqual(try tables.counts(), ["Tag": try open.count("Tag")])
    XCTAssertEqual(try tables.kinds().count, 26)
    XCTAssertEqual(journal.origins.withLock { $0 }, [.save, .save, .batch])
    try open.close()
    let again = try self.open(store)
    XCTAssertEqual(try access(again).counts(), ["Tag": 24])
  }

  func testASnapshotFromBeforeTheCreationOfTheTablesHasNoRows() throws {
    let store = try TestStore()
    let (open, process) = (try open(store), try self.open(store))
    let tables = try access(open)
    try tables.read { snapshot in
      try process.insert("Tag", ["name": .text("1")])
      // Another connection of the store reads the new state.
      XCTAssertEqual(try waitFor { try tables.counts() }, ["Tag": 1])
      try snapshot.query("SELECT entity FROM cipherdata_journal_counts") { _ in XCTFail("The snapshot has no tables.") }
    }
    XCTAssertEqual(try tables.counts(), ["Tag": 1])
    XCTAssertEqual(try tables.state(), .usable)
  }

  func testAnErrorOfTheComponentRollsTheRequestBack() throws {
    let store = try TestStore()
    let open = try open(store)
    try open.insert("Tag", ["name": .text("1")])
    journal.rejects.withLock { $0 = true }
    XCTAssertThrowsError(try open.insert("Tag", ["name": .text("2")])) { XCTAssertTrue($0 is JournalComponent.Rejection, "\($0)") }
    journal.rejects.withLock { $0 = false }
    XCTAssertEqual(try open.count("Tag"), 1)
    XCTAssertEqual(try access(open).counts(), ["Tag": 1])
    XCTAssertEqual(try access(open).state(), .usable)
  }

  func testPartsOfATransactionAreRolledBackWithTheirObjects() throws {
    let store = try TestStore()
    let open = try open(store)
    struct Stop: Error {}
    try? open.store.performTransaction {
      try open.insert("Tag", ["name": .text("1")])
      throw Stop()
    }
    XCTAssertEqual(try access(open).state(), .absent, "The creation of the tables is rolled back too.")
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("2")])
      try open.insert("Tag", ["name": .text("3")])
      try access(open).write { _ = try $0.execute("INSERT INTO cipherdata_journal_counts VALUES ('own', 7)") }
      XCTAssertEqual(try access(open).counts(), ["Tag": 2, "own": 7])
    }
    XCTAssertEqual(try access(open).counts(), ["Tag": 2, "own": 7])
    XCTAssertEqual(try open.count("Tag"), 2)
  }

  func testAnInactiveComponentCostsNothing() throws {
    let store = try TestStore()
    journal.isActive.withLock { $0 = false }
    let open = try open(store)
    let tag = try open.insert("Tag", ["name": .text("1")])
    let pending = open.newSave()
    try pending.update(tag, ["name": .text("2")])
    XCTAssertEqual(try store.statements { try pending.commit() }.count, 1)
    XCTAssertEqual(try access(open).state(), .absent)
    XCTAssertEqual(try format(store), 2)
  }

  func testTheComponentHasTransactionsOfItsOwn() throws {
    let store = try TestStore()
    let (one, other) = (try open(store), try open(store))
    try access(one).write { transaction in
      XCTAssertEqual(try transaction.execute("INSERT INTO cipherdata_journal_counts VALUES ('a', 1), ('b', 2)"), 2)
      var sum: Int64 = 0
      try transaction.query("SELECT count FROM cipherdata_journal_counts WHERE count > ?", .int(0)) { sum += $0.int64(0) }
      XCTAssertEqual(sum, 3)
    }
    XCTAssertEqual(try access(other).counts(), ["a": 1, "b": 2])
    struct Stop: Error {}
    XCTAssertThrowsError(
      try access(one).write { transaction in
        try transaction.execute("DELETE FROM cipherdata_journal_counts")
        throw Stop()
      }
    ) { XCTAssertTrue($0 is Stop) }
    XCTAssertEqual(try access(other).counts(), ["a": 1, "b": 2])
    assertStoreError(.readOnly) { try access(one).read { try $0.execute("DELETE FROM cipherdata_journal_counts") } }
  }

  func testStatementsOnOtherTablesAreRefused() throws {
    let store = try TestStore()
    let open = try open(store)
    try open.insert("Tag", ["name": .text("1")])
    let tables = try store.ddl()
    for sql in [
      "SELECT * FROM Tag", "DELETE FROM Tag", "SELECT count(*) FROM cipherdata_metadata", "UPDATE cipherdata_metadata SET format = 1",
      "INSERT INTO cipherdata_journal SELECT 1, '', 1, name FROM Tag", "DROP TABLE cipherdata_journal", "DELETE FROM sqlite_master",
      "SELECT sql FROM sqlite_master", "CREATE TABLE other (a)", "CREATE TRIGGER t AFTER INSERT ON cipherdata_journal BEGIN SELECT 1; END",
      "PRAGMA user_version = 3", "ATTACH DATABASE 'x' AS y", "COMMIT", "SAVEPOINT s", "SELECT load_extension('x')", "",
      "DELETE FROM cipherdata_journal; DELETE FROM cipherdata_journal_counts", "SELECT nothing FROM cipherdata_journal", "VACUUM",
      "ALTER TABLE cipherdata_journal RENAME TO x", "REINDEX", "ANALYZE", "BEGIN", "EXPLAIN SELECT 1", "DETACH x",
      "SELECT cipherdata_journal.key, (SELECT name FROM Tag) FROM cipherdata_journal", "WITH t AS (SELECT * FROM Tag) SELECT * FROM t",
    ] {
      assertStoreError(.internalInconsistency) { try access(open).write { try $0.execute(sql) } }
      assertStoreError(.internalInconsistency) { try access(open).read { try $0.query(sql) { _ in XCTFail(sql) } } }
    }
    XCTAssertEqual(try store.ddl(), tables)
    XCTAssertEqual(try open.count("Tag"), 1)
    for sql in [
      "WITH t AS (SELECT entity FROM cipherdata_journal_counts) SELECT * FROM t", "SELECT max(number) FROM cipherdata_journal;",
      "SELECT j.key FROM cipherdata_journal j JOIN cipherdata_journal_counts c ON c.entity = j.entity WHERE j.kind LIKE 'i%'",
    ] {
      var count = 0
      try access(open).read { try $0.query(sql) { _ in count += 1 } }
      XCTAssertEqual(count, 1, sql)
    }
  }

  func testAFailingStatementIsNotTakenForDamage() throws {
    let store = try TestStore()
    let open = try open(store)
    try open.insert("Tag", ["name": .text("1")])
    XCTAssertThrowsError(try access(open).write { try $0.execute("INSERT INTO cipherdata_journal_counts VALUES ('Tag', 1)") }) {
      XCTAssertEqual(($0 as? StoreError)?.sqliteCode, 19, "\($0)")
    }
    XCTAssertThrowsError(
      try access(open).read { try $0.query("SELECT sum(x) FROM (SELECT \(Int64.max) x UNION ALL SELECT 1)") { _ in } }
    ) { XCTAssertNotEqual(($0 as? StoreError)?.code, .storeCorrupt, "\($0)") }
    XCTAssertEqual(try access(open).state(), .usable)
  }

  // MARK: The life of the tables

  func testTablesAreRemovedAndRecreated() throws {
    let store = try TestStore()
    let plain = try TestStore()
    try plain.open().close()
    let open = try open(store)
    try open.insert("Tag", ["name": .text("1")])
    try access(open).recreate()
    XCTAssertEqual(try access(open).counts(), [:])
    try open.insert("Tag", ["name": .text("2")])
    XCTAssertEqual(try access(open).counts(), ["Tag": 1])
    journal.isActive.withLock { $0 = false }
    try access(open).remove()
    XCTAssertEqual(try access(open).state(), .absent)
    XCTAssertEqual(try access(open).kinds(), [])
    try open.close()
    func tables(_ store: TestStore) throws -> [String] { try store.ddl().filter { !$0.contains("cipherdata_metadata") }.sorted() }
    XCTAssertEqual(try tables(store), try tables(plain))
  }

  func testCopiesAndMigrationsKeepTheTablesOfUnknownComponents() throws {
    let folder = try TemporaryFolder()
    let (url, backup, other) = (folder.file("test.store"), folder.file("backup.store"), folder.file("other.store"))
    let (key, otherKey) = (
      StoreKey.raw(SecretBytes([UInt8](repeating: 7, count: 32))), StoreKey.raw(SecretBytes([UInt8](repeating: 9, count: 32)))
    )
    func use(
      _ url: URL, _ key: StoreKey, _ model: ManagedObjectModel, _ owners: [any SideTableOwner], _ body: (OpenStore) throws -> Void
    ) throws {
      var description = PersistentStoreDescription(url: url, key: key)
      description.sideTableOwners = owners
      let open = try OpenStore(description, model: CompiledModel(model))
      try body(open)
      try open.close()
    }
    let model = ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    try use(url, key, model, [journal]) { open in
      for title in ["a", "b"] { try open.insert("Note", ["title": .text(title)]) }
    }
    try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
      try await file.rotateDataKey()
      _ = try await file.compact()
      try await file.backUp(to: backup)
      try await file.backUp(to: other, key: otherKey)
      let findings = try await file.findings(.full)
      XCTAssertEqual(findings, [])
    }
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    try waitFor {
      try await coordinator.replacePersistentStore(
        with: PersistentStoreDescription(url: url, key: key),
        withPersistentStoreFrom: PersistentStoreDescription(url: other, key: otherKey))
    }
    // The entity gets a superentity, and its rows a table of their own. The program does not have the component.
    let newer = ManagedObjectModel {
      Entity("Item", abstract: true) { Attribute("title", .string) }
      Entity("Note", parent: "Item") { Attribute("pages", .integer32).required().initially(1) }
      Entity("Task", parent: "Item") {}
    }
    try use(url, key, newer, []) { XCTAssertEqual(try $0.count("Note"), 2) }
    for (url, key, model) in [(url, key, newer), (backup, key, model), (other, otherKey, model)] {
      try use(url, key, model, [journal]) { open in XCTAssertEqual(try access(open).counts(), ["Note": 2], url.lastPathComponent) }
      XCTAssertEqual(try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key).findings(.full) }, [])
    }
  }

  func testWritersMustHaveARequiredComponent() throws {
    let store = try TestStore()
    let required = JournalComponent(isRequired: true)
    // An open store notices the component that another process adds.
    let other = try store.open()
    let open = try open(store, [required])
    try open.insert("Tag", ["name": .text("1")])
    XCTAssertEqual(try other.count("Tag"), 1)
    assertStoreError(.unsupportedFormat) { try other.insert("Tag", ["name": .text("2")]) }
    try other.close()
    try open.close()
    XCTAssertEqual(try format(store), 4)
    let error = assertStoreError(.unsupportedFormat) { try store.open() }
    XCTAssertTrue(error?.message.contains("“journal”") ?? false, error?.message ?? "")
    let reading = try self.open(store, []) { $0.isReadOnly = true }
    XCTAssertEqual(try reading.count("Tag"), 1)
    try reading.close()
    let again = try self.open(store, [required])
    required.isActive.withLock { $0 = false }
    try access(again, required).remove()
    try again.close()
    XCTAssertEqual(try format(store), 2)
    XCTAssertEqual(try store.open().count("Tag"), 1)
  }

  func testTablesOfAnotherVersionAreLeftAlone() throws {
    let store = try TestStore()
    var open = try open(store)
    try open.insert("Tag", ["name": .text("1")])
    try open.close()
    let newer = JournalComponent(format: 2)
    open = try self.open(store, [newer])
    XCTAssertEqual(try access(open, newer).state(), .otherFormat(1))
    assertStoreError(.unsupportedFormat) { try access(open, newer).kinds() }
    try open.insert("Tag", ["name": .text("2")])
    XCTAssertEqual(newer.origins.withLock { $0 }, [])
    try access(open, newer).recreate()
    try open.insert("Tag", ["name": .text("3")])
    XCTAssertEqual(try access(open, newer).counts(), ["Tag": 1])
  }

  func testPlaintextCopiesOmitTheTablesByDefault() throws {
    let store = try TestStore()
    let open = try open(store, nil) { $0.tracksObjectIdentity = true }
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    let (plain, complete) = (store.folder.file("plain"), store.folder.file("complete"))
    try waitFor { [url = store.url] in
      let file = try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key)
      try await file.exportPlaintext(to: plain)
      try await file.exportPlaintext(to: complete, includesHistory: true)
    }
    for (source, counts) in [(plain, [:]), (complete, ["Tag": 1])] {
      let back = store.folder.file("back-\(source.lastPathComponent)")
      _ = try waitFor { try await SQLCipherStoreFile.importPlaintext(from: source, to: back, key: TestStore.key) }
      let again = try self.open(store, nil) { $0.url = back }
      XCTAssertEqual(try access(again).counts(), counts)
      XCTAssertEqual(try (again.store as? any IdentityStore)?.tracksObjectIdentity(), true)
      try again.close()
    }
  }
}
