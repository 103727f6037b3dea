import CipherData
import CipherDataSync
import Foundation
import XCTest

/// Attributes that a function of the application merges, in containers of two devices that edit them without a connection.
final class CloudMergeFunctionTests: CloudTestCase {
  private static let name = "CloudMergeFunctionTests"
  private static let tagged = ManagedObjectModel {
    Entity("Note") {
      Attribute("title", .string)
      Attribute("tags", transforming: Set<String>.self).syncMergeRule(.custom(name))
    }
  }

  override func setUpWithError() throws {
    try super.setUpWithError()
    Self.register()
  }

  override func tearDown() {
    SyncMergeFunctions.unregister(forName: Self.name)
    super.tearDown()
  }

  private static func register() {
    SyncMergeFunctions.register(Set<String>.self, forName: name) { base, one, other in
      let (base, one, other) = (base ?? [], one ?? [], other ?? [])
      return one.intersection(other).union(one.subtracting(base)).union(other.subtracting(base))
    }
  }

  private func tags(in container: PersistentCloudContainer) async throws -> Set<String>? {
    try await container.performBackgroundTask { context in
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
      XCTAssertEqual(notes.count, 1)
      return try notes.first?.value(forKey: "tags", as: Set<String>.self)
    }
  }

  private func set(_ tags: Set<String>, in container: PersistentCloudContainer) async throws {
    try await container.performBackgroundTask { context in
      let note = try XCTUnwrap(try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
      try note.setValue(tags, forKey: "tags")
      try context.save()
    }
  }

  private func tagged(_ name: String) async throws -> PersistentCloudContainer { try await container(name, model: Self.tagged) }

  /// Returns two devices with a note, which have edited its tags without a connection, the second one later.
  private func devices(_ first: Set<String>, _ second: Set<String>, from tags: Set<String>) async throws -> [PersistentCloudContainer] {
    let (one, other) = (try await tagged("one"), try await tagged("other"))
    let key = try await one.createAccount()
    try await other.joinAccount(recoveryKey: key)
    try await one.performBackgroundTask { context in
      let note = try context.insertObject(entityName: "Note")
      try note.setValue("a", forKey: "title")
      try note.setValue(tags, forKey: "tags")
      try context.save()
    }
    try await one.waitUntilSynced()
    try await other.synchronize()
    for container in [one, other] { try container.close() }
    try moveHub(to: "away")
    for (name, tags) in [("one", first), ("other", second)] {
      let away = try await tagged(name)
      try await set(tags, in: away)
      try away.close()
    }
    try moveHub(from: "away", to: "hub.store")
    return [try await tagged("one"), try await tagged("other")]
  }

  func testAFunctionMergesWhatTwoDevicesHaveEditedOffline() async throws {
    let devices = try await devices(["a", "b", "c"], ["b", "d"], from: ["a", "b"])
    let posted = devices.map { PostedEvents(of: $0) }
    for device in devices { try await device.waitUntilSynced() }
    for device in devices { try await device.synchronize() }
    for device in devices {
      let (merged, journal) = (try await tags(in: device), try await device.journal())
      XCTAssertEqual(merged, ["b", "c", "d"])
      XCTAssertEqual(journal, [])
    }
    // A later edit is based on the merged value.
    try await set(["b", "c", "d", "e"], in: devices[0])
    try await devices[0].waitUntilSynced()
    try await devices[1].synchronize()
    let last = try await tags(in: devices[1])
    XCTAssertEqual(last, ["b", "c", "d", "e"])
    // Closing ends work that goes on with an error.
    let events = posted.flatMap(\.events)
    for device in devices { try device.close() }
    XCTAssertEqual(events.compactMap(\.error).map { "\($0)" }, [])
    XCTAssertTrue(events.allSatisfy(\.recordFailures.isEmpty))
  }

  func testAFailingFunctionIsReportedAndTheLaterValueIsShown() async throws {
    struct Refused: Error {}
    SyncMergeFunctions.register(Set<String>.self, forName: Self.name) { _, _, _ in throw Refused() }
    let devices = try await devices(["a", "b"], ["a", "c"], from: ["a"])
    let posted = devices.map { PostedEvents(of: $0) }
    for device in devices { try await device.waitUntilSynced() }
    for device in devices { try await device.synchronize() }
    var entries: [CloudJournalEntry] = []
    for device in devices {
      let shown = try await tags(in: device)
      XCTAssertEqual(shown, ["a", "c"])
      entries += try await device.journal()
    }
    XCTAssertEqual(entries.map(\.reason), [.failedMerge])
    XCTAssertEqual(entries.map(\.propertyNames), [["tags"]])
    XCTAssertEqual(entries.map(\.entityName), ["Note"])
    let id = try await devices[0].performBackgroundTask { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first?.stableID
    }
    XCTAssertEqual(entries.map(\.stableID), [id])
    // Closing ends work that goes on with an error.
    let events = posted.map(\.events)
    for device in devices { try device.close() }
    for events in events {
      XCTAssertEqual(events.compactMap(\.error).map { "\($0)" }, [])
      let failures = events.flatMap(\.recordFailures)
      XCTAssertFalse(failures.isEmpty)
      for failure in failures {
        XCTAssertEqual(failure.error.code, .mergeFailed)
        XCTAssertEqual(failure.recordID, id)
        XCTAssertTrue("\(failure)".contains("tags") && "\(failure)".contains("Refused"), "\(failure)")
      }
    }
  }
}
