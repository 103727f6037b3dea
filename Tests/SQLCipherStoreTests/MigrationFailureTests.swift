import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Rejected and canceled migrations, which leave the store unchanged; dry runs; deferred tasks.
final class MigrationFailureTests: XCTestCase {
  private func library(_ more: [any EntityComponent] = [], authorMore: [any EntityComponent] = []) -> ManagedObjectModel {
    ManagedObjectModel(version: "\(more.count)-\(authorMore.count)") {
      Entity("Author") {
        Attribute("name", .string)
        authorMore
      }
      Entity("Book") {
        Attribute("title", .string)
        Attribute("isbn", .string)
        more
      }
    }
  }

  private func filled(_ count: Int = 5) throws -> MigratingStore {
    try MigratingStore.make(library()) { context in
      for index in 0..<count { try context.make("Book", ["title": "t\(index)", "isbn": "\(index / 2)"]) }
      try context.make("Author", ["name": "a"])
    }
  }

  // MARK: Refusals

  func testAReadOnlyStoreIsNotMigrated() throws {
    let store = try filled()
    let error = assertStoreError(.migrationNeeded) { try store.contents(library([Attribute("x", .string)])) { $0.isReadOnly = true } }
    XCTAssertEqual(error?.differingEntities, ["Book"])
    XCTAssertEqual(error?.coreDataCode, 134100)
    assertStoreError(.migrationNeeded) {
      try store.contents(library([Attribute("x", .string)])) { $0.shouldInferMappingModelAutomatically = false }
    }
    XCTAssertEqual(try store.contents(library()).count, 6)
  }

  func testUninferableChangesAreReportedWithASolution() throws {
    let store = try filled()
    var newer = library([Attribute("must", .string).required()])
    newer.entities[0].properties[0] = .attribute(AttributeDescription(name: "name", type: .integer64, isOptional: true))
    let error = assertStoreError(.mappingNotInferred) { try store.contents(newer) }
    XCTAssertEqual(error?.coreDataCode, 134190)
    XCTAssertEqual(error?.obstacles.map { "\($0.entityName ?? "").\($0.name ?? "")" }, ["Author.name", "Book.must"])
    XCTAssertTrue(error?.message.contains("default value") ?? false)
    XCTAssertEqual(try store.contents(library()).count, 6)
  }

  func testConstraintErrorReportsTheNumberOfDuplicates() throws {
    let store = try filled()
    let error = assertStoreError(.migrationConstraintViolation) { try store.contents(library([Unique("isbn")])) }
    XCTAssertEqual(error?.coreDataCode, 134111)
    XCTAssertEqual(error?.entityName, "Book")
    XCTAssertEqual(error?.propertyName, "isbn")
    XCTAssertTrue(error?.message.contains("2 objects") ?? false, error?.message ?? "")
    XCTAssertEqual(try store.contents(library()).count, 6)
    XCTAssertEqual(try store.contents(library([Unique("title")])).count, 6)
    try store.check()
  }

  func testDefaultValueThatViolatesAConstraintIsReported() throws {
    func model(_ isRequired: Bool) -> ManagedObjectModel {
      let code = Attribute("code", .string)
      return ManagedObjectModel {
        Entity("Book") {
          if isRequired { code.required().initially("x") } else { code }
          Unique("code")
        }
      }
    }
    let store = try MigratingStore.make(model(false)) { context in for _ in 1...3 { try context.make("Book") } }
    let error = assertStoreError(.migrationConstraintViolation) { try store.contents(model(true)) }
    XCTAssertEqual(error?.entityName, "Book")
    XCTAssertEqual(try store.contents(model(false)).count, 3)
  }

  func testMigratedStoreIsRejectedByTheOlderModel() throws {
    let store = try filled()
    _ = try store.contents(library([Attribute("x", .string)]))
    _ = try store.contents(library([Attribute("x", .string), Attribute("y", .string)]))
    let before = try store.bytes()
    for older in [library(), library([Attribute("x", .string)])] {
      let error = assertStoreError(.storeNewerThanModel) { try store.contents(older) }
      XCTAssertTrue(error?.message.contains("2-0") ?? false, error?.message ?? "")
    }
    XCTAssertEqual(try store.bytes(), before)
    // A model that equals an older version but has another version name is a newer model.
    XCTAssertEqual(try store.contents(library().version("back")).count, 6)
  }

