import CoreData
import Foundation
import StoreKeys
import XCTest

/// Counts the objects that it associates, and cancels its migration at a given moment.
private final class CountingManager: NSMigrationManager {
  /// When a manager cancels its migration.
  enum Moment {
    case beginning, firstAssociation
  }

  static let reason = NSError(domain: "MigrationManagerTests", code: 17)
  var associations = 0
  var moment: Moment?

  override func reset() {
    super.reset()
    if moment == .beginning { cancelMigrationWithError(Self.reason) }
  }

  override func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
  ) {
    associations += 1
    if moment == .firstAssociation { cancelMigrationWithError(Self.reason) }
    super.associate(sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: entityMapping)
  }
}

/// Migration managers can be canceled, migrate objects or leave the migration to the store, and use the keys in the options.
final class MigrationManagerTests: XCTestCase {
  private static let key = StoreKey.raw(SecretBytes(Array(repeating: 8, count: 32)))
  private static let otherKey = StoreKey.raw(SecretBytes(Array(repeating: 9, count: 32)))
  private var folder = URL(fileURLWithPath: "/dev/null")
  private var url: URL { folder.appendingPathComponent("Ledger.sqlite") }

  override func setUpWithError() throws {
    NSPersistentContainer.defaultEncryptionKey = Self.key
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("managers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() {
    NSPersistentContainer.defaultEncryptionKey = nil
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Stores

  private func models() throws -> (first: NSManagedObjectModel, second: NSManagedObjectModel) {
    let migrator = StepwiseMigrator(.coordinator)
    return (try migrator.version("Ledger"), try migrator.version("Ledger 2"))
  }

  /// Makes a store of the first version with three accounts, and closes it.
  private func fill(_ model: NSManagedObjectModel) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    for (number, name) in ["Rent", "Food", "Fun"].enumerated() {
      let account = NSEntityDescription.insertNewObject(forEntityName: "Account", into: context)
      account.setValue(name, forKey: "name")
      account.setValue(number * 100, forKey: "balance")
    }
    try context.save()
    try coordinator.remove(store)
  }

  /// The balances of the accounts in a store.
  private func balances(_ url: URL, _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil) throws -> [Int] {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let found = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Account"))
    let balances = found.compactMap { ($0.value(forKey: "balance") as? NSNumber)?.intValue }.sorted()
    try coordinator.remove(store)
    return balances
  }

  private func migrate(
    with manager: NSMigrationManager, to made: URL, options: [AnyHashable: Any]? = nil, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, options: options, with: mapping, toDestinationURL: made, destinationType: NSSQLiteStoreType,
      destinationOptions: destinationOptions)
    XCTAssertTrue(manager.mappingModel === mapping)
  }

