import CoreDataImport
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _CoreDataFixture
import _StoreSpecification
import _TestSupport

/// Failed imports name the cause and leave no files behind. A fixture program writes the stores.
final class ImportFailureTests: XCTestCase {
  private typealias Build = SpecificationModels

  private static func person() throws -> CompiledModel {
    try Build.compiled([
      Build.entity(
        "Person",
        [Build.text("name"), Build.integer("age"), Build.toOne("boss", "Person", "staff"), Build.toMany("staff", "Person", "boss")])
    ])
  }

  private func fixture(_ sql: String = "") throws -> ImportHarness {
    let model = try Self.person()
    let harness = try ImportHarness(model)
    let graph = FixtureGraph(
      model,
      [
        FixtureObject("Person", 1, ["name": .text("Ada")], toMany: ["staff": [1]]),
        FixtureObject("Person", 2, ["age": .int(3)], toOne: ["boss": 0]),
      ])
    let database = try AppleFixtureWriter(graph).write(to: harness.source)
    if !sql.isEmpty { try database.run(sql) }
    database.close()
    return harness
  }

  private func assertNothingIsLeft(_ harness: ImportHarness, file: StaticString = #filePath, line: UInt = #line) {
    XCTAssertEqual(harness.folder.fileNames().filter { !$0.hasPrefix("Old") && !$0.hasPrefix(".Old") }, [], file: file, line: line)
  }

  // MARK: Recognition

  func testOtherFilesAreRejectedAndIdentified() async throws {
    let harness = try ImportHarness(try Self.person())
    let database = try FixtureDatabase(harness.source)
    try database.run("CREATE TABLE notes (id INTEGER, body TEXT); CREATE TABLE tags (id INTEGER)")
    database.close()
    let error = await assertImportFails(.notRecognized) { _ = try await harness.open() }
    XCTAssertTrue(error?.message.contains("notes, tags") == true, "\(String(describing: error))")

    let xml = try ImportHarness(try Self.person())
    try Data("<?xml version=\"1.0\"?><database/>".utf8).write(to: xml.source)
    let form = await assertImportFails(.notRecognized) { _ = try await xml.open() }
    XCTAssertTrue(form?.message.contains("XML store") == true)
  }

