import CipherData
import CipherDataSync
import Foundation
import XCTest

/// What an application can learn of the records of its objects.
final class CloudRecordTests: CloudTestCase {
  func testAnObjectHasARecordAsSoonAsTheHubHasIt() async throws {
    let one = try await container("one")
    let notes = try await insertNotes(2, in: one)
    XCTAssertNil(try one.record(for: notes[1]))
    XCTAssertEqual(try one.records(for: notes), [:])
    _ = try await one.createAccount()
    try await one.waitUntilSynced()

    let record = try XCTUnwrap(try one.record(for: notes[1]))
    let stableID = try await stableID(of: notes[1], in: one)
    XCTAssertEqual(record.recordID, stableID)
    XCTAssertEqual(try one.recordID(for: notes[1]), stableID)
    XCTAssertEqual(record.objectID, notes[1])
    XCTAssertEqual(record.entityName, "Note")
    XCTAssertEqual(record.values.names, ["folder", "rating", "text"])
    XCTAssertEqual(record["text"] as? String, "note 1")
    XCTAssertEqual(try record.values.value("rating", as: Int32.self), 1)
    let folder = try XCTUnwrap(record["folder"] as? ManagedObjectID)
    XCTAssertEqual(try one.record(for: folder)?.entityName, "Folder")
    XCTAssertNil(record.modificationDate, "It was saved before the synchronization.")
    XCTAssertEqual(record.modifiedByDevice, "one")
    XCTAssertFalse(record.isPending)
    XCTAssertEqual(Set(try one.recordIDs(for: notes).keys), Set(notes))
    try one.close()
  }

  func testARecordHasTheValuesOfTheHubWhileChangesArePending() async throws {
    let one = try await container("one")
    let notes = try await insertNotes(2, in: one)
    let key = try await one.createAccount()
    try await one.waitUntilSynced()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    let id = try XCTUnwrap(try one.recordID(for: notes[0]))
    let copy = try await other.performBackgroundTask { try $0.object(forStableID: id)?.objectID }
    let copyID = try XCTUnwrap(copy)
    XCTAssertEqual(try other.record(for: copyID)?.modifiedByDevice, "one")

    let before = Date(timeIntervalSinceNow: -60)
    try await setText("changed", of: copyID, in: other)
    try await other.waitUntilSynced()
    try await one.synchronize()
    let changed = try XCTUnwrap(try one.record(for: notes[0]))
    XCTAssertEqual(changed["text"] as? String, "changed")
    XCTAssertEqual(changed.modifiedByDevice, "other")
    let date = try XCTUnwrap(changed.modificationDate)
    XCTAssertTrue(before < date && date < Date(timeIntervalSinceNow: 60), "\(date)")
    for container in [one, other] { try container.close() }

    try moveHub(to: "away")
    let again = try await container("one")
    let pending = try await again.performBackgroundTask { context in
      let note = try XCTUnwrap(try context.object(forStableID: id))
      try note.setValue("newer", forKey: "text")
      let inserted = try context.insertObject(entityName: "Folder")
      try context.save()
      return (note: note.objectID, inserted: inserted.objectID)
    }
    let record = try XCTUnwrap(try again.record(for: pending.note))
    XCTAssertTrue(record.isPending)
    XCTAssertEqual(record["text"] as? String, "changed")
    XCTAssertNil(try again.record(for: pending.inserted))
    try moveHub(from: "away", to: "hub.store")
    try await again.waitUntilSynced()
    let sent = try XCTUnwrap(try again.record(for: pending.note))
    XCTAssertFalse(sent.isPending)
    XCTAssertEqual(sent["text"] as? String, "newer")
    XCTAssertEqual(sent.modifiedByDevice, "one")
    XCTAssertNotNil(try again.record(for: pending.inserted))

    try await again.performBackgroundTask { context in
      context.delete(context.object(with: pending.note))
      try context.save()
    }
    try await again.waitUntilSynced()
    XCTAssertNil(try again.record(for: pending.note))
    try again.close()
    XCTAssertNil(try again.record(for: pending.inserted), "The store is closed.")
  }

  func testAnUnsavedObjectHasNoRecord() async throws {
    let one = try await container("one")
    _ = try await one.createAccount()
    let object = try await one.performBackgroundTask { try $0.insertObject(entityName: "Folder").objectID }
    XCTAssertTrue(object.isTemporaryID)
    XCTAssertNil(try one.record(for: object))
    try one.close()
  }
}
