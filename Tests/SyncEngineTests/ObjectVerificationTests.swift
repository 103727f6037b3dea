import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// The comparison of a store's objects with what is computed from its records and pending saves.
final class ObjectVerificationTests: XCTestCase {
  /// Returns a store with a folder, its cover and notes, and one without objects, both synchronized.
  private func store(notes: Int = 3) throws -> SyncedStore {
    let scenario = Scenario(deviceCount: 0)
    let (one, store) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let folder = try one.context.insert("Folder", ["title": "root"])
    try one.context.insert("Cover", ["color": "red", "folder": folder])
    for number in 0..<notes { try one.context.insert("Note", ["title": "note \(number)", "folder": folder]) }
    try one.context.insert("Folder", ["title": "deleted"])
    try one.context.save()
    try one.synchronize()
    for folder in try one.context.all("Folder") where folder.text("title") == "deleted" { one.context.delete(folder) }
    try one.context.save()
    for store in [one, store] { try store.synchronize() }
    return store
  }

  private func verify(_ store: SyncedStore, batch: Int = 2) throws -> ObjectVerification {
    var verification = ObjectVerification()
    while try !store.replica.verifyObjects(&verification, batch: batch) {}
    return verification
  }

  /// Returns the records of the objects of an entity, in the order of their titles.
  private func records(_ entity: String, _ store: SyncedStore) throws -> [RecordID] {
    let context = store.open.newContext()
    return try context.all(entity).sorted { ($0.text("title") ?? "") < ($1.text("title") ?? "") }
      .map { RecordID(try XCTUnwrap($0.stableID)) }
  }

  /// Writes objects without their records, as another program does.
  private func write(_ store: SyncedStore, _ change: (StoreReplica) throws -> [(id: RecordID, object: SyncedObject?)]) throws {
    try store.replica.transaction { try store.replica.setObjects(change(store.replica)) }
  }

  func testCase15ObjectsEqualWhatIsRecomputedFromBaseAndPending() throws {
    let store = try store()
    XCTAssertEqual(try verify(store).differences, [])
    // Pending saves are part of it: changes, insertions and deletions.
    let context = store.open.newContext()
    let root = try XCTUnwrap(context.all("Folder").first)
    try root.setValue("renamed", forKey: "title")
    try context.insert("Note", ["title": "pending", "folder": root])
    context.delete(try XCTUnwrap(context.all("Note").first))
    context.delete(try XCTUnwrap(context.all("Cover").first))
    try context.save()
    for batch in [1, 2, 100] { XCTAssertEqual(try verify(store, batch: batch).differences, []) }
    try store.synchronize()
    XCTAssertEqual(try verify(store).differences, [])
  }

  func testChangedMissingAndUnknownRowsAreNamed() throws {
    let store = try store()
    let notes = try records("Note", store)
    let unknown = RecordID(UUID())
    try write(store) { replica in
      var changed = try XCTUnwrap(replica.object(of: notes[0]))
      let title = try XCTUnwrap(changed.values.first { $0.value == .text("note 0") }?.key)
      changed.values[title] = .text("changed")
      return [(notes[0], changed), (notes[1], nil), (unknown, changed)]
    }
    for batch in [1, 100] {
      let verification = try verify(store, batch: batch)
      XCTAssertFalse(verification.hasMore)
      let found = Dictionary(uniqueKeysWithValues: verification.differences.map { ($0.stableID, $0.kind) })
      XCTAssertEqual(found, [notes[0].uuid: .different, notes[1].uuid: .missing, unknown.uuid: .unknown])
      XCTAssertEqual(Set(verification.differences.map(\.entity)), ["Note"])
    }
    // The named objects are those of the store.
    let context = store.open.newContext()
    for difference in try verify(store).differences where difference.kind != .missing {
      let note = try XCTUnwrap(context.all("Note").first { try $0.stableID == difference.stableID })
      XCTAssertEqual(note.objectID, difference.objectID)
    }
  }

  func testAClearedRelationshipAndABrokenInverseAreNamed() throws {
    let store = try store()
    let cover = try XCTUnwrap(records("Cover", store).first)
    // The second side of the relationship has no record of its own.
    let folder = try XCTUnwrap(records("Folder", store).first)
    try clear("Folder", "cover", in: store)
    XCTAssertEqual(try verify(store).differences.map(\.kind), [.different])
    XCTAssertTrue([cover.uuid, folder.uuid].contains(try XCTUnwrap(verify(store).differences.first?.stableID)))
    try clear("Cover", "folder", in: store)
    XCTAssertEqual(try verify(store).differences.map(\.stableID), [cover.uuid])
  }

  /// Sets a relationship of all objects of an entity to nil, without its inverse.
  private func clear(_ entity: String, _ relationship: String, in store: SyncedStore) throws {
    let number = try XCTUnwrap(store.open.model.entity(named: entity)?.number)
    let slot = try XCTUnwrap(store.open.model.entities[number].slots.first { $0.name == relationship }?.index)
    try store.replica.transaction {
      var request = SaveChangesRequest()
      let writer = RowWriter()
      for row in try store.open.allRows() where row.entityNumber == number {
        writer.beginRow(entityNumber: number, slotCount: row.slotCount, key: row.reference.key, version: row.version + 1)
        for (index, kind) in store.open.model.entities[number].kinds.enumerated() {
          if index == slot { writer.set(.null, at: index) } else { writer.copy(index, kind: kind, from: row) }
        }
        var update = SaveChangesRequest.Update(row: writer.endRow(), changedSlots: SlotMask(slots: [slot]), oldVersion: row.version)
        update.previousRow = row
        request.updated.append(update)
      }
      try store.open.coordinator.save(request, to: store.open.persistentStore, scope: store.replica.scope)
    }
  }

  func testAtMostAHundredObjectsAreNamed() throws {
    let store = try store(notes: 150)
    let notes = try records("Note", store)
    try write(store) { _ in notes.map { ($0, nil) } }
    let verification = try verify(store, batch: 40)
    XCTAssertEqual(verification.differences.count, ObjectVerification.maximumDifferences)
    XCTAssertTrue(verification.hasMore)
  }
}
