import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Configurations, assignment of objects to stores, and relationships that must not cross stores (rows M20 and C26).
final class MultipleStoresTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Note") {
      Attribute("name", .string)
      Relationship("folder", to: "Folder", inverse: "notes")
    }
    Entity("Folder") {
      Attribute("name", .string)
      Relationship("notes", toMany: "Note", inverse: "folder")
    }
    Entity("Setting") {
      Attribute("name", .string).required()
      Attribute("value", .integer64)
    }
    Configuration("Notes", entities: "Note", "Folder")
    Configuration("Settings", entities: "Setting")
  }

  /// A coordinator with two stores for each pair of configurations, in memory or in files.
  private func onTwoStores(
    _ first: String?, _ second: String?, _ body: (PersistentStoreCoordinator, ManagedObjectContext) throws -> Void
  ) async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
      for (position, configuration) in [first, second].enumerated() {
        var description =
          kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder, "\(position).store")
        description.configuration = configuration
        try await coordinator.addPersistentStore(with: description)
      }
      try body(coordinator, ManagedObjectContext(coordinator: coordinator))
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
  }

  private func another(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator)
  }

  func testNewObjectsAreSavedToTheStoreOfTheirConfiguration() async throws {
    try await onTwoStores("Settings", "Notes") { coordinator, context in
      let note = try context.make("Note", ["name": "n", "folder": try context.make("Folder", ["name": "f"])])
      let setting = try context.make("Setting", ["name": "s"])
      try context.save()
      XCTAssertTrue(coordinator.persistentStore(of: note.objectID) === coordinator.persistentStores[1])
      XCTAssertTrue(coordinator.persistentStore(of: setting.objectID) === coordinator.persistentStores[0])
      let other = another(coordinator)
      XCTAssertEqual(try other.objects("Note").first?.one("folder")?.text("name"), "f")
      XCTAssertEqual(try other.objects("Setting").count, 1)
    }
  }

  func testOneSaveWritesToAllItsStores() async throws {
    try await onTwoStores("Notes", "Settings") { coordinator, context in
      let note = try context.make("Note", ["name": "n"])
      let setting = try context.make("Setting", ["name": "s"])
      try context.save()
      try note.setValue("m", forKey: "name")
      context.delete(setting)
      try context.save()
      let other = another(coordinator)
      XCTAssertEqual(try other.objects("Note").map { $0.text("name") }, ["m"])
      XCTAssertEqual(try other.objects("Setting"), [])
    }
  }

  func testAnObjectCanBeAssignedToAStoreUntilItIsSaved() async throws {
    try await onTwoStores(nil, nil) { coordinator, context in
      let (first, second) = (coordinator.persistentStores[0], coordinator.persistentStores[1])
      let (here, there) = (try context.make("Note", ["name": "1"]), try context.make("Note", ["name": "2"]))
      try context.assign(there, to: second)
      try context.save()
      XCTAssertTrue(coordinator.persistentStore(of: here.objectID) === first)
      XCTAssertTrue(coordinator.persistentStore(of: there.objectID) === second)
      XCTAssertThrowsError(try context.assign(here, to: second)) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      let other = another(coordinator)
      XCTAssertEqual(try other.objects("Note", by: "name").map { $0.text("name") }, ["1", "2"])
      XCTAssertEqual(try other.count(for: FetchRequest<ManagedObject>(entityName: "Note")), 2)
      var request = FetchRequest<ManagedObject>(entityName: "Note")
      request.affectedStores = [second.identifier]
      XCTAssertEqual(try other.fetch(request).map { $0.text("name") }, ["2"])
    }
  }

  func testAStoreWithoutTheEntityCannotBeAssigned() async throws {
    try await onTwoStores("Notes", "Settings") { coordinator, context in
      let note = try context.make("Note")
      XCTAssertThrowsError(try context.assign(note, to: coordinator.persistentStores[1])) {
        XCTAssertEqual(($0 as? StoreError)?.code, .entityNotInStore)
      }
    }
  }

  func testSortLimitAndOffsetApplyAcrossStores() async throws {
    try await onTwoStores(nil, nil) { coordinator, context in
      for number in 0..<20 {
        let note = try context.make("Note", ["name": String(UnicodeScalar(UInt8(97 + number)))])
        if number % 3 == 0 { try context.assign(note, to: coordinator.persistentStores[1]) }
      }
      try context.save()
      let other = another(coordinator)
      var request = FetchRequest<ManagedObject>(entityName: "Note")
      request.sortDescriptors = [FetchSortDescriptor("name", ascending: false)]
      (request.fetchLimit, request.fetchOffset) = (5, 3)
      XCTAssertEqual(try other.fetch(request).compactMap { $0.text("name") }, ["q", "p", "o", "n", "m"])
      XCTAssertEqual(try other.count(for: request), 5)
    }
  }

  func testARelationshipToAnObjectOfAnotherStoreIsRejected() async throws {
    try await onTwoStores(nil, nil) { coordinator, context in
      let (note, folder) = (try context.make("Note", ["name": "n"]), try context.make("Folder", ["name": "f"]))
      try context.assign(folder, to: coordinator.persistentStores[1])
      try context.save()
      XCTAssertThrowsError(try note.setValue(folder, forKey: "folder")) {
        XCTAssertEqual(($0 as? StoreError)?.code, .crossStoreRelationship)
      }
      XCTAssertNil(note.one("folder"))
      try context.save()
    }
  }

  func testNewObjectIsSavedToTheStoreOfItsRelatedObjects() async throws {
    try await onTwoStores(nil, nil) { coordinator, context in
      let folder = try context.make("Folder", ["name": "f"])
      try context.assign(folder, to: coordinator.persistentStores[1])
      try context.save()
      let note = try context.make("Note", ["name": "n", "folder": folder])
      try context.save()
      XCTAssertTrue(coordinator.persistentStore(of: note.objectID) === coordinator.persistentStores[1])
      XCTAssertEqual(try another(coordinator).objects("Note").count, 1)
      let other = another(coordinator)
      XCTAssertEqual(try other.objects("Folder").first?.many("notes").count, 1)
    }
  }

  func testSaveRejectsNewObjectsSplitAcrossStores() async throws {
    try await onTwoStores(nil, nil) { coordinator, context in
      let (note, folder) = (try context.make("Note", ["name": "n"]), try context.make("Folder", ["name": "f"]))
      try note.setValue(folder, forKey: "folder")
      try context.assign(note, to: coordinator.persistentStores[1])
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .crossStoreRelationship) }
      XCTAssertEqual(context.insertedObjects.count, 2)
      XCTAssertEqual(try another(coordinator).objects("Note"), [])
    }
  }

  func testRetriedSaveSkipsAlreadySavedStores() async throws {
    try await onTwoStores("Notes", "Settings") { coordinator, context in
      let setting = try context.make("Setting", ["name": "s"])
      try context.save()
      let other = another(coordinator)
      try other.existingObject(with: setting.objectID).setValue(1, forKey: "value")
      try other.save()
      let note = try context.make("Note", ["name": "n"])
      try setting.setValue(2, forKey: "value")
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .mergeConflict) }
      XCTAssertFalse(note.isInserted)
      XCTAssertTrue(setting.isUpdated)
      context.refresh(setting, mergeChanges: true)
      try context.save()
      XCTAssertFalse(context.hasChanges)
      let third = another(coordinator)
      XCTAssertEqual(try third.objects("Note").count, 1)
      XCTAssertEqual(try third.objects("Setting").first?["value"] as? Int64, 2)
    }
  }
}
