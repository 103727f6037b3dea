import CipherData
import CipherDataSync
import Foundation
import XCTest
import _TestSupport

/// Containers of two devices that synchronize through a hub's file.
final class CloudContainerTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("CloudContainerTests") }
  override func tearDown() { folder = nil }

  private static let model = ManagedObjectModel {
    Entity("Folder") {
      Attribute("title", .string)
      Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("text", .string)
      Relationship("folder", to: "Folder", inverse: "notes").required()
    }
  }

  private func container(_ name: String, model: ManagedObjectModel = model) async throws -> PersistentCloudContainer {
    let folder = try XCTUnwrap(folder)
    var description = PersistentStoreDescription(
      url: folder.file("\(name).store"), key: .databaseKey(SecretBytes([UInt8](repeating: 3, count: 32))))
    description.cloudOptions = CloudOptions(hubURL: folder.file("hub.store"), deviceName: name)
    let container = try PersistentCloudContainer(name: name, managedObjectModel: model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  private func count(_ entity: String, in container: PersistentContainer) async throws -> Int {
    try await container.performBackgroundTask { try $0.count(for: FetchRequest<ManagedObject>(entityName: entity)) }
  }

  private func insertNotes(_ count: Int, in container: PersistentContainer) async throws {
    try await container.performBackgroundTask { context in
      let folder = try context.insertObject(entityName: "Folder")
      try folder.setValue("folder", forKey: "title")
      for number in 0..<count {
        let note = try context.insertObject(entityName: "Note")
        try note.setValue("note \(number)", forKey: "text")
        try note.setValue(folder, forKey: "folder")
      }
      try context.save()
    }
  }

  func testSavesReachTheOtherDeviceByThemselves() async throws {
    let one = try await container("one")
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    let key = try await one.createAccount()
    let other = try await container("other")
    var events = other.events().makeAsyncIterator()
    try await other.joinAccount(recoveryKey: key.lowercased())
    try await insertNotes(5, in: one)
    try await one.waitUntilSynced()
    let pending = try await one.pendingCount
    XCTAssertEqual(pending, 0)
    while try await count("Note", in: other) < 5 {
      let event = await events.next()
      XCTAssertNotNil(event)
      XCTAssertNil(event?.error)
    }
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 5)
    try one.close()
    try other.close()
  }

  func testSynchronizationGoesOnWhenTheStoreIsLoadedAgain() async throws {
    let one = try await container("one")
    let key = try await one.createAccount()
    try await one.synchronize()
    try one.close()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await insertNotes(2, in: other)
    try await other.waitUntilSynced()
    try other.close()
    let again = try await container("one")
    let isSynchronized = try await again.isSynchronized
    XCTAssertTrue(isSynchronized)
    try await again.synchronize()
    let arrived = try await count("Note", in: again)
    XCTAssertEqual(arrived, 2)
    try again.close()
  }

  func testAModelThatCannotBeSynchronizedIsRefusedByName() async throws {
    let model = ManagedObjectModel {
      Entity("Post") {
        Attribute("title", .string)
        Relationship("tags", toMany: "Tag", inverse: "posts")
        Unique("title")
      }
      Entity("Tag") { Relationship("posts", toMany: "Post", inverse: "tags").ordered() }
    }
    let one = try await container("one", model: model)
    XCTAssertThrowsError(try one.initializeSchema()) { error in
      XCTAssertEqual((error as? SyncError)?.code, .unsupportedModel)
      XCTAssertEqual((error as? SyncError)?.obstacles.count, 4)
    }
    do {
      _ = try await one.createAccount()
      XCTFail("It has an account.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .unsupportedModel) }
    XCTAssertFalse(FileManager.default.fileExists(atPath: try XCTUnwrap(folder).file("hub.store").path))
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    try one.close()
  }
}
