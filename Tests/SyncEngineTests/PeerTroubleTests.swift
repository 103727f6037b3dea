import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// Troubles that users of other synchronization systems have published, with real stores. Some of them, and the disasters, have tests
/// elsewhere:
///
/// | Trouble | Test |
/// |---|---|
/// | deletion and reinsertion of one identifier | here; `ImportTests.testUndoOfADeletionThatWasSentInsertsANewObject` |
/// | a child before its parent | here; `MirrorTests.testAChildThatIsAddedToADeletedParentIsDeletedToo` |
/// | a reply that acknowledges another batch | here; `RollbackTests.testNewObjectsReplaceNoneThatWasSentByTheLostState` |
/// | an expired token | `ReconciliationMirrorTests.testAStoreThatComesBackAfterAYear` |
/// | purged unexported history | `StoreEventTests.testChangesAreFoundIfTheHistoryWasDeletedAllTheSame` |
/// | one bad record that blocks all others | here; `EventTests.testRecordsThatCannotBeOpenedAreListed` |
/// | a move during an edit | here |
/// | an account switched with unsent data | here; `HubFailureTests.testCase20AnotherAccount` |
/// | an initial download interrupted in the middle | here; `ImportTests.testACanceledImportIsRepeatedFromWhatWasPulled` |
///
/// | Disaster | Test |
/// |---|---|
/// | hub restored from a backup | `ServiceTests.testDevicesAreCertifiedAgainByAHubThatWasRestored` |
/// | hub lost, or restored from before the account | `HubLossTests.testAnAccountIsCreatedAgainOnAHubThatWasRestoredFromBefore` |
/// | device restored from a backup | `StoreEventTests.testARestoredBackupLosesNothingThatWasSent` |
/// | device overwritten with an earlier copy | `RollbackTests.testPendingSavesThatTheLostStateHasSentAreNotDuplicated` |
/// | copied store on two machines | here; `StoreEventTests.testABackupIsAnotherDevice` |
/// | account changed under unsent edits | here; `HubFailureTests.testCase20SigningOut` |
/// | history purged by force | `StoreEventTests.testChangesAreFoundIfTheHistoryWasDeletedAllTheSame` |
/// | history or stable IDs switched off | `StoreEventTests.testWhatSynchronizationNeedsIsNotSwitchedOff` |
final class PeerTroubleTests: XCTestCase {
  private let key = UUID()

  /// Two stores with a folder and a note with an identifier of the application.
  private func stores() throws -> (one: SyncedStore, other: SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let root = try one.context.insert("Folder", ["title": "root"])
    try one.context.insert("Note", ["title": "note", "text": "old", "key": key, "folder": root])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    return (one, other)
  }

  /// Synchronizes stores until all have everything.
  @discardableResult
  private func settle(_ stores: SyncedStore..., checks: SyncChecks = SyncChecks(), count: Int) throws -> [[String: String]] {
    // Requests that were sent before are not answered.
    for store in stores { store.restart() }
    for _ in 0..<3 { for (number, store) in stores.enumerated() { try store.synchronize { try checks.check(store, number) } } }
    try checks.checkEnd(stores)
    let contents = try stores[0].contents()
    XCTAssertEqual(contents.count, count, "\(contents)")
    return Array(contents.values)
  }

  private func only(_ entity: String, in store: SyncedStore) throws -> ManagedObject {
    try XCTUnwrap(try store.context.all(entity).first)
  }

  // MARK: Troubles

  func testDeletionAndReinsertionOfOneIdentifier() throws {
    for (isOneSave, isSentBetween) in [(true, false), (false, false), (false, true)] {
      let (one, other) = try stores()
      let checks = SyncChecks()
      try only("Note", in: other).setValue("edit of the other", forKey: "text")
      try other.context.save()
      let root = try only("Folder", in: one)
      one.context.delete(try only("Note", in: one))
      if !isOneSave { try one.context.save() }
      if isSentBetween { try one.synchronize { try checks.check(one, 0) } }
      try one.context.insert("Note", ["title": "note", "text": "new", "key": key, "folder": root])
      try one.context.save()
      let notes = try settle(one, other, checks: checks, count: 2).filter { $0["entity"] == "Note" }
      XCTAssertEqual(notes.map { $0["text"] }, ["new"])
      XCTAssertEqual(notes.map { $0["key"] }, [key.uuidString])
    }
  }

