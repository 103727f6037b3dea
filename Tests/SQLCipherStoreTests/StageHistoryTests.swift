import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// What the history records of custom stages.
final class StageHistoryTests: XCTestCase {
  // MARK: Custom stages

  static let person1 = ManagedObjectModel(version: "1") {
    Entity("Person") {
      Attribute("name", .string)
      Attribute("age", .integer32)
      Relationship("tags", toMany: "Tag", inverse: "people")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
    }
  }
  static let person2 = ManagedObjectModel(version: "2") {
    Entity("Person") {
      Attribute("firstName", .string)
      Attribute("lastName", .string)
      Attribute("age", .integer32)
      Attribute("state", .string).required().initially("new")
      Relationship("tags", toMany: "Tag", inverse: "people")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
    }
  }
  static let person3 = ManagedObjectModel(version: "3") {
    Entity("Person") {
      Attribute("firstName", .string)
      Attribute("lastName", .string)
      Attribute("years", .integer32).renamed(from: "age")
      Attribute("state", .string).required().initially("new")
      Attribute("rank", .integer32).required().initially(1)
      Relationship("tags", toMany: "Tag", inverse: "people")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
    }
  }

  /// A custom stage with all handlers, and a lightweight stage.
  static func stages() -> [any MigrationStage] {
    var custom = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(person1), to: ManagedObjectModelReference(person2), label: "split names"
    ) { migration in
      try migration.forEach("Person") { old, new in
        let parts = (old["name"] as? String ?? "").split(separator: " ").map(String.init)
        try new.setValue(parts[0], forKey: "firstName")
        try new.setValue(parts[1], forKey: "lastName")
      }
      let more = try migration.destination.insertObject(entityName: "Person")
      try more.setValue("Zoe", forKey: "firstName")
      try more.setValue(Set(try migration.destination.all("Tag")), forKey: "tags")
    }
    custom.willMigrateHandler = { context in
      try context.one("Person", "name", "Ben Berg").setValue(Int32(50), forKey: "age")
      context.delete(try context.one("Person", "name", "Carl Cohn"))
    }
    custom.didMigrateHandler = { context in
      try context.execute(
        BatchUpdateRequest(
          entityName: "Person", predicate: .compare("firstName", .equal, "Anna"), propertiesToUpdate: ["state": "checked"]))
    }
    return [custom, LightweightMigrationStage(models: [person2, person3])]
  }

  static func fill(_ context: ManagedObjectContext) throws {
    let tag = try context.make("Tag", ["name": "red"])
    for (name, age) in [("Anna Arp", Int32(30)), ("Ben Berg", 40), ("Carl Cohn", 20)] {
      try context.make("Person", ["name": name, "age": age, "tags": Set([tag])])
    }
  }

  func testCustomStagesRecordTheirObjectsAndLightweightStagesTheirChanges() throws {
    let store = try MigratingStore.tracked(Self.person1, .values, Self.fill)
    let (_, after, found) = try store.migrateTracked(Self.person1, Self.person3, Self.stages())
    XCTAssertEqual(found.map(\.isWhole), [false, false, false])
    XCTAssertEqual(
      found.map { $0.schemaChanges.lines },
      [
        [], ["filled Person.state new", "propertyRemoved Person.name"], ["filled Person.rank 1"],
      ])
    func changed(_ transaction: PersistentHistoryTransaction) -> [String] {
      (transaction.changes ?? []).map { change in
        "\(change.changeType) \(change.changedObjectID.entityName)/\(change.changedObjectID.key) \(change.updatedProperties.joined(separator: ","))"
      }
    }
    // Before the stage: under the older model, with the present names.
    let ben = try XCTUnwrap(after.first { $0.value["firstName"] == "Ben" }?.key)
    let zoe = try XCTUnwrap(after.first { $0.value["firstName"] == "Zoe" }?.key)
    let anna = try XCTUnwrap(after.first { $0.value["firstName"] == "Anna" }?.key)
    XCTAssertTrue(changed(found[0]).contains("update \(ben) years"), "\(changed(found[0]))")
    XCTAssertEqual(found[0].changes?.filter { $0.changeType == .delete }.map { $0.oldValues?["name"] as? String }, ["Carl Cohn"])
    let update = try XCTUnwrap(found[0].changes?.first { $0.changeType == .update && $0.updatedProperties == ["years"] })
    XCTAssertEqual(update.oldValues?["years"] as? Int32, 40)
    XCTAssertEqual(update.newValues?["years"] as? Int32, 50)
    // In the stage.
    let stage = changed(found[1])
    XCTAssertTrue(Set(stage).isSuperset(of: ["insert \(zoe) ", "update \(ben) firstName,lastName", "update \(anna) state"]), "\(stage)")
    let links = (found[1].changes ?? []).flatMap(\.links)
    XCTAssertEqual(links.count, 1, "the new object's tag")
    XCTAssertEqual(changed(found[2]), [])
    // Nothing else follows.
    try store.open(Self.person3) { context in
      let all = try context.persistentStoreCoordinator.execute(.fetchHistory(after: nil)).transactions
      XCTAssertEqual(all.last?.transactionNumber, found.last?.transactionNumber)
    }
    try store.open(Self.person3, { $0.historyTracking = false }) { _ in }
    try store.check()
  }

  func testStageThatReplacesAllObjectsIsWhole() throws {
    let store = try MigratingStore.tracked(Self.person1, .values, Self.fill)
    let mapping = try MappingModel.inferred(forSourceModel: Self.person1, destinationModel: Self.person2)
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(Self.person1), to: ManagedObjectModelReference(Self.person2))
    stage.mappingModel = mapping
    let (_, after, found) = try store.migrateTracked(Self.person1, Self.person2, [stage])
    XCTAssertEqual(found.map(\.isWhole), [true])
    XCTAssertEqual(found.flatMap { $0.changes ?? [] }, [])
    XCTAssertEqual(found.flatMap(\.schemaChanges), [])
    XCTAssertEqual(after.count, 4)
  }

  func testFailedStageLeavesTheHistoryUnchanged() throws {
    struct Stop: Error {}
    let store = try MigratingStore.tracked(Self.person1, .values, Self.fill)
    func history() throws -> [PersistentHistoryTransaction] {
      try store.open(Self.person1) { try $0.persistentStoreCoordinator.execute(.fetchHistory(after: nil)).transactions }
    }
    let before = try history()
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(Self.person1), to: ManagedObjectModelReference(Self.person2)
    ) { migration in
      for person in try migration.destination.all("Person") { try person.setValue("x", forKey: "firstName") }
      try migration.destination.save()
      throw Stop()
    }
    XCTAssertThrowsError(try store.open(Self.person2, { $0.stagedMigrationManager = StagedMigrationManager([stage]) }) { _ in })
    XCTAssertEqual(try history(), before)
  }

  /// A copy of the files before each statement is what a process killed there leaves.
  func testKilledMigrationHasAllOfItsHistoryOrNone() throws {
    let store = try MigratingStore.tracked(Self.person1, .values, Self.fill)
    let folder = try TemporaryFolder("MigrationHistoryTests")
    let points = CrashPoints(of: store.url, in: folder)
    var all: [PersistentHistoryTransaction] = []
    try store.open(
      Self.person3,
      {
        $0.stagedMigrationManager = StagedMigrationManager(Self.stages())
        $0.sqlObserver = SQLObserver(beforeEach: { _ in points.note() })
      }
    ) { all = try $0.persistentStoreCoordinator.execute(.fetchHistory(after: nil)).transactions }
    points.note()
    XCTAssertGreaterThan(points.copies.count, 40)
    XCTAssertEqual(all.map(\.kind), [.save, .migration, .migration, .migration])
    var counts: Set<Int> = []
    for copy in points.copies {
      var description = store.store.description
      description.url = copy
      description.shouldMigrateStoreAutomatically = false
      let open: OpenStore
      do {
        open = try OpenStore(description, model: CompiledModel(Self.person3))
      } catch let error as StoreError where error.code == .migrationNeeded {
        open = try OpenStore(description, model: CompiledModel(Self.person1))
      }
      let found = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
      counts.insert(found.count)
      XCTAssertEqual(found.map(\.transactionNumber), Array(all.map(\.transactionNumber).prefix(found.count)))
      XCTAssertEqual(found.count == 4, open.model.entities[0].slots.contains { $0.name == "rank" })
      try open.close()
    }
    XCTAssertEqual(counts, [1, 4])
  }
}
