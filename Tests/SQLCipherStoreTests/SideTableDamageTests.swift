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

/// Damage in the history, in stable IDs, in the lineage and in the tables of a component never prevents reading or saving objects. Only
/// requests for their contents report it, verification names it, and creating them again repairs it.
final class SideTableDamageTests: XCTestCase {
  private typealias Damage = (name: String, apply: (TestStore) throws -> Void)
  private let journal = JournalComponent()

  // MARK: Kinds of damage

  private func statement(_ sql: String) -> Damage { (sql, { try $0.execute(sql) }) }

  /// Overwrites the pages of a table, from its root on.
  private func pages(_ table: String) -> Damage {
    (
      "pages of \(table)",
      { store in
        let connection = try Connection(opening: store.url.path, key: try store.databaseKey())
        let root = try connection.statement(sql: "SELECT rootpage FROM sqlite_master WHERE name = '\(table)'")
        XCTAssertTrue(try root.step(), table)
        let page = root.int(0)
        root.reset()
        connection.close()
        var bytes = try Data(contentsOf: store.url)
        for offset in stride(from: 100, to: 3_000, by: 97) { bytes[(page - 1) * 4_096 + offset] ^= 0x55 }
        try bytes.write(to: store.url)
      }
    )
  }

  /// Replaces a table by one with other columns.
  private func columns(_ table: String) -> Damage {
    (
      "columns of \(table)",
      {
        try $0.execute("DROP TABLE \(table)")
        try $0.execute("CREATE TABLE \(table) (other TEXT)")
        try $0.execute("INSERT INTO \(table) VALUES ('x')")
      }
    )
  }

  /// All ways to damage the tables of a component.
  private func damages(_ tables: SideTables) -> [Damage] {
    tables.tables.map(\.name).flatMap { [statement("DROP TABLE \($0)"), columns($0), pages($0)] }
  }

  // MARK: The store

  private func description(_ store: TestStore) -> PersistentStoreDescription {
    var description = store.description
    description.sqlObserver = nil
    description.sideTableOwners = [journal]
    return description
  }

  private func make() throws -> TestStore {
    let store = try TestStore()
    var description = description(store)
    (description.historyTracking, description.historyLevel, description.tracksObjectIdentity) = (true, .values, true)
    let open = try OpenStore(description, model: SpecificationModels.library)
    for number in 1...3 { try open.insert("Tag", ["name": .text("\(number)")]) }
    let tag = try open.insert("Tag", ["name": .text("imported")])
    let identities = try XCTUnwrap(open.store as? any IdentityStore)
    try identities.setStableIDs([(tag.reference, UUID())])
    try open.coordinator.registerHistoryConsumer("reader")
    try open.close()
    return store
  }

  private func open(_ store: TestStore) throws -> OpenStore {
    try OpenStore(description(store), model: SpecificationModels.library)
  }

