import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Staged migration: the remaining stages from the version on disk, all or none.
final class StagedMigrationTests: XCTestCase {
  private let log = Log()

  func testStoreOfEachVersionRunsTheRemainingStages() async throws {
    let called = [1: ["split", "number"], 2: ["split", "number"], 3: ["number"], 4: ["number"], 5: []]
    for version in 1...5 {
      log.removeAll()
      let store = try MigratingStore()
      store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
      try await store.fill(AddressBook.versions[version - 1]) { try AddressBook.fill($0, version: version) }
      let context = try await store.open(AddressBook.version5)
      XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected, "from version \(version)")
      XCTAssertEqual(log.all, called[version], "from version \(version)")
    }
  }

  func testBundleVersionsMigrateInOrderWithCustomStages() async throws {
    for version in 1...4 {
      log.removeAll()
      let store = try MigratingStore()
      store.description.stagedMigrationManager = StagedMigrationManager(
        AddressBook.bundle, customStages: [AddressBook.number(log), AddressBook.split(log)])
      try await store.fill(AddressBook.versions[version - 1]) { try AddressBook.fill($0, version: version) }
      let context = try await store.open(AddressBook.version5)
      XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected, "from version \(version)")
      XCTAssertEqual(log.all, version <= 2 ? ["split", "number"] : ["number"])
    }
  }

  func testCustomStageCanSkipVersions() async throws {
    for version in 1...4 {
      let store = try MigratingStore()
      let stage = CustomMigrationStage(migratingFrom: AddressBook.reference(1), to: AddressBook.reference(3), label: "jump") {
        [log] migration in
        log.note("jump")
        try migration.forEach("Person") { old, new in
          try new.setValue((old["name"] as? String)?.split(separator: " ", maxSplits: 1).first.map(String.init), forKey: "firstName")
          try new.setValue(
            (old["name"] as? String)?.split(separator: " ", maxSplits: 1).dropFirst().first.map(String.init), forKey: "lastName")
        }
        let notes = try migration.destination.objects("Note", by: "body").map { $0["body"] as? String }
        XCTAssertEqual(notes, [nil, nil], "Version 2 renamed the texts, and this stage passes over it.")
        try migration.forEach("Note") { old, new in try new.setValue(old["text"], forKey: "body") }
      }
      log.removeAll()
      store.description.stagedMigrationManager = StagedMigrationManager(
        AddressBook.bundle, customStages: [stage, AddressBook.split(log), AddressBook.number(log)])
      try await store.fill(AddressBook.versions[version - 1]) { try AddressBook.fill($0, version: version) }
      let context = try await store.open(AddressBook.version5)
      XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected, "from version \(version)")
      XCTAssertEqual(log.all, [["jump", "number"], ["split", "number"], ["number"], ["number"]][version - 1])
    }
  }

  func testObjectsKeepTheirIDsThroughAllStages() async throws {
    let store = try MigratingStore()
    var keys: [String: String] = [:]
    try await store.fill(AddressBook.version1) { context in
      try AddressBook.fill(context, version: 1)
      try context.save()
      for person in try context.objects("Person") { keys[try XCTUnwrap(person["name"] as? String)] = person.objectID.uriString }
    }
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let context = try await store.open(AddressBook.version5)
    for person in try context.objects("Person") {
      let name = [person["firstName"], person["lastName"]].compactMap { $0 as? String }.joined(separator: " ")
      XCTAssertEqual(person.objectID.uriString, keys[name])
    }
    XCTAssertEqual(keys.count, 2)
  }

  func testStagesAreAppliedAtomically() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    var stages = AddressBook.stages(log)
    stages[3] = CustomMigrationStage(migratingFrom: AddressBook.reference(4), to: AddressBook.reference(5), label: "broken") { migration in
      try migration.forEach("Person") { _, new in try new.setValue(Int64(1), forKey: "phone") }
      throw HandlerError()
    }
    store.description.stagedMigrationManager = StagedMigrationManager(stages)
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .migrationFailed)
    XCTAssertEqual(error?.underlying as? HandlerError, HandlerError())
    XCTAssertTrue(error?.message.contains("broken") ?? false, error?.message ?? "")
    XCTAssertEqual(log.all, ["split"], "An earlier stage was run, and taken back.")
    let hasFirst = try await store.has(AddressBook.version1)
    XCTAssertTrue(hasFirst, "The store is openable by the model that it had.")
    // The next attempt starts again.
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
  }

  func testCanceledMigrationLeavesTheStoreUnchanged() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    let cancellation = RequestCancellation()
    var stages = AddressBook.stages(log)
    stages[3] = CustomMigrationStage(migratingFrom: AddressBook.reference(4), to: AddressBook.reference(5)) { [log] migration in
      cancellation.cancel()
      try migration.forEach("Person") { _, _ in log.note("visited") }
    }
    store.description.stagedMigrationManager = StagedMigrationManager(stages)
    store.description.migrationCancellation = cancellation
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .cancelled)
    XCTAssertEqual(error?.coreDataCode, 134120)
    XCTAssertEqual(log.all, ["split"])
    let hasFirst = try await store.has(AddressBook.version1)
    XCTAssertTrue(hasFirst)
    store.description.migrationCancellation = nil
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
  }

  func testProgressNamesTheStages() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    store.description.migrationProgress = { [log] progress in log.note(progress.phase) }
    try await store.open(AddressBook.version5)
    XCTAssertTrue(log.all.contains { $0.contains("split names: Person") }, "\(log.all)")
    XCTAssertTrue(log.all.contains { $0.contains("number phones: Person") }, "\(log.all)")
  }

  func testAStoreOfTheNewestVersionRunsNothing() async throws {
    let store = try MigratingStore()
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([ManagedObjectModelReference(versionChecksum: "nobody knows it")])
    ])
    try await store.fill(AddressBook.version5) { try AddressBook.fill($0, version: 5) }
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
  }

  // MARK: Unknown and newer versions

  func testUnstagedVersionIsInferredToTheNearestStage() async throws {
    // A model that was released and forgotten: version 2 with an additional attribute.
    var shipped = AddressBook.version2
    let person = try XCTUnwrap(shipped.entities.firstIndex { $0.name == "Person" })
    shipped.entities[person].properties.append(.attribute(AttributeDescription(name: "city", type: .string, isOptional: true)))
    let store = try MigratingStore()
    try await store.fill(shipped) { context in
      try AddressBook.fill(context, version: 2)
      for person in try context.objects("Person") { try person.setValue("nick", forKey: "nickname") }
    }
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
    XCTAssertEqual(log.all, ["split", "number"])
    XCTAssertEqual(try context.objects("Person").map { $0["nickname"] as? String }, ["nick", "nick"], "Version 1 would have lost it.")
  }

  func testUnreachableStagesErrorListsTheObstacles() async throws {
    let foreign = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .date)
        Attribute("firstName", .date)
        Attribute("phone", .boolean)
        Attribute("body", .date)
      }
    }
    let store = try MigratingStore()
    try await store.fill(foreign) { try $0.make("Person") }
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .unknownModelReference)
    XCTAssertEqual(error?.coreDataCode, 134504)
    XCTAssertEqual(error?.obstacles.isEmpty, false)
    let hasForeign = try await store.has(foreign)
    XCTAssertTrue(hasForeign)
  }

  func testStagesAreNotRunInReverse() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version5) { try AddressBook.fill($0, version: 5) }
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let error = await store.failure(AddressBook.version3)
    XCTAssertEqual(error?.code, .backwardMigration)
    XCTAssertEqual(error?.coreDataCode, 134506)
    let hasNewest = try await store.has(AddressBook.version5)
    XCTAssertTrue(hasNewest)
  }

  func testLastStageCanEndBeforeTheModelOfTheCoordinator() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    var newer = AddressBook.version5
    newer.entities[0].properties.append(.attribute(AttributeDescription(name: "city", type: .string, isOptional: true)))
    store.description.stagedMigrationManager = StagedMigrationManager(AddressBook.stages(log))
    let context = try await store.open(newer)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
  }

  // MARK: References

  func testVersionsCanBeIdentifiedByChecksumOnly() async throws {
    let checksums = try AddressBook.versions.map { try CompiledModel($0).checksum }
    let split = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(versionChecksum: checksums[1]), to: AddressBook.reference(3), label: "split")
    var stage = split
    stage.handler = AddressBook.split(log).handler
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([checksums[0], checksums[1]]), stage, LightweightMigrationStage([checksums[2], checksums[3]]),
      AddressBook.number(log),
    ])
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
  }

  func testMissingVersionModelThrows() async throws {
    let checksum = try CompiledModel(AddressBook.version2).checksum
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([AddressBook.reference(1), ManagedObjectModelReference(versionChecksum: checksum)]),
      CustomMigrationStage(migratingFrom: ManagedObjectModelReference(versionChecksum: checksum), to: AddressBook.reference(3)),
    ])
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .unknownModelReference)
    XCTAssertTrue(error?.message.contains(checksum) ?? false)
  }

  func testModelChangedAfterItsReleaseIsDetected() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    let released = try CompiledModel(AddressBook.version1).checksum
    store.description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([ManagedObjectModelReference(AddressBook.version2, versionChecksum: released)])
    ])
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .modelChecksumMismatch)
    XCTAssertEqual(error?.coreDataCode, 134505)
  }

  func testVersionsAreReadFromFiles() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("AddressBook.xcdatamodeld")
    try AddressBook.bundle.write(to: url)
    func reference(_ number: Int) -> ManagedObjectModelReference {
      ManagedObjectModelReference(contentsOf: url, versionName: "AddressBook \(number)")
    }
    XCTAssertEqual(try reference(3).versionChecksum, try CompiledModel(AddressBook.version3).checksum)
    XCTAssertEqual(try ManagedObjectModelReference(contentsOf: url).resolvedModel.versionIdentifiers, ["5"])
    XCTAssertThrowsError(try reference(9).resolvedModel) { error in
      XCTAssertEqual((error as? StoreError)?.code, .unknownModelReference)
    }
    XCTAssertThrowsError(try ManagedObjectModelReference(contentsOf: folder.file("none.xcdatamodel")).versionChecksum) { error in
      XCTAssertEqual((error as? StoreError)?.code, .unknownModelReference)
      XCTAssertTrue((error as? StoreError)?.underlying is ModelFileError)
    }
    XCTAssertThrowsError(try ManagedObjectModelReference(AddressBook.bundle, versionName: "AddressBook 9"))
  }

  func testContradictingStagesThrow() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = StagedMigrationManager([AddressBook.split(log), AddressBook.split(log)])
    var error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .invalidRequest)
    store.description.stagedMigrationManager = StagedMigrationManager([
      CustomMigrationStage(migratingFrom: AddressBook.reference(2), to: AddressBook.reference(2))
    ])
    error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .invalidRequest)
    XCTAssertEqual(log.all, [])
  }
}