  func testMissingSourceFilesAreReported() async throws {
    let harness = try ImportHarness(try Self.person())
    do {
      _ = try await harness.open()
      XCTFail("opened")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .storeNotFound)
    }
  }

  // MARK: The model

  func testTablesMissingInTheStoreAreReported() async throws {
    let harness = try fixture("ALTER TABLE ZPERSON RENAME TO ZHUMAN")
    let table = await assertImportFails(.modelMismatch) { _ = try await harness.open() }
    XCTAssertEqual(table?.findings, ["the table ZPERSON of “Person” is missing"])
    XCTAssertTrue(table?.message.contains("fixture 1") == true, "the error names the version that wrote the store")

    let newer = try fixture()
    let other = try Build.compiled([
      Build.entity(
        "Person",
        [
          Build.text("name"), Build.text("email"), Build.integer("age"), Build.toOne("boss", "Person", "staff"),
          Build.toMany("staff", "Person", "boss", ordered: true),
        ]), Build.entity("Pet", [Build.text("name")]),
    ])
    let error = await assertImportFails(.modelMismatch) { _ = try await CoreDataStore.open(at: newer.source, model: other.model) }
    XCTAssertEqual(
      error?.findings.sorted(),
      [
        "the column Z_FOK_BOSS of ZPERSON is missing, which orders “staff”", "the column ZEMAIL of ZPERSON is missing, for “Person.email”",
        "the store has no entity Pet",
      ].sorted())
  }

  func testTablesMissingInTheModelAreReportedOrSkipped() async throws {
    let harness = try fixture(
      "ALTER TABLE ZPERSON ADD COLUMN ZNICK VARCHAR; UPDATE ZPERSON SET ZNICK = 'x';"
        + "CREATE TABLE ZPET (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER); INSERT INTO ZPET VALUES (1, 2, 1);"
        + "INSERT INTO Z_PRIMARYKEY VALUES (2, 'Pet', 0, 1)")
    let error = await assertImportFails(.modelMismatch) { _ = try await harness.open() }
    XCTAssertEqual(error?.findings.count, 2)
    var options = CoreDataImportOptions()
    options.ignoresUnknown = true
    let report = try await harness.importAll(options: options)
    XCTAssertEqual(report.warnings.count, 2)
    XCTAssertEqual(report.objectCount, 2)
  }

  func testRowsOfUnknownSubentitiesAreReportedOrSkipped() async throws {
    let harness = try fixture(
      "INSERT INTO Z_PRIMARYKEY VALUES (2, 'Manager', 1, 0); INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZBOSS) VALUES (5, 2, 1, 1)")
    let error = await assertImportFails(.modelMismatch) { _ = try await harness.open() }
    XCTAssertEqual(error?.findings, ["the entity Manager has objects and is not in the model"])
    var options = CoreDataImportOptions()
    options.ignoresUnknown = true
    let report = try await harness.importAll(options: options)
    XCTAssertEqual(report.objectCount, 2)
  }

  func testCoreDataHistoryIsNotImported() async throws {
    let harness = try fixture(
      "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 9); CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY); INSERT INTO ACHANGE VALUES (1)"
    )
    let report = try await harness.importAll()
    XCTAssertEqual(report.warnings, ["Core Data's persistent history is left behind"])
  }

  func testDestinationStoreOfAnotherModelIsRejected() async throws {
    let harness = try fixture()
    let other = PersistentStoreCoordinator(compiledModel: Build.library)
    let store = try await other.addPersistentStore(with: harness.description)
    let source = try await harness.open()
    let error = await assertImportFails(.differingModel) { _ = try await source.importAll(into: other, store: store) }
    XCTAssertTrue(error?.message.contains("Person") == true)
    try other.remove(store)
  }

  // MARK: Rows

  func testInvalidValueErrorsNameTheLocationButNotTheValue() async throws {
    let cases: [(String, String)] = [
      ("UPDATE ZPERSON SET ZNAME = CAST(x'ff41' AS TEXT) WHERE Z_PK = 1", "name"),
      ("UPDATE ZPERSON SET ZNAME = x'41' WHERE Z_PK = 1", "name"),
      ("UPDATE ZPERSON SET ZAGE = 'secret' WHERE Z_PK = 1", "age"), ("UPDATE ZPERSON SET ZAGE = 1.5 WHERE Z_PK = 1", "age"),
    ]
    for (sql, property) in cases {
      let harness = try fixture(sql)
      let error = await assertImportFails(.invalidValue) { try await harness.importAll() }
      XCTAssertEqual(error?.entityName, "Person", sql)
      XCTAssertEqual(error?.propertyName, property, sql)
      XCTAssertEqual(error?.key, 1, sql)
      XCTAssertFalse(error?.description.contains("secret") == true)
      assertNothingIsLeft(harness)
    }
  }

  func testRowsWithoutEntityAndInvalidKeysAreRejected() async throws {
    for sql in ["UPDATE ZPERSON SET Z_ENT = 9 WHERE Z_PK = 2", "UPDATE ZPERSON SET Z_PK = -4 WHERE Z_PK = 2"] {
      let harness = try fixture(sql)
      _ = await assertImportFails(.invalidKey) { try await harness.importAll() }
      assertNothingIsLeft(harness)
    }
    let large = try fixture("UPDATE ZPERSON SET Z_PK = 9000000000000000000 WHERE Z_PK = 2")
    do {
      try await large.importAll()
      XCTFail("imported")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .invalidRequest)
    }
    assertNothingIsLeft(large)
  }

  func testDanglingReferencesAreErrorsOrSkipped() async throws {
    let harness = try fixture("UPDATE ZPERSON SET ZBOSS = 77 WHERE Z_PK = 2")
    let error = await assertImportFails(.danglingReference) { try await harness.importAll() }
    XCTAssertEqual(error?.propertyName, "boss")
    XCTAssertEqual(error?.key, 2)
    var options = CoreDataImportOptions()
    options.skipsMissing = true
    let report = try await harness.importAll(options: options)
    XCTAssertEqual(report.notes.map(\.count), [1])
    XCTAssertEqual(report.notes.map(\.propertyName), ["boss"])
    XCTAssertEqual(report.objectCount, 2)
  }

  func testDuplicateUniqueValuesStopTheImport() async throws {
    let model = try Build.compiled([Build.entity("Tag", [Build.text("name")], unique: [["name"]])])
    let graph = FixtureGraph(model, (1...3).map { FixtureObject("Tag", $0, ["name": .text("same")]) })
    let harness = try ImportHarness(model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    do {
      try await harness.importAll()
      XCTFail("imported")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .constraintConflict)
    }
    assertNothingIsLeft(harness)
  }

  func testCanceledImportsLeaveNothing() async throws {
    let harness = try fixture()
    let source = try await harness.open()
    do {
      _ = try await source.importAll(creating: harness.description) { done, total in
        XCTAssertEqual(total, 2)
        XCTAssertFalse(FileManager.default.fileExists(atPath: harness.target.path), "no store has the name before it is complete")
        return done < 1
      }
      XCTFail("imported")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .cancelled)
    }
    assertNothingIsLeft(harness)
  }

  func testImportOfACanceledTaskThrowsCancellationErrorAndLeavesNothing() async throws {
    let harness = try fixture()
    let source = try await harness.open()
    let description = harness.description
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await source.importAll(creating: description)
    }
    do {
      try await task.value
      XCTFail("imported")
    } catch is CancellationError {}
    assertNothingIsLeft(harness)
  }

  func testDecimalNaNIsRejectedWithItsLocation() async throws {
    for text in ["NaN", "nan"] {
      let model = try Build.compiled([Build.entity("Coin", [Build.attribute("value", .decimal)])])
      let harness = try ImportHarness(model)
      let database = try AppleFixtureWriter(FixtureGraph(model)).write(to: harness.source)
      try database.run("INSERT INTO ZCOIN (Z_PK, Z_ENT, Z_OPT, ZVALUE) VALUES (7, 1, 1, ?)", [.text(text)])
      database.close()
      do {
        try await harness.importAll()
        XCTFail("imported")
      } catch let error as CoreDataImportError {
        XCTAssertEqual(error.code, .invalidValue)
        XCTAssertEqual(error.propertyName, "value")
        if text == "NaN" { XCTAssertTrue(error.description.contains("not a number (NaN)"), error.description) }
      }
      assertNothingIsLeft(harness)
    }
  }

  func testAnExistingStoreIsNeverOverwritten() async throws {
    let harness = try fixture()
    try await harness.importAll()
    let before = try Data(contentsOf: harness.target)
    do {
      try await harness.importAll()
      XCTFail("overwritten")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .alreadyExists)
    }
    XCTAssertEqual(try Data(contentsOf: harness.target), before)
  }
}