  /// The files in the folder other than those of the migrated store.
  private func otherFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix("Ledger.sqlite") }.sorted()
  }

  // MARK: Objects

  func testInferredMappingModelsCreateObjectsUnlessTheManagerIsStoreSpecific() throws {
    let (first, second) = try models()
    try fill(first)
    XCTAssertTrue(NSMigrationManager(sourceModel: first, destinationModel: second).usesStoreSpecificMigrationManager)
    for (isSpecific, associations) in [(true, 0), (false, 3)] {
      let manager = CountingManager(sourceModel: first, destinationModel: second)
      manager.usesStoreSpecificMigrationManager = isSpecific
      let made = folder.appendingPathComponent("made-\(isSpecific).sqlite")
      try migrate(with: manager, to: made)
      XCTAssertEqual(manager.associations, associations)
      XCTAssertEqual(manager.migrationProgress, 1)
      XCTAssertEqual(try balances(made, second), [0, 100, 200])
    }
    XCTAssertEqual(try balances(url, first), [0, 100, 200])
  }

  func testChangedMappingModelsAlwaysCreateObjects() throws {
    let (first, second) = try models()
    try fill(first)
    for isSpecific in [true, false] {
      let manager = CountingManager(sourceModel: first, destinationModel: second)
      manager.usesStoreSpecificMigrationManager = isSpecific
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: first, destinationModel: second)
      let balance = mapping.entityMappings.first { $0.destinationEntityName == "Account" }?.attributeMappings?.first {
        $0.name == "balance"
      }
      try XCTUnwrap(balance).valueExpression = NSExpression(forConstantValue: 7)
      let made = folder.appendingPathComponent("made-\(isSpecific).sqlite")
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: made, destinationType: NSSQLiteStoreType)
      XCTAssertEqual(manager.associations, 3)
      XCTAssertEqual(try balances(made, second), [7, 7, 7])
    }
  }

  // MARK: Cancellation

  func testACanceledMigrationThrowsTheReasonAndLeavesNoFile() throws {
    let (first, second) = try models()
    try fill(first)
    for (isSpecific, moment) in [(true, .beginning), (false, .beginning), (false, .firstAssociation)] as [(Bool, CountingManager.Moment)] {
      let manager = CountingManager(sourceModel: first, destinationModel: second)
      (manager.usesStoreSpecificMigrationManager, manager.moment) = (isSpecific, moment)
      let made = folder.appendingPathComponent("made.sqlite")
      XCTAssertThrowsError(try migrate(with: manager, to: made), "\(isSpecific) \(moment)") { error in
        let error = error as NSError
        XCTAssertEqual([error.domain, "\(error.code)"], [CountingManager.reason.domain, "17"], "\(isSpecific) \(moment)")
      }
      XCTAssertEqual(try otherFiles(), [], "\(isSpecific) \(moment)")
      // The manager can migrate again after a cancellation.
      manager.moment = nil
      try migrate(with: manager, to: made)
      XCTAssertEqual(try balances(made, second), [0, 100, 200])
      try NSPersistentStoreCoordinator(managedObjectModel: second).destroyPersistentStore(at: made, ofType: NSSQLiteStoreType)
    }
    XCTAssertEqual(try balances(url, first), [0, 100, 200])
  }

  func testAMigrationIsCanceledFromAnotherThread() throws {
    let (first, second) = try models()
    try fill(first)
    /// Another thread cancels the migration while it associates an object.
    final class Manager: NSMigrationManager {
      override func associate(
        sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
      ) {
        nonisolated(unsafe) let manager = self
        DispatchQueue.global().sync { manager.cancelMigrationWithError(CocoaError(.userCancelled)) }
        super.associate(sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: entityMapping)
      }
    }
    let manager = Manager(sourceModel: first, destinationModel: second)
    manager.usesStoreSpecificMigrationManager = false
    XCTAssertThrowsError(try migrate(with: manager, to: folder.appendingPathComponent("made.sqlite"))) { error in
      XCTAssertEqual((error as? CocoaError)?.code, .userCancelled)
    }
    XCTAssertEqual(try otherFiles(), [])
  }

  // MARK: Keys

  func testCopiesKeepTheKeysOfTheStoreByDefault() throws {
    let (first, second) = try models()
    try fill(first)
    let old: [AnyHashable: Any] = [NSPersistentStoreEncryptionKeyOption: Self.key]
    let other: [AnyHashable: Any] = [NSPersistentStoreEncryptionKeyOption: Self.otherKey]
    let keys = try Data(contentsOf: URL(fileURLWithPath: url.path + ".keys"))
    // Without a default key, the keys come from the options alone.
    NSPersistentContainer.defaultEncryptionKey = nil
    for isSpecific in [true, false] {
      for (name, options, isSame) in [("none", nil, true), ("same", old, true), ("other", other, false)]
        as [(String, [AnyHashable: Any]?, Bool)]
      {
        let made = folder.appendingPathComponent("\(name)-\(isSpecific).sqlite")
        let manager = NSMigrationManager(sourceModel: first, destinationModel: second)
        manager.usesStoreSpecificMigrationManager = isSpecific
        try migrate(with: manager, to: made, options: old, destinationOptions: options)
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: made.path + ".keys")) == keys, isSame, made.lastPathComponent)
        for (key, isOpened) in [(old, isSame), (other, !isSame)] {
          XCTAssertEqual(try? balances(made, second, key), isOpened ? [0, 100, 200] : nil, made.lastPathComponent)
        }
      }
    }
  }

  func testAWrongOrMissingKeyIsAnErrorThatLeavesNoFile() throws {
    let (first, second) = try models()
    try fill(first)
    NSPersistentContainer.defaultEncryptionKey = nil
    for options in [nil, [NSPersistentStoreEncryptionKeyOption: Self.otherKey]] as [[AnyHashable: Any]?] {
      let manager = NSMigrationManager(sourceModel: first, destinationModel: second)
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: first, destinationModel: second)
      XCTAssertThrowsError(
        try manager.migrateStore(
          from: url, sourceType: NSSQLiteStoreType, options: options, with: mapping,
          toDestinationURL: folder.appendingPathComponent("made.sqlite"), destinationType: NSSQLiteStoreType)
      ) { error in
        XCTAssertEqual((error as NSError).domain, NSCocoaErrorDomain)
      }
      XCTAssertEqual(try otherFiles(), [])
    }
  }

  func testAReplacementKeepsTheKeysOfTheStoreThatItCopies() throws {
    let (first, second) = try models()
    try fill(first)
    NSPersistentContainer.defaultEncryptionKey = nil
    let options: [AnyHashable: Any] = [NSPersistentStoreEncryptionKeyOption: Self.key]
    let copy = folder.appendingPathComponent("copy.sqlite")
    try NSPersistentStoreCoordinator(managedObjectModel: second).replacePersistentStore(
      at: copy, withPersistentStoreFrom: url, sourceOptions: options, ofType: NSSQLiteStoreType)
    XCTAssertEqual(
      try Data(contentsOf: URL(fileURLWithPath: copy.path + ".keys")), try Data(contentsOf: URL(fileURLWithPath: url.path + ".keys")))
    XCTAssertEqual(try balances(copy, first, options), [0, 100, 200])
  }
}
