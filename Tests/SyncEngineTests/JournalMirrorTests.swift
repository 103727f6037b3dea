import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import SyncEngine
import XCTest
import _StoreSpecification
import _SyncSimulation

/// The journal of values that have lost, of stores that mirror each other.
final class JournalMirrorTests: XCTestCase {
  /// Two stores with a folder and a note.
  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let folder = try one.context.insert("Folder", ["title": "folder"])
    try one.context.insert("Note", ["title": "note", "text": "first", "rating": 1.5, "folder": folder])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    return (one, other)
  }

  private func edit(_ store: SyncedStore, _ body: (ManagedObjectContext) throws -> Void) throws {
    // Later than everything that the other store has saved.
    Thread.sleep(forTimeInterval: 0.003)
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    try body(context)
    try context.save()
  }

  /// Returns the only note, of a context that the test keeps.
  private func note(in store: SyncedStore) throws -> ManagedObject {
    store.context.reset()
    return try note(store.context)
  }

  private func note(_ context: ManagedObjectContext) throws -> ManagedObject { try XCTUnwrap(try context.all("Note").first) }

  private func synchronize(_ stores: SyncedStore...) throws {
    for store in stores + stores { try store.synchronize() }
    try assertEqualContents(stores[0], stores[1])
  }

  private func restore(_ item: JournalItem, in store: SyncedStore) throws {
    _ = try ManagedObjectContext(coordinator: store.open.coordinator).restore(item.number, from: store.replica)
  }

  private func assertNotRestorable(_ text: String, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Void) {
    XCTAssertThrowsError(try body(), file: file, line: line) { error in
      XCTAssertEqual((error as? SyncError)?.code, .notRestorable, file: file, line: line)
      XCTAssertTrue("\(error)".contains(text), "\(error)", file: file, line: line)
    }
  }

  func testAValueThatLosesIsInTheJournalAndCanBeRestored() throws {
    let (one, other) = try stores()
    try edit(one) { try self.note($0).setValue("of one", forKey: "text") }
    try edit(other) { context in
      try self.note(context).setValue("of the other", forKey: "text")
      try self.note(context).setValue(4.5, forKey: "rating")
    }
    try other.synchronize()
    try one.synchronize()
    XCTAssertEqual(try other.replica.journal(), [])
    let item = try XCTUnwrap(try one.replica.journal().first)
    XCTAssertEqual(try one.replica.journal().count, 1)
    XCTAssertEqual(item.reason, .laterChange)
    XCTAssertEqual(item.entityName, "Note")
    XCTAssertEqual(item.propertyNames, ["text"])
    XCTAssertEqual(try item.values.value("text", as: String.self), "of one")
    XCTAssertEqual(try item.winningValues.value("text", as: String.self), "of the other")
    XCTAssertEqual(item.objectID, try note(in: one).objectID)
    let dates = try XCTUnwrap([item.author.date, item.winner?.date] as? [Date])
    XCTAssertLessThan(dates[0], dates[1])
    try restore(item, in: one)
    try synchronize(one, other)
    let note = try note(in: other)
    XCTAssertEqual(note["text"] as? String, "of one")
    XCTAssertEqual(note["rating"] as? Double, 4.5)
    XCTAssertEqual(try one.replica.journal(), [])
    XCTAssertEqual(try one.replica.journal(includesRestored: true).first?.restoredID, try note.stableID)
    assertNotRestorable("restored already") { try restore(item, in: one) }
  }

  func testTheDeviceThatReceivesAnEarlierChangeKeepsThat() throws {
    let (one, other) = try stores()
    try edit(one) { try self.note($0).setValue("of one", forKey: "text") }
    try edit(other) { try self.note($0).setValue(nil, forKey: "text") }
    try one.synchronize()
    try other.synchronize()
    let item = try XCTUnwrap(try other.replica.journal().first)
    XCTAssertEqual(try item.values.value("text", as: String.self), "of one")
    XCTAssertNil(item.winningValues["text"])
    try restore(item, in: other)
    try synchronize(one, other)
    XCTAssertEqual(try note(in: one)["text"] as? String, "of one")
  }

  func testChangesThatKnewEachOtherAreNotInTheJournal() throws {
    let (one, other) = try stores()
    for round in 0..<3 {
      for store in [one, other] {
        try edit(store) { try self.note($0).setValue("\(round)", forKey: "title") }
        try edit(store) { try self.note($0).setValue("\(round) again", forKey: "title") }
        try synchronize(one, other)
      }
      // The same value, and other properties.
      try edit(one) { try self.note($0).setValue("same \(round)", forKey: "text") }
      try edit(other) { try self.note($0).setValue("same \(round)", forKey: "text") }
      try edit(other) { try self.note($0).setValue(Double(round) + 1, forKey: "rating") }
      try synchronize(one, other)
    }
    XCTAssertEqual(try one.replica.journal(), [])
    XCTAssertEqual(try other.replica.journal(), [])
  }

  func testAChangeThatTheHubHasAcceptedWithoutAnswerIsKnownToLaterOnes() throws {
    let (one, other) = try stores()
    try edit(one) { try self.note($0).setValue("of one", forKey: "text") }
    var actions = try one.handle(.save)
    // The answer is lost.
    while let action = actions.popLast() {
      let answer = try one.answer(action)
      if case .push = action { break }
      actions += try one.handle(answer)
    }
    try other.synchronize()
    try edit(other) { try self.note($0).setValue("of the other, who knew it", forKey: "text") }
    try other.synchronize()
    one.restart()
    try synchronize(one, other)
    XCTAssertEqual(try one.replica.journal(), [])
    XCTAssertEqual(try other.replica.journal(), [])
    XCTAssertEqual(try note(in: one)["text"] as? String, "of the other, who knew it")
  }

  func testAChangeOfADeletedObjectIsInTheJournalAndTheObjectCanBeInsertedAgain() throws {
    let (one, other) = try stores()
    try edit(one) { $0.delete(try self.note($0)) }
    try edit(other) { try self.note($0).setValue("changed", forKey: "text") }
    try one.synchronize()
    try other.synchronize()
    let item = try XCTUnwrap(try other.replica.journal().first)
    XCTAssertEqual(item.reason, .deletion)
    XCTAssertEqual(item.propertyNames, ["text"])
    XCTAssertEqual(item.winningValues.names, [])
    try restore(item, in: other)
    try synchronize(one, other)
    let note = try note(in: one)
    XCTAssertEqual(note["text"] as? String, "changed")
    XCTAssertEqual(note["title"] as? String, "note")
    XCTAssertEqual(note["rating"] as? Double, 1.5)
    XCTAssertEqual((note["folder"] as? ManagedObject)?["title"] as? String, "folder")
    XCTAssertNotEqual(try note.stableID, item.stableID)
  }

  func testWhoHasDeletedAnObjectKeepsWhatOthersHaveChanged() throws {
    let (one, other) = try stores()
    try edit(one) { $0.delete(try self.note($0)) }
    try edit(other) { try self.note($0).setValue("changed", forKey: "text") }
    try other.synchronize()
    try one.synchronize()
    let item = try XCTUnwrap(try one.replica.journal().first)
    XCTAssertEqual(item.reason, .deletion)
    XCTAssertEqual(try item.values.value("text", as: String.self), "changed")
    try restore(item, in: one)
    try synchronize(one, other)
    XCTAssertEqual(try note(in: other)["text"] as? String, "changed")
  }

  func testAnObjectWhoseDestinationWasDeletedIsRestoredTogetherWithThat() throws {
    let (one, other) = try stores()
    try edit(one) { $0.delete(try XCTUnwrap(try $0.all("Folder").first)) }
    try edit(other) { try $0.insert("Note", ["text": "new", "folder": try XCTUnwrap(try $0.all("Folder").first)]) }
    try one.synchronize()
    try synchronize(other, one)
    XCTAssertEqual(try one.contents(), [:])
    XCTAssertEqual(try one.replica.journal(), [])
    let items = try other.replica.journal()
    XCTAssertEqual(items.map(\.reason), [.deletion, .destinationDeleted])
    try restore(items[1], in: other)
    try synchronize(other, one)
    let note = try note(in: one)
    XCTAssertEqual(note["text"] as? String, "new")
    XCTAssertEqual((note["folder"] as? ManagedObject)?["title"] as? String, "folder")
    XCTAssertEqual(try other.replica.journal(), [])
  }

  func testACoverThatLosesItsFolderIsInTheJournal() throws {
    let (one, other) = try stores()
    for (store, color) in [(one, "red"), (other, "blue")] {
      try edit(store) { try $0.insert("Cover", ["color": color, "folder": try XCTUnwrap(try $0.all("Folder").first)]) }
    }
    try synchronize(one, other)
    try synchronize(one, other)
    let items = try one.replica.journal() + other.replica.journal()
    XCTAssertEqual(items.map(\.reason), [.destinationTaken])
    XCTAssertEqual(items.first?.propertyNames, ["folder"])
    XCTAssertNotNil(items.first?.values["folder"] as? ManagedObjectID)
    try restore(try XCTUnwrap(items.first), in: other)
    try synchronize(other, one)
    other.context.reset()
    let folder = try XCTUnwrap(try other.context.all("Folder").first)
    XCTAssertEqual((folder["cover"] as? ManagedObject)?["color"] as? String, "red")
  }

  func testAValueOfAnObjectThatIsDeletedSinceCannotBeRestored() throws {
    let (one, other) = try stores()
    try edit(one) { try self.note($0).setValue("of one", forKey: "text") }
    try edit(other) { try self.note($0).setValue("of the other", forKey: "text") }
    try synchronize(other, one)
    let item = try XCTUnwrap(try one.replica.journal().first)
    try edit(other) { $0.delete(try self.note($0)) }
    try synchronize(other, one)
    assertNotRestorable("was deleted since") { try restore(item, in: one) }
    assertNotRestorable("no entry 17") {
      _ = try ManagedObjectContext(coordinator: one.open.coordinator).restore(17, from: one.replica)
    }
    XCTAssertEqual(try one.replica.journal().count, 1)
  }

  func testEntriesAreRemovedByDateAndTheirNumbersAreNotUsedAgain() throws {
    let (one, other) = try stores()
    for round in 1...2 {
      try edit(one) { try self.note($0).setValue("of one \(round)", forKey: "text") }
      try edit(other) { try self.note($0).setValue("of the other \(round)", forKey: "text") }
      try synchronize(other, one)
      XCTAssertEqual(try one.replica.journal().map(\.number), [Int64(round)])
      XCTAssertEqual(try one.replica.removeJournalEntries(before: Date(timeIntervalSinceNow: -60)), 0)
      XCTAssertEqual(try one.replica.removeJournalEntries(before: Date(timeIntervalSinceNow: 60)), 1)
    }
  }

  func testAnEmptyStoreThatJoinsHasAnEmptyJournal() throws {
    let (one, _) = try stores()
    let copy = try SyncedStore(one.scenario, 3, begins: false)
    try copy.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(3))
    try copy.synchronize()
    XCTAssertEqual(try copy.replica.journal(), [])
    try assertEqualContents(one, copy)
  }
}