  func testAChildBeforeItsParent() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Child") {
          Attribute("title", .string)
          Relationship("parent", to: "Parent", inverse: "children").required()
        }
        Entity("Parent") { Relationship("children", toMany: "Child", inverse: "parent").onDelete(.cascade) }
      })
    let scenario = Scenario(deviceCount: 0)
    // Objects from before are sent one by one, in the order of their IDs.
    let one = try SyncedStore(scenario, 1, model: model) { open in
      let identity = try XCTUnwrap(open.persistentStore.incrementalStore as? SQLCipherIncrementalStore)
      try identity.setTracksObjectIdentity(true)
      let context = ManagedObjectContext(coordinator: open.coordinator)
      for _ in 0..<4 {
        let parent = try context.insert("Parent")
        for name in ["first", "second"] { try context.insert("Child", ["title": name, "parent": parent]) }
      }
      try context.save()
      for parent in try context.all("Parent") {
        var bytes = [UInt8](repeating: 0xFF, count: 16)
        bytes[15] = UInt8(truncatingIfNeeded: parent.objectID.reference.key)
        let id = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        try open.persistentStore.performTransaction { try identity.setStableIDs([(parent.objectID.reference, id)]) }
      }
    }
    let other = try SyncedStore(scenario, 2, model: model)
    one.limits.changesInCommit = 1
    other.limits.recordsInPage = 1
    for store in [one, other] { store.restart() }
    var hidden = 0
    try one.synchronize {
      try other.synchronize()
      let contents = try other.contents()
      XCTAssertEqual(contents.values.count { $0["parent"] == "nil" }, 0)
      let records = try other.replica.transaction { try other.replica.records(after: nil, maximumCount: .max) }
      hidden = max(hidden, records.count - contents.count)
    }
    XCTAssertGreaterThan(hidden, 0, "No child came before its parent.")
    try settle(one, other, count: 12)
  }

  func testAReplyThatAcknowledgesAnotherBatch() throws {
    let (one, other) = try stores()
    try one.context.insert("Folder", ["title": "first"])
    try one.context.save()
    let first = try XCTUnwrap(try one.handle(.save).first)
    let reply = try one.answer(first)
    _ = try one.handle(reply)
    try one.context.insert("Folder", ["title": "second"])
    try one.context.save()
    XCTAssertEqual(try one.handle(.save).count, 1)
    // The reply to the first commit comes again, and once more for a commit that was never sent.
    _ = try one.handle(reply)
    guard case .pushed(_, let answer) = reply else { return XCTFail("\(reply)") }
    _ = try one.handle(.pushed(Digest(1, 2, 3, 4), answer))
    XCTAssertFalse(try one.isIdle)
    XCTAssertEqual(try one.replica.pendingReport(maximumCount: 10).saves.map(\.changeCount), [1])
    one.restart()
    try settle(one, other, count: 4)
  }

  func testOneBadRecordDoesNotBlockOthers() throws {
    let (one, other) = try stores()
    for title in ["bad", "good"] { try one.context.insert("Folder", ["title": title]) }
    try one.context.save()
    let bad = try XCTUnwrap(try one.context.all("Folder").first { $0.text("title") == "bad" }?.stableID)
    try one.synchronize()
    let name = SimulatedHashing().name(of: RecordID(bad))
    /// Synchronizes the other store with a hub whose record is damaged.
    func synchronize() throws {
      var actions = try other.handle(.remoteChange)
      while let action = actions.first {
        actions.removeFirst()
        var event = try other.answer(action)
        if case .pulled(.page(var page)) = event {
          for index in page.records.indices where page.records[index].name == name { page.records[index].body = [0xFF] }
          event = .pulled(.page(page))
        }
        actions += try other.handle(event)
      }
    }
    try synchronize()
    XCTAssertEqual(try other.contents().values.filter { $0["entity"] == "Folder" }.compactMap { $0["title"] }.sorted(), ["good", "root"])
    XCTAssertEqual(try other.replica.transaction { try other.replica.quarantinedCount() }, 1)
    // Both directions go on.
    try only("Note", in: other).setValue("edited", forKey: "text")
    try other.context.save()
    try one.context.insert("Folder", ["title": "later"])
    try one.context.save()
    try one.synchronize()
    try synchronize()
    XCTAssertEqual(try other.contents().count, 4)
    try only("Note", in: other).setValue("edited again", forKey: "text")
    try other.context.save()
    // When the hub returns the record undamaged, a comparison fetches it again.
    var actions = try other.handle(.reconcile)
    while let action = actions.first {
      actions.removeFirst()
      actions += try other.handle(other.answer(action))
    }
    XCTAssertEqual(try other.replica.transaction { try other.replica.quarantinedCount() }, 0)
    let contents = try settle(one, other, count: 5)
    XCTAssertEqual(contents.first { $0["entity"] == "Note" }?["text"], "edited again")
  }

  func testAMoveDuringAnEdit() throws {
    let (one, other) = try stores()
    let target = try one.context.insert("Folder", ["title": "target"])
    try only("Note", in: one).setValue(target, forKey: "folder")
    try one.context.save()
    try only("Note", in: other).setValue("edited", forKey: "text")
    try other.context.save()
    let contents = try settle(one, other, count: 3)
    let note = try XCTUnwrap(contents.first { $0["entity"] == "Note" })
    XCTAssertEqual(note["text"], "edited")
    XCTAssertEqual(note["folder"], try target.stableID?.uuidString)
  }

  /// The deletion of the former parent, which has deleted the child too, wins over the move, as over every change. What was moved is kept.
  func testAMoveDuringTheDeletionOfTheFormerParent() throws {
    for isSentFirst in [true, false] {
      let (one, other) = try stores()
      let target = try one.context.insert("Folder", ["title": "target"])
      try only("Note", in: one).setValue(target, forKey: "folder")
      try one.context.save()
      other.context.delete(try only("Folder", in: other))
      try other.context.save()
      if isSentFirst { try settle(one, other, count: 1) } else { try settle(other, one, count: 1) }
      let journal = try [one, other].flatMap { try $0.replica.journal() }
      XCTAssertTrue(journal.contains { $0.entityName == "Note" && $0.object?.names.contains("text") ?? false }, "\(journal)")
    }
  }

  func testAnInitialDownloadInterruptedInTheMiddle() throws {
    let (one, _) = try stores()
    let root = try only("Folder", in: one)
    for number in 0..<10 { try one.context.insert("Note", ["title": "\(number)", "folder": root]) }
    try one.context.save()
    try one.synchronize()
    let new = try SyncedStore(one.scenario, 3)
    new.limits.recordsInPage = 2
    new.restart()
    var actions = try new.handle(.remoteChange)
    for _ in 0..<3 { actions = try new.handle(new.answer(try XCTUnwrap(actions.first))) }
    XCTAssertEqual(try new.contents(), [:])
    // The process ends. Meanwhile, objects that were downloaded change.
    try new.close()
    try root.setValue("renamed", forKey: "title")
    one.context.delete(try XCTUnwrap(one.context.all("Note").first { $0.text("title") == "3" }))
    try one.context.save()
    try one.synchronize()
    try new.reopen()
    let staged = try new.replica.transaction { try new.replica.stagedRecords(after: 0, maximumCount: .max) }
    XCTAssertEqual(staged.count, 6, "What was downloaded is kept.")
    try settle(one, new, count: 11)
  }

  // MARK: Disasters

  func testACopiedStoreOnTwoMachines() throws {
    let (one, other) = try stores()
    // A save that was sent without an answer, and one that was not sent.
    try other.context.insert("Folder", ["title": "sent"])
    try other.context.save()
    for action in try other.handle(.save) { _ = try other.answer(action) }
    try other.context.insert("Folder", ["title": "unsent"])
    try other.context.save()
    try other.close()
    let copy = other.folder.file("copy.store")
    for name in try FileManager.default.contentsOfDirectory(atPath: other.folder.url.path) where name.hasPrefix("2.store") {
      try FileManager.default.copyItem(
        at: other.folder.file(name), to: other.folder.file("copy.store" + name.dropFirst("2.store".count)))
    }
    try other.reopen()
    let third = try SyncedStore(one.scenario, opening: copy, in: other.folder)
    let devices = try [other, third].map { store in try store.replica.transaction { try store.replica.zone().device } }
    XCTAssertNotEqual(devices[0], devices[1])
    try third.context.insert("Folder", ["title": "of the copy"])
    try third.context.save()
    try other.context.insert("Folder", ["title": "of the original"])
    try other.context.save()
    let contents = try settle(third, one, other, count: 6)
    XCTAssertEqual(
      contents.filter { $0["entity"] == "Folder" }.compactMap { $0["title"] }.sorted(),
      ["of the copy", "of the original", "root", "sent", "unsent"])
  }

  /// The store leaves its account and joins another one: its objects, and what was not sent, go with it.
  func testAnAccountSwitchedWithUnsentData() async throws {
    let folder = try TemporaryFolder("PeerTroubleTests")
    func open(_ name: String) throws -> OpenStore {
      var description = PersistentStoreDescription(url: folder.file(name), key: SyncedStore.databaseKey)
      description.durability = .fast
      description.sideTableOwners = [SyncTables.shared]
      return try OpenStore(description, model: MirrorModel.model)
    }
    let keys = [try AccountRecoveryKey.random(), try AccountRecoveryKey.random()]
    var services: [SyncService] = []
    let first = [try open("first"), try open("second")]
    for (index, store) in first.enumerated() {
      try store.insert("Folder", ["title": .text("of account \(index)")])
      let service = try await SyncService.start(
        store.persistentStore, of: store.coordinator, hubPath: folder.file("hub \(index)").path, recoveryKey: keys[index],
        deviceName: "first")
      try await service.synchronize()
      services.append(service)
    }
    let moving = try open("moving")
    let joined = try await SyncService.join(
      moving.persistentStore, of: moving.coordinator, hubPath: folder.file("hub 0").path, recoveryKey: keys[0], deviceName: "moving")
    try await joined.synchronize()
    let context = moving.newContext()
    let object = try XCTUnwrap(try context.all("Folder").first)
    try object.setValue("unsent edit", forKey: "title")
    try context.insert("Folder", ["title": "unsent object"])
    try context.save()
    try await joined.leave()
    XCTAssertEqual(try moving.count("Folder"), 2)
    let again = try await SyncService.join(
      moving.persistentStore, of: moving.coordinator, hubPath: folder.file("hub 1").path, recoveryKey: keys[1], deviceName: "moving")
    try await again.synchronize()
    for service in services { try await service.synchronize() }
    func titles(_ store: OpenStore) throws -> [String] { try store.newContext().all("Folder").compactMap { $0.text("title") }.sorted() }
    XCTAssertEqual(try titles(first[0]), ["of account 0"])
    XCTAssertEqual(try titles(first[1]), ["of account 1", "unsent edit", "unsent object"])
    XCTAssertEqual(try titles(moving), ["of account 1", "unsent edit", "unsent object"])
    for service in services + [again] {
      await (service.hub as? EmbeddedHub)?.close()
      service.end()
    }
  }
}
