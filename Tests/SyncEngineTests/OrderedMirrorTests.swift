import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// Ordered relationships between stores that mirror each other.
final class OrderedMirrorTests: XCTestCase {
  private func stores(_ count: UInt64 = 2) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    return try (1...count).map { try SyncedStore(scenario, $0, model: MirrorModel.withLists) }
  }

  private func synchronize(_ stores: [SyncedStore], line: UInt = #line) throws {
    for store in stores + stores { try store.synchronize() }
    for store in stores {
      var verification = ObjectVerification()
      while try !store.replica.verifyObjects(&verification, batch: 3) {}
      XCTAssertEqual(verification.differences, [], line: line)
      XCTAssertTrue(try store.isIdle, line: line)
    }
  }

  private func object(_ entity: String, _ title: String, of store: SyncedStore) throws -> ManagedObject {
    let key = entity == "Tag" ? "name" : "title"
    return try XCTUnwrap(try store.context.all(entity).first { $0[key] as? String == title })
  }

  /// Returns the titles of a folder's members in their order, as another context reads them.
  private func order(_ relationship: String, of owner: (String, String) = ("Folder", "a"), in store: SyncedStore) throws -> String {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let object = try XCTUnwrap(try context.all(owner.0).first { $0[owner.0 == "Tag" ? "name" : "title"] as? String == owner.1 })
    let members = try object.mutableOrderedSetValue(forKey: relationship).objects
    return members.compactMap { $0[$0.entity.name == "Tag" ? "name" : "title"] as? String }.joined()
  }

  /// Changes the order of a relationship in a save.
  private func edit(
    _ relationship: String, of owner: (String, String) = ("Folder", "a"), in store: SyncedStore,
    _ change: (inout [ManagedObject]) throws -> Void
  ) throws {
    let object = try object(owner.0, owner.1, of: store)
    var members = try object.mutableOrderedSetValue(forKey: relationship).objects
    try change(&members)
    try object.setValue(members, forKey: relationship)
    try store.context.save()
  }

  private func move(_ range: Range<Int>, to position: Int, _ relationship: String = "notes", in store: SyncedStore) throws {
    try edit(relationship, in: store) { members in
      let moved = Array(members[range])
      members.removeSubrange(range)
      members.insert(contentsOf: moved, at: position)
    }
  }

  private func insertNotes(_ titles: String, in store: SyncedStore, folder: String = "a") throws {
    let folder = try object("Folder", folder, of: store)
    for title in titles { try store.context.insert("Note", ["title": String(title), "folder": folder]) }
    try store.context.save()
  }

  /// Inserts the folders a and b, of which the first one has notes.
  private func insertFolders(in store: SyncedStore, notes: String = "123456") throws {
    for title in ["a", "b"] { try store.context.insert("Folder", ["title": title]) }
    try store.context.save()
    try insertNotes(notes, in: store)
  }

  // MARK: One to many

  func testTheOrderOfMembersReachesTheOtherStore() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[1]), "123456")
    try move(4..<6, to: 0, in: stores[0])
    XCTAssertEqual(try order("notes", in: stores[0]), "561234")
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[1]), "561234")
    try move(0..<1, to: 5, in: stores[1])
    try insertNotes("7", in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[0]), "6123457")
    let count = stores[0].scenario.commitCount
    try synchronize(stores)
    XCTAssertEqual(stores[0].scenario.commitCount, count)
  }

  func testListsFromBeforeSynchronizationHaveTheirOrder() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: MirrorModel.withLists) { open in
      let context = open.newContext()
      let folder = try context.insert("Folder", ["title": "a"])
      let notes = try "54321".map { try context.insert("Note", ["title": String($0), "folder": folder]) }
      try folder.setValue(notes, forKey: "notes")
      try folder.setValue([notes[3], notes[0], notes[2]], forKey: "pinned")
      try context.save()
    }
    let other = try SyncedStore(scenario, 2, model: MirrorModel.withLists)
    // A save while the objects are not sent yet.
    try move(0..<2, to: 3, in: one)
    try move(2..<3, to: 0, "pinned", in: one)
    try synchronize([one, other])
    XCTAssertEqual(try order("notes", in: other), "32154")
    XCTAssertEqual(try order("pinned", in: other), "325")
  }

  func testMembersThatAreMovedTogetherStayTogether() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(0..<2, to: 2, in: stores[0])
    XCTAssertEqual(try order("notes", in: stores[0]), "341256")
    try move(4..<6, to: 2, in: stores[1])
    XCTAssertEqual(try order("notes", in: stores[1]), "125634")
    try synchronize(stores)
    let order = try order("notes", in: stores[0])
    XCTAssertEqual(order, try self.order("notes", in: stores[1]))
    XCTAssertTrue(order.contains("12"), order)
    XCTAssertTrue(order.contains("56"), order)
    XCTAssertTrue(order.contains("34"), order)
  }

  func testMembersThatTwoStoresAppendAreNotMixed() throws {
    let stores = try stores()
    try insertFolders(in: stores[0], notes: "0")
    try synchronize(stores)
    for title in "123" { try insertNotes(String(title), in: stores[0]) }
    try insertNotes("xyz", in: stores[1])
    try synchronize(stores)
    let order = try order("notes", in: stores[0])
    XCTAssertEqual(order, try self.order("notes", in: stores[1]))
    XCTAssertTrue(["0123xyz", "0xyz123"].contains(order), order)
  }

  func testAMemberThatTwoStoresMoveIsWhereTheLaterMoveHasPutIt() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(0..<1, to: 2, in: stores[0])
    stores[1].scenario.devices.first?.wall += 1
    try move(0..<1, to: 5, in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[0]), try order("notes", in: stores[1]))
    XCTAssertTrue(["231456", "234561"].contains(try order("notes", in: stores[0])))
  }

  func testAMemberOfAnotherListHasTheOrderOfThatList() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try insertNotes("xyz", in: stores[0], folder: "b")
    try synchronize(stores)
    let note = try object("Note", "3", of: stores[0])
    try edit("notes", of: ("Folder", "b"), in: stores[0]) { $0.insert(note, at: 1) }
    try synchronize(stores)
    XCTAssertEqual(try order("notes", of: ("Folder", "b"), in: stores[1]), "x3yz")
    XCTAssertEqual(try order("notes", in: stores[1]), "12456")
    // By the inverse relationship, a member is last.
    try object("Note", "4", of: stores[1]).setValue(try object("Folder", "b", of: stores[1]), forKey: "folder")
    try stores[1].context.save()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", of: ("Folder", "b"), in: stores[0]), try order("notes", of: ("Folder", "b"), in: stores[1]))
  }

  func testAMoveAndAnEditOfAMemberBothRemain() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(5..<6, to: 0, in: stores[0])
    try object("Note", "6", of: stores[1]).setValue("edited", forKey: "text")
    try stores[1].context.save()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[1]), "612345")
    XCTAssertEqual(try object("Note", "6", of: stores[0])["text"] as? String, "edited")
  }

  func testAMemberThatIsMovedAndDeletedIsGone() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(5..<6, to: 0, in: stores[0])
    stores[1].context.delete(try object("Note", "6", of: stores[1]))
    try stores[1].context.save()
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try order("notes", in: store), "12345") }
  }

  func testTheOrderIsKeptWhenTheReplicaReadsItsSavesAgain() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(0..<1, to: 5, in: stores[0])
    try stores[0].reopenReplica()
    XCTAssertFalse(try stores[0].isIdle)
    try move(0..<1, to: 3, in: stores[0])
    try stores[0].reopenReplica()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[0]), "345261")
    XCTAssertEqual(try order("notes", in: stores[1]), "345261")
  }

  func testManySavesAreKeptInTheStoreWithTheirMoves() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try PendingSaves.$limit.withValue(2) {
      try move(0..<3, to: 2, in: stores[0])
      try move(0..<1, to: 5, in: stores[0])
      try insertNotes("789", in: stores[0])
      try synchronize(stores)
    }
    XCTAssertEqual(try order("notes", in: stores[0]), try order("notes", in: stores[1]))
    XCTAssertTrue(try order("notes", in: stores[1]).hasSuffix("789"))
  }

  func testAnOrderWhoseHistoryIsMissingIsFound() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    try synchronize(stores)
    try move(0..<2, to: 3, in: stores[0])
    var deletion = PersistentHistoryChangeRequest.deleteHistory(before: nil as PersistentHistoryToken?)
    deletion.forcesDeletion = true
    _ = try stores[0].open.coordinator.execute(deletion)
    try stores[0].reopenReplica()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[0]), "345126")
    XCTAssertEqual(try order("notes", in: stores[1]), "345126")
  }

  func testUndoneMovesAreSent() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    stores[0].context.undoManager = ContextUndoManager()
    try synchronize(stores)
    try move(0..<1, to: 5, in: stores[0])
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[1]), "234561")
    try stores[0].context.undo()
    try stores[0].context.save()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[1]), "123456")
  }

  func testADeletionThatIsUndoneHasItsPlaceAgain() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    stores[0].context.undoManager = ContextUndoManager()
    try synchronize(stores)
    stores[0].context.delete(try object("Note", "3", of: stores[0]))
    try stores[0].context.save()
    try synchronize(stores)
    try stores[0].context.undo()
    try stores[0].context.save()
    try synchronize(stores)
    XCTAssertEqual(try order("notes", in: stores[0]), try order("notes", in: stores[1]))
    XCTAssertEqual(try order("notes", in: stores[1]).count, 6)
  }

  // MARK: Links

  func testListsOfLinksHaveTheirOrder() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    for name in "pqr" { try stores[0].context.insert("Tag", ["name": String(name)]) }
    try stores[0].context.save()
    let notes = try "123456".map { try object("Note", String($0), of: stores[0]) }
    let tags = try "pqr".map { try object("Tag", String($0), of: stores[0]) }
    try edit("pinned", in: stores[0]) { $0 = [notes[4], notes[1], notes[3]] }
    try edit("items", of: ("Tag", "p"), in: stores[0]) { $0 = [notes[5], notes[0], notes[2]] }
    try edit("tags", of: ("Note", "1"), in: stores[0]) { $0 = [tags[2], tags[0], tags[1]] }
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try order("pinned", in: store), "524")
      XCTAssertEqual(try order("items", of: ("Tag", "p"), in: store), "613")
      XCTAssertEqual(try order("tags", of: ("Note", "1"), in: store), "rpq")
    }
    try move(2..<3, to: 0, "pinned", in: stores[1])
    try edit("items", of: ("Tag", "p"), in: stores[1]) { $0.swapAt(0, 2) }
    try edit("tags", of: ("Note", "1"), in: stores[0]) { $0.reverse() }
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try order("pinned", in: store), "452")
      XCTAssertEqual(try order("items", of: ("Tag", "p"), in: store), "316")
      XCTAssertEqual(try order("tags", of: ("Note", "1"), in: store), "qpr")
    }
  }

  func testALinkThatIsMovedAndRemovedIsGone() throws {
    let stores = try stores()
    try insertFolders(in: stores[0])
    let notes = try "1234".map { try object("Note", String($0), of: stores[0]) }
    try edit("pinned", in: stores[0]) { $0 = notes }
    try synchronize(stores)
    try move(3..<4, to: 0, "pinned", in: stores[0])
    try edit("pinned", in: stores[1]) { $0.removeLast() }
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try order("pinned", in: store), "123") }
  }

  func testRandomListsAreEqualOnAllStores() throws {
    for seed in 0..<12 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let stores = try stores(3)
      try insertFolders(in: stores[0])
      try synchronize(stores)
      for round in 0..<25 {
        let store = stores[Int.random(in: 0..<3, using: &random)]
        let relationship = Bool.random(using: &random) ? "notes" : "pinned"
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try insertNotes(String(UnicodeScalar(UInt8(65 + round))), in: store)
        case 1 where relationship == "pinned":
          let notes = try store.context.all("Note")
          try edit("pinned", in: store) { members in
            guard let note = notes.filter({ !members.contains($0) }).randomElement(using: &random) else { return }
            members.insert(note, at: Int.random(in: 0...members.count, using: &random))
          }
        case 2 where relationship == "pinned":
          try edit("pinned", in: store) { if !$0.isEmpty { $0.remove(at: Int.random(in: 0..<$0.count, using: &random)) } }
        case 3: try store.synchronize()
        case 4 where round % 5 == 0: try store.reopenReplica()
        default:
          try edit(relationship, in: store) { members in
            if members.count < 2 { return }
            let start = Int.random(in: 0..<members.count, using: &random)
            let run = Array(members[start..<min(members.count, start + Int.random(in: 1...3, using: &random))])
            members.removeAll { run.contains($0) }
            members.insert(contentsOf: run, at: Int.random(in: 0...members.count, using: &random))
          }
        }
      }
      try synchronize(stores)
      for relationship in ["notes", "pinned"] {
        let orders = try stores.map { try order(relationship, in: $0) }
        XCTAssertEqual(Set(orders).count, 1, "seed \(seed): \(orders)")
      }
    }
  }
}
