import CipherData
import CipherDataSync
import Foundation
import XCTest

/// What waits to be sent, and what devices disagree about.
final class CloudInspectionTests: CloudTestCase {
  /// Two devices with a folder and its notes.
  private func devices(notes count: Int) async throws -> (one: PersistentCloudContainer, other: PersistentCloudContainer, notes: [UUID]) {
    let one = try await container("one")
    let notes = try await insertNotes(count, in: one)
    let key = try await one.createAccount()
    try await one.waitUntilSynced()
    let other = try await container("other")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    var ids: [UUID] = []
    for note in notes { ids.append(try XCTUnwrap(try one.recordID(for: note))) }
    return (one, other, ids)
  }

  private func set(_ text: String?, _ note: UUID, in container: PersistentCloudContainer) async throws {
    try await container.performBackgroundTask { context in
      let object = try XCTUnwrap(try context.object(forStableID: note))
      if let text { try object.setValue(text, forKey: "text") } else { context.delete(object) }
      try context.save()
    }
  }

  /// Opens the store of a device whose hub is away.
  private func offline(_ name: String) async throws -> PersistentCloudContainer { try await container(name) }

  func testSavesAreListedWithObjectsPropertiesAndSizesUntilTheyAreSent() async throws {
    let (one, other, notes) = try await devices(notes: 2)
    try other.close()
    try one.close()
    try moveHub(to: "away")
    let away = try await offline("one")
    let none = try await away.pendingChanges()
    XCTAssertTrue(none.isEmpty)
    XCTAssertEqual(none.sendingBytes, 0)

    try await away.performBackgroundTask { context in
      context.transactionAuthor = "editor"
      let first = try XCTUnwrap(try context.object(forStableID: notes[0]))
      let second = try XCTUnwrap(try context.object(forStableID: notes[1]))
      try first.setValue("12345", forKey: "text")
      let new = try context.insertObject(entityName: "Note")
      try new.setValue("six666", forKey: "text")
      try new.setValue(first.value(forKey: "folder"), forKey: "folder")
      try context.save()
      context.delete(second)
      try context.save()
    }
    let pending = try await away.pendingChanges()
    XCTAssertEqual(pending.zoneID.uuidString.count, 36)
    XCTAssertEqual(pending.saves.map(\.objectCount), [2, 1])
    XCTAssertEqual(pending.saves.map(\.author), ["editor", "editor"])
    XCTAssertEqual(pending.saves[0].size, 5 + 6 + 16)
    XCTAssertFalse(pending.hasMore)
    let objects = pending.saves[0].objects.sorted { $0.type.rawValue < $1.type.rawValue }
    XCTAssertEqual(objects.map(\.type), [.insert, .update])
    XCTAssertEqual(objects.map(\.entityName), ["Note", "Note"])
    XCTAssertEqual(objects.map(\.propertyNames), [["folder", "text"], ["text"]])
    XCTAssertEqual(objects.map(\.size), [22, 5])
    XCTAssertEqual(objects[1].stableID, notes[0])
    XCTAssertNotNil(objects[0].objectID)
    XCTAssertEqual(pending.saves[1].objects.map(\.type), [.delete])
    XCTAssertEqual(pending.saves[1].objects.map(\.stableID), [notes[1]])
    XCTAssertEqual(pending.saves[1].objects.map(\.isBlocked), [false])
    XCTAssertEqual(pending.saves[1].size, 0)

    let short = try await away.pendingChanges(maximumObjectCount: 1)
    XCTAssertEqual(short.saves.map(\.objects.count), [1, 0])
    XCTAssertEqual(short.saves.map(\.objectCount), [2, 1])
    XCTAssertTrue(short.hasMore)

    try away.close()
    try moveHub(from: "away", to: "hub.store")
    let back = try await container("one")
    try await back.waitUntilSynced()
    let sent = try await back.pendingChanges()
    XCTAssertTrue(sent.isEmpty)
    try back.close()
  }

  func testAStoreThatIsNotSynchronizedHasNoPendingChanges() async throws {
    let one = try await container("one")
    for request in [{ _ = try await one.pendingChanges() }, { _ = try await one.conflicts() }] as [() async throws -> Void] {
      do {
        try await request()
        XCTFail("It is not synchronized.")
      } catch let error as SyncError { XCTAssertEqual(error.code, .notSynchronized) }
    }
    try one.close()
  }

  func testAConflictIsOpenUntilSomethingElseIsSetOrItIsRestored() async throws {
    let (one, joined, notes) = try await devices(notes: 3)
    try one.close()
    for (index, note) in notes.enumerated() { try await set(index == 2 ? nil : "of other \(index)", note, in: joined) }
    try await joined.waitUntilSynced()
    try joined.close()
    try moveHub(to: "away")
    // A save that has not seen the other ones, although it is later.
    let away = try await offline("one")
    for note in notes { try await set("of one", note, in: away) }
    try away.close()
    try moveHub(from: "away", to: "hub.store")
    let back = try await container("one")
    try await back.synchronize()
    let journal = try await back.journal()
    XCTAssertEqual(journal.count, 3)
    var conflicts = try await back.conflicts()
    XCTAssertEqual(Set(conflicts.values.map(\.id)), Set(journal.map(\.id)))
    XCTAssertEqual(conflicts.unreadableRecords, [])

    // The other device decides otherwise.
    let other = try await container("other")
    try await other.synchronize()
    try await set("neither", notes[0], in: other)
    try await other.waitUntilSynced()
    try await back.synchronize()
    conflicts = try await back.conflicts()
    XCTAssertEqual(Set(conflicts.values.map(\.stableID)), Set(notes[1...]))
    // The user chooses what has lost, with or without the journal.
    try await set("of other 1", notes[1], in: back)
    conflicts = try await back.conflicts()
    XCTAssertEqual(conflicts.values.map(\.stableID), [notes[2]])
    XCTAssertEqual(conflicts.values.map(\.reason), [.deletion])
    _ = try await back.restore(try XCTUnwrap(conflicts.values.first))
    conflicts = try await back.conflicts()
    XCTAssertTrue(conflicts.isEmpty)
    let remaining = try await back.journal()
    XCTAssertEqual(remaining.count, 2, "The journal keeps what was not restored.")
    try back.close()
    try other.close()
  }
}
