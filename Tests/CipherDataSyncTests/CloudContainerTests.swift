import CipherData
import CipherDataSync
import Foundation
import XCTest

/// Containers of two devices that synchronize through a hub's file.
final class CloudContainerTests: CloudTestCase {
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

  func testAnotherDeviceCanJoinAtOnce() async throws {
    let (one, other) = (try await container("one"), try await container("other"))
    try await insertNotes(20, in: one)
    let key = try await one.createAccount()
    try await other.joinAccount(recoveryKey: key)
    try await one.waitUntilSynced()
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 20)
    for container in [one, other] { try container.close() }
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
    let account = try await one.status().accountID
    let attempt = try await other.requestToJoinAccount(account)
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
    // Too late.
    await attempt.cancel()
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 3)
    let joined = try await other.status().accountID
    XCTAssertEqual(joined, account)
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

  func testTheSchemaIsPrintedAndNothingIsChanged() async throws {
    let one = try await container("one")
    let text = try standardOutput { try one.initializeSchema(options: [.dryRun, .printSchema]) }
    XCTAssertTrue(text.contains("entity Note\n  text    String      the later change\n"), text)
    XCTAssertTrue(text.contains("The model can be synchronized.\n"), text)
    XCTAssertEqual(try standardOutput { try one.initializeSchema(options: .dryRun) }, "")
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    XCTAssertFalse(FileManager.default.fileExists(atPath: try file("hub.store").path))
    try one.close()

    let unique = ManagedObjectModel {
      Entity("List") {
        Attribute("name", .string).syncMergeRule(.max)
        Unique("name")
      }
    }
    let other = try await container("other", model: unique)
    let refused = try standardOutput {
      XCTAssertThrowsError(try other.initializeSchema(options: .printSchema)) {
        XCTAssertEqual(($0 as? SyncError)?.code, .unsupportedModel)
      }
    }
    XCTAssertTrue(
      refused.contains("error: List.name: a uniqueness constraint over a computed value or an attribute with a merge rule\n"), refused)
    try other.close()
  }

  /// Returns what a closure prints.
  private func standardOutput(_ body: () throws -> Void) throws -> String {
    let output = try file(UUID().uuidString)
    fflush(nil)
    let saved = dup(STDOUT_FILENO)
    let descriptor = open(output.path, O_CREAT | O_WRONLY, 0o600)
    dup2(descriptor, STDOUT_FILENO)
    defer {
      dup2(saved, STDOUT_FILENO)
      close(saved)
      close(descriptor)
    }
    try body()
    fflush(nil)
    return try String(contentsOf: output, encoding: .utf8)
  }

  func testAModelThatCannotBeSynchronizedIsRefusedByName() async throws {
    let model = ManagedObjectModel {
      Entity("Post") {
        Attribute("title", .string).syncMergeRule(.firstWriter)
        Relationship("next", to: "Post", inverse: "next")
        Relationship("tags", toMany: "Tag", inverse: "posts")
        Unique("title")
      }
      Entity("Tag") { Relationship("posts", toMany: "Post", inverse: "tags").ordered() }
    }
    let one = try await container("one", model: model)
    XCTAssertThrowsError(try one.initializeSchema()) { error in
      XCTAssertEqual((error as? SyncError)?.code, .unsupportedModel)
      XCTAssertEqual((error as? SyncError)?.obstacles.count, 1)
    }
    do {
      _ = try await one.createAccount()
      XCTFail("It has an account.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .unsupportedModel) }
    XCTAssertFalse(FileManager.default.fileExists(atPath: try file("hub.store").path))
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    try one.close()
  }

  func testWaitingIncludesTheObjectsFromBefore() async throws {
    let one = try await container("one")
    try await insertNotes(450, in: one)
    let key = try await one.createAccount()
    try await one.waitUntilSynced()
    let pending = try await one.pendingCount
    XCTAssertEqual(pending, 0)
    let status = try await one.status()
    XCTAssertNil(status.addedObjects)
    XCTAssertEqual(status.unsentObjects, 0)
    try one.close()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 450)
    try other.close()
  }

  func testLaterSavesAreNotWaitedFor() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    let saving = Task { try await CloudTestCase.insertUntilCancelled(one) }
    for await event in one.events() where event.type == .export { break }
    // There are new saves all the time.
    try await one.waitUntilSynced()
    saving.cancel()
    _ = try? await saving.value
    try await one.waitUntilSynced()
    let pending = try await one.pendingCount
    XCTAssertEqual(pending, 0)
    try one.close()
  }

  func testWaitingOutlastsAHubThatIsAway() async throws {
    let one = try await container("one")
    let key = try await one.createAccount()
    try await one.waitUntilSynced()
    try one.close()
    try moveHub(to: "away")
    let again = try await container("one")
    try await insertNotes(3, in: again)
    do {
      try await again.synchronize()
      XCTFail("There is no hub.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .hubUnavailable) }
    let status = try await again.status()
    XCTAssertEqual(status.pendingSaves, 1)
    XCTAssertEqual(status.pendingChanges, 4)
    XCTAssertNotNil(status.lastError)
    let waiting = Task { try await again.waitUntilSynced() }
    try moveHub(from: "away", to: "hub.store")
    try await waiting.value
    let later = try await again.status()
    XCTAssertEqual(later.pendingCount, 0)
    XCTAssertNil(later.lastError)
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 3)
    for container in [again, other] { try container.close() }
  }

  func testLoadingTheStoresAgainChangesNothing() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    try await one.loadPersistentStores()
    try await one.loadPersistentStores()
    XCTAssertEqual(one.persistentStoreCoordinator.persistentStores.count, 1)
    try await insertNotes(1, in: one)
    try await one.waitUntilSynced()
    let isEqual = try await one.verifyState()
    XCTAssertTrue(isEqual)
    try one.close()
  }

  func testAStoreThatWasRemovedIsSynchronizedWhenItIsLoadedAgain() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    try await one.waitUntilSynced()
    let coordinator = one.persistentStoreCoordinator
    try coordinator.remove(try XCTUnwrap(coordinator.persistentStores.first))
    try await one.loadPersistentStores()
    try await insertNotes(1, in: one)
    try await one.waitUntilSynced()
    let status = try await one.status()
    XCTAssertEqual(status.pendingCount, 0)
    try one.close()
  }

  func testAStoreWithoutCloudOptionsStaysOnTheDevice() async throws {
    let one = try await container([
      try description("one", configuration: "Synchronized"), try description("local", hub: nil, configuration: "Local"),
    ])
    let key = try await one.createAccount()
    try await insertNotes(1, in: one)
    let setting = try await one.performBackgroundTask { context in
      let setting = try context.insertObject(entityName: "Setting")
      try context.save()
      return setting.objectID
    }
    try await one.waitUntilSynced()
    let isSynchronized = try await one.isSynchronized
    XCTAssertTrue(isSynchronized)
    XCTAssertNil(try one.record(for: setting))
    let local = try XCTUnwrap(one.persistentStoreCoordinator.persistentStores.last)
    do {
      _ = try await one.status(of: local)
      XCTFail("The store is not synchronized.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .noCloudStore) }

    let other = try await container([
      try description("other", configuration: "Synchronized"), try description("otherLocal", hub: nil, configuration: "Local"),
    ])
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let (notes, settings) = (try await count("Note", in: other), try await count("Setting", in: other))
    XCTAssertEqual(notes, 1)
    XCTAssertEqual(settings, 0)
    for container in [one, other] { try container.close() }
  }

  func testAContainerWithSeveralCloudStoresNamesTheProblem() async throws {
    let one = try await container([
      try description("one", configuration: "Synchronized"), try description("two", configuration: "Local"),
    ])
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    do {
      _ = try await one.createAccount()
      XCTFail("It is not clear of which store.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .noCloudStore) }
    try one.close()
  }

  func testClosingDuringARoundLosesNothing() async throws {
    let one = try await container("one")
    try await insertNotes(500, in: one)
    let key = try await one.createAccount()
    let round = Task { try await one.synchronize() }
    for await event in one.events() where event.count > 0 { break }
    try one.close()
    _ = try? await round.value
    let again = try await container("one")
    try await again.waitUntilSynced()
    let isEqual = try await again.verifyState()
    XCTAssertTrue(isEqual)
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let arrived = try await count("Note", in: other)
    XCTAssertEqual(arrived, 500)
    for container in [again, other] { try container.close() }
  }

  func testAReleasedContainerEndsSynchronization() async throws {
    do {
      let one = try await container("one")
      _ = try await one.createAccount()
      try await one.waitUntilSynced()
    }
    let again = try await container("one")
    // The round that was running ends first.
    for attempt in 1...500 {
      do {
        let isEqual = try await again.verifyState()
        return XCTAssertTrue(isEqual)
      } catch let error as SyncError where error.code == .busy && attempt < 500 { try await Task.sleep(for: .milliseconds(20)) }
    }
  }

  func testAHubThatWasMovedDoesNotPreventLoading() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    try await insertNotes(1, in: one)
    try await one.waitUntilSynced()
    try one.close()
    try moveHub(to: "away")
    let again = try PersistentCloudContainer(
      name: "Notes", managedObjectModel: Self.model, persistentStoreDescriptions: [try description("one", hub: "moved.store")])
    let posted = PostedEvents(of: again)
    try await again.loadPersistentStores()
    XCTAssertEqual(posted.events.compactMap { ($0.error as? SyncError)?.code }, [.hubUnavailable])
    let notes = try await count("Note", in: again)
    XCTAssertEqual(notes, 1)
    try moveHub(from: "away", to: "moved.store")
    try await insertNotes(1, in: again)
    try await again.waitUntilSynced()
    let status = try await again.status()
    XCTAssertEqual(status.hubURL.lastPathComponent, "moved.store")
    try again.close()
  }

  func testLeavingDuringARoundEndsSynchronization() async throws {
    let one = try await container("one")
    try await insertNotes(450, in: one)
    _ = try await one.createAccount()
    let round = Task { try await one.synchronize() }
    for await event in one.events() where event.count > 0 { break }
    try await one.leaveAccount()
    _ = try? await round.value
    let isSynchronized = try await one.isSynchronized
    XCTAssertFalse(isSynchronized)
    let notes = try await count("Note", in: one)
    XCTAssertEqual(notes, 450)
    _ = try await one.createAccount()
    try await one.waitUntilSynced()
    let isEqual = try await one.verifyState()
    XCTAssertTrue(isEqual)
    try one.close()
  }
}
