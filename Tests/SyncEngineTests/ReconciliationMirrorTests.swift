import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine
@testable import _SyncSimulation

/// Stores that were away for so long that the hub has removed deletions, and stores whose records are not those of the hub.
final class ReconciliationMirrorTests: XCTestCase {
  /// A hub that removes deletions with the next commit, as for devices that were away for a year.
  private func scenario() -> Scenario {
    var limits = Hub.Limits()
    (limits.tombstoneLifetime, limits.absenceLimit, limits.commitsUntilCleanup) = (-1, -1, 1)
    return Scenario(deviceCount: 0, hubLimits: limits)
  }

  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = scenario()
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    for title in ["a", "b"] {
      let folder = try one.context.insert("Folder", ["title": title])
      for text in ["1", "2", "3"] { try one.context.insert("Note", ["text": title + text, "folder": folder]) }
    }
    try one.context.save()
    for store in [one, other, one] { try store.synchronize() }
    try assertEqualContents(one, other, count: 8)
    return (one, other)
  }

  private func object(_ entity: String, _ key: String, _ value: String, in store: SyncedStore) throws -> ManagedObject {
    try XCTUnwrap(try store.context.fetch(FetchRequest<ManagedObject>(entityName: entity)).first { $0[key] as? String == value })
  }

  private func delete(_ text: String, in store: SyncedStore) throws {
    store.context.delete(try object("Note", "text", text, in: store))
    try store.context.save()
    try store.synchronize()
  }

  /// Adds a commit, with which the hub removes what is deleted.
  private func removeDeletions(_ store: SyncedStore) throws {
    try store.context.insert("Folder", ["title": "later"])
    try store.context.save()
    try store.synchronize()
    XCTAssertEqual(store.scenario.deletedCount, 0)
  }

  private func finish(_ stores: SyncedStore...) throws {
    for _ in 0..<3 {
      for store in stores {
        store.restart()
        try store.synchronize()
      }
    }
    for store in stores {
      XCTAssertTrue(try store.isIdle)
    }
  }

  func testAStoreThatComesBackAfterAYear() throws {
    let (one, other) = try stores()
    try delete("a1", in: one)
    try delete("a2", in: one)
    try object("Note", "text", "b1", in: one).setValue("changed", forKey: "text")
    try one.context.save()
    try one.synchronize()
    try removeDeletions(one)
    var compared = 0
    var actions = try other.handle(.remoteChange)
    while let action = actions.popLast() {
      if case .verify = action { compared += 1 }
      actions += try other.handle(other.answer(action))
    }
    XCTAssertGreaterThan(compared, 1)
    try finish(one, other)
    try assertEqualContents(one, other, count: 7)
  }

  func testUnsentEditsOfAnObjectWhoseDeletionWasRemovedAreKept() throws {
    let (one, other) = try stores()
    try delete("a1", in: one)
    try delete("a2", in: one)
    try object("Note", "text", "a1", in: other).setValue(4.5, forKey: "rating")
    try other.context.save()
    try removeDeletions(one)
    try finish(one, other)
    try assertEqualContents(one, other, count: 8)
    for store in [one, other] {
      let note = try object("Note", "text", "a1", in: store)
      XCTAssertEqual(note["rating"] as? Double, 4.5)
      XCTAssertEqual((note["folder"] as? ManagedObject)?["title"] as? String, "a")
    }
  }

  func testANewObjectKeepsTheObjectThatItRequires() throws {
    let (one, other) = try stores()
    one.context.delete(try object("Folder", "title", "a", in: one))
    try one.context.save()
    try one.synchronize()
    try other.context.insert("Note", ["text": "unsent", "folder": try object("Folder", "title", "a", in: other)])
    try other.context.save()
    try removeDeletions(one)
    try finish(one, other)
    // The folder and the new note, and the rest.
    try assertEqualContents(one, other, count: 7)
    XCTAssertEqual((try object("Note", "text", "unsent", in: one)["folder"] as? ManagedObject)?["title"] as? String, "a")
  }

  func testAStoreThatIsClosedDuringAReconciliationBeginsAgain() throws {
    let (one, other) = try stores()
    try delete("a1", in: one)
    try removeDeletions(one)
    for count in 1...6 {
      var actions = try other.handle(.remoteChange)
      for _ in 0..<count {
        guard let action = actions.popLast() else { break }
        actions += try other.handle(other.answer(action))
      }
      try other.close()
      try other.reopen()
    }
    try finish(one, other)
    try assertEqualContents(one, other, count: 8)
  }

  func testARecordTableThatWasChangedByHandIsRepaired() throws {
    for isRemoved in [true, false] {
      let (one, other) = try stores()
      let id = RecordID(try XCTUnwrap(try object("Note", "text", "a1", in: other).stableID))
      try other.replica.transaction {
        var entry = try XCTUnwrap(try other.replica.entry(of: id))
        entry.base = isRemoved ? nil : entry.base.map { RecordEntry.VersionedRecord($0.sequence, Digest(1, 2, 3, 4), $0.record) }
        let bytes = Slot.bytes(Data(RecordEntryCoding.encode(entry, of: id)))
        _ = try other.replica.transactionTables.execute("UPDATE cipherdata_sync_record SET entry = ?2 WHERE id = ?1", id.slot, bytes)
      }
      try other.reopenReplica()
      try object("Note", "text", "a1", in: one).setValue("changed", forKey: "text")
      try one.context.save()
      try one.synchronize()
      try other.synchronize()
      XCTAssertNotNil(other.takeReconciliationResult())
      try finish(one, other)
      try assertEqualContents(one, other, count: 8)
    }
  }

  func testTheVersionsOfRecordsAreReadWithoutTheirValues() throws {
    let (one, other) = try stores()
    try delete("a1", in: one)
    try other.synchronize()
    try other.replica.transaction {
      let versions = try other.replica.baseVersions(after: nil, maximumCount: 100)
      XCTAssertGreaterThan(versions.count, 7)
      for version in versions {
        let base = try other.replica.entry(of: version.id)?.base
        XCTAssertEqual(version, BaseVersion(version.id, base?.version, isDeleted: base?.record.isDeleted ?? false))
      }
    }
  }

  // MARK: Services

  func testAReconciliationRepairsWhatDiffersAndReportsIt() async throws {
    let folder = try TemporaryFolder("ReconciliationTests")
    func open(_ name: String) throws -> OpenStore {
      var description = PersistentStoreDescription(
        url: folder.file(name), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
      description.durability = .fast
      description.sideTableOwners = [SyncTables.shared]
      return try OpenStore(description, model: MirrorModel.model)
    }
    let key = try AccountRecoveryKey.random()
    let hub = folder.file("hub.store").path
    let (one, other) = (try open("one.store"), try open("other.store"))
    let first = try await SyncService.start(
      one.persistentStore, of: one.coordinator, hubPath: hub, recoveryKey: key, deviceName: "one")
    for title in ["a", "b", "c"] { try one.insert("Folder", ["title": .text(title)]) }
    try await first.synchronize()
    let second = try await SyncService.join(
      other.persistentStore, of: other.coordinator, hubPath: hub, recoveryKey: key, deviceName: "other")
    try await second.synchronize()
    let equal = try await second.reconcile()
    XCTAssertTrue(equal.isEqual)
    try await second.runner.withReplica { replica in
      try replica.transaction {
        let ids = try replica.records(after: nil, maximumCount: 2)
        var entry = try XCTUnwrap(try replica.entry(of: ids[0]))
        entry.base = nil
        try replica.setEntry(entry, of: ids[0])
        entry = try XCTUnwrap(try replica.entry(of: ids[1]))
        entry.base = entry.base.map { RecordEntry.VersionedRecord($0.sequence, Digest(1, 2, 3, 4), $0.record) }
        try replica.setEntry(entry, of: ids[1])
      }
    }
    let result = try await second.reconcile()
    XCTAssertEqual(result.records.differenceCount, 2)
    XCTAssertEqual(result.records.fetchedCount, 2)
    let verified = try await second.verify()
    XCTAssertTrue(verified.isEqual)
    let events = try await second.runner.withReplica { try $0.events() }
    XCTAssertEqual(events.filter { $0.kind == .reconcile }.map(\.count), [0, 2])
    for service in [first, second] { service.end() }
  }
}
