import CipherData
import CipherDataSync
import Foundation
import XCTest

/// The events of synchronization: as notifications, as a sequence, and afterwards.
final class CloudEventTests: CloudTestCase {
  func testWorkIsReportedWhenItBeginsAndWhenItHasEnded() async throws {
    let one = try await container("one")
    try await insertNotes(4, in: one)
    let posted = PostedEvents(of: one)
    let key = try await one.createAccount()
    try await one.synchronize()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await insertNotes(2, in: other)
    try await other.waitUntilSynced()
    try await one.synchronize()
    let identifier = try XCTUnwrap(one.persistentStoreCoordinator.persistentStores.first).identifier
    for container in [one, other] { try container.close() }

    let events = posted.events
    for ended in events where ended.endDate != nil {
      let all = events.filter { $0.id == ended.id }
      XCTAssertEqual(all.map { $0.endDate == nil }, [true, false])
      XCTAssertEqual(all.first?.startDate, ended.startDate)
      XCTAssertEqual(all.first?.type, ended.type)
      XCTAssertEqual(all.first?.succeeded, false)
      XCTAssertGreaterThanOrEqual(try XCTUnwrap(ended.endDate), ended.startDate)
      XCTAssertEqual(ended.storeIdentifier, identifier)
      XCTAssertTrue(ended.recordFailures.isEmpty)
    }
    let succeeded = Dictionary(grouping: events.filter(\.succeeded), by: \.type).mapValues { $0.map(\.count).reduce(0, +) }
    XCTAssertEqual(succeeded, [.setup: 5, .export: 5, .import: 3])
  }

  func testASequenceBeginsWithRunningWorkAndEndsWhenTheContainerIsClosed() async throws {
    let one = try await container("one")
    try await insertNotes(500, in: one)
    let first = one.events()
    _ = try await one.createAccount()
    var running: CloudEvent?
    for await event in first where event.type == .export && event.endDate == nil {
      running = event
      break
    }
    let second = one.events()
    let synced = Task { try await one.waitUntilSynced() }
    var types: Set<UUID> = []
    for await event in second {
      types.insert(event.id)
      if event.type == .export, event.succeeded { break }
    }
    XCTAssertTrue(types.contains(try XCTUnwrap(running).id))
    try await synced.value
    let third = one.events()
    try one.close()
    for await event in third { XCTAssertNotNil(event.endDate) }
  }

  func testPastEventsAreReadFromTheStore() async throws {
    let one = try await container("one")
    let posted = PostedEvents(of: one)
    _ = try await one.createAccount()
    // What is inserted earlier may be added as an object from before.
    try await one.waitUntilSynced()
    try await insertNotes(1, in: one)
    try await one.synchronize()
    try await insertNotes(2, in: one)
    try await one.synchronize()
    try one.close()
    let ended = posted.events.filter { $0.endDate != nil }

    let again = try await container("one")
    let identifier = try XCTUnwrap(again.persistentStoreCoordinator.persistentStores.first).identifier
    try await again.performBackgroundTask { context in
      let past = try context.execute(.fetchEvents(after: nil)).events
      XCTAssertEqual(past.map(\.id), ended.map(\.id))
      XCTAssertEqual(past.map(\.type), [.setup, .export, .export])
      XCTAssertEqual(past.map(\.count), [0, 2, 3])
      XCTAssertTrue(past.allSatisfy(\.succeeded))
      XCTAssertTrue(past.allSatisfy { $0.storeIdentifier == identifier })
      for (past, ended) in zip(past, ended) {
        XCTAssertEqual(past.startDate, ended.startDate)
        XCTAssertEqual(past.endDate, ended.endDate)
      }
      let later = try context.execute(.fetchEvents(after: past[1])).events
      XCTAssertEqual(later.map(\.id), [past[2].id])
      XCTAssertEqual(try context.execute(.fetchEvents(after: past[1].startDate)).events.map(\.id), [past[1].id, past[2].id])
      var request = CloudEventRequest.fetchEvents(after: .distantPast)
      request.types = [.export]
      request.resultType = .countEvents
      let result = try context.execute(request)
      XCTAssertEqual(result.count, 2)
      XCTAssertTrue(result.events.isEmpty)
      request.affectedStores = ["another"]
      XCTAssertEqual(try context.execute(request).count, 0)
    }
    try await again.leaveAccount()
    let left = try await again.performBackgroundTask { try $0.execute(.fetchEvents(after: nil)).count }
    XCTAssertEqual(left, 0)
    try again.close()
  }

  func testFailedWorkIsReportedAndKeptOnceForManyAttempts() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    try await one.waitUntilSynced()
    try one.close()
    try moveHub(to: "away")
    let again = try await container("one")
    let posted = PostedEvents(of: again)
    try await insertNotes(1, in: again)
    for _ in 0..<3 {
      do {
        try await again.synchronize()
        XCTFail("There is no hub.")
      } catch let error as SyncError { XCTAssertEqual(error.code, .hubUnavailable) }
    }
    let failed = posted.events.filter { $0.endDate != nil }
    XCTAssertGreaterThanOrEqual(failed.count, 3)
    for event in failed {
      XCTAssertFalse(event.succeeded)
      XCTAssertEqual((event.error as? SyncError)?.code, .hubUnavailable)
    }
    let past = try await again.performBackgroundTask { try $0.execute(.fetchEvents(after: nil)).events.filter { !$0.succeeded } }
    XCTAssertEqual(past.count, 1)
    let error = try XCTUnwrap(past.first?.error as? SyncError)
    XCTAssertEqual(error.code, .hubUnavailable)
    XCTAssertTrue(error.description.contains("hub.store"), error.description)
    try moveHub(from: "away", to: "hub.store")
    try await again.waitUntilSynced()
    try again.close()
  }
}