  func testWrongKeyIsReportedBeforeAMigration() throws {
    let store = try filled()
    XCTAssertThrowsError(
      try store.contents(library([Attribute("x", .string)])) { $0.key = .databaseKey(SecretBytes([UInt8](repeating: 8, count: 32))) }
    ) { error in
      XCTAssertTrue([.wrongKey, .unreadableStore].contains((error as? StoreError)?.code), "\(error)")
    }
    XCTAssertEqual(try store.contents(library([Attribute("x", .string)])).count, 6)
  }

  // MARK: Cancellation

  func testMigrationReportsProgressAndCanBeCanceledAtAnyStep() throws {
    let store = try MigratingStore.make(library([Attribute("gone", .string)])) { context in
      for index in 0..<3_000 { try context.make("Book", ["title": "t\(index)"]) }
    }
    let older = library([Attribute("gone", .string)])
    let newer = library([Attribute("a", .string), Attribute("b", .string)], authorMore: [Attribute("c", .string)])
    let reports = Mutex<[MigrationProgress]>([])
    var stop = 1
    while true {
      let cancellation = RequestCancellation()
      let seen = Atomic<Int>(0)
      let last = stop
      do {
        _ = try store.open(newer) { description in
          description.migrationCancellation = cancellation
          description.migrationProgress = { progress in
            if seen.add(1, ordering: .relaxed).newValue == last { cancellation.cancel() }
            reports.withLock { $0.append(progress) }
          }
        } _: { _ in
        }
        break
      } catch let error as StoreError {
        XCTAssertEqual(error.code, .cancelled)
        XCTAssertEqual(error.coreDataCode, 134120)
        XCTAssertEqual(try store.open(older) { try $0.all("Book").count }, 3_000)
        try store.check()
      }
      stop += 1
      reports.withLock { $0 = [] }
      XCTAssertLessThan(stop, 100)
    }
    XCTAssertGreaterThan(stop, 5)
    let all = reports.withLock { $0 }
    XCTAssertEqual(all.last?.fractionCompleted, 1)
    XCTAssertEqual(all.map(\.completedUnitCount), all.map(\.completedUnitCount).sorted())
    XCTAssertTrue(all.contains { $0.phase.contains("copy the rows of “Book”") && $0.completedUnitCount == 2_000 })
    try store.check()
  }

  // MARK: Other connections

