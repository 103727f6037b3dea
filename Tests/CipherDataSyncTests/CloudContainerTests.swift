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

  func testADeviceJoinsWithTheApprovalOfAnother() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    try await insertNotes(3, in: one)
    try await one.waitUntilSynced()
    let other = try await container("other")
    let none = try await other.accountID
    XCTAssertNil(none)
    let attempt = try await other.requestToJoinAccount(one.accountID)
    async let shown = attempt.code
    var admitted: CloudJoinRequest?
    for try await requests in one.joinRequests() {
      guard let request = requests.first else { continue }
      XCTAssertEqual(request.deviceName, "other")
      XCTAssertGreaterThan(request.expirationDate, Date())
      let code = try await shown
      XCTAssertEqual(request.code, code)
      try await one.approve(request)
      admitted = request
      break
    }
    try await attempt.confirm()
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 3)
    let (first, second) = (try await one.accountID, try await other.accountID)
    XCTAssertEqual(first, second)
    // The request ends with the join.
    for try await requests in other.joinRequests() {
      XCTAssertEqual(requests, [])
      break
    }
    let request = try XCTUnwrap(admitted)
    do {
      try await one.approve(request)
      XCTFail("It was approved.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .joinRequestExpired) }
    // What the new device saves is sent from now on.
    try await insertNotes(2, in: other)
    try await other.waitUntilSynced()
    try await one.synchronize()
    let sent = try await count("Note", in: one)
    XCTAssertEqual(sent, 5)
    try one.close()
    try other.close()
  }

  func testARefusedOrCanceledDeviceStaysAlone() async throws {
    let (one, other) = (try await container("one"), try await container("other"))
    do {
      for try await _ in one.joinRequests() { XCTFail("It has no account.") }
      XCTFail("no error")
    } catch let error as SyncError { XCTAssertEqual(error.code, .notSynchronized) }
    _ = try await one.createAccount()
    try await one.synchronize()
    for isRefused in [true, false] {
      let attempt = try await other.requestToJoinAccount()
      async let shown = attempt.code
      for try await requests in one.joinRequests() {
        guard let request = requests.first else { continue }
        _ = try await shown
        if isRefused { try await one.refuse(request) } else { await attempt.cancel() }
        break
      }
      do {
        try await attempt.confirm()
        XCTFail("It joined.")
      } catch let error as SyncError { XCTAssertEqual(error.code, isRefused ? .joinRefused : .joinRequestExpired) }
      let isSynchronized = try await other.isSynchronized
      XCTAssertFalse(isSynchronized)
    }
    for try await requests in one.joinRequests() {
      XCTAssertEqual(requests, [])
      break
    }
    try one.close()
    try other.close()
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
