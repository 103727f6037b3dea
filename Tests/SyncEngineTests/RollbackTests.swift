import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine
@testable import _SyncSimulation

/// A store that is restored by another program, which overwrites its file in place with an earlier copy: `cp backup.store A.store`.
final class RollbackTests: XCTestCase {
  /// Two stores with a folder of each, synchronized.
  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    for store in [one, other] { try insert("begin", in: store) }
    for store in [one, other, one] { try store.synchronize() }
    return (one, other)
  }

  private func insert(_ titles: String..., in store: SyncedStore) throws {
    for title in titles { try store.context.insert("Folder", ["title": title]) }
    try store.context.save()
  }

  /// Returns the content of a store's closed file.
  private func copy(_ store: SyncedStore) throws -> Data {
    try store.close()
    defer { XCTAssertFalse(FileManager.default.fileExists(atPath: store.url.path + "-wal"), "The copy is complete.") }
    return try Data(contentsOf: store.url)
  }

  private func titles(_ store: SyncedStore) throws -> [String] { try store.contents().values.compactMap { $0["title"] }.sorted() }

  private func synchronize(_ stores: SyncedStore...) throws {
    // The answers to requests that were sent before are lost.
    for store in stores { store.restart() }
    for _ in 0..<3 { for store in stores { try store.synchronize() } }
    for store in stores { XCTAssertTrue(try store.isIdle) }
  }

  func testNewObjectsReplaceNoneThatWasSentByTheLostState() throws {
    // Saves before the first round, with the container's synchronization and without it; and after it.
    for order in ["before a round", "in another process", "after a round"] {
      let (one, other) = try stores()
      let older = try copy(one)
      try one.reopen()
      try insert("lost 1", "lost 2", "lost 3", in: one)
      try synchronize(one, other)
      try one.close()
      try older.overwrite(one.url)
      if order == "in another process" {
        let open = try OpenStore(one.description, model: MirrorModel.model)
        for title in ["new 1", "new 2"] { try open.insert("Folder", ["title": .text(title)]) }
        try open.close()
      }
      try one.reopen()
      XCTAssertFalse(try one.replica.isCopy(), "The device has a new identity.")
      if order == "after a round" { try synchronize(one, other) }
      if order != "in another process" { try insert("new 1", "new 2", in: one) }
      try synchronize(one, other)
      let expected = ["begin", "begin", "lost 1", "lost 2", "lost 3", "new 1", "new 2"]
      for store in [one, other] { XCTAssertEqual(try titles(store), expected, order) }
      try assertEqualContents(one, other, count: 7)
    }
  }

  func testTheDeviceGetsANewIdentityBeforeItSendsAnything() throws {
    let (one, other) = try stores()
    let device = try one.replica.transaction { try one.replica.zone().device }
    let older = try copy(one)
    try one.reopen()
    XCTAssertEqual(try one.replica.transaction { try one.replica.zone().device }, device)
    try insert("lost", in: one)
    try synchronize(one, other)
    try one.close()
    try older.overwrite(one.url)
    try one.reopen()
    XCTAssertNotEqual(try one.replica.transaction { try one.replica.zone().device }, device)
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 3)
  }

  func testPendingSavesThatTheLostStateHasSentAreNotDuplicated() throws {
    let (one, other) = try stores()
    try insert("pending", in: one)
    let changed = try XCTUnwrap(one.context.all("Folder").first { $0.text("title") == "begin" })
    try changed.setValue("renamed", forKey: "title")
    try one.context.save()
    let older = try copy(one)
    try one.reopen()
    try synchronize(one, other)
    // Others change what was sent.
    let theirs = try XCTUnwrap(other.context.all("Folder").first { $0.text("title") == "pending" })
    try theirs.setValue("changed elsewhere", forKey: "title")
    try other.context.save()
    try insert("lost", in: one)
    try synchronize(one, other)
    try one.close()
    try older.overwrite(one.url)
    try one.reopen()
    try insert("new", in: one)
    try synchronize(one, other)
    for store in [one, other] { XCTAssertEqual(try titles(store), ["begin", "changed elsewhere", "lost", "new", "renamed"]) }
    try assertEqualContents(one, other, count: 5)
  }

  func testACopyWithAFrozenCommitThatTheLostStateHasSent() throws {
    for isSent in [false, true] {
      let (one, other) = try stores()
      try insert("frozen", in: one)
      for action in try one.handle(.save) where isSent { _ = try one.answer(action) }
      let older = try copy(one)
      try one.reopen()
      try insert("lost", in: one)
      try synchronize(one, other)
      try one.close()
      try older.overwrite(one.url)
      try one.reopen()
      try insert("new", in: one)
      try synchronize(one, other)
      for store in [one, other] { XCTAssertEqual(try titles(store), ["begin", "begin", "frozen", "lost", "new"]) }
      try assertEqualContents(one, other, count: 5)
    }
  }

  func testTheSameCopyIsRestoredAgain() throws {
    let (one, other) = try stores()
    let older = try copy(one)
    try one.reopen()
    var expected = ["begin", "begin"]
    for number in 1...3 {
      try insert("\(number)", in: one)
      expected.append("\(number)")
      try synchronize(one, other)
      try one.close()
      try older.overwrite(one.url)
      try one.reopen()
    }
    try insert("new", in: one)
    try synchronize(one, other)
    for store in [one, other] { XCTAssertEqual(try titles(store), (expected + ["new"]).sorted()) }
    try assertEqualContents(one, other, count: 6)
  }

  func testACopyFromBeforeSynchronizationBegan() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, begins: false)
    try (one.open.persistentStore.incrementalStore as? any IdentityStore)?.setTracksObjectIdentity(true)
    try insert("begin", in: one)
    let older = try copy(one)
    try one.reopen()
    try one.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(1))
    while try one.replica.addBaseline(maximumCount: 7) != nil {}
    try insert("lost", in: one)
    let other = try SyncedStore(scenario, 2)
    try synchronize(one, other)
    try one.close()
    try older.overwrite(one.url)
    try one.reopen()
    try insert("new", in: one)
    try one.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(3))
    while try one.replica.addBaseline(maximumCount: 7) != nil {}
    try synchronize(one, other)
    for store in [one, other] { XCTAssertEqual(try titles(store), ["begin", "lost", "new"]) }
    try assertEqualContents(one, other, count: 3)
  }

  // MARK: Without a mark

  /// The whole folder was copied back, or the machine was reset to a snapshot: nothing outside of the store shows that it is older.
  private func restore(_ store: SyncedStore, _ older: Data) throws {
    try store.close()
    try older.overwrite(store.url)
    try? FileManager.default.removeItem(at: store.folder.file(".1.store-mark"))
    try store.reopen()
  }

  func testARestorationThatNothingShowsIsNoticedByThePull() throws {
    for insertsFirst in [false, true] {
      let (one, other) = try stores()
      let older = try copy(one)
      try one.reopen()
      let lineage = one.open.persistentStore.metadata.lineageIdentifier
      try insert("lost 1", "lost 2", "lost 3", in: one)
      try synchronize(one, other)
      try restore(one, older)
      XCTAssertEqual(one.open.persistentStore.metadata.lineageIdentifier, lineage)
      if insertsFirst { try insert("new 1", "new 2", in: one) }
      try synchronize(one, other)
      XCTAssertNotEqual(try one.replica.transaction { try one.replica.zone().device }, DeviceID(1))
      XCTAssertNotEqual(try (one.open.store as? any LineageStore)?.lineageIdentifier(), lineage)
      XCTAssertFalse(try one.replica.isCopy())
      // All keys that the lost state may have used.
      let titles = (0..<20).map { "later \($0)" }
      for title in titles { try insert(title, in: one) }
      try synchronize(one, other)
      let expected = ["begin", "begin", "lost 1", "lost 2", "lost 3"] + (insertsFirst ? ["new 1", "new 2"] : []) + titles
      for store in [one, other] { XCTAssertEqual(try self.titles(store), expected.sorted()) }
      try assertEqualContents(one, other, count: expected.count)
    }
  }

  func testObjectsWithTheIDsOfObjectsThatTheLostStateHasSentBecomeOthers() throws {
    let (one, other) = try stores()
    // A pending save of the copy, which the lost state has sent: it stays one object.
    let pending = try one.context.insert("Folder", ["title": "pending"])
    try one.context.insert("Note", ["title": "note", "folder": pending])
    try one.context.save()
    let older = try copy(one)
    try one.reopen()
    for title in ["lost", "changed", "deleted"] { try insert(title, in: one) }
    try synchronize(one, other)
    for folder in try other.context.all("Folder") {
      switch folder.text("title") {
      case "changed": try folder.setValue("changed elsewhere", forKey: "title")
      case "deleted": other.context.delete(folder)
      case "pending": try folder.setValue("pending elsewhere", forKey: "title")
      default: break
      }
    }
    try other.context.save()
    try synchronize(one, other)
    try restore(one, older)
    var parent: ManagedObject?
    for number in 1...4 {
      let folder = try one.context.insert("Folder", ["title": "new \(number)", "parent": parent])
      try one.context.insert("Note", ["title": "of \(number)", "folder": folder])
      try one.context.save()
      parent = folder
    }
    try parent?.setValue("new and changed", forKey: "title")
    try one.context.save()
    try synchronize(one, other)
    let expected = [
      "begin", "begin", "changed elsewhere", "lost", "new 1", "new 2", "new 3", "new and changed", "note", "of 1", "of 2", "of 3", "of 4",
      "pending elsewhere",
    ]
    for store in [one, other] {
      XCTAssertEqual(try titles(store), expected)
      let contents = try store.contents()
      let new = contents.filter { $0.value["title"]?.hasPrefix("new") ?? false && $0.value["entity"] == "Folder" }
      XCTAssertEqual(new.values.map { $0["noteCount"] }, ["1", "1", "1", "1"])
      XCTAssertEqual(new.values.filter { new[$0["parent"] ?? ""] != nil }.count, 3)
      XCTAssertEqual(try store.verify(), [])
    }
    try assertEqualContents(one, other, count: 14)
  }

  func testObjectsThatBecameOthersStayTheSameAfterASecondRestoration() throws {
    let (one, other) = try stores()
    let older = try copy(one)
    try one.reopen()
    try insert("lost 1", "lost 2", in: one)
    try synchronize(one, other)
    try restore(one, older)
    try insert("new 1", "new 2", in: one)
    let second = try copy(one)
    try one.reopen()
    for _ in 0..<3 {
      try synchronize(one, other)
      for store in [one, other] { XCTAssertEqual(try titles(store), ["begin", "begin", "lost 1", "lost 2", "new 1", "new 2"]) }
      try restore(one, second)
    }
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
  }

  func testRestorationsWhilePendingChangesAreInATable() throws {
    try PendingSaves.$limit.withValue(1) {
      try testNewObjectsReplaceNoneThatWasSentByTheLostState()
      try testPendingSavesThatTheLostStateHasSentAreNotDuplicated()
      try testObjectsWithTheIDsOfObjectsThatTheLostStateHasSentBecomeOthers()
      try testObjectsThatBecameOthersStayTheSameAfterASecondRestoration()
    }
  }

  // MARK: The mark

  private func mark(_ store: SyncedStore) throws -> String? {
    let url = store.folder.file(".\(store.url.lastPathComponent)-mark")
    return FileManager.default.fileExists(atPath: url.path) ? try String(contentsOf: url, encoding: .utf8) : nil
  }

  func testTheMarkIsWrittenBeforeACommitIsSentAndOncePerCommit() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1)
    try insert("a", in: one)
    XCTAssertNil(try mark(one), "Nothing can be sent before the first pull.")
    let pull = try XCTUnwrap(one.handle(.remoteChange).first)
    let push = try XCTUnwrap(one.handle(one.answer(pull)).first)
    guard case .push = push else { return XCTFail("\(push)") }
    let first = try XCTUnwrap(mark(one))
    _ = try one.handle(.save)
    XCTAssertEqual(try mark(one), first)
    _ = try one.handle(one.answer(push))
    XCTAssertEqual(try mark(one), first)
    try insert("b", in: one)
    XCTAssertEqual(try mark(one), first, "A save does not write it.")
    XCTAssertFalse(try one.handle(.save).isEmpty)
    XCTAssertNotEqual(try mark(one), first)
    // A process that ended between freezing and the mark.
    let second = try mark(one)
    try FileManager.default.removeItem(at: one.folder.file(".1.store-mark"))
    try one.close()
    try one.reopen()
    XCTAssertFalse(try one.handle(.save).isEmpty)
    XCTAssertEqual(try mark(one), second)
  }

  func testWithoutAMarkEverythingElseWorks() throws {
    let (one, other) = try stores()
    let url = one.folder.file(".1.store-mark")
    try FileManager.default.removeItem(at: url)
    // It cannot be written either.
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try insert("a", in: one)
    try synchronize(one, other)
    try one.close()
    try one.reopen()
    XCTAssertEqual(try one.replica.transaction { try one.replica.zone().device }, DeviceID(1))
    try insert("b", in: one)
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 4)
  }
}
