import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// The steps of a save, and the state after one of them fails (row C12 and table 3c).
final class SaveOrderTests: XCTestCase {
  private func onNursery(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: Nursery.model, classes: Nursery.classes, body)
  }

  func testSaveStepsRunInOrder() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": "rose"])
      plant.log = []
      let steps = Mutex<[String]>([])
      let names = [
        ManagedObjectContext.willSaveObjectsNotification, ManagedObjectContext.didChangeObjectsNotification,
        ManagedObjectContext.didSaveObjectsNotification, ManagedObjectContext.didSaveObjectIDsNotification,
      ]
      let observers = names.map { name in
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { note in
          steps.withLock { $0.append(note.name.rawValue) }
        }
      }
      plant.onWillSave = { _ in steps.withLock { $0.append("willSave") } }
      plant.onValidate = { _ in steps.withLock { $0.append("validate") } }
      plant.onDidSave = { object in steps.withLock { $0.append("didSave \(object.objectID.isTemporaryID)") } }
      try context.save()
      for observer in observers { NotificationCenter.default.removeObserver(observer) }
      XCTAssertEqual(
        steps.withLock { $0 },
        [
          "CipherData.WillSave", "CipherData.ObjectsDidChange", "willSave", "validate", "didSave false", "CipherData.DidSave",
          "CipherData.DidSaveObjectIDs",
        ])
    }
  }

  func testSaveInDidSaveIsSeparate() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let bed = try context.recorder("Bed", ["name": "east"])
      var ids: [ManagedObjectID] = []
      bed.onDidSave = { bed in
        bed.onDidSave = nil
        guard let plant = try? context.make("Plant", ["name": "rose"]) else { return }
        try? plant.setValue(bed, forKey: "bed")
        try? context.save()
        ids.append(plant.objectID)
      }
      try context.save()
      XCTAssertEqual(ids.map(\.isTemporaryID), [false])
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(bed.many("plants").map(\.objectID), ids)
      XCTAssertEqual(try stack.makeContext().named("east", "Bed").many("plants").map { $0.text("name") }, ["rose"])
    }
  }

  func testObjectsChangedByAValidatorAreSaved() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (bed, plant) = (try context.recorder("Bed", ["name": "east"]), try context.recorder("Plant", ["name": "rose"]))
      try context.save()
      plant.onValidate = { _ in try bed.setValue(Int64(4), forKey: "count") }
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      XCTAssertFalse(bed.hasChanges)
      XCTAssertEqual(try stack.makeContext().named("east", "Bed")["count"] as? Int64, 4)
    }
  }

  func testValuesSetByAValidatorAreValidatedAndSaved() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": " Rose "])
      plant.onValidate = { object in
        try object.setValue(object.text("name")?.trimmingCharacters(in: .whitespaces).lowercased(), forKey: "name")
      }
      try context.save()
      XCTAssertEqual(plant.log.filter { $0 == "validateForInsert" }.count, 2)
      XCTAssertEqual(try stack.makeContext().objects("Plant").map { $0.text("name") }, ["rose"])
    }
  }

  func testObjectsChangedByAnObserverAreSaved() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (bed, plant) = (try context.recorder("Bed", ["name": "east"]), try context.recorder("Plant", ["name": "rose"]))
      try context.save()
      // Notifications are posted in the context's isolation.
      nonisolated(unsafe) let watched = bed
      let observer = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
      ) { _ in
        if watched["count"] == nil { try? watched.setValue(Int64(8), forKey: "count") }
      }
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      NotificationCenter.default.removeObserver(observer)
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(try stack.makeContext().named("east", "Bed")["count"] as? Int64, 8)
    }
  }

  func testAFailedSaveKeepsAllChangesAndCallsNoDidSave() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (kept, deleted) = (try context.recorder("Plant", ["name": "kept"]), try context.recorder("Plant", ["name": "deleted"]))
      try context.save()
      let bad = try context.recorder("Plant", ["name": "bad"])
      bad.onValidate = { _ in throw ValidationError(reason: "no") }
      try kept.setValue("changed", forKey: "name")
      context.delete(deleted)
      for object in [kept, deleted, bad] { object.log = [] }
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .custom) }
      for object in [kept, deleted, bad] { XCTAssertFalse(object.log.contains("didSave")) }
      XCTAssertEqual(context.insertedObjects, [bad])
      XCTAssertEqual(context.updatedObjects, [kept])
      XCTAssertEqual(context.deletedObjects, [deleted])
      XCTAssertEqual(try stack.makeContext().objects("Plant").count, 2)
      bad.onValidate = nil
      try context.save()
      XCTAssertEqual(Set(try stack.makeContext().objects("Plant").compactMap { $0.text("name") }), ["changed", "bad"])
    }
  }

  func testSeveralSavesWriteOnlyNewChanges() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let bed = try context.recorder("Bed", ["name": "east"])
      for number in 0..<10 {
        try context.recorder("Plant", ["name": "\(number)", "bed": bed])
        try context.save()
      }
      XCTAssertEqual(bed.many("plants").count, 10)
      XCTAssertEqual(try stack.makeContext().named("east", "Bed").many("plants").count, 10)
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testReadOnlyStoreRejectsASave() async throws {
    try await onNursery { stack in
      guard stack.kind == .inMemory else { return }
      let context = stack.makeContext()
      try context.recorder("Plant", ["name": "rose"])
      try context.save()
    }
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Nursery.model)
    var description = PersistentStoreDescription(type: .inMemory)
    description.isReadOnly = true
    try await coordinator.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.make("Plant", ["name": "rose"])
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .readOnly) }
    XCTAssertTrue(context.hasChanges)
  }

  func testSaveWithoutAStoreThrows() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Nursery.model)
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.make("Plant", ["name": "rose"])
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
    XCTAssertTrue(context.hasChanges)
  }
}
