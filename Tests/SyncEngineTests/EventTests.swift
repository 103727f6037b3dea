import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine

/// The events of rounds.
final class EventTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("SyncEventTests") }
  override func tearDown() { folder = nil }

  private func start(_ prepare: (OpenStore) throws -> Void = { _ in }) async throws -> (OpenStore, SyncService) {
    let folder = try XCTUnwrap(folder)
    var description = PersistentStoreDescription(
      url: folder.file("one.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    let open = try OpenStore(description, model: MirrorModel.model)
    try prepare(open)
    let service = try await SyncService.start(
      open.persistentStore, of: open.coordinator, hubPath: folder.file("hub.store").path, recoveryKey: try .random(), deviceName: "one")
    return (open, service)
  }

  func testRecordsThatCannotBeOpenedAreListed() async throws {
    let (open, service) = try await start()
    let context = open.newContext()
    let object = try context.insert("Folder", ["title": "one"])
    try context.save()
    try await service.synchronize()
    let received = Mutex<[SyncEvent]>([])
    service.setEventReceiver { event in received.withLock { $0.append(event) } }
    let id = try XCTUnwrap(try object.stableID)
    // As if a pull had brought a damaged state of the object, and a damaged record of an unknown one.
    let known = try await service.runner.sealing.name(of: RecordID(id))
    try await service.runner.withReplica { replica in
      for name in [known, RecordName(Digest(1, 2, 3, 4))] {
        try replica.transaction {
          try replica.setQuarantined(
            StoredRecord(name: name, sequence: 9, version: Digest(5, 6, 7, 8), isDeleted: false, body: [1, 2, 3]), name)
        }
      }
    }
    try await service.synchronize()
    let events = received.withLock { $0 }
    XCTAssertEqual(events.map(\.kind), [.import, .import])
    XCTAssertEqual(events.map { $0.end == nil }, [true, false])
    XCTAssertEqual(events.last?.unreadable.map(\.id), [id, nil])
    XCTAssertNil(events.last?.error)
    let stored = try await service.runner.withReplica { try $0.events() }
    XCTAssertEqual(stored.last?.unreadable.map(\.id), [id, nil])

    // Changes of the object wait, others do not.
    try object.setValue("changed", forKey: "title")
    let free = try context.insert("Folder", ["title": "free"])
    try context.save()
    var report = try open.report()
    XCTAssertEqual(report.pending.saves[0].changes.filter(\.isBlocked).map(\.stableID), [id])
    XCTAssertEqual(report.pending.saves[0].changes.count, 2)
    try await service.synchronize()
    report = try open.report()
    XCTAssertEqual(report.pending.saves.count, 0)
    XCTAssertEqual(report.pending.objectCount, 1)
    XCTAssertEqual(report.pending.objects.map(\.isBlocked), [true])
    XCTAssertEqual(report.pending.objects.map(\.objectID), [object.objectID])
    XCTAssertEqual(report.pending.objects.map(\.propertyNames), [["title"]])
    XCTAssertEqual(report.pending.objects.map(\.type), [.update])
    XCTAssertEqual(report.conflicts.unreadable.map(\.stableID), [id, nil])
    XCTAssertEqual(report.conflicts.unreadable.map(\.objectID), [object.objectID, nil])
    XCTAssertEqual(report.conflicts.unreadable.map(\.pendingNames), [["title"], []])
    XCTAssertEqual(report.conflicts.unreadable[0].entityName, "Folder")
    XCTAssertNotEqual(free.objectID, object.objectID)

    // They are listed once.
    try await service.synchronize()
    XCTAssertEqual(received.withLock { $0.filter { $0.kind == .import }.count }, 2)
    service.end()
  }

  func testObjectsFromBeforeAreReportedApartFromSaves() async throws {
    let (open, service) = try await start { try $0.insert("Folder", ["title": .text("four")]) }
    XCTAssertTrue(try open.report().pending.isReadingObjects)
    XCTAssertFalse(try open.report().pending.isEmpty)
    try await service.runner.withReplica { replica in while try replica.addBaseline(maximumCount: 10) != nil {} }
    let pending = try open.report().pending
    XCTAssertFalse(pending.isReadingObjects)
    XCTAssertEqual(pending.saves, [])
    XCTAssertEqual(pending.objects.map(\.type), [.insert])
    XCTAssertEqual(pending.objects.map(\.propertyNames), [["size", "title"]])
    XCTAssertEqual(pending.objects.map(\.size), [12])
    try await service.synchronize()
    XCTAssertTrue(try open.report().pending.isEmpty)
    service.end()
  }

  func testAStoreKeepsTheLastEvents() async throws {
    let (_, service) = try await start()
    let count = StoreReplica.maximumEventCount + 20
    let stored = try await service.runner.withReplica { replica in
      try replica.transaction {
        for number in 0..<count {
          var event = SyncEvent(.export)
          event.count = number
          try replica.add([event.ended()])
        }
      }
      return try replica.events()
    }
    XCTAssertEqual(stored.map(\.count), Array(20..<count))
    service.end()
  }

  func testAnInterruptedRoundIsReportedAndNotKept() async throws {
    let (open, service) = try await start()
    for number in 0..<3 { try open.insert("Folder", ["title": .text("\(number)")]) }
    let received = Mutex<[SyncEvent]>([])
    let round = Task {
      service.setEventReceiver { event in
        received.withLock { $0.append(event) }
        withUnsafeCurrentTask { $0?.cancel() }
      }
      try await service.synchronize()
    }
    do {
      try await round.value
      XCTFail("It was canceled.")
    } catch { XCTAssertTrue(SyncError.converting(error, path: nil) is CancellationError, "\(error)") }
    let events = received.withLock { $0 }
    XCTAssertEqual(events.map { $0.end == nil }, [true, false])
    XCTAssertTrue(events.last?.error is CancellationError)
    let stored = try await service.runner.withReplica { try $0.events() }
    XCTAssertTrue(stored.isEmpty)
    let status = try await service.status()
    XCTAssertNil(status.report.lastError)
    service.setEventReceiver { _ in }
    try await service.synchronize()
    service.end()
  }
}

extension OpenStore {
  /// What waits to be sent, and the open conflicts.
  fileprivate func report() throws -> (pending: PendingReport, conflicts: OpenConflicts) {
    let replica = try StoreReplica(persistentStore, of: coordinator)
    return (try replica.pendingReport(maximumCount: 100), try replica.openConflicts())
  }
}
