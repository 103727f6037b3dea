import CoreData
import Foundation
import XCTest

/// Contexts and coordinators post notifications under Core Data's names.
final class NotificationTests: XCTestCase {
  private final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [Notification] = []
    private var observers: [any NSObjectProtocol] = []

    init(_ names: Notification.Name..., object: Any?) {
      observers = names.map { name in
        NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [weak self] notification in
          guard let self else { return }
          lock.withLock { found.append(notification) }
        }
      }
    }

    deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

    var all: [Notification] { lock.withLock { found } }
  }

  func testSaveNotificationsContainObjects() throws {
    try LibraryStack.with { stack in
      let (kept, gone) = (stack.book("Emma"), stack.book("Persuasion"))
      try stack.context.save()
      let log = Log(.NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave, object: stack.context)
      let new = stack.book("Evelina")
      kept.pages = 3
      stack.context.delete(gone)
      try stack.context.save()
      XCTAssertEqual(log.all.map(\.name), [.NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave])
      let info = try XCTUnwrap(log.all.last?.userInfo)
      XCTAssertEqual(info[NSInsertedObjectsKey] as? Set<NSManagedObject>, [new])
      XCTAssertEqual(info[NSUpdatedObjectsKey] as? Set<NSManagedObject>, [kept])
      XCTAssertEqual(info[NSDeletedObjectsKey] as? Set<NSManagedObject>, [gone])
      XCTAssertTrue(log.all.last?.object as? NSManagedObjectContext === stack.context)
    }
  }

  func testSaveNotificationsContainIDs() throws {
    try LibraryStack.with { stack in
      let log = Log(NSManagedObjectContext.didSaveObjectIDsNotification, object: stack.context)
      let book = stack.book("Emma")
      try stack.context.save()
      let key = NSManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue
      XCTAssertEqual(log.all.first?.userInfo?[key] as? Set<NSManagedObjectID>, [book.objectID])
    }
  }

  func testObjectsDidChangeIsPostedAtTheEndOfTheMainRunLoopTurn() throws {
    try LibraryStack.with { stack in
      let log = Log(.NSManagedObjectContextObjectsDidChange, object: stack.context)
      let book = stack.book("Emma")
      XCTAssertEqual(log.all.count, 0)
      let turn = expectation(description: "turn")
      DispatchQueue.main.async { turn.fulfill() }
      wait(for: [turn], timeout: 60)
      XCTAssertEqual(log.all.count, 1)
      XCTAssertEqual(log.all.first?.userInfo?[NSInsertedObjectsKey] as? Set<Book>, [book])
      stack.context.reset()
      XCTAssertNotNil(log.all.last?.userInfo?[NSInvalidatedAllObjectsKey])
    }
  }

  func testSavesOfOtherContextsAreMergedAsInAppleGuides() throws {
    try LibraryStack.with { stack in
      let (book, gone) = (stack.book("Emma"), stack.book("Persuasion"))
      try stack.context.save()
      let (id, deletedID) = (book.objectID, gone.objectID)
      let main = stack.context
      let background = stack.container.newBackgroundContext()
      let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: background, queue: nil) {
        notification in
        nonisolated(unsafe) let saved = notification
        main.perform { main.mergeChanges(fromContextDidSave: saved) }
      }
      defer { NotificationCenter.default.removeObserver(observer) }
      let log = Log(.NSManagedObjectContextObjectsDidChange, object: main)
      try background.performAndWait {
        (background.object(with: id) as? Book)?.title = "Clueless"
        background.delete(background.object(with: deletedID))
        Book(context: background).title = "Evelina"
        try background.save()
      }
      let turn = expectation(description: "turn")
      main.perform { turn.fulfill() }
      wait(for: [turn], timeout: 60)
      XCTAssertEqual(book.title, "Clueless")
      XCTAssertNil(gone.managedObjectContext)
      let inserted = log.all.compactMap { $0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> }.first
      XCTAssertEqual(inserted?.compactMap { ($0 as? Book)?.title }, ["Evelina"])
    }
  }

  func testCoordinatorsPostStoreNotifications() throws {
    try LibraryStack.with { stack in
      let coordinator = stack.container.persistentStoreCoordinator
      let log = Log(.NSPersistentStoreCoordinatorStoresDidChange, .NSPersistentStoreCoordinatorWillRemoveStore, object: coordinator)
      let store = try XCTUnwrap(coordinator.persistentStores.first)
      try coordinator.remove(store)
      let added = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
      XCTAssertEqual(
        log.all.map(\.name),
        [
          .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreCoordinatorStoresDidChange,
          .NSPersistentStoreCoordinatorStoresDidChange,
        ])
      XCTAssertEqual(log.all[1].userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore], [store])
      XCTAssertEqual(log.all[2].userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore], [added])
    }
  }

  func testRemoteChangeNotificationsContainHistoryTokens() throws {
    let stack = try LibraryStack(options: [
      NSPersistentHistoryTrackingKey: true as NSNumber, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true as NSNumber,
    ])
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    XCTAssertNil(stack.loadError)
    let reported = XCTNSNotificationExpectation(
      name: .NSPersistentStoreRemoteChange, object: stack.container.persistentStoreCoordinator)
    let url = stack.file
    reported.handler = { notification in
      XCTAssertEqual((notification.userInfo?[NSPersistentStoreURLKey] as? URL)?.lastPathComponent, url.lastPathComponent)
      XCTAssertNotNil(notification.userInfo?[NSStoreUUIDKey] as? String)
      return notification.userInfo?[NSPersistentHistoryTokenKey] is NSPersistentHistoryToken
    }
    stack.book("Emma")
    try stack.context.save()
    wait(for: [reported], timeout: 60)
  }

  func testHistoryTokensCanBeArchived() throws {
    let stack = try LibraryStack(options: [NSPersistentHistoryTrackingKey: true as NSNumber])
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let log = Log(.NSManagedObjectContextDidSave, object: stack.context)
    stack.book("Emma")
    try stack.context.save()
    let token = try XCTUnwrap(log.all.first?.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken)
    let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    XCTAssertEqual(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data), token)
  }
}
