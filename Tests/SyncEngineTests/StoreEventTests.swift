import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreKeys
import SyncCore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine
@testable import _SyncSimulation

/// What happens to a store in the middle of synchronization: it is reopened, copied, compacted, migrated, or damaged.
final class StoreEventTests: XCTestCase {
  func testAStoreThatWasNotOpenedForSynchronizationIsNamedAsSuch() throws {
    let folder = try TemporaryFolder("SyncEngineTests")
    let open = try OpenStore(
      PersistentStoreDescription(url: folder.file("a.store"), key: SyncedStore.databaseKey), model: MirrorModel.model)
    defer { XCTAssertNoThrow(try open.close()) }
    XCTAssertThrowsError(try StoreReplica(open.persistentStore, of: open.coordinator)) { error in
      let error = error as? SyncError
      XCTAssertEqual(error?.code, .unsupportedStore)
      XCTAssertTrue(error?.message.contains("was not opened for synchronization") ?? false, "\(error?.message ?? "")")
    }
  }

  /// Two stores, the second of which has pending saves, a frozen commit and a staged pull.
  ///
  /// - Parameter isSent: Whether the hub has the frozen commit.
  private func stores(isSent: Bool = false, key: StoreKey = SyncedStore.databaseKey) throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2, key: key))
    let root = try one.context.insert("Folder", ["title": "root"])
    for number in 0..<6 { try one.context.insert("Note", ["title": "\(number)", "rating": Double(number), "folder": root]) }
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    for note in try one.context.all("Note") { try note.setValue("one", forKey: "text") }
    try one.context.save()
    try one.synchronize()
    other.limits.recordsInPage = 2
    other.limits.changesInCommit = 2
    other.restart()
    for note in try other.context.all("Note") {
      try note.setValue(-1.0, forKey: "rating")
      try other.context.save()
    }
    for action in try other.handle(.remoteChange) {
      if case .pull = action { _ = try other.handle(other.answer(action)) } else if isSent { _ = try other.answer(action) }
    }
    let state = try other.replica.simulatedState(other.open)
    XCTAssertNotNil(state.outbox)
    XCTAssertFalse(state.staged.isEmpty)
    XCTAssertGreaterThan(state.saves.count, 3)
    return (one, other)
  }

  /// Lets stores synchronize, and checks that they have all changes.
  private func synchronize(_ stores: SyncedStore..., checks: SyncChecks = SyncChecks(), count: Int = 7) throws {
    // The answers to requests that were sent before are lost.
    for store in stores { store.restart() }
    for _ in 0..<3 {
      for (number, store) in stores.enumerated() { try store.synchronize { try checks.check(store, number) } }
    }
    try checks.checkEnd(stores)
    let notes = try stores[0].contents().values.filter { $0["entity"] == "Note" }
    XCTAssertEqual(try stores[0].contents().count, count)
    XCTAssertTrue(notes.allSatisfy { $0["text"] == "one" && $0["rating"] == "-1.0" }, "\(notes)")
  }

  private func unlock(_ store: SyncedStore) throws -> SQLCipherStoreFile {
    let (url, key) = (store.url, store.key)
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  // MARK: Files

  func testClosedAndOpenedAgain() throws {
    for isSent in [false, true] {
      let (one, other) = try stores(isSent: isSent)
      let state = try other.replica.simulatedState(other.open)
      try other.close()
      try other.reopen()
      XCTAssertFalse(try other.replica.isCopy())
      let now = try other.replica.simulatedState(other.open)
      XCTAssertEqual(state.zone, now.zone)
      XCTAssertEqual(state.saves, now.saves)
      XCTAssertEqual(state.outbox, now.outbox)
      XCTAssertEqual(state.staged, now.staged)
      XCTAssertEqual(state.objects, now.objects)
      try synchronize(one, other)
    }
  }

  func testCompactedWithAnotherDataKey() throws {
    let (one, other) = try stores(key: .passphrase(SecretBytes(Array("secret".utf8)), .cheapForTests()))
    try other.close()
    let file = try unlock(other)
    try waitFor { try await file.rotateDataKey() }
    let rotated = try unlock(other)
    _ = try waitFor { try await rotated.compact() }
    try other.reopen()
    XCTAssertFalse(try other.replica.isCopy())
    XCTAssertEqual(try other.verify(), [])
    try synchronize(one, other)
  }

  func testABackupIsAnotherDevice() throws {
    for isSent in [false, true] {
      let (one, other) = try stores(isSent: isSent)
      let copy = other.folder.file("copy.store")
      let file = try unlock(other)
      try waitFor { try await file.backUp(to: copy) }
      let device = try other.replica.transaction { try other.replica.zone().device }
      let third = try SyncedStore(one.scenario, opening: copy, in: other.folder)
      XCTAssertFalse(try third.replica.isCopy(), "The identity is that of the copy now.")
      XCTAssertNotEqual(try third.replica.transaction { try third.replica.zone().device }, device)
      XCTAssertFalse(try other.replica.isCopy())
      // Both continue.
      try third.context.insert("Folder", ["title": "of the copy"])
      try third.context.save()
      try other.context.insert("Folder", ["title": "of the original"])
      try other.context.save()
      try synchronize(one, other, third, count: 9)
    }
  }

  func testARestoredBackupLosesNothingThatWasSent() throws {
    let (one, other) = try stores()
    let copy = other.folder.file("copy.store")
    let file = try unlock(other)
    try waitFor { try await file.backUp(to: copy) }
    try other.context.insert("Folder", ["title": "after the backup"])
    try other.context.save()
    try synchronize(one, other, count: 8)
    try other.close()
    var source = other.description
    source.url = copy
    try waitFor { [coordinator = other.open.coordinator, destination = other.description, source] in
      try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source)
    }
    try other.reopen()
    try synchronize(one, other, count: 8)
  }

  func testARestoredBackupDoesNotBringBackWhatWasDeletedBeforeItWasSent() throws {
    let (one, other) = try stores()
    let checks = SyncChecks()
    try synchronize(one, other, checks: checks)
    let folder = try other.context.insert("Folder", ["title": "deleted"])
    try other.context.save()
    let copy = other.folder.file("copy.store")
    let file = try unlock(other)
    try waitFor { try await file.backUp(to: copy) }
    other.context.delete(folder)
    try other.context.save()
    try synchronize(one, other, checks: checks)
    try other.close()
    var source = other.description
    source.url = copy
    try waitFor { [coordinator = other.open.coordinator, destination = other.description, source] in
      try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source)
    }
    try other.reopen()
    try synchronize(one, other, checks: checks)
  }

  func testCopiesWhilePendingChangesAreInATable() throws {
    try PendingSaves.$limit.withValue(1) {
      try testABackupIsAnotherDevice()
      try testARestoredBackupLosesNothingThatWasSent()
      try testPendingSavesSurviveAMigration()
    }
  }

  func testImportsFromFilesAreSent() throws {
    let (one, other) = try stores()
    let context = other.open.newContext()
    context.changeSource = .import
    try context.insert("Folder", ["title": "from a file"])
    try context.save()
    try synchronize(one, other, count: 8)
  }

  // MARK: Models

  /// A later version of the model: properties and an entity are added, removed and renamed.
  private static let laterModel: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Item", abstract: true) {
        Attribute("name", .string).renamed(from: "title")
        Attribute("folded", .string).derived("canonical:(name)")
      }
      Entity("Folder", parent: "Item") {
        Attribute("size", .integer64).initially(7)
        Attribute("noteCount", .integer64).derived("notes.@count")
        Attribute("color", .string).initially("none")
        Relationship("parent", to: "Folder", inverse: "children")
        Relationship("children", toMany: "Folder", inverse: "parent").onDelete(.cascade)
        Relationship("notes", toMany: "Paper", inverse: "folder").onDelete(.cascade)
      }
      Entity("Paper", parent: "Item") {
        Attribute("text", .string)
        Attribute("rating", .double)
        Attribute("data", .binary)
        Attribute("price", .decimal)
        Attribute("key", .uuid)
        Attribute("isRead", .boolean)
        Attribute("stars", .integer64).required().initially(3)
        Relationship("folder", to: "Folder", inverse: "notes").required()
        Relationship("labels", toMany: "Label", inverse: "paper").onDelete(.cascade)
      }
      .renamed(from: "Note")
      Entity("Label") {
        Attribute("word", .string)
        Relationship("paper", to: "Paper", inverse: "labels").required()
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  func testModelsOfTwoVersions() throws {
    let (one, other) = try stores()
    // Values that the later model does not have.
    let folder = try XCTUnwrap(one.context.all("Folder").first)
    try folder.setValue(Date(timeIntervalSinceReferenceDate: 100), forKey: "made")
    try one.context.insert("Cover", ["color": "red", "folder": folder])
    try one.context.save()
    try synchronize(one, other, count: 8)
    try other.close()
    try other.reopen(Self.laterModel)
    let paper = try XCTUnwrap(other.context.all("Paper").first { $0.text("name") == "3" })
    XCTAssertEqual(paper["stars"] as? Int64, 3)
    try paper.setValue(5, forKey: "stars")
    try paper.setValue("three", forKey: "name")
    try other.context.insert("Label", ["word": "w", "paper": paper])
    let theirs = try XCTUnwrap(paper.object("folder"))
    try theirs.setValue("renamed", forKey: "name")
    try theirs.setValue("blue", forKey: "color")
    try other.context.save()
    for store in [other, one, other, one] { try store.synchronize() }
    for store in [one, other] { XCTAssertTrue(try store.isIdle) }
    // The older version has what it knows, and keeps the rest.
    let contents = try one.contents().values
    XCTAssertEqual(contents.count, 8)
    XCTAssertEqual(contents.count { $0["title"] == "three" }, 1)
    let known = try XCTUnwrap(contents.first { $0["title"] == "renamed" })
    XCTAssertEqual(known["made"], "\(Date(timeIntervalSinceReferenceDate: 100))")
    XCTAssertNotEqual(known["cover"], "nil")
    // It changes an object with unknown values, inserts one without, and is migrated too.
    one.context.reset()
    let note = try XCTUnwrap(one.context.all("Note").first { $0.text("title") == "three" })
    try note.setValue(9.0, forKey: "rating")
    try one.context.insert("Note", ["title": "new", "folder": note.object("folder")])
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    XCTAssertEqual(try other.contents().values.first { $0["name"] == "new" }?["stars"], "3")
    let changed = try XCTUnwrap(other.contents().values.first { $0["name"] == "three" })
    XCTAssertEqual(changed["stars"], "5")
    XCTAssertEqual(changed["rating"], "9.0")
    XCTAssertNotEqual(changed["labels"], "")
    try one.close()
    try one.reopen(Self.laterModel)
    try assertEqualContents(one, other, count: 9)
    for store in [one, other, one] { try store.synchronize() }
    try assertEqualContents(one, other, count: 9)
    XCTAssertEqual(try one.contents().values.first { $0["name"] == "renamed" }?["color"], "blue")
  }

  func testPendingSavesSurviveAMigration() throws {
    let (one, other) = try stores()
    let note = try XCTUnwrap(other.context.all("Note").first { $0.text("title") == "3" })
    try note.setValue("renamed", forKey: "title")
    try other.context.save()
    try other.close()
    try other.reopen(Self.laterModel)
    for store in [other, one, other, one] { try store.synchronize() }
    for store in [one, other] { XCTAssertTrue(try store.isIdle) }
    let notes = try one.contents().values.filter { $0["entity"] == "Note" }
    XCTAssertEqual(notes.count, 6)
    XCTAssertTrue(notes.allSatisfy { $0["rating"] == "-1.0" && $0["text"] == "one" }, "\(notes)")
    XCTAssertEqual(notes.count { $0["title"] == "renamed" }, 1)
  }

  // MARK: History and stable IDs

  func testHistoryThatWasNotSentIsNotDeleted() throws {
    let (one, other) = try stores()
    let coordinator = other.open.coordinator
    assertStoreError(.historyConsumerBehind) {
      _ = try coordinator.execute(.deleteHistory(before: nil as PersistentHistoryToken?))
    }
    try synchronize(one, other)
    try other.context.insert("Folder", ["title": "new"])
    try other.context.save()
    assertStoreError(.historyConsumerBehind) {
      try other.context.insert("Folder", ["title": "newer"])
      try other.context.save()
      _ = try coordinator.execute(.deleteHistory(before: nil as PersistentHistoryToken?))
    }
    try synchronize(one, other, count: 9)
    _ = try coordinator.execute(.deleteHistory(before: nil as PersistentHistoryToken?))
  }

  func testChangesAreFoundIfTheHistoryWasDeletedAllTheSame() throws {
    for isReopened in [false, true] {
      let (one, other) = try stores()
      try synchronize(one, other)
      let root = try XCTUnwrap(other.context.all("Folder").first)
      try root.setValue("renamed", forKey: "title")
      let doomed = try XCTUnwrap(other.context.all("Note").first { $0.text("title") == "2" })
      other.context.delete(doomed)
      let new = try other.context.insert("Folder", ["title": "new"])
      try other.context.insert("Cover", ["color": "red", "folder": new])
      try other.context.save()
      try XCTUnwrap(other.context.all("Note").first { $0.text("title") == "3" }).setValue(new, forKey: "folder")
      try other.context.save()
      // Meanwhile the other store changes something else.
      let theirs = try XCTUnwrap(one.context.all("Folder").first)
      try theirs.setValue(3, forKey: "size")
      try one.context.save()
      var deletion = PersistentHistoryChangeRequest.deleteHistory(before: nil as PersistentHistoryToken?)
      deletion.forcesDeletion = true
      _ = try other.open.coordinator.execute(deletion)
      if isReopened {
        try other.close()
        try other.reopen()
      }
      try synchronize(one, other, count: 8)
      let contents = try one.contents().values
      XCTAssertEqual(contents.first { $0["title"] == "renamed" }?["size"], "3")
      XCTAssertEqual(contents.count { $0["title"] == "2" }, 0)
      XCTAssertEqual(contents.first { $0["title"] == "new" }?["noteCount"], "1")
      XCTAssertEqual(contents.count { $0["color"] == "red" && $0["folder"] != "nil" }, 1)
    }
  }

  func testHistoryIsDeletedWhenItWasSent() throws {
    let (one, other) = try stores()
    try synchronize(one, other)
    for number in 0..<20 {
      try other.context.insert("Folder", ["title": "\(number)"])
      try other.context.save()
    }
    let before = try other.open.coordinator.execute(.fetchHistory(after: nil as PersistentHistoryToken?)).transactions.count
    XCTAssertGreaterThanOrEqual(before, 20)
    try synchronize(one, other, count: 27)
    let after = try other.open.coordinator.execute(.fetchHistory(after: nil as PersistentHistoryToken?)).transactions.count
    XCTAssertLessThanOrEqual(after, 3)
  }

  func testHistoryOfTheApplicationIsKept() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1) { try ($0.persistentStore.incrementalStore as? any HistoryStore)?.setHistory(HistorySettings()) }
    for number in 0..<5 {
      try one.context.insert("Folder", ["title": "\(number)"])
      try one.context.save()
      try one.synchronize()
    }
    let transactions = try one.open.coordinator.execute(.fetchHistory(after: nil as PersistentHistoryToken?)).transactions
    XCTAssertEqual(transactions.count { $0.kind == .save }, 5)
  }

  func testWhatSynchronizationNeedsIsNotSwitchedOff() throws {
    let (one, other) = try stores()
    let store = try XCTUnwrap(other.open.persistentStore.incrementalStore as? any HistoryStore & IdentityStore)
    func assertNeeded(line: UInt = #line, _ body: () throws -> Void) {
      XCTAssertThrowsError(try body(), line: line) { error in
        XCTAssertEqual((error as? SyncError)?.code, .neededBySynchronization, "\(error)", line: line)
      }
    }
    assertNeeded { try store.setHistory(HistorySettings(level: .properties)) }
    assertNeeded { try store.setTracksObjectIdentity(false) }
    assertNeeded { try other.open.coordinator.purgeStableIDs(in: other.open.persistentStore) }
    XCTAssertThrowsError(try store.setHistory(nil))
    try synchronize(one, other)
    // A store that is not synchronized is not restricted.
    let third = try SyncedStore(one.scenario, 3, begins: false)
    let local = try XCTUnwrap(third.open.persistentStore.incrementalStore as? any HistoryStore & IdentityStore)
    try local.setHistory(HistorySettings(level: .values))
    try local.setHistory(nil)
    try local.setTracksObjectIdentity(true)
    try third.open.coordinator.purgeStableIDs(in: third.open.persistentStore)
    try local.setTracksObjectIdentity(false)
  }

  // MARK: Damage

  func testObjectsAreUsableIfTablesOfSynchronizationAreDamaged() throws {
    for table in SyncTables.shared.sideTables.tables.map(\.name) {
      let (_, other) = try stores()
      try other.close()
      try execute("DROP TABLE \(table)", in: other)
      let open = try OpenStore(other.description, model: MirrorModel.model)
      defer { try? open.close() }
      let context = open.newContext()
      let note = try XCTUnwrap(context.all("Note").first)
      try note.setValue("after the damage", forKey: "text")
      try context.insert("Folder", ["title": "new"])
      try context.save()
      XCTAssertEqual(try open.newContext().all("Folder").count, 2, table)
      let replica = try StoreReplica(open.persistentStore, of: open.coordinator)
      // Nothing is synchronized from an incomplete state.
      XCTAssertThrowsError(try replica.transaction { _ = try replica.entry(of: RecordID(high: 1, low: 1)) }, table)
      try context.insert("Folder", ["title": "newer"])
      try context.save()
    }
  }

  private func execute(_ sql: String, in store: SyncedStore) throws {
    let (path, key) = (store.url.path, store.key)
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: key) }
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    defer { connection.close() }
    try connection.execute(sql)
  }
}