  func testForeignKeyEnforcementDoesNotBlockMigration() throws {
    func model(_ isOlder: Bool) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Author") {
          Attribute("name", .string)
          if isOlder { Attribute("gone", .string) }
          Relationship("books", toMany: "Book", inverse: "author")
        }
        Entity("Book") {
          Attribute("title", .string)
          if !isOlder { Attribute("pages", .integer32).required().initially(1) }
          Relationship("author", to: "Author", inverse: "books")
          if isOlder { Relationship("loans", toMany: "Loan", inverse: "book") }
        }
        if isOlder { Entity("Loan") { Relationship("book", to: "Book", inverse: "loans") } }
      }
    }
    for defers in [false, true] {
      let store = try MigratingStore()
      let change: (inout PersistentStoreDescription) -> Void = { description in
        description.enforcesForeignKeys = true
        description.defersLightweightMigration = defers
      }
      try store.open(model(true), change) { context in
        for index in 1...20 {
          let author = try context.make("Author", ["name": "a\(index)"])
          let book = try context.make("Book", ["title": "b\(index)", "author": author])
          try context.make("Loan", ["book": book])
        }
      }
      try store.open(model(false), change) { context in
        XCTAssertEqual(try context.all("Author").compactMap { ($0["books"] as? Set<ManagedObject>)?.count }, Array(repeating: 1, count: 20))
        // Keys are checked again.
        for author in try context.all("Author").prefix(5) { context.delete(author) }
        for book in try context.all("Book").suffix(5) { context.delete(book) }
      }
      try store.check()
      XCTAssertEqual(try store.contents(model(false), change).count, 30)
    }
  }

  func testConcurrentOpensMigrateOnce() throws {
    let store = try MigratingStore.make(library([Attribute("gone", .string)])) { context in
      for index in 0..<500 { try context.make("Book", ["title": "t\(index)"]) }
    }
    let newer = try CompiledModel(library([Attribute("a", .string)], authorMore: [Attribute("c", .string)]))
    let migrations = Atomic<Int>(0)
    let counts = Mutex<[Int]>([])
    let original = store.store.description
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      var description = original
      let isFirst = Atomic<Bool>(true)
      description.migrationProgress = { _ in
        if isFirst.exchange(false, ordering: .relaxed) { migrations.add(1, ordering: .relaxed) }
      }
      do {
        let open = try OpenStore(description, model: newer)
        let count = try open.count("Book")
        counts.withLock { $0.append(count) }
        try open.close()
      } catch {
        XCTFail("\(error)")
      }
    }
    XCTAssertEqual(migrations.load(ordering: .relaxed), 1)
    XCTAssertEqual(counts.withLock { $0 }, [500, 500, 500, 500])
    try store.check()
  }

  // MARK: Dry runs

  func testDryRunListsEveryStepAndChangesNothing() throws {
    let store = try MigratingStore.make(library([Attribute("gone", .string)])) { context in
      for index in 0..<3 { try context.make("Book", ["title": "t\(index)", "isbn": "1"]) }
    }
    let newer = library([Index("byTitle", on: "title")], authorMore: [Attribute("born", .integer32), Unique("name")])
    let before = try store.bytes()
    let file = try waitFor { [url = store.url] in try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key) }
    let plan = try waitFor { try await file.migrationPlan(to: newer) }
    XCTAssertEqual(try store.bytes(), before)
    XCTAssertTrue(plan.isPossible)
    XCTAssertEqual(
      plan.steps.map { "\($0.summary): \($0.rowCount)" },
      [
        "add the column “born” to “Author”, for Author.born: 0", "rebuild the table “Book”: 0", "copy the rows of “Book”: 3",
        "put the new “Book” in the place of the old one: 0", "make the index “u_Author_name”: 0", "make the index “i_Book_byTitle”: 3",
      ])
    XCTAssertEqual(plan.steps[0].statements, ["ALTER TABLE \"Author\" ADD COLUMN \"born\" INTEGER"])
    XCTAssertTrue(plan.description.contains("copy the rows of “Book” (3 rows)"))
    let put = try waitFor { try await file.migrationPlan(to: newer, defersCleanUp: true) }
    XCTAssertEqual(put.steps.filter(\.isDeferred).map(\.summary), ["clear the unused columns gone out of “Book”"])
    let conflicting = try waitFor { [model = self.library([Unique("isbn")])] in try await file.migrationPlan(to: model) }
    XCTAssertFalse(conflicting.isPossible)
    XCTAssertEqual(conflicting.conflicts.map(\.code), [.migrationConstraintViolation])
    let impossible = try waitFor { [model = self.library([Attribute("must", .string).required()])] in
      try await file.migrationPlan(to: model)
    }
    XCTAssertEqual(impossible.obstacles.count, 1)
    XCTAssertTrue(try waitFor { [model = self.library([Attribute("gone", .string)])] in try await file.migrationPlan(to: model) }.isEmpty)
    XCTAssertEqual(try store.bytes(), before)
  }

  // MARK: Deferred tasks

  func testDeferredCleanupRunsLaterInSteps() throws {
    let older = library([Attribute("gone", .string), Attribute("lost", .string)]).adding {
      Entity("Loan") { Attribute("day", .string) }
    }
    let store = try MigratingStore.make(older) { context in
      for index in 0..<3 { try context.make("Book", ["title": "t\(index)", "gone": "g", "lost": "l"]) }
      try context.make("Loan", ["day": "today"])
    }
    let newer = library([Attribute("new", .string)])
    var description = store.store.description
    description.defersLightweightMigration = true
    var open = try OpenStore(description, model: CompiledModel(newer))
    XCTAssertEqual(
      open.persistentStore.metadata.deferredMigrationTasks,
      ["clear the unused columns gone, lost out of “Book”", "drop the unused table “Loan”"])
    XCTAssertEqual(try open.count("Book"), 3)
    try open.close()
    try store.check()
    // They remain pending after the store was closed, and another migration handles them.
    let newest = library([Attribute("new", .string), Attribute("gone", .integer32)])
    open = try OpenStore(store.store.description, model: CompiledModel(newest))
    XCTAssertEqual(open.persistentStore.metadata.deferredMigrationTasks.count, 2)
    try open.insert("Book", ["title": .text("last"), "gone": .int(7)])
    XCTAssertTrue(try open.coordinator.finishDeferredLightweightMigrationTask())
    XCTAssertEqual(open.persistentStore.metadata.deferredMigrationTasks, ["drop the unused table “Loan”"])
    XCTAssertEqual(try open.count("Book"), 4)
    try open.insert("Book", ["title": .text("more"), "gone": .int(8)])
    try open.coordinator.finishDeferredLightweightMigration()
    XCTAssertEqual(open.persistentStore.metadata.deferredMigrationTasks, [])
    XCTAssertFalse(try open.coordinator.finishDeferredLightweightMigrationTask())
    try open.close()
    try store.check()
    XCTAssertEqual(try store.rows("SELECT name FROM sqlite_master WHERE name = 'Loan' OR sql LIKE '%lost%'"), [])
    let contents = try store.contents(newest)
    XCTAssertEqual(contents.values.compactMap { $0["gone"] }.sorted(), ["7", "8"])
  }

  // MARK: The stored model

  func testTheStoreKeepsItsModelCompressed() throws {
    let store = try filled()
    _ = try store.contents(library([Attribute("x", .string)]))
    XCTAssertEqual(try store.rows("SELECT typeof(model) FROM cipherdata_metadata"), ["blob"])
    XCTAssertEqual(try store.rows("SELECT substr(hex(model), 1, 2) FROM cipherdata_metadata"), ["78"])
    let model = try waitFor { [url = store.url] in try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).readModel() }
    XCTAssertEqual(try CompiledModel(model).versionHashes, try CompiledModel(library([Attribute("x", .string)])).versionHashes)
  }

  func testFirstFormatStoreIsReadAndUpgraded() throws {
    let store = try filled()
    let xml = String(decoding: try library().xmlData(), as: UTF8.self).replacing("'", with: "''")
    try store.connected { connection in
      try connection.writeTransaction {
        try connection.execute(
          "CREATE TABLE old (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, identifier TEXT NOT NULL, type TEXT NOT NULL,"
            + " checksum TEXT NOT NULL, layout_basis TEXT NOT NULL, version_identifiers TEXT NOT NULL, user_metadata TEXT NOT NULL,"
            + " hashes TEXT NOT NULL, layout TEXT NOT NULL, model TEXT NOT NULL)")
        try connection.execute(
          "INSERT INTO old SELECT 1, 1, identifier, type, checksum, layout_basis, version_identifiers, user_metadata, hashes, layout, '\(xml)'"
            + " FROM cipherdata_metadata")
        try connection.execute("DROP TABLE cipherdata_metadata")
        try connection.execute("ALTER TABLE old RENAME TO cipherdata_metadata")
      }
    }
    XCTAssertEqual(try store.contents(library()) { $0.isReadOnly = true }.count, 6)
    XCTAssertEqual(try store.number("SELECT format FROM cipherdata_metadata"), 1)
    XCTAssertEqual(try store.contents(library()).count, 6)
    XCTAssertEqual(try store.number("SELECT format FROM cipherdata_metadata"), 2)
    XCTAssertEqual(try store.contents(library([Attribute("x", .string)])).count, 6)
    assertStoreError(.storeNewerThanModel) { try store.contents(library()) }
  }
}
