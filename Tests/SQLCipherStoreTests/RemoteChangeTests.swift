import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore
@testable import StoreFiles

/// The remote changes that a coordinator observes, and the cost for stores that do not observe them.
final class RemoteChangeTests: XCTestCase {
  override func tearDown() { FileEvents.simulatedError.withLock { $0 = nil } }

  /// Waits until no more notifications of earlier commits arrive.
  private func settle(_ open: OpenStore) {
    let listener = RemoteChangeRecorder(open.coordinator)
    var count = -1
    while count != listener.count {
      count = listener.count
      usleep(400_000)
    }
  }

  func testCommitOfAnotherCoordinatorNotifiesBothKindsOfObservers() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.open())
    // Keys for new objects are reserved in a separate commit.
    try second.insert("Tag", ["name": .text("black")])
    settle(first)
    let listener = RemoteChangeRecorder(first.coordinator)
    let posted = Mutex<[[String: String]]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .persistentStoreRemoteChange, object: first.coordinator, queue: nil
    ) { notification in
      let info = notification.userInfo ?? [:]
      let identifier = info[PersistentStoreCoordinator.NotificationKey.storeUUID.rawValue] as? String
      let url = info[PersistentStoreCoordinator.NotificationKey.storeURL.rawValue] as? URL
      posted.withLock { $0.append(["store": identifier ?? "", "path": url?.path ?? ""]) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("the change") { listener.count == 1 && posted.withLock { $0.count } == 1 }
    let change = try XCTUnwrap(listener.received.first)
    XCTAssertEqual(change.storeIdentifier, first.persistentStore.identifier)
    XCTAssertEqual(change.url, store.url)
    XCTAssertFalse(change.areChangesKnown)
    XCTAssertEqual(posted.withLock { $0 }, [["store": first.persistentStore.identifier, "path": store.url.path]])
  }

  func testOwnCommitsAreNotReported() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.openObserving())
    // Keys for new objects are reserved in a separate commit.
    let tag = try second.insert("Tag", ["name": .text("of another")])
    settle(first)
    let (own, others) = (RemoteChangeRecorder(first.coordinator), RemoteChangeRecorder(second.coordinator))
    for number in 0..<20 { try first.insert("Tag", ["name": .text("\(number)")]) }
    try first.store.setUserMetadata(["by": "first"])
    waitUntil("the other's change") { others.count > 0 }
    usleep(50_000)
    XCTAssertEqual(own.count, 0, "there was no other writer")
    try second.save { try $0.update(tag, ["name": .text("changed")]) }
    waitUntil("a change") { own.count == 1 }
    usleep(50_000)
    XCTAssertEqual(own.count, 1, "one commit")
  }

  func testReadAfterANotificationSeesTheCommit() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.open())
    let tag = try second.insert("Tag", ["name": .text("0")])
    let mine = first.same(tag)
    /// Reads as contexts do: from the coordinator's row cache, or in a snapshot that can serve several reads.
    func name() throws -> Slot? {
      if let row = first.persistentStore.cache.row(mine.reference) { return try first.value(row, "name") }
      let rows = try first.coordinator.readRows(of: [mine], from: first.persistentStore, scope: first.scope)
      return try rows.first.map { try first.value($0, "name") }
    }
    for round in 1...40 {
      try second.save { try $0.update(tag, ["name": .text("\(round)")]) }
      // An old row that was cached again after the change would persist.
      try waitUntil("round \(round)") { try name() == .text("\(round)") }
    }
  }

  func testCommitWithoutTouchIsDetectedByTheLog() throws {
    let store = try TestStore()
    let first = try store.openObserving()
    let listener = RemoteChangeRecorder(first.coordinator)
    for round in 1...3 {
      try store.execute("CREATE TABLE another\(round) (a)")
      waitUntil("round \(round)") { listener.count >= round }
    }
  }

  func testChangeBeforeAnOwnLongTransactionIsReportedAfterIt() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.open())
    let listener = RemoteChangeRecorder(first.coordinator)
    try second.insert("Tag", ["name": .text("red")])
    try first.persistentStore.performTransaction {
      try first.insert("Tag", ["name": .text("green")])
      usleep(30_000)
    }
    waitUntil("the change") { listener.count >= 1 }
  }

  func testSlowObserverReceivesManyCommitsAsOneChange() async throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.open())
    let prompt = RemoteChangeRecorder(first.coordinator)
    var slow = first.coordinator.remoteChanges().makeAsyncIterator()
    for number in 0..<10 {
      let count = prompt.count
      try second.insert("Tag", ["name": .text("\(number)")])
      waitUntil("commit \(number)") { prompt.count > count }
    }
    settle(first)
    let change = await slow.next()
    XCTAssertEqual(change?.storeIdentifier, first.persistentStore.identifier)
    let waiting = Task { [coordinator = first.coordinator] in
      _ = coordinator
      return await slow.next()
    }
    usleep(20_000)
    waiting.cancel()
    let another = await waiting.value
    XCTAssertNil(another?.url, "everything was reported together")
  }

  func testTheStreamEndsWithTheCoordinator() async throws {
    let stream = try PersistentStoreCoordinator(managedObjectModel: SpecificationModels.library.model).remoteChanges()
    for await _ in stream { XCTFail("there is no store") }
  }

  func testNoThreadResumesWithoutWrites() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.openObserving())
    let listener = RemoteChangeRecorder(first.coordinator)
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("the change") { listener.count > 0 }
    // The log is checked for the last time.
    usleep(400_000)
    let count = StoreWatch.resumeCount
    usleep(600_000)
    XCTAssertEqual(StoreWatch.resumeCount, count)
    try second.insert("Tag", ["name": .text("green")])
    waitUntil("another") { listener.count > 1 }
  }

  func testLastObserverRemovalStopsTheThreadAndClosesTheDescriptor() throws {
    func watchers() -> Int {
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return descriptors.filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == "anon_inode:inotify"
      }
      .count
    }
    waitUntil("the threads of other tests have ended") { watchers() == 0 }
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.openObserving())
    XCTAssertEqual(watchers(), 1, "one for the process")
    let listener = RemoteChangeRecorder(first.coordinator)
    try second.close()
    XCTAssertEqual(watchers(), 1)
    try store.execute("CREATE TABLE another (a)")
    waitUntil("the remaining observer still receives changes") { listener.count == 1 }
    try first.close()
    waitUntil("it is closed") { watchers() == 0 }
    let again = try store.openObserving()
    let received = RemoteChangeRecorder(again.coordinator)
    try store.execute("CREATE TABLE more (a)")
    waitUntil("a new observer receives changes") { received.count == 1 }
  }

  func testExhaustedWatchesFailTheOpening() throws {
    let store = try TestStore()
    try store.open().close()
    for (simulatedError, word) in [
      (FileEvents.SimulatedError.instance(EMFILE), "max_user_instances"), (.watch(ENOSPC), "max_user_watches"),
    ] {
      FileEvents.simulatedError.withLock { $0 = simulatedError }
      let error = assertStoreError(.remoteChangesUnavailable) { try store.openObserving() }
      XCTAssertEqual(error?.operation, .watch)
      XCTAssertTrue(error?.message.contains(word) ?? false, error?.message ?? "")
      // Stores that do not observe remote changes are not affected.
      try store.open().close()
    }
    FileEvents.simulatedError.withLock { $0 = .instance(ENOSYS) }
    assertStoreError(.unsupported) { try store.openObserving() }
    FileEvents.simulatedError.withLock { $0 = nil }
    try store.openObserving().close()
  }

  func testOnlyStoresWithRemoteChangeSupportAreObserved() throws {
    var description = PersistentStoreDescription(type: .inMemory)
    description.postsRemoteChangeNotifications = true
    // No other connection writes to a store in memory.
    try OpenStore(description, model: SpecificationModels.library).close()
  }

  func testObservingDoesNotPinTheLog() throws {
    let store = try TestStore()
    let first = try store.openObserving()
    let listener = RemoteChangeRecorder(first.coordinator)
    let keyring = try waitFor { [url = store.url] in try await StoreKeyring.unlock(storePath: url.path, key: TestStore.key) }
    let other = try Connection(opening: store.url.path, key: try keyring.databaseKey())
    for round in 1...3 {
      try other.writeTransaction { try other.execute("CREATE TABLE another\(round) (a)") }
      waitUntil("round \(round)") { listener.count >= round }
      let statement = try other.statement(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      XCTAssertTrue(try statement.step())
      XCTAssertEqual(statement.int(0), 0, "busy")
      statement.reset()
      XCTAssertEqual(StoreFile.size(store.url.path + "-wal"), 0)
    }
  }

  // MARK: The notice file

  func testFirstObserverCreatesAnEmptyPrivateFile() throws {
    let store = try TestStore()
    let plain = try store.open()
    try plain.insert("Tag", ["name": .text("red")])
    XCTAssertFalse(StoreFile.exists(store.noticePath), "there are no observers")
    let first = try store.openObserving()
    let attributes = try FileManager.default.attributesOfItem(atPath: store.noticePath)
    XCTAssertEqual(attributes[.size] as? Int, 0)
    XCTAssertEqual(attributes[.posixPermissions] as? Int, 0o600)
    try first.close()
    try plain.close()
    XCTAssertTrue(StoreFile.exists(store.noticePath), "it stays for processes that have not been notified of it yet")
  }

  func testEveryWriterTouchesTheFile() throws {
    let store = try TestStore()
    let writer = try store.open()
    try store.openObserving().close()
    func time() throws -> Date {
      try XCTUnwrap(FileManager.default.attributesOfItem(atPath: store.noticePath)[.modificationDate] as? Date)
    }
    let writes: [(String, () throws -> Void)] = [
      ("save", { try writer.insert("Tag", ["name": .text("red")]) }),
      ("metadata", { try writer.store.setUserMetadata(["a": "b"]) }),
      ("transaction", { try writer.persistentStore.performTransaction { try writer.insert("Tag", ["name": .text("blue")]) } }),
    ]
    for (name, write) in writes {
      // Longer than the absence of observers is cached.
      usleep(30_000)
      let before = try time()
      try write()
      XCTAssertGreaterThan(try time(), before, name)
    }
  }

  func testRemovedFileIsRecreated() throws {
    let store = try TestStore()
    let (first, second) = (try store.openObserving(), try store.open())
    let listener = RemoteChangeRecorder(first.coordinator)
    for round in 1...3 {
      unlink(store.noticePath)
      waitUntil("it is back") { StoreFile.exists(store.noticePath) }
      let count = listener.count
      try second.insert("Tag", ["name": .text("\(round)")])
      waitUntil("round \(round)") { listener.count > count }
    }
  }

  func testSymbolicLinkIsTouchedItself() throws {
    let store = try TestStore()
    let target = store.folder.file("target")
    try Data().write(to: target)
    let past = Date(timeIntervalSince1970: 1_000_000)
    try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: target.path)
    try FileManager.default.createSymbolicLink(atPath: store.noticePath, withDestinationPath: target.path)
    let (first, second) = (try store.openObserving(), try store.open())
    let listener = RemoteChangeRecorder(first.coordinator)
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("the change") { listener.count > 0 }
    XCTAssertEqual(try FileManager.default.attributesOfItem(atPath: target.path)[.modificationDate] as? Date, past)
  }

  func testStoreBehindASymbolicLinkIsObservedByEitherName() throws {
    let store = try TestStore()
    let linked = store.folder.file("linked.store")
    try store.open().close()
    try FileManager.default.createSymbolicLink(at: linked, withDestinationURL: store.url)
    let first = try store.openObserving()
    let listener = RemoteChangeRecorder(first.coordinator)
    var description = store.description
    description.url = linked
    let second = try OpenStore(description, model: SpecificationModels.library)
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("the change") { listener.count > 0 }
    XCTAssertFalse(StoreFile.exists(linked.path + "-changes"))
  }

  // MARK: Replaced files

  func testObservedStoreCannotBeDestroyedOrReplaced() throws {
    let (store, source) = (try TestStore(), try TestStore())
    try source.open().close()
    let first = try store.openObserving()
    let (description, other) = (store.description, source.description)
    let elsewhere = PersistentStoreCoordinator(compiledModel: SpecificationModels.library)
    assertStoreError(.busy) { try waitFor { try await elsewhere.destroyPersistentStore(with: description) } }
    assertStoreError(.busy) {
      try waitFor { try await elsewhere.replacePersistentStore(with: description, withPersistentStoreFrom: other) }
    }
    let listener = RemoteChangeRecorder(first.coordinator)
    let second = try store.open()
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("changes are received as before") { listener.count > 0 }
    try second.close()
    try first.close()
    try waitFor { try await elsewhere.replacePersistentStore(with: description, withPersistentStoreFrom: other) }
    let (again, writer) = (try store.openObserving(), try store.open())
    let later = RemoteChangeRecorder(again.coordinator)
    try writer.insert("Tag", ["name": .text("green")])
    waitUntil("changes of the new store are received") { later.count > 0 }
    try again.close()
    try writer.close()
    try waitFor { try await elsewhere.destroyPersistentStore(with: description) }
    XCTAssertEqual(store.folder.fileNames(), [])
  }

  func testObservationFollowsFilesReplacedByARotation() throws {
    let store = try TestStore()
    var description = store.listeningDescription
    description.key = .raw(SecretBytes([UInt8](repeating: 6, count: 32)))
    let first = try OpenStore(description, model: SpecificationModels.library)
    let listener = RemoteChangeRecorder(first.coordinator)
    let inner = try XCTUnwrap(first.store as? SQLCipherIncrementalStore)
    let (keyring, pool) = try inner.state.withLock { (try XCTUnwrap($0.keyring), try XCTUnwrap($0.engine).pool) }
    try waitFor { try await keyring.rotateDataKey(pool: pool, largeValues: ExternalTable.ids) }
    try first.insert("Tag", ["name": .text("own")])
    usleep(400_000)
    let count = listener.count
    description.postsRemoteChangeNotifications = false
    let second = try OpenStore(description, model: SpecificationModels.library)
    try second.insert("Tag", ["name": .text("red")])
    waitUntil("the change") { listener.count > count }
  }
}
