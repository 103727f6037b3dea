import CoreData
import Foundation
import XCTest

/// Automatic migrations between two models, and migrations into other files.
final class MigrationTests: XCTestCase {
  private func with(_ body: (URL) throws -> Void) throws {
    NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 4, count: 32)))
    defer { NSPersistentContainer.defaultEncryptionKey = nil }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: .boxes("name"))
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("old.store"))
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    NSEntityDescription.insertNewObject(forEntityName: "Box", into: context).setValue("crate", forKey: "name")
    try context.save()
    try coordinator.remove(store)
    try body(folder)
  }

  private func boxes(_ model: NSManagedObjectModel, at url: URL) throws -> [String?] {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let names = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")).map { $0.value(forKey: "name") as? String }
    try coordinator.remove(store)
    return names
  }

  func testAStoreMigratesWhenItIsOpened() throws {
    try with { folder in
      let old = folder.appendingPathComponent("old.store")
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: old)
      XCTAssertTrue(NSManagedObjectModel.boxes("name").isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
      XCTAssertFalse(NSManagedObjectModel.boxes("name", "size").isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
      XCTAssertEqual(try boxes(.boxes("name", "size"), at: old), ["crate"])
    }
  }

  func testStoresAreMigratedIntoANewFile() throws {
    try with { folder in
      let (old, new) = (folder.appendingPathComponent("old.store"), folder.appendingPathComponent("new.store"))
      let (source, destination) = (NSManagedObjectModel.boxes("name"), NSManagedObjectModel.boxes("name", "size"))
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
      XCTAssertNil(NSMappingModel(from: nil, forSourceModel: source, destinationModel: destination))
      let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
      try manager.migrateStore(
        from: old, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: new, destinationType: NSSQLiteStoreType,
        destinationOptions: nil)
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: old)
      XCTAssertTrue(source.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
      XCTAssertEqual(try boxes(destination, at: new), ["crate"])
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: destination)
      try coordinator.replacePersistentStore(at: old, withPersistentStoreFrom: new, ofType: NSSQLiteStoreType)
      try coordinator.destroyPersistentStore(at: new, ofType: NSSQLiteStoreType)
      XCTAssertFalse(FileManager.default.fileExists(atPath: new.path))
      XCTAssertEqual(try boxes(destination, at: old), ["crate"])
    }
  }

  func testMovedStoresKeepTheirMetadata() throws {
    try with { folder in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: .boxes("name"))
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("old.store"))
      coordinator.setMetadata(["note": "kept"], for: store)
      let moved = try coordinator.migratePersistentStore(
        store, to: folder.appendingPathComponent("moved.store"), withType: NSSQLiteStoreType)
      XCTAssertEqual(coordinator.url(for: moved).lastPathComponent, "moved.store")
      XCTAssertEqual(coordinator.metadata(for: moved)["note"] as? String, "kept")
      XCTAssertEqual(coordinator.persistentStores, [moved])
      XCTAssertNotNil(coordinator.metadata(for: moved)[NSStoreUUIDKey])
    }
  }
}
