import CipherData
import CipherDataSync
import Foundation
import Synchronization
import XCTest

/// How a store gets its account, also after an interruption, and stores that cannot have one.
final class CloudAccountTests: CloudTestCase {
  private struct Interruption: Error {}

  private static func assertThrows(
    _ code: SyncError.Code, _ text: String = "", file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      XCTFail("no error", file: file, line: line)
    } catch {
      XCTAssertEqual((error as? SyncError)?.code, code, "\(error)", file: file, line: line)
      XCTAssertTrue(text.isEmpty || "\(error)".contains(text), "\(error)", file: file, line: line)
    }
  }

  // MARK: Creating

  func testTheRecoveryKeyIsKeptBeforeTheAccountExists() async throws {
    let keys = Mutex<[String]>([])
    for _ in 0..<2 {
      let one = try await container("one")
      let events = PostedEvents(of: one)
      do {
        try await one.createAccount { key in
          keys.withLock { $0.append(key) }
          throw Interruption()
        }
        XCTFail("It was interrupted.")
      } catch is Interruption {}
      let isSynchronized = try await one.isSynchronized
      XCTAssertFalse(isSynchronized)
      XCTAssertTrue(events.events.isEmpty, "Nothing has begun.")
      let other = try await container("other")
      await Self.assertThrows(.accountNotFound) { try await other.joinAccount(recoveryKey: keys.withLock { $0[0] }) }
      // The next attempt is one of another process.
      for container in [one, other] { try container.close() }
    }
    let one = try await container("one")
    try await insertNotes(2, in: one)
    try await one.createAccount { key in
      keys.withLock { $0.append(key) }
      let isSynchronized = try await one.isSynchronized
      XCTAssertFalse(isSynchronized)
      // The user may take as long as necessary. Meanwhile, no other call creates an account.
      await Self.assertThrows(.busy) { try await one.createAccount { _ in XCTFail("There are two keys.") } }
    }
    let all = keys.withLock { $0 }
    XCTAssertEqual(all.count, 3)
    XCTAssertEqual(Set(all).count, 1)
    try await one.waitUntilSynced()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: all[0])
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 2)
    // An account that the store creates later has another key.
    try await one.leaveAccount()
    let next = try await one.createAccount()
    XCTAssertNotEqual(next, all[0])
    for container in [one, other] { try container.close() }
  }

  func testAnAccountIsNotCreatedOnSomethingElse() async throws {
    try Data("no hub".utf8).write(to: try file("text"))
    let one = try await container("one", hub: "text")
    await Self.assertThrows(.hubUnreadable, "text") { try await one.createAccount { _ in XCTFail("There is no hub.") } }
    let other = try await container("other", hub: "missing/hub.store")
    await Self.assertThrows(.hubUnavailable, "missing") { try await other.createAccount { _ in XCTFail("There is no hub.") } }
    for container in [one, other] { try container.close() }
  }

  // MARK: Joining

  func testJoiningAgainContinues() async throws {
    let one = try await container("one")
    let key = try await one.createAccount()
    try await insertNotes(3, in: one)
    try await one.waitUntilSynced()
    var other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    // The process ends before anything has arrived.
    try other.close()
    other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 3)
    let third = try await container("third")
    let unrelated = try await third.createAccount()
    await Self.assertThrows(.alreadySynchronized) { try await other.joinAccount(recoveryKey: unrelated) }
    await Self.assertThrows(.alreadySynchronized) { _ = try await other.requestToJoinAccount() }
    for container in [one, other, third] { try container.close() }
  }

  // MARK: Stores

  func testAStoreInMemoryCannotBeSynchronized() async throws {
    var description = PersistentStoreDescription(type: .inMemory)
    description.cloudOptions = CloudOptions(hubURL: try file("hub.store"))
    let one = try PersistentCloudContainer(
      name: "Notes", managedObjectModel: Self.model,
      persistentStoreDescriptions: [try self.description("file", hub: nil, configuration: "Local"), description])
    await Self.assertThrows(.unsupportedStore, "“InMemory” cannot be synchronized") { try await one.loadPersistentStores() }
    XCTAssertTrue(one.persistentStoreCoordinator.persistentStores.isEmpty, "No store is opened.")
    XCTAssertFalse(FileManager.default.fileExists(atPath: try file("file.store").path))
    try one.close()
  }

  func testAHubThatIsNotAFileIsRefused() async throws {
    var description = try description("one")
    description.cloudOptions = CloudOptions(hubURL: try XCTUnwrap(URL(string: "https://hub.example/notes")))
    let one = try PersistentCloudContainer(
      name: "Notes", managedObjectModel: Self.model, persistentStoreDescriptions: [description])
    await Self.assertThrows(.hubUnreadable, "https://hub.example/notes is not a file") { try await one.loadPersistentStores() }
    XCTAssertTrue(one.persistentStoreCoordinator.persistentStores.isEmpty)
    try one.close()
  }

  func testACopyOfAStoreHasANameOfItsOwn() async throws {
    let one = try await container("one")
    let notes = try await insertNotes(1, in: one)
    _ = try await one.createAccount()
    try await one.waitUntilSynced()
    let id = try XCTUnwrap(try one.recordID(for: notes[0]))
    try one.close()
    try FileManager.default.copyItem(at: try file("one.store"), to: try file("copy.store"))
    let copy = try await container("copy")
    try await copy.performBackgroundTask { context in
      try XCTUnwrap(try context.object(forStableID: id)).setValue("of the copy", forKey: "text")
      try context.save()
    }
    try await copy.waitUntilSynced()
    let status = try await copy.status()
    XCTAssertEqual(status.deviceName, "one (2)")
    let again = try await container("one")
    try await again.synchronize()
    let original = try await again.status()
    XCTAssertEqual(original.deviceName, "one")
    XCTAssertEqual(try again.record(for: notes[0])?.modifiedByDevice, "one (2)")
    for container in [copy, again] { try container.close() }
  }

  func testAStoreThatIsOpenedReadOnlyShowsItsState() async throws {
    let one = try await container("one")
    let key = try await one.createAccount()
    let notes = try await insertNotes(1, in: one)
    try await one.waitUntilSynced()
    try one.close()
    var description = try description("one")
    description.isReadOnly = true
    let reader = try await container([description])
    let status = try await reader.status()
    XCTAssertEqual(status.pendingCount, 0)
    XCTAssertEqual(status.deviceName, "one")
    XCTAssertNotNil(try reader.record(for: notes[0]))
    try await reader.waitUntilSynced()
    await Self.assertThrows(.unsupportedStore, "read-only") { try await reader.synchronize() }
    await Self.assertThrows(.unsupportedStore, "read-only") { _ = try await reader.verifyState() }
    await Self.assertThrows(.unsupportedStore, "read-only") { try await reader.leaveAccount() }
    // It does not prevent another process from synchronizing.
    let writer = try await container("one")
    try await writer.synchronize()
    for container in [reader, writer] { try container.close() }
    let other = try await container("other")
    try other.close()
    var otherDescription = try self.description("other")
    otherDescription.isReadOnly = true
    let unsynchronized = try await container([otherDescription])
    for join in [true, false] {
      do {
        if join { try await unsynchronized.joinAccount(recoveryKey: key) } else { _ = try await unsynchronized.createAccount() }
        XCTFail("The store cannot be written.")
      } catch { XCTAssertTrue("\(error)".contains("read-only"), "\(error)") }
    }
    try unsynchronized.close()
  }

  // MARK: The hub

  func testAnotherHubAtThePathIsNamed() async throws {
    let (one, third) = (try await container("one"), try await container("third", hub: "other hub"))
    for container in [one, third] {
      _ = try await container.createAccount()
      try await container.waitUntilSynced()
      try container.close()
    }
    try moveHub(to: "away")
    try moveHub(from: "other hub", to: "hub.store")
    let again = try await container("one")
    try await insertNotes(1, in: again)
    await Self.assertThrows(.accountNotFound, "another hub is at its path") { try await again.synchronize() }
    await Self.assertThrows(.accountNotFound, "another hub is at its path") { try await again.waitUntilSynced() }
    let status = try await again.status()
    XCTAssertEqual(status.pendingSaves, 1)
    try moveHub(to: "other hub")
    try moveHub(from: "away", to: "hub.store")
    try await again.waitUntilSynced()
    let isEqual = try await again.verifyState()
    XCTAssertTrue(isEqual)
    try again.close()
  }

  func testALostHubIsCreatedAgainOnRequestOnly() async throws {
    let (one, other) = (try await container("one"), try await container("other"))
    let key = try await one.createAccount()
    try await other.joinAccount(recoveryKey: key)
    try await insertNotes(2, in: one)
    try await one.waitUntilSynced()
    try await insertNotes(1, in: other)
    for container in [one, other] { try container.close() }
    try moveHub(to: "lost")
    var again = try await container("one")
    await Self.assertThrows(.hubUnavailable, "hub.store") { try await again.synchronize() }
    XCTAssertFalse(FileManager.default.fileExists(atPath: try file("hub.store").path))
    try again.close()
    var description = try description("one")
    description.cloudOptions?.createsMissingHub = true
    again = try await container([description])
    try await again.synchronize()
    let second = try await container("other")
    try await second.synchronize()
    try await again.synchronize()
    for container in [again, second] {
      let notes = try await count("Note", in: container)
      XCTAssertEqual(notes, 3)
      let isEqual = try await container.verifyState()
      XCTAssertTrue(isEqual)
      try container.close()
    }
  }
}
