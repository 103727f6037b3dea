import CoreData
import Foundation
import XCTest

/// Stores of any version pass through the remaining stages, with handlers of the application.
final class StagedMigrationTests: XCTestCase {
  private var folder = URL(fileURLWithPath: "/dev/null")

  override func setUpWithError() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("staged-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() { try? FileManager.default.removeItem(at: folder) }

  // The second version adds an attribute to the first; the third replaces one by two.
  private let versions: [NSManagedObjectModel] = [.boxes("name"), .boxes("name", "size"), .boxes("first", "last", "size")]

  private func reference(_ version: Int) -> NSManagedObjectModelReference {
    // A checksum in the format of Apple's tools.
    NSManagedObjectModelReference(model: versions[version], versionChecksum: "checksum of \(version)=")
  }

  private func open(_ version: Int, stages: [NSMigrationStage] = []) throws -> NSManagedObjectContext {
    let container = NSPersistentContainer(name: "Staged", managedObjectModel: versions[version])
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("a.store"))
    description.encryptionKey = .raw(SecretBytes(Array(repeating: 8, count: 32)))
    if !stages.isEmpty {
      description.setOption(NSStagedMigrationManager(stages), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    }
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container.viewContext
  }

  private func fill(_ version: Int, _ names: String...) throws {
    let context = try open(version)
    for name in names { NSEntityDescription.insertNewObject(forEntityName: "Box", into: context).setValue(name, forKey: "name") }
    try context.save()
    try close(context)
  }

  private func close(_ context: NSManagedObjectContext) throws {
    for store in context.persistentStoreCoordinator?.persistentStores ?? [] { try context.persistentStoreCoordinator?.remove(store) }
  }

  private func values(_ context: NSManagedObjectContext, _ key: String) throws -> [String] {
    try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")).map { $0.value(forKey: key) as? String ?? "none" }.sorted()
  }

  /// Passes values from the handler before the stage to the one after it.
  private func splitting() -> NSCustomMigrationStage {
    let stage = NSCustomMigrationStage(migratingFrom: reference(1), to: reference(2))
    var names: [URL: String] = [:]
    stage.label = "split the name"
    stage.willMigrateHandler = { manager, stage in
      let context = try XCTUnwrap(manager.container).newBackgroundContext()
      try context.performAndWait {
        for box in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")) {
          names[box.objectID.uriRepresentation()] = box.value(forKey: "name") as? String
          if box.value(forKey: "name") as? String == "empty" { context.delete(box) }
        }
        try context.save()
      }
      XCTAssertEqual(stage.currentModel.resolvedModel.entitiesByName["Box"]?.attributesByName.keys.sorted(), ["name", "size"])
    }
    stage.didMigrateHandler = { manager, _ in
      guard let container = manager.container else { return XCTFail("there is no container") }
      let context = container.newBackgroundContext()
      try context.performAndWait {
        for box in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")) {
          let parts = (names[box.objectID.uriRepresentation()] ?? "").split(separator: " ").map(String.init)
          box.setValue(parts.first, forKey: "first")
          box.setValue(parts.last, forKey: "last")
        }
        try context.save()
      }
      // It is part of the transaction too.
      container.performBackgroundTask { context in
        let box = NSEntityDescription.insertNewObject(forEntityName: "Box", into: context)
        box.setValue("late", forKey: "first")
        do { try context.save() } catch { XCTFail("\(error)") }
      }
    }
    return stage
  }

  private func stages() -> [NSMigrationStage] {
    [
      NSLightweightMigrationStage(["checksum of 0=", "checksum of 1="]), splitting(),
      NSLightweightMigrationStage(["checksum of 2="]),
    ]
  }

  func testStoresOfAnyVersionPassTheRemainingStages() throws {
    for version in [0, 1] {
      try fill(version, "Ada Lovelace", "Charles Babbage", "empty")
      let context = try open(2, stages: stages())
      XCTAssertEqual(try values(context, "first"), ["Ada", "Charles", "late"])
      XCTAssertEqual(try values(context, "last"), ["Babbage", "Lovelace", "none"])
      try close(context)
      let again = try open(2, stages: stages())
      XCTAssertEqual(try values(again, "first"), ["Ada", "Charles", "late"], "it has the newest version")
      try close(again)
      try FileManager.default.removeItem(at: folder)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
  }

  func testFailingStageHandlersLeaveTheStoreUnchanged() throws {
    try fill(1, "Ada Lovelace", "empty")
    let split = splitting()
    split.didMigrateHandler = { _, _ in throw CocoaError(.userCancelled) }
    XCTAssertThrowsError(try open(2, stages: [split])) { XCTAssertTrue("\($0)".contains("split the name"), "\($0)") }
    let context = try open(1)
    XCTAssertEqual(try values(context, "name"), ["Ada Lovelace", "empty"])
    try close(context)
  }

  func testVersionsAreFoundByTheirHashesAndNames() throws {
    let library = try XCTUnwrap(NSPersistentContainer(name: "Library").managedObjectModel)
    let found = NSManagedObjectModelReference(
      entityVersionHashes: library.entityVersionHashesByName, in: nil, versionChecksum: "any")
    XCTAssertEqual(found.resolvedModel.versionChecksum, library.versionChecksum)
    XCTAssertEqual(NSManagedObjectModelReference(name: "Nothing", in: nil, versionChecksum: "any").resolvedModel.entities, [])
  }

  func testInvalidStagesOptionIsAnError() throws {
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("b.store"))
    description.setOption(NSNumber(value: 1), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    let container = NSPersistentContainer(name: "Staged", managedObjectModel: versions[0])
    container.persistentStoreDescriptions = [description]
    NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 8, count: 32)))
    defer { NSPersistentContainer.defaultEncryptionKey = nil }
    container.loadPersistentStores { XCTAssertNotNil($1) }
  }
}