  private func findings(_ store: TestStore, _ level: StoreVerificationLevel = .quick) throws -> [String] {
    try waitFor { [url = store.url] in
      try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).findings(level).map(\.description)
    }
  }

  private func changes(_ open: OpenStore) throws -> Int {
    try open.coordinator.execute(.fetchHistory(after: nil)).transactions.flatMap { $0.changes ?? [] }.count
  }

  private func stableIDs(_ open: OpenStore) throws -> [UUID?] {
    let rows = try open.rows(FetchSpecification(entityName: "Tag"))
    return try XCTUnwrap(open.store as? any IdentityStore).stableIDs(of: rows.map(\.reference))
  }

  private func access(_ open: OpenStore) throws -> SideTableAccess {
    try XCTUnwrap((open.store as? SQLCipherIncrementalStore)?.sideTables(of: journal))
  }

  /// Reads and saves objects with every kind of request.
  private func useObjects(_ open: OpenStore, _ damage: String, count: Int = 4) throws {
    XCTAssertEqual(try open.count("Tag"), count, damage)
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "saved \(count)"])
    try context.save()
    try tag.setValue("changed \(count)", forKey: "name")
    try context.save()
    try context.execute(BatchInsertRequest(entityName: "Tag", objects: (0..<3).map { ["name": "batch \(count) \($0)"] }))
    try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": Int64(7)]))
    context.delete(tag)
    try context.save()
    try open.store.performTransaction { try open.insert("Tag", ["name": .text("part \(count)")]) }
    // More keys than were reserved.
    _ = try open.newIDs("Tag", count: 3_000)
    XCTAssertEqual(try open.count("Tag"), count + 4, damage)
    XCTAssertEqual(Set(try open.rows(FetchSpecification(entityName: "Tag")).map(\.key)).count, count + 4)
  }

  /// - Parameters:
  ///   - isNoticed: Whether saves notice the damage.
  ///   - content: Reads the content of the tables.
  ///   - repair: Creates the tables again.
  private func check(
    _ damages: [Damage], name: String, content: (OpenStore) throws -> Void, repair: (OpenStore) throws -> Void
  ) throws {
    for damage in damages {
      let store = try make()
      try damage.apply(store)
      let found = try findings(store)
      XCTAssertTrue(found.contains { $0.contains(name) }, "\(damage.name): \(found)")
      var open = try open(store)
      assertDamage(damage.name) { try content(open) }
      try useObjects(open, damage.name)
      assertDamage(damage.name) { try content(open) }
      try open.close()
      open = try self.open(store)
      assertDamage(damage.name) { try content(open) }
      XCTAssertTrue(try findings(store).contains { $0.contains(name) }, damage.name)
      try repair(open)
      try content(open)
      try useObjects(open, damage.name, count: 8)
      try content(open)
      try open.close()
      // Pages that cannot be read remain in tables that nothing uses.
      if !damage.name.hasPrefix("pages") { XCTAssertEqual(try findings(store, .full), [], damage.name) }
      XCTAssertFalse(try findings(store).contains { $0.contains(name) }, damage.name)
      open = try self.open(store)
      try content(open)
      XCTAssertEqual(try open.count("Tag"), 12)
      try open.close()
    }
  }

  private func assertDamage(_ damage: String, _ body: () throws -> Void) {
    XCTAssertThrowsError(try body(), damage) {
      XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt, "\(damage): \($0)")
      XCTAssertTrue(($0 as? StoreError)?.message.contains("bjects are not affected") ?? false, "\(damage): \($0)")
    }
  }

  // MARK: Components

  func testDamageOfTheHistoryAffectsOnlyTheHistory() throws {
    try check(
      damages(HistoryTables.all).filter { !$0.name.contains("_consumers") }
        + [
          statement("UPDATE cipherdata_history SET number = \(Int64.max) WHERE number = (SELECT max(number) FROM cipherdata_history)"),
          statement("UPDATE cipherdata_history SET clock = \(Int64.max)"),
        ],
      name: "history",
      content: { _ = try self.changes($0) },
      repair: { open in
        let history = try XCTUnwrap(open.store as? any HistoryStore)
        try history.setHistory(nil)
        try history.setHistory(HistorySettings(level: .values))
      })
  }

  func testDamageOfTheHistorysConsumersAffectsOnlyTheConsumers() throws {
    for damage in damages(HistoryTables.all) where damage.name.contains("_consumers") {
      let store = try make()
      try damage.apply(store)
      let found = try findings(store)
      XCTAssertTrue(found.contains { $0.contains("history") }, "\(damage.name): \(found)")
      var description = description(store)
      description.historyRetention = .transactions(1)
      let open = try OpenStore(description, model: SpecificationModels.library)
      try useObjects(open, damage.name)
      XCTAssertGreaterThan(try changes(open), 0, damage.name)
      let history = try XCTUnwrap(open.store as? any HistoryStore)
      assertDamage(damage.name) { _ = try history.historyConsumers() }
      try history.setHistory(nil)
      try history.setHistory(HistorySettings())
      XCTAssertEqual(try history.historyConsumers(), [])
      try open.close()
    }
  }

  func testDamageOfStableIDsAffectsOnlyStableIDs() throws {
    try check(
      damages(IdentityTables.all) + [
        statement("UPDATE cipherdata_identities_ranges SET base = x'00' WHERE id > 0"),
        statement("UPDATE cipherdata_identities_ranges SET first = -5 WHERE id > 0"),
        statement("UPDATE cipherdata_identities SET uuid = 'text'"),
      ],
      name: "stable IDs",
      content: { _ = try self.stableIDs($0) },
      repair: { open in
        let identities = try XCTUnwrap(open.store as? any IdentityStore)
        try identities.setTracksObjectIdentity(false)
        try identities.setTracksObjectIdentity(true)
      })
  }

  func testDamageOfAComponentAffectsOnlyTheComponent() throws {
    try check(
      damages(journal.sideTables), name: "journal",
      content: { open in
        _ = try self.access(open).counts()
        _ = try self.access(open).kinds()
      },
      repair: { try self.access($0).recreate() })
  }

  func testSavesWithoutAComponentAreRecordedAsDamage() throws {
    let store = try make()
    try store.execute("ALTER TABLE cipherdata_history RENAME TO hidden")
    var open = try open(store)
    try open.insert("Tag", ["name": .text("unrecorded")])
    try open.close()
    // The table is complete again, but it lacks a save.
    try store.execute("ALTER TABLE hidden RENAME TO cipherdata_history")
    open = try self.open(store)
    assertDamage("renamed") { _ = try changes(open) }
    assertDamage("renamed") { _ = try open.persistentStore.historyLevel }
    XCTAssertEqual(try findings(store).count, 1)
    XCTAssertEqual(try open.count("Tag"), 5)
  }

  func testDamagePreventsNoMigration() throws {
    let model = ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let newer = ManagedObjectModel {
      Entity("Item", abstract: true) { Attribute("title", .string) }
      Entity("Note", parent: "Item") { Attribute("pages", .integer32).required().initially(1) }
      Entity("Task", parent: "Item") {}
    }
    for tables in [HistoryTables.all, IdentityTables.all, journal.sideTables] {
      for damage in damages(tables).filter({ !$0.name.contains("_consumers") && !$0.name.contains("_names") }) {
        let store = try MigratingStore()
        let change: (inout PersistentStoreDescription) -> Void = { [journal] in
          ($0.historyTracking, $0.tracksObjectIdentity, $0.sideTableOwners) = (true, true, [journal])
        }
        try store.open(model, change) { context in
          for title in ["a", "b"] { try context.insert("Note", ["title": title]) }
          try context.save()
        }
        try damage.apply(store.store)
        try store.open(newer, change) { context in
          XCTAssertEqual(try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).count, 2, damage.name)
          try context.insert("Task", ["title": "c"])
          try context.save()
        }
      }
    }
  }

  // MARK: The lineage

  func testDamageOfTheLineageAffectsOnlyTheLineage() throws {
    for damage in [statement("DROP TABLE cipherdata_lineage"), columns("cipherdata_lineage"), pages("cipherdata_lineage")] {
      let store = try make()
      let first = try self.open(store)
      let before = try XCTUnwrap(first.persistentStore.metadata.lineageIdentifier)
      try first.close()
      try damage.apply(store)
      let open = try open(store)
      let found = try findings(store)
      XCTAssertEqual(found.contains { $0.contains("lineage") }, !damage.name.hasPrefix("DROP"), "\(damage.name): \(found)")
      let lineage = try XCTUnwrap(open.persistentStore.metadata.lineageIdentifier, damage.name)
      XCTAssertNotEqual(lineage, before, damage.name)
      try useObjects(open, damage.name)
      XCTAssertEqual(Set(try stableIDs(open).compactMap { $0 }).count, 8, damage.name)
      try open.close()
      let again = try self.open(store)
      XCTAssertEqual(again.persistentStore.metadata.lineageIdentifier, lineage, damage.name)
      try again.close()
    }
  }
}
