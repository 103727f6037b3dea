import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Dry runs of stages and mapping models, before any of them runs.
final class StagedDryRunTests: XCTestCase {
  private let log = Log()

  private func filled(version: Int) async throws -> MigratingStore {
    let store = try MigratingStore()
    try await store.fill(AddressBook.versions[version - 1]) { try AddressBook.fill($0, version: version) }
    return store
  }

  /// Returns the plan, and checks that the file does not change.
  private func plan(_ store: MigratingStore, _ model: ManagedObjectModel) async throws -> MigrationPlan {
    let url = try XCTUnwrap(store.description.url)
    let before = try Data(contentsOf: url)
    let file = try await SQLCipherStoreFile.unlock(at: url, key: store.description.key)
    let plan = try await file.migrationPlan(to: model, with: store.description)
    XCTAssertEqual(try Data(contentsOf: url), before)
    return plan
  }

  private func failure(_ store: MigratingStore, _ model: ManagedObjectModel) async -> StoreError? {
    do {
      _ = try await plan(store, model)
    } catch let error as StoreError {
      return error
    } catch { XCTFail("\(error)") }
    return nil
  }

  func testDryRunDescribesEachStageAndCallsNoHandler() async throws {
    let store = try await filled(version: 1)
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let plan = try await plan(store, AddressBook.version5)
    XCTAssertEqual(log.all, [])
    XCTAssertTrue(plan.isPossible)
    XCTAssertFalse(plan.isEmpty)
    XCTAssertEqual(plan.stages.map(\.name), ["lightweight stage", "split names", "lightweight stage", "number phones"])
    XCTAssertEqual(plan.steps, plan.stages.flatMap(\.steps))
    XCTAssertEqual(
      plan.withoutStatements.description.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) },
      [
        "stage 1 of 4, “lightweight stage”:",
        "add the column “nickname” to “Person”, for Person.nickname",
        "stage 2 of 4, “split names”:",
        "What the application's handler makes, changes and deletes is only known when it has run.",
        "Left to the handler: Person.firstName: added: String, required.",
        "rebuild the table “Note”",
        "rebuild the table “Person”",
        "copy the rows of “Note” (2 rows)",
        "copy the rows of “Person” (2 rows)",
        "run the stage “split names” (how many rows is only known when it runs)",
        "put the new “Note” in the place of the old one",
        "put the new “Person” in the place of the old one",
        "make the index “i_Note_person” (about 2 rows)",
        "stage 3 of 4, “lightweight stage”:",
        "The numbers of rows are those that inference alone would give: handlers of earlier stages may change them.",
        "note the newer model; no table changes",
        "stage 4 of 4, “number phones”:",
        "The numbers of rows are those that inference alone would give: handlers of earlier stages may change them.",
        "What the application's handler makes, changes and deletes is only known when it has run.",
        "Left to the handler: Person.phone: type changed from String to Integer 64.",
        "Left to the handler: Person.phone: made required.",
        "rebuild the table “Note”",
        "rebuild the table “Person”",
        "copy the rows of “Note” (about 2 rows)",
        "copy the rows of “Person” (about 2 rows)",
        "run the stage “number phones” (how many rows is only known when it runs)",
        "put the new “Note” in the place of the old one",
        "put the new “Person” in the place of the old one",
        "make the index “i_Note_person” (about 2 rows)",
      ])
  }

  func testPlannedStatementsMatchTheExecutedOnes() async throws {
    for version in 1...4 {
      let store = try await filled(version: version)
      store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
      let plan = try await plan(store, AddressBook.version5)
      let observer = SQLObserver()
      store.description.sqlObserver = observer
      try await store.open(AddressBook.version5)
      var rest = observer.statements[...]
      // Indexes and derived rows are not reported individually.
      let wanted = plan.steps.flatMap(\.statements).filter { !$0.hasPrefix("CREATE INDEX") }
      XCTAssertFalse(wanted.isEmpty)
      for statement in wanted {
        let place = rest.firstIndex(of: statement)
        XCTAssertNotNil(place, "version \(version): \(statement)")
        if let place { rest = rest[(place + 1)...] }
      }
      XCTAssertFalse(rest.contains { $0.hasPrefix("DROP TABLE") || $0.hasPrefix("CREATE TABLE") || $0.hasPrefix("ALTER TABLE") })
      try store.close()
      let after = try await self.plan(store, AddressBook.version5)
      XCTAssertTrue(after.isEmpty)
    }
  }

  /// Through lightweight stages alone, the numbers are exact for entities of one hierarchy, some of which are removed, and for links.
  func testPlannedNumbersAreExactForInferredStages() async throws {
    func model(_ version: String, _ property: String, hasNote: Bool, isSplit: Bool) -> ManagedObjectModel {
      ManagedObjectModel(version: version) {
        Entity("Base", abstract: true) { Attribute("name", .string) }
        Entity("Person", parent: "Base") { Attribute(property, .string).renamed(from: "email") }
        if hasNote { Entity("Company", parent: "Base") {} }
        Entity("Robot", parent: isSplit ? nil : "Base") { Attribute("serial", .string) }
      }
    }
    let versions = [
      model("1", "email", hasNote: true, isSplit: false), model("2", "mail", hasNote: false, isSplit: false),
      model("3", "address", hasNote: false, isSplit: true),
    ]
    let store = try MigratingStore()
    try await store.fill(versions[0]) { context in
      for (entity, count) in [("Person", 5), ("Company", 3), ("Robot", 2)] {
        for _ in 0..<count { _ = try context.insertObject(entityName: entity) }
      }
    }
    store.description.stagedMigrationManager = StagedMigrationManager([LightweightMigrationStage(models: versions)])
    let plan = try await plan(store, versions[2])
    XCTAssertEqual(plan.stages.map(\.unknowns), [[], []])
    let steps = plan.stages.map { stage in
      stage.steps.filter { $0.rowCount > 0 }.map { "\($0.summary): \($0.rowCount) \($0.rowCountPrecision)" }
    }
    XCTAssertEqual(
      steps,
      [
        ["delete the rows of Company from “Base”: 3 exact", "update the numbers of entities in “Base”: 7 exact"],
        ["copy the rows of “Base”: 5 exact", "copy the rows of “Robot” from “Base”: 2 exact"],
      ])
  }

  func testConflictsFixableByAPreparationAreNotReported() async throws {
    let constrained = ManagedObjectModel(version: "2") {
      Entity("Person") {
        Attribute("name", .string).required()
        Attribute("phone", .string)
        Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
        Unique("phone")
      }
      Entity("Note") {
        Attribute("text", .string)
        Relationship("person", to: "Person", inverse: "notes")
      }
    }
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { context in
      for name in ["a", "b"] {
        let person = try context.insertObject(entityName: "Person")
        try person.setValue(name, forKey: "name")
        try person.setValue("1", forKey: "phone")
      }
    }
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage(models: [AddressBook.version1, constrained])
    ])
    let conflicting = try await plan(store, constrained)
    XCTAssertEqual(conflicting.conflicts.map(\.code), [.migrationConstraintViolation])
    XCTAssertFalse(conflicting.isPossible)

    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(AddressBook.version1), to: ManagedObjectModelReference(constrained), label: "mend")
    stage.willMigrateHandler = { [log] _ in log.note("mend") }
    store.description.stagedMigrationManager = StagedMigrationManager([stage])
    let prepared = try await plan(store, constrained)
    XCTAssertEqual(log.all, [])
    XCTAssertTrue(prepared.isPossible)
    XCTAssertEqual(prepared.steps.first?.summary, "prepare the older rows for “mend”")
    XCTAssertEqual(prepared.steps.first?.rowCountPrecision, .unknown)
    let unknowns = try XCTUnwrap(prepared.stages.first?.unknowns)
    XCTAssertTrue(unknowns.contains { $0.hasPrefix("The application prepares the older rows first") }, "\(unknowns)")
    XCTAssertTrue(unknowns.contains { $0.hasPrefix("As the data is now, it does not allow the stage") }, "\(unknowns)")
    // The handler fixes nothing, so the migration itself reports the same.
    let error = await store.failure(constrained)
    XCTAssertEqual(error?.code, .migrationConstraintViolation)
  }

  func testLaterStageChecksRowsWhenItRuns() async throws {
    var constrained = AddressBook.version3
    constrained.entities[0].uniquenessConstraints = [["firstName"]]
    let store = try await filled(version: 2)
    store.description.stagedMigrationManager = StagedMigrationManager([
      AddressBook.split(log), LightweightMigrationStage(models: [AddressBook.version3, constrained]),
    ])
    let plan = try await plan(store, constrained)
    XCTAssertTrue(plan.isPossible)
    XCTAssertTrue(plan.stages.last?.unknowns.contains("Whether the rows allow it is asked when the stages before it have run.") ?? false)
  }

  func testAStageThatCannotBeInferredEndsThePlan() async throws {
    let store = try await filled(version: 1)
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage(models: Array(AddressBook.versions[0...1])),
      LightweightMigrationStage(models: Array(AddressBook.versions[1...2])),
    ])
    let plan = try await plan(store, AddressBook.version3)
    XCTAssertFalse(plan.isPossible)
    XCTAssertEqual(plan.stages.count, 2)
    XCTAssertEqual(plan.obstacles.map(\.name), ["firstName"])
    XCTAssertTrue(plan.description.hasPrefix("cannot be inferred: Person.firstName"), plan.description)
    let error = await store.failure(AddressBook.version3)
    XCTAssertEqual(error?.obstacles, plan.obstacles)
  }

  func testMappingModelStageHandlesItsOwnRows() async throws {
    let store = try await filled(version: 1)
    store.description.mappingModels = [
      MappingModel([
        EntityMapping(
          .transform, from: "Person", to: "Person", attributeMappings: [PropertyMapping(name: "firstName", sourceKeyPath: "name")]),
        EntityMapping(.remove, from: "Note"),
      ])
    ]
    let mapped = try await plan(store, AddressBook.version3)
    XCTAssertEqual(mapped.stages.map(\.name), ["mapping model"])
    XCTAssertEqual(
      mapped.stages.first?.unknowns, ["A mapping model makes all newer objects: how many is only known when it has run."])
    XCTAssertTrue(mapped.steps.contains { $0.rowCountPrecision == .unknown })
    // If everything can be inferred, the stages are not needed, and the plan has none.
    let inferred = try await plan(store, AddressBook.version2)
    XCTAssertTrue(inferred.stages.isEmpty)
    XCTAssertFalse(inferred.isEmpty)
  }

  func testDryRunThrowsTheErrorsOfOpening() async throws {
    let newest = try await filled(version: 5)
    newest.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let backward = await failure(newest, AddressBook.version3)
    XCTAssertEqual(backward?.code, .backwardMigration)
    let store = try await filled(version: 1)
    store.description.shouldInferMappingModelAutomatically = false
    let forbidden = await failure(store, AddressBook.version2)
    XCTAssertEqual(forbidden?.code, .migrationNeeded)
    store.description.stagedMigrationManager = StagedMigrationManager([
      CustomMigrationStage(
        migratingFrom: ManagedObjectModelReference(versionChecksum: "nobody's"), to: AddressBook.reference(5))
    ])
    let unknown = await failure(store, AddressBook.version5)
    XCTAssertEqual(unknown?.code, .unknownModelReference)
  }
}
