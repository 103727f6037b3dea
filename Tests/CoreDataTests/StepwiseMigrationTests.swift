import CoreData
import Foundation
import XCTest

/// Stepwise migrations through ten versions of a model, with the coordinator or the application replacing the files.
final class StepwiseMigrationTests: XCTestCase {
  private var folder = URL(fileURLWithPath: "/dev/null")
  private var url: URL { folder.appendingPathComponent("Ledger.sqlite") }

  override func setUpWithError() throws {
    NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 8, count: 32)))
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("steps-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() {
    NSPersistentContainer.defaultEncryptionKey = nil
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Stores

  private func container(_ model: NSManagedObjectModel, migrates: Bool = false) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Ledger", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: url)
    description.shouldMigrateStoreAutomatically = migrates
    description.shouldInferMappingModelAutomatically = migrates
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  private func close(_ container: NSPersistentContainer) throws {
    for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
  }

  /// A store of a version with three accounts.
  private func fill(_ model: NSManagedObjectModel) throws -> NSPersistentContainer {
    let container = try container(model)
    for (number, name) in ["Rent", "Food", "Fun"].enumerated() {
      let account = NSEntityDescription.insertNewObject(forEntityName: "Account", into: container.viewContext)
      account.setValue(name, forKey: model.entitiesByName["Account"]?.attributesByName["name"] == nil ? "title" : "name")
      account.setValue(number * 100, forKey: "balance")
    }
    try container.viewContext.save()
    return container
  }

  private func accounts(_ container: NSPersistentContainer, _ key: String = "title") throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Account")
    request.sortDescriptors = [NSSortDescriptor(key: "balance", ascending: true)]
    return try container.viewContext.fetch(request).map { "\($0.value(forKey: key) ?? "nil") \($0.value(forKey: "balance") ?? "nil")" }
  }

  private func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix("Ledger.sqlite") }.sorted()
  }

  // MARK: Steps

  func testStoresMigrateThroughAllVersionsByEachKindOfReplacement() throws {
    for (replacement, inventory) in zip(StepwiseMigrator.Replacement.allCases, StepwiseMigrator.Inventory.allCases + [.names]) {
      let migrator = StepwiseMigrator(replacement, inventory)
      let versions = try migrator.versions()
      XCTAssertEqual(versions.map(\.name), ["Ledger"] + (2...10).map { "Ledger \($0)" }, "\(inventory)")
      let (first, last) = (try XCTUnwrap(versions.first).model, try XCTUnwrap(versions.last).model)
      try close(fill(first))
      XCTAssertTrue(try migrator.needsMigration(url, to: last))
      XCTAssertThrowsError(try container(last), "\(replacement)")
      try migrator.migrate(url, to: last)
      XCTAssertEqual(migrator.steps, (2...10).map { "Ledger \($0)" }, "\(replacement)")
      XCTAssertEqual(migrator.progress, Array(repeating: [0, 1], count: 9).flatMap { $0 })
      XCTAssertFalse(try migrator.needsMigration(url, to: last), "\(replacement)")
      let migrated = try container(last)
      XCTAssertEqual(try accounts(migrated), ["Rent 0", "Food 100", "Fun 200"], "\(replacement)")
      XCTAssertEqual(try accounts(migrated, "currency"), ["EUR 0", "EUR 100", "EUR 200"], "\(replacement)")
      // The migrated store accepts writes.
      let label = NSEntityDescription.insertNewObject(forEntityName: "Label", into: migrated.viewContext)
      label.setValue("new", forKey: "name")
      try migrated.viewContext.save()
      try close(migrated)
      XCTAssertEqual(try names(in: folder), [], "\(replacement)")
      try NSPersistentStoreCoordinator(managedObjectModel: last).destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    }
  }

  func testOpenStoresAreMigratedAndReplaced() throws {
    for replacement in [StepwiseMigrator.Replacement.filesByPrefix, .filesByName] {
      let migrator = StepwiseMigrator(replacement)
      let (first, last) = (try migrator.version("Ledger"), try migrator.version("Ledger 10"))
      let old = try fill(first)
      try migrator.migrate(url, to: last)
      let migrated = try container(last)
      XCTAssertEqual(try accounts(migrated), ["Rent 0", "Food 100", "Fun 200"], "\(replacement)")
      try close(old)
      XCTAssertEqual(try accounts(migrated), ["Rent 0", "Food 100", "Fun 200"], "\(replacement)")
      try close(migrated)
      try NSPersistentStoreCoordinator(managedObjectModel: last).destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    }
  }

  func testStoresMigrateToAnOlderVersion() throws {
    let migrator = StepwiseMigrator(.coordinator)
    try close(fill(try migrator.version("Ledger 10")))
    try migrator.migrate(url, to: try migrator.version("Ledger 6"))
    XCTAssertEqual(migrator.steps, (6...9).reversed().map { "Ledger \($0)" })
    XCTAssertEqual(try accounts(try container(try migrator.version("Ledger 6"))), ["Rent 0", "Food 100", "Fun 200"])
  }

  func testCustomMappingModelsAreUsedInStepwiseMigrations() throws {
    let migrator = StepwiseMigrator(.filesByPrefix)
    migrator.mappingModels["Ledger 6"] = { older, newer in
      let model = try NSMappingModel.inferredMappingModel(forSourceModel: older, destinationModel: newer)
      let account = try XCTUnwrap(model.entityMappings.first { $0.destinationEntityName == "Account" })
      let balance = try XCTUnwrap(account.attributeMappings?.first { $0.name == "balance" })
      balance.valueExpression = NSExpression(format: "$source.balance * 100")
      return model
    }
    let first = try migrator.version("Ledger")
    try close(fill(first))
    let last = try migrator.version("Ledger 10")
    try migrator.migrate(url, to: last)
    XCTAssertEqual(migrator.steps.count, 9)
    XCTAssertEqual(try accounts(try container(last)), ["Rent 0", "Food 10000", "Fun 20000"])
  }

  func testLargeValuesAndLinksSurviveTheLastStep() throws {
    for replacement in StepwiseMigrator.Replacement.allCases {
      let migrator = StepwiseMigrator(replacement)
      let (older, newer) = (try migrator.version("Ledger 9"), try migrator.version("Ledger 10"))
      let scan = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let old = try fill(older)
      let account = try XCTUnwrap(old.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Account")).first)
      let entry = NSEntityDescription.insertNewObject(forEntityName: "Entry", into: old.viewContext)
      entry.setValue(account, forKey: "account")
      entry.setValue(scan, forKey: "scan")
      try old.viewContext.save()
      try close(old)
      try migrator.migrate(url, to: newer)
      let migrated = try container(newer)
      let found = try XCTUnwrap(migrated.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Entry")).first)
      XCTAssertEqual(found.value(forKey: "scan") as? Data, scan, "\(replacement)")
      XCTAssertNil(migrated.viewContext.pendingError, "\(replacement)")
      XCTAssertNotNil(found.value(forKeyPath: "account.title"), "\(replacement)")
      try close(migrated)
      try NSPersistentStoreCoordinator(managedObjectModel: newer).destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    }
  }

  func testMissingLargeValuesAreErrorsThatNameTheirFile() throws {
    let migrator = StepwiseMigrator(.filesByName)
    migrator.mappingModels["Ledger 10"] = { older, newer in
      let model = try NSMappingModel.inferredMappingModel(forSourceModel: older, destinationModel: newer)
      // The mapping creates new objects, with large values of their own.
      for mapping in model.entityMappings { mapping.entityMigrationPolicyClassName = NSStringFromClass(NSEntityMigrationPolicy.self) }
      return model
    }
    let (older, newer) = (try migrator.version("Ledger 9"), try migrator.version("Ledger 10"))
    let old = try fill(older)
    NSEntityDescription.insertNewObject(forEntityName: "Entry", into: old.viewContext).setValue(Data(count: 300_000), forKey: "scan")
    try old.viewContext.save()
    try close(old)
    try migrator.migrate(url, to: newer)
    let migrated = try container(newer)
    let found = try XCTUnwrap(migrated.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Entry")).first)
    XCTAssertNil(found.value(forKey: "scan"))
    let text = "\(try XCTUnwrap(migrated.viewContext.pendingError))"
    XCTAssertTrue(text.contains(".Ledger.sqlite_SUPPORT"), text)
  }

  func testAnInferredMappingModelKeepsTheIdentitiesOfObjects() throws {
    let migrator = StepwiseMigrator(.coordinator)
    let (first, last) = (try migrator.version("Ledger"), try migrator.version("Ledger 10"))
    let old = try fill(first)
    func uris(_ container: NSPersistentContainer) throws -> [URL] {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Account")
      request.sortDescriptors = [NSSortDescriptor(key: "balance", ascending: true)]
      return try container.viewContext.fetch(request).map { $0.objectID.uriRepresentation() }
    }
    let before = try uris(old)
    try close(old)
    try migrator.migrate(url, to: last)
    XCTAssertEqual(try uris(try container(last)), before)
  }

  func testDestroyingAMissingStoreDoesNothing() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try StepwiseMigrator(.coordinator).version("Ledger"))
    try coordinator.destroyPersistentStore(at: folder.appendingPathComponent("None.sqlite"), ofType: NSSQLiteStoreType)
    try coordinator.destroyPersistentStore(at: folder.appendingPathComponent("None.sqlite"), type: .sqlite)
  }

  func testModelsAreMergedForTheMetadataOfAStore() throws {
    let migrator = StepwiseMigrator(.coordinator, .names)
    let versions = try migrator.versions()
    for version in versions {
      let metadata = [NSStoreModelVersionHashesKey: version.model.entityVersionHashesByName]
      let found = try XCTUnwrap(NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: metadata), version.name)
      XCTAssertEqual(found, version.model, version.name)
      XCTAssertEqual(NSManagedObjectModel(byMerging: versions.map(\.model), forStoreMetadata: metadata), version.model, version.name)
    }
    // The entities of two models.
    let library = try LibraryStack().container.managedObjectModel
    var hashes = library.entityVersionHashesByName
    hashes["Account"] = versions[1].model.entityVersionHashesByName["Account"]
    let both = try XCTUnwrap(NSManagedObjectModel.mergedModel(from: [.main], forStoreMetadata: [NSStoreModelVersionHashesKey: hashes]))
    XCTAssertEqual(Set(both.entitiesByName.keys), Set(hashes.keys))
    XCTAssertEqual(both.entityVersionHashesByName, hashes)
    hashes["Account"] = Data(count: 32)
    XCTAssertNil(NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: [NSStoreModelVersionHashesKey: hashes]))
    XCTAssertNil(NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: [:]))
  }

  func testFilesCanBeReplaced() throws {
    let files = FileManager.default
    let (original, new) = (folder.appendingPathComponent("a.txt"), folder.appendingPathComponent("b.txt"))
    func texts() throws -> [String] { try files.contentsOfDirectory(atPath: folder.path).sorted() }
    try Data("old".utf8).write(to: original)
    try Data("new".utf8).write(to: new)
    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: original.path)
    XCTAssertEqual(try files.replaceItemAt(original, withItemAt: new), original)
    XCTAssertEqual(try String(contentsOf: original, encoding: .utf8), "new")
    XCTAssertEqual(try files.attributesOfItem(atPath: original.path)[.posixPermissions] as? Int, 0o600)
    XCTAssertEqual(try texts(), ["a.txt"])
    try Data("newer".utf8).write(to: new)
    try files.replaceItem(
      at: original, withItemAt: new, backupItemName: "old.txt", options: .withoutDeletingBackupItem, resultingItemURL: nil)
    XCTAssertEqual(try String(contentsOf: original, encoding: .utf8), "newer")
    XCTAssertEqual(try String(contentsOf: folder.appendingPathComponent("old.txt"), encoding: .utf8), "new")
    XCTAssertEqual(try texts(), ["a.txt", "old.txt"])
    // A folder.
    try files.createDirectory(at: folder.appendingPathComponent("x/in"), withIntermediateDirectories: true)
    try files.createDirectory(at: folder.appendingPathComponent("y/out"), withIntermediateDirectories: true)
    try files.replaceItemAt(folder.appendingPathComponent("x"), withItemAt: folder.appendingPathComponent("y"))
    XCTAssertEqual(try files.contentsOfDirectory(atPath: folder.path + "/x"), ["out"])
    // Without an original, the new item is moved; without a new one, nothing changes.
    try files.replaceItemAt(new, withItemAt: original)
    XCTAssertEqual(try texts(), ["b.txt", "old.txt", "x"])
    XCTAssertThrowsError(try files.replaceItemAt(new, withItemAt: original))
    XCTAssertEqual(try String(contentsOf: new, encoding: .utf8), "newer")
  }

  // MARK: Migration on opening

  func testAStoreThatCannotBeMigratedIsReplacedByAnEmptyOne() throws {
    // An application that cannot migrate deletes the database file, and loads the container's stores again.
    let migrator = StepwiseMigrator(.coordinator)
    let old = try fill(try migrator.version("Ledger 10"))
    let container = NSPersistentContainer(name: "Ledger", managedObjectModel: try migrator.version("Ledger 2"))
    let description = NSPersistentStoreDescription(url: url)
    description.shouldMigrateStoreAutomatically = false
    container.persistentStoreDescriptions = [description]
    var failures: [NSError] = []
    container.loadPersistentStores { if let error = $1 { failures.append(error as NSError) } }
    XCTAssertEqual(failures.map(\.code), [NSPersistentStoreIncompatibleVersionHashError])
    try FileManager.default.copyItem(at: url, to: url.appendingPathExtension("~"))
    try FileManager.default.removeItem(at: url)
    container.loadPersistentStores { if let error = $1 { failures.append(error as NSError) } }
    XCTAssertEqual(failures.count, 1)
    XCTAssertEqual(try accounts(container, "name"), [])
    NSEntityDescription.insertNewObject(forEntityName: "Account", into: container.viewContext).setValue("New", forKey: "name")
    try container.viewContext.save()
    XCTAssertEqual(try accounts(container, "name"), ["New 0"])
    try close(old)
    XCTAssertEqual(try accounts(container, "name"), ["New 0"])
  }

  func testManuallyReplacedOlderStoresMigrateWhenOpened() throws {
    let migrator = StepwiseMigrator(.coordinator)
    let (first, last) = (try migrator.version("Ledger"), try migrator.version("Ledger 10"))
    try close(fill(first))
    let kept = folder.appendingPathComponent("kept")
    try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: false)
    func copy(_ from: URL, _ to: URL, _ endings: [String]) throws {
      for ending in endings where FileManager.default.fileExists(atPath: from.path + ending) {
        try? FileManager.default.removeItem(atPath: to.path + ending)
        try FileManager.default.copyItem(atPath: from.path + ending, toPath: to.path + ending)
      }
    }
    let copied = kept.appendingPathComponent("Ledger.sqlite")
    try copy(url, copied, ["", "-wal", "-shm", ".keys"])
    // The application continues with the current version, and the older store replaces its store.
    for endings in [["", "-wal", "-shm", ".keys"], ["", "-wal", "-shm"], [""]] {
      let current = try container(last, migrates: true)
      XCTAssertEqual(try accounts(current), ["Rent 0", "Food 100", "Fun 200"], "\(endings)")
      let account = try XCTUnwrap(current.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Account")).first)
      current.viewContext.delete(account)
      try current.viewContext.save()
      XCTAssertEqual(try accounts(current).count, 2)
      try close(current)
      try copy(copied, url, endings)
    }
    XCTAssertEqual(try accounts(try container(last, migrates: true)), ["Rent 0", "Food 100", "Fun 200"])
  }
}
