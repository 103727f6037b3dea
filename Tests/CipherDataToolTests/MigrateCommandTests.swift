import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreKeys
import XCTest

/// `cipherdata migrate`, run with the built tool: the dry run, the migration, deferred cleanup, and being killed in the middle.
final class MigrateCommandTests: XCTestCase {
  private static let older = ManagedObjectModel(version: "1") {
    Entity("Author") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "author")
      Unique("name")
    }
    Entity("Book") {
      Attribute("title", .string).required()
      Attribute("junk", .string)
      Relationship("author", to: "Author", inverse: "books")
      Unique("title")
    }
  }

  private static let newer = ManagedObjectModel(version: "2") {
    Entity("Writer") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "author")
      Unique("name")
    }.renamed(from: "Author")
    Entity("Book") {
      Attribute("heading", .string).required().renamed(from: "title")
      Attribute("language", .string).required().initially("en")
      Relationship("author", to: "Writer", inverse: "books")
      Relationship("shelves", toMany: "Shelf", inverse: "books")
      Unique("heading")
    }
    Entity("Shelf") { Relationship("books", toMany: "Book", inverse: "shelves") }
  }

  /// A store with books and their authors, and the newer model in a file.
  private func fixture(books: Int) async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.older)
    try fixture.write(Self.newer, to: "New.xcdatamodel")
    let lines = (0..<books).map { #"{"$entity":"Book","title":"book \#($0)","junk":"junk \#($0)","author":{"name":"author \#($0 % 50)"}}"# }
    let imported = try fixture.run(
      ["import", "test.store", "--format", "jsonl", "-"], input: lines.map { $0 + "\n" }.joined())
    XCTAssertEqual(imported.status, 0, imported.error)
    return fixture
  }

  func testTheLinksOfRemovedRelationshipsAreCounted() async throws {
    let older = ManagedObjectModel {
      Entity("A") {
        Attribute("x", .integer64)
        Relationship("one", to: "B", inverse: "many")
        Relationship("several", toMany: "B", inverse: "others")
        Relationship("kept", to: "B", inverse: "keepers")
      }
      Entity("B") {
        Attribute("x", .integer64)
        Relationship("many", toMany: "A", inverse: "one")
        Relationship("others", toMany: "A", inverse: "several")
        Relationship("keepers", toMany: "A", inverse: "kept")
      }
      Entity("Gone") { Relationship("b", to: "B") }
    }
    let newer = ManagedObjectModel {
      Entity("A") {
        Attribute("x", .integer64)
        Relationship("saved", to: "B", inverse: "keepers").renamed(from: "kept")
      }
      Entity("B") {
        Attribute("x", .integer64)
        Relationship("keepers", toMany: "A", inverse: "saved")
      }
    }
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: older)
    try fixture.write(newer, to: "New.xcdatamodel")
    let lines = [
      #"{"$entity":"A","x":1,"one":{"x":1},"several":[{"x":2},{"x":3}],"kept":{"x":4}}"#, #"{"$entity":"A","x":2,"several":[{"x":5}]}"#,
      #"{"$entity":"A","x":3,"one":{"x":6}}"#, #"{"$entity":"Gone","b":{"x":7}}"#,
    ]
    let imported = try fixture.run(["import", "test.store", "-"], input: lines.map { $0 + "\n" }.joined())
    XCTAssertEqual(imported.status, 0, imported.error)
    let plan = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--dry-run"])
    XCTAssertEqual(plan.status, 0, plan.error)
    XCTAssertEqual(
      plan.output.split(separator: "\n").filter { $0.hasPrefix("remove the links") }.sorted(),
      ["remove the links of A.one (2 rows)", "remove the links of A.several (3 rows)"], plan.output)
    let run = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel"])
    XCTAssertEqual(run.status, 0, run.error)
    let fetch = ["fetch", "test.store", "--entity", "A", "--where", "saved.x == 4", "--properties", "x", "--format", "csv"]
    let fetched = try fixture.run(fetch)
    XCTAssertEqual(fetched.output, "x\r\n1\r\n", fetched.error)
  }

  func testStoreMigratedBeforeItIsOpenedIsOpenedWithTheNewerModel() async throws {
    let fixture = try await fixture(books: 3)
    let url = URL(fileURLWithPath: fixture.store)
    let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase(ToolFixture.passphrase))
    var tries = 0
    let coordinator = try await file.withStoredModel { model in
      tries += 1
      // Another process migrates as soon as the model is read.
      if tries == 1 {
        XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel"]).status, 0)
      }
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
      var description = PersistentStoreDescription(url: url, key: file.key)
      description.createsStore = false
      try await coordinator.addPersistentStore(with: description)
      return coordinator
    }
    XCTAssertEqual(tries, 2)
    XCTAssertNotNil(coordinator.compiledModel.entity(named: "Shelf"))
    try coordinator.persistentStores.forEach { try coordinator.remove($0) }
  }

  func testStoreMigratedDuringCleanUpIsCleanedUpWithTheNewerModel() async throws {
    let fixture = try await fixture(books: 3)
    let url = URL(fileURLWithPath: fixture.store)
    let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase(ToolFixture.passphrase))
    var tries = 0
    try await file.withStoredModel { model in
      tries += 1
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
      var description = PersistentStoreDescription(url: url, key: file.key)
      description.createsStore = false
      let store = try await coordinator.addPersistentStore(with: description)
      defer { try? coordinator.remove(store) }
      // Another process migrates as soon as the store is open.
      if tries == 1 {
        XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--defer"]).status, 0)
      }
      while try coordinator.finishDeferredLightweightMigrationTask() {}
    }
    XCTAssertEqual(tries, 2)
  }

  func testHistoryRecordsTheAuthorOfAMigration() async throws {
    let fixture = try await fixture(books: 3)
    XCTAssertEqual(try fixture.run(["history", "test.store", "--enable"]).status, 0)
    let migrated = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--author", "release 2"])
    XCTAssertEqual(migrated.status, 0, migrated.error)
    let history = try fixture.run(["history", "test.store", "--author", "release 2", "--format", "jsonl"])
    let lines = try history.output.split(separator: "\n").map { try JSONParser.parse(String($0)) }
    XCTAssertEqual([lines.first?["kind"], lines.first?["whole"]], [.string("migration"), nil], history.output + history.error)
    XCTAssertEqual(lines.filter { $0["kind"] != nil }.count, 1)
    let dry = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--dry-run", "--author", "x"])
    XCTAssertEqual(dry.status, 64)
    XCTAssertTrue(dry.error.contains("--author"), dry.error)
  }

  private func count(_ entity: String, _ fixture: ToolFixture, _ condition: String = "TRUEPREDICATE") throws -> String {
    let result = try fixture.run(["fetch", "test.store", "--entity", entity, "--where", condition, "--count"])
    return result.status == 0 ? result.output.trimmingCharacters(in: .newlines) : "status \(result.status)"
  }

  func testDryRunsPrintThePlanAndChangeNothing() async throws {
    let fixture = try await fixture(books: 20)
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    let words = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--dry-run"])
    XCTAssertEqual(words.status, 0, words.error)
    XCTAssertTrue(words.output.contains("language"), words.output)
    XCTAssertTrue(words.output.contains("20 rows"), words.output)
    XCTAssertFalse(words.output.contains("CREATE TABLE"), words.output)
    let statements = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--dry-run", "--sql"])
    XCTAssertTrue(statements.output.contains("CREATE TABLE"), statements.output)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
    XCTAssertEqual(try count("Author", fixture), "20")
  }

  func testAllCommandsReportTheSameForTwoModels() async throws {
    func model(_ type: AttributeType, transformer: String? = nil, renamed: Bool = false, _ version: String) -> ManagedObjectModel {
      var tags = AttributeDescription(name: "tags", type: .transformable, isOptional: true)
      tags.valueTransformerName = transformer
      return ManagedObjectModel(version: version) {
        Entity("Item") {
          Attribute("a", type).renamed(from: renamed ? "b" : "a")
          Attribute("b", .string).renamed(from: renamed ? "a" : "b")
          PropertyDescription.attribute(tags)
        }
      }
    }
    enum Answer { case fits, migrates, refused }
    for (newer, answer) in [
      (model(.integer64, transformer: "NSSecureUnarchiveFromData", "2"), Answer.fits), (model(.integer64, renamed: true, "2"), .fits),
      (model(.integer64, transformer: "", "2"), .fits), (model(.double, transformer: "Mine", "2"), .migrates),
      (model(.date, "2"), .refused),
    ] {
      let fixture = try ToolFixture()
      try await fixture.makeStore(of: model(.integer64, "1"))
      try fixture.write(model(.integer64, "1"), to: "Old.xcdatamodel")
      try fixture.write(newer, to: "New.xcdatamodel")
      let imported = try fixture.run(
        ["import", "test.store", "--format", "jsonl", "-"], input: #"{"$entity":"Item","a":1,"b":"x"}"# + "\n")
      XCTAssertEqual(imported.status, 0, imported.error)
      let difference = try fixture.run(["model", "diff", "Old.xcdatamodel", "New.xcdatamodel"], passphrase: nil)
      let plan = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--dry-run"])
      let migration = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel"])
      let all = [difference, plan, migration].map { $0.output + $0.error }
      for text in all {
        XCTAssertEqual(
          text.contains("cannot be inferred") || text.contains("cannot be migrated"), answer == .refused,
          text)
      }
      XCTAssertEqual([plan.status == 0, migration.status == 0], [answer != .refused, answer != .refused], all.joined(separator: "\n"))
      XCTAssertEqual(difference.output.contains("Stores of the older version are compatible with the newer one."), answer == .fits, all[0])
      XCTAssertEqual(plan.output.contains("No migration is needed"), answer == .fits, all[1])
      XCTAssertEqual(migration.output.contains("The store matches the model."), answer == .fits, all[2])
      XCTAssertEqual(try count("Item", fixture, "b == 'x'"), "1")
      let found = try fixture.run(["verify", "test.store"])
      XCTAssertEqual(found.status, 0, found.output + found.error)
    }
  }

  func testStagesMigrateThroughTheVersionsOfABundle() async throws {
    let fixture = try await fixture(books: 20)
    var between = Self.older
    between.versionIdentifiers = ["1.5"]
    between.entities[0].properties.append(.attribute(AttributeDescription(name: "country", type: .string, isOptional: true)))
    let bundle = VersionedModel(
      name: "Library",
      versions: [
        .init(name: "Library 1", model: Self.older), .init(name: "Library 2", model: between), .init(name: "Library 3", model: Self.newer),
      ], currentVersionName: "Library 3")
    try bundle.write(to: URL(fileURLWithPath: fixture.path("Library.xcdatamodeld")))
    let way = ["migrate", "test.store", "--model", "Library.xcdatamodeld", "--stages"]
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    let plan = try fixture.run(way + ["--dry-run"])
    XCTAssertEqual(plan.status, 0, plan.error)
    XCTAssertTrue(plan.output.contains("stage 1 of 2"), plan.output)
    XCTAssertTrue(plan.output.contains("add the column “country” to “Author”"), plan.output)
    XCTAssertTrue(plan.output.contains("stage 2 of 2"), plan.output)
    XCTAssertTrue(plan.output.contains("copy the rows of “Book” (20 rows)"), plan.output)
    XCTAssertFalse(plan.output.contains("ALTER TABLE"), plan.output)
    XCTAssertTrue(try fixture.run(way + ["--dry-run", "--sql"]).output.contains("ALTER TABLE"))
    let putOff = try fixture.run(way + ["--dry-run", "--defer"])
    XCTAssertTrue(putOff.output.contains("later: clear the unused columns"), putOff.output)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
    XCTAssertEqual(try fixture.run(way).status, 0)
    XCTAssertEqual(try count("Writer", fixture), "20")
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--stages"]).status, 64)
  }

  func testStoreIsMigratedToItsModelAndTheBackupRemains() async throws {
    let fixture = try await fixture(books: 120)
    let migrated = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--backup", "before.store"])
    XCTAssertEqual(migrated.status, 0, migrated.error)
    XCTAssertTrue(migrated.output.contains("renamed from Author"), migrated.output)
    XCTAssertEqual(try count("Writer", fixture), "50")
    XCTAssertEqual(try count("Book", fixture, #"language == "en" AND author.name == "author 7" AND heading BEGINSWITH "book""#), "3")
    XCTAssertEqual(try fixture.run(["fetch", "before.store", "--entity", "Author", "--count"]).output, "50\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    let again = try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel"])
    XCTAssertEqual(again.output, "Nothing to do: the store matches the model.\n")
  }

  func testStoreAdoptsModelChangesThatKeepTheVersionHash() async throws {
    let fixture = try await fixture(books: 120)
    let model = ManagedObjectModel(version: "1") {
      Entity("Author") {
        Attribute("name", .string).required().length(1...200).userInfo("shown", "YES")
        Relationship("books", toMany: "Book", inverse: "author")
        Unique("name")
      }
      Entity("Book") {
        Attribute("title", .string).required()
        Attribute("junk", .string)
        Relationship("author", to: "Author", inverse: "books")
        Unique("title")
        Index("byJunk", on: "junk")
      }
    }
    try fixture.write(model, to: "Indexed.xcdatamodel")
    let migrate = ["migrate", "test.store", "--model", "Indexed.xcdatamodel"]
    let dry = try fixture.run(migrate + ["--dry-run"])
    XCTAssertTrue(dry.output.hasPrefix("Author.name: "), dry.output)
    XCTAssertTrue(dry.output.contains("Book.byJunk: index added\nNo migration is needed: "), dry.output)
    let done = try fixture.run(migrate + ["--backup", "before.store"])
    XCTAssertEqual(done.status, 0, done.error)
    XCTAssertTrue(done.output.hasSuffix("\nThe store matches the model. It adopted the changes.\n"), done.output)
    let ask = ["fetch", "test.store", "--entity", "Book", "--where", #"junk == "junk 7""#, "--explain"]
    XCTAssertTrue(try fixture.run(ask).output.contains("byJunk"), "the index is used")
    // The store has the newer model, including the parts that do not affect tables.
    let long = String(repeating: "a", count: 201)
    XCTAssertEqual(try fixture.run(["import", "test.store", "-"], input: #"{"$entity":"Author","name":"\#(long)"}"# + "\n").status, 65)
    XCTAssertEqual(try fixture.run(migrate).output, "Nothing to do: the store matches the model.\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    let before = try fixture.run(["fetch", "before.store"] + ask.dropFirst(2))
    XCTAssertFalse(before.output.contains("byJunk"), before.output)
  }

  func testCleanUpCanBeDeferred() async throws {
    let fixture = try await fixture(books: 30)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--defer"]).status, 0)
    XCTAssertEqual(try count("Book", fixture, #"language == "en""#), "30")
    let finished = try fixture.run(["migrate", "test.store", "--finish"])
    XCTAssertEqual(finished.status, 0, finished.error)
    XCTAssertTrue(finished.output.hasSuffix("done.\n"), finished.output)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--finish"]).output, "Nothing was deferred.\n")
    XCTAssertEqual(try count("Book", fixture), "30")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
  }

  func testMappingsThatCannotBeInferredAreReportedWithAdvice() async throws {
    let fixture = try await fixture(books: 3)
    let model = ManagedObjectModel(version: "2") {
      Entity("Author") {
        Attribute("name", .integer64).required()
        Relationship("books", toMany: "Book", inverse: "author")
      }
      Entity("Book") {
        Attribute("title", .string).required()
        Attribute("isbn", .string).required()
        Relationship("author", to: "Author", inverse: "books")
      }
    }
    try fixture.write(model, to: "Impossible.xcdatamodel")
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    for options in [[], ["--dry-run"]] {
      let refused = try fixture.run(["migrate", "test.store", "--model", "Impossible.xcdatamodel"] + options)
      XCTAssertEqual(refused.status, 65, refused.error)
      let text = refused.output + refused.error
      XCTAssertTrue(text.contains("Author.name") && text.contains("Book.isbn"), text)
    }
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
  }

  func testContradictoryOptionsAreRejected() async throws {
    let fixture = try ToolFixture()
    for options in [[], ["--model", "New.xcdatamodel", "--finish"], ["--finish", "--dry-run"], ["--model", "New.xcdatamodel", "--sql"]] {
      XCTAssertEqual(try fixture.run(["migrate", "test.store"] + options).status, 64, "\(options)")
    }
  }

  func testProcessesWithTheOlderModelFailAfterAMigration() async throws {
    let fixture = try await fixture(books: 20)
    let description = PersistentStoreDescription(url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase))
    let older = try PersistentStoreCoordinator(managedObjectModel: Self.older)
    try await older.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: older)
    let books = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
    let author = try XCTUnwrap(books[0]["author"] as? ManagedObject)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--defer"]).status, 0)

    func assertRejected(_ what: String, _ body: () throws -> Void) {
      XCTAssertThrowsError(try body(), what) { XCTAssertEqual(($0 as? StoreError)?.code, .modelIncompatible, "\(what): \($0)") }
    }
    assertRejected("fetch") { _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Author")) }
    assertRejected("batch") { _ = try context.execute(BatchDeleteRequest(entityName: "Book")) }
    assertRejected("object") { _ = try ManagedObjectContext(coordinator: older).existingObject(with: author.objectID) }
    try books[1].setValue("late", forKey: "title")
    context.delete(books[2])
    assertRejected("save") { try context.save() }
    XCTAssertEqual(try count("Book", fixture), "20")
    XCTAssertEqual(try count("Book", fixture, #"heading == "late""#), "0")
    for store in older.persistentStores { try older.remove(store) }

    // With the same model both continue, even while the other one cleans up.
    let newer = try PersistentStoreCoordinator(managedObjectModel: Self.newer)
    try await newer.addPersistentStore(with: description)
    let current = ManagedObjectContext(coordinator: newer)
    XCTAssertEqual(try current.count(for: FetchRequest<ManagedObject>(entityName: "Writer")), 20)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--finish"]).status, 0)
    try current.insertObject(entityName: "Writer").setValue("new", forKey: "name")
    try current.save()
    XCTAssertEqual(try count("Writer", fixture), "21")
    for store in newer.persistentStores { try newer.remove(store) }
  }

  func testPinnedContextKeepsReadingDuringWritesAndMigrationsOfOtherProcesses() async throws {
    let fixture = try await fixture(books: 200)
    let description = PersistentStoreDescription(url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase))
    let older = try PersistentStoreCoordinator(managedObjectModel: Self.older)
    let store = try await older.addPersistentStore(with: description)
    let (context, late) = (ManagedObjectContext(coordinator: older), ManagedObjectContext(coordinator: older))
    try context.setQueryGeneration(from: .current)
    let (books, authors) = (FetchRequest<ManagedObject>(entityName: "Book"), FetchRequest<ManagedObject>(entityName: "Author"))
    XCTAssertEqual(try context.count(for: books), 200)

    let (sevens, eights) = ("title ENDSWITH '7'", "title ENDSWITH '8'")
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Book", "--where", sevens]).status, 0)
    XCTAssertEqual(try fixture.run(["update", "test.store", "--entity", "Book", "--where", eights, "--set", "junk = 'changed'"]).status, 0)
    try late.setQueryGeneration(from: .current)
    XCTAssertEqual(try late.count(for: books), 180)
    XCTAssertEqual(store.queryGenerations.count, 2)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel", "--defer"]).status, 0)
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--finish"]).status, 0)

    let found = try context.fetch(books)
    XCTAssertEqual(Set(found.compactMap { $0["title"] as? String }), Set((0..<200).map { "book \($0)" }))
    XCTAssertEqual(Set(found.compactMap { $0["junk"] as? String }), Set((0..<200).map { "junk \($0)" }))
    XCTAssertEqual(try context.fetch(authors).reduce(0) { $0 + (($1["books"] as? Set<ManagedObject>)?.count ?? 0) }, 200)
    XCTAssertEqual(try late.count(for: books), 180)
    try found[0].setValue("mine", forKey: "title")
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .modelIncompatible, "\($0)") }
    XCTAssertEqual(try context.count(for: books), 200)
    // Other connections have the file open, so it cannot be removed or encrypted.
    XCTAssertNotEqual(try fixture.run(["destroy", "test.store", "--yes"], passphrase: nil).status, 0)
    late.reset()
    XCTAssertThrowsError(try late.count(for: books)) { XCTAssertEqual(($0 as? StoreError)?.code, .modelIncompatible, "\($0)") }
    try older.remove(store)
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).status, 0)
    XCTAssertEqual(try count("Book", fixture), "180")
  }

  func testKilledMigrationsLeaveAStoreThatOpens() async throws {
    let fixture = try await fixture(books: 4_000)
    let rounds = ProcessInfo.processInfo.environment["CIPHERDATA_CRASH_ROUNDS"].flatMap(Int.init) ?? 12
    XCTAssertEqual(try fixture.run(["backup", "test.store", "before.store"]).status, 0)
    for round in 0..<rounds {
      XCTAssertEqual(try fixture.run(["replace", "test.store", "before.store", "--yes"]).status, 0)
      let process = Process()
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = fixture.folder.url
      process.arguments = ["migrate", "test.store", "--model", "New.xcdatamodel", "--passphrase-file", "passphrase"]
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      usleep(UInt32(30_000 + round * 600_000 / rounds))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let (old, new) = (try count("Author", fixture), try count("Writer", fixture))
      XCTAssertEqual(Set([old, new]), ["50", "status 64"], "round \(round): \(old), \(new)")
      XCTAssertEqual(try count("Book", fixture), "4000", "round \(round)")
      XCTAssertEqual(try fixture.run(["verify", "test.store", "--quick"]).output, "ok\n", "round \(round)")
    }
    XCTAssertEqual(try fixture.run(["migrate", "test.store", "--model", "New.xcdatamodel"]).status, 0)
    XCTAssertEqual(try count("Writer", fixture), "50")
  }
  func testRepeatedlyKilledMigrationsLeaveAtMostOneCompleteCopy() async throws {
    let fixture = try await fixture(books: 4_000)
    let rounds = ProcessInfo.processInfo.environment["CIPHERDATA_CRASH_ROUNDS"].flatMap(Int.init) ?? 10
    XCTAssertEqual(try fixture.run(["backup", "test.store", "origin.store"]).status, 0)
    let command = ["migrate", "test.store", "--model", "New.xcdatamodel", "--backup", "before.store"]
    let known: Set = ["before.store", "before.store.keys", "before.store.keys.new", "before.store.keys.lock", ".before.store.new"]
    var files: Set<UInt64> = []
    for round in 0..<rounds {
      let process = Process()
      process.executableURL = try ToolFixture.executable
      process.currentDirectoryURL = fixture.folder.url
      process.arguments = command + ["--passphrase-file", "passphrase"]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      usleep(UInt32(20_000 + round * 700_000 / rounds))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path)
      let copies = Set(names.filter { $0.contains("before.store") && !$0.hasSuffix("-journal") && !$0.hasSuffix("-wal") })
      XCTAssertTrue(copies.isSubset(of: known), "round \(round): \(copies.sorted())")
      // Other remaining files are as small as a key file.
      for name in names where name.hasPrefix(".cipherdata-") {
        let size = try FileManager.default.attributesOfItem(atPath: fixture.path(name))[.size] as? Int ?? 0
        XCTAssertLessThan(size, 65_536, "round \(round): \(name)")
      }
      if copies.contains("before.store") {
        XCTAssertEqual(try fixture.run(["verify", "before.store"]).output, "ok\n", "round \(round)")
        XCTAssertEqual(try fixture.run(["fetch", "before.store", "--entity", "Book", "--count"]).output, "4000\n", "round \(round)")
        var status = stat()
        XCTAssertEqual(stat(fixture.path("before.store"), &status), 0)
        files.insert(UInt64(status.st_ino))
      }
      // A process that finished before the kill starts again.
      guard try count("Writer", fixture) == "50" else { continue }
      XCTAssertEqual(try fixture.run(["replace", "test.store", "origin.store", "--yes"]).status, 0)
    }
    XCTAssertLessThanOrEqual(files.count, 1, "the copy is made once")
    XCTAssertEqual(try fixture.run(command).status, 0)
    XCTAssertEqual(try count("Writer", fixture), "50")
    XCTAssertEqual(try fixture.run(["verify", "before.store"]).output, "ok\n")
  }

  func testExistingBackupIsAcceptedOnlyIfItIsACopyOfTheStore() async throws {
    let fixture = try await fixture(books: 20)
    let command = ["migrate", "test.store", "--model", "New.xcdatamodel", "--backup", "before.store"]
    _ = try fixture.folder.file("before.store", "mine")
    let refused = try fixture.run(command)
    XCTAssertEqual(refused.status, 73, refused.error)
    XCTAssertTrue(refused.error.contains("already exists"), refused.error)
    XCTAssertEqual(try count("Author", fixture), "20")
    try FileManager.default.removeItem(atPath: fixture.path("before.store"))
    XCTAssertEqual(try fixture.run(["backup", "test.store", "before.store"]).status, 0)
    XCTAssertEqual(try fixture.run(command).status, 0)
    XCTAssertEqual(try count("Writer", fixture), "20")
    XCTAssertEqual(try fixture.run(["verify", "before.store"]).output, "ok\n")
  }
}
