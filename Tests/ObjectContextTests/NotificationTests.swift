import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Changes that contexts publish, as notifications and as a sequence (row C21 and table 3e).
final class NotificationTests: XCTestCase {
  private typealias Key = ManagedObjectContext.NotificationKey

  /// Collects the user info of a context's notifications with a name while `work` runs.
  private func collect(
    _ name: Notification.Name, of context: ManagedObjectContext, during work: () throws -> Void
  ) rethrows -> [[AnyHashable: Any]] {
    // Notifications are posted in the context's isolation, which is this test's.
    nonisolated(unsafe) var infos: [[AnyHashable: Any]] = []
    let observer = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { infos.append($0.userInfo ?? [:]) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try work()
    return infos
  }

  private func objects(_ info: [AnyHashable: Any], _ key: Key) -> Set<ManagedObject> {
    info[key.rawValue] as? Set<ManagedObject> ?? []
  }

  func testChangesAreReportedOncePerEvent() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (changed, deleted) = (try context.make("Tag", ["name": "a"]), try context.make("Tag", ["name": "b"]))
      try context.save()
      var inserted: ManagedObject?
      let infos = try collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        inserted = try context.make("Tag", ["name": "c"])
        try changed.setValue("x", forKey: "name")
        try changed.setValue("y", forKey: "name")
        context.delete(deleted)
        context.processPendingChanges()
        context.processPendingChanges()
      }
      XCTAssertEqual(infos.count, 1)
      XCTAssertEqual(objects(infos[0], .insertedObjects), Set([inserted].compactMap { $0 }))
      XCTAssertEqual(objects(infos[0], .updatedObjects), [changed])
      XCTAssertEqual(objects(infos[0], .deletedObjects), [deleted])
    }
  }

  func testFetchPostsNoNotification() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      try context.make("Tag", ["name": "a"])
      try context.save()
      let infos = try collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        XCTAssertEqual(try context.objects("Tag").first?.text("name"), "a")
      }
      XCTAssertEqual(infos.count, 0)
    }
  }

  func testALaterChangeOfANewObjectIsAnUpdate() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      var tag: ManagedObject?
      let infos = try collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        tag = try context.make("Tag", ["name": "a"])
        context.processPendingChanges()
        try tag?.setValue("b", forKey: "name")
        context.processPendingChanges()
      }
      let expected = Set([tag].compactMap { $0 })
      XCTAssertEqual(infos.map { objects($0, .insertedObjects) }, [expected, []])
      XCTAssertEqual(infos.map { objects($0, .updatedObjects) }, [[], expected])
    }
  }

  func testObjectInsertedAndDeletedInOneEventIsNotReported() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let infos = try collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        context.delete(try context.make("Tag"))
        context.processPendingChanges()
        let tag = try context.make("Tag")
        context.processPendingChanges()
        context.delete(tag)
        context.processPendingChanges()
      }
      XCTAssertEqual(infos.map { objects($0, .insertedObjects).count }, [1, 0])
      XCTAssertEqual(infos.map { objects($0, .deletedObjects).count }, [0, 1])
    }
  }

  func testObjectsDeletedByRulesAreReported() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      let shelf = try context.make("Shelf")
      let book = try context.make("Book", ["title": "T", "author": author])
      let other = try context.make("Book", ["title": "U", "shelf": shelf])
      try context.save()
      let infos = collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        context.delete(author)
        context.delete(shelf)
        context.processPendingChanges()
      }
      XCTAssertEqual(infos.count, 1)
      XCTAssertEqual(objects(infos[0], .deletedObjects), [author, book, shelf])
      XCTAssertEqual(objects(infos[0], .updatedObjects), [other])
    }
  }

  func testSaveReportsObjectsAndIDs() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (changed, deleted) = (try context.make("Tag", ["name": "a"]), try context.make("Tag", ["name": "b"]))
      try context.save()
      let inserted = try context.make("Tag", ["name": "c"])
      try changed.setValue("x", forKey: "name")
      context.delete(deleted)
      var ids: [[AnyHashable: Any]] = []
      var wills: [[AnyHashable: Any]] = []
      let saves = try collect(ManagedObjectContext.didSaveObjectsNotification, of: context) {
        ids = try collect(ManagedObjectContext.didSaveObjectIDsNotification, of: context) {
          wills = try collect(ManagedObjectContext.willSaveObjectsNotification, of: context) { try context.save() }
        }
      }
      XCTAssertEqual(wills.count, 1)
      XCTAssertTrue(wills[0].isEmpty)
      XCTAssertEqual(saves.count, 1)
      XCTAssertEqual(objects(saves[0], .insertedObjects), [inserted])
      XCTAssertEqual(objects(saves[0], .updatedObjects), [changed])
      XCTAssertEqual(objects(saves[0], .deletedObjects), [deleted])
      XCTAssertEqual(ids[0][Key.insertedObjectIDs.rawValue] as? Set<ManagedObjectID>, [inserted.objectID])
      XCTAssertEqual(ids[0][Key.updatedObjectIDs.rawValue] as? Set<ManagedObjectID>, [changed.objectID])
      XCTAssertEqual(ids[0][Key.deletedObjectIDs.rawValue] as? Set<ManagedObjectID>, [deleted.objectID])
      XCTAssertFalse(inserted.objectID.isTemporaryID)
    }
  }

  func testFailedSavePostsNoDidSave() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      try context.make("Tag")
      let saves = try collect(ManagedObjectContext.didSaveObjectsNotification, of: context) {
        XCTAssertThrowsError(try context.save())
      }
      XCTAssertEqual(saves.count, 0)
    }
  }

  func testRefreshRollbackAndResetPostNotifications() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      let refreshed = collect(ManagedObjectContext.didChangeObjectsNotification, of: context) {
        context.refresh(tag, mergeChanges: false)
        context.refresh(tag, mergeChanges: true)
        context.refreshAllObjects()
      }
      XCTAssertEqual(refreshed.map { objects($0, .refreshedObjects) }, [[tag], [tag], [tag]])
      try tag.setValue("b", forKey: "name")
      context.processPendingChanges()
      let rolledBack = collect(ManagedObjectContext.didChangeObjectsNotification, of: context) { context.rollback() }
      XCTAssertEqual(rolledBack.map { objects($0, .refreshedObjects) }, [[tag]])
      let reset = collect(ManagedObjectContext.didChangeObjectsNotification, of: context) { context.reset() }
      XCTAssertEqual(reset.count, 1)
      XCTAssertNotNil(reset.first?[Key.invalidatedAllObjects.rawValue])
    }
  }

  func testKeysHaveTheCoreDataValues() {
    XCTAssertEqual(
      Key.allCases.map(\.rawValue),
      [
        "inserted", "historyToken", "queryGeneration", "overridden", "discarded", "updated", "deleted", "refreshed",
        "invalidated", "invalidatedAll", "inserted_objectIDs",
        "updated_objectIDs",
        "deleted_objectIDs",
      ])
  }

  func testSequenceDeliversNotificationsAsValuesAndEndsWithTheContext() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    var stream: AsyncStream<ContextChange>?
    var id: ManagedObjectID?
    do {
      let context = stack.makeShortLivedContext()
      stream = context.changes()
      let tag = try context.make("Tag", ["name": "a"])
      try context.save()
      id = tag.objectID
      context.delete(tag)
      try context.save()
      context.reset()
    }
    var kinds: [ContextChange.Kind] = []
    var changes: [ContextChange] = []
    for await change in try XCTUnwrap(stream) {
      kinds.append(change.kind)
      changes.append(change)
    }
    XCTAssertEqual(kinds, [.willSave, .objectsDidChange, .didSave, .willSave, .objectsDidChange, .didSave, .objectsDidChange])
    XCTAssertEqual(changes[1].inserted.count, 1)
    XCTAssertEqual(changes[2].inserted, Set([id].compactMap { $0 }))
    XCTAssertEqual(changes[4].deleted, Set([id].compactMap { $0 }))
    XCTAssertEqual(changes[5].deleted, Set([id].compactMap { $0 }))
    XCTAssertTrue(changes[6].invalidatedAll)
  }

  func testSeveralSequencesReceiveTheSameEvents() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    let context = stack.makeContext()
    let (first, second) = (context.changes(), context.changes())
    try context.make("Tag", ["name": "a"])
    context.processPendingChanges()
    var received = 0
    for await change in first {
      received += change.inserted.count
      break
    }
    for await change in second {
      received += change.inserted.count
      break
    }
    XCTAssertEqual(received, 2)
    try context.save()
    XCTAssertFalse(context.hasChanges)
  }

  func testCoordinatorReportsSavedChanges() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    let changes = stack.coordinator.changes()
    let context = stack.makeContext()
    (context.name, context.transactionAuthor) = ("import", "tester")
    let tag = try context.make("Tag", ["name": "a"])
    try context.save()
    for await set in changes {
      XCTAssertEqual(set.inserted, [tag.objectID])
      XCTAssertEqual(set.storeIdentifier, stack.store.identifier)
      XCTAssertEqual(set.contextName, "import")
      XCTAssertEqual(set.transactionAuthor, "tester")
      break
    }
  }
}
