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

/// Many-to-many relationships, and to-many relationships without an inverse, between two stores that mirror each other.
final class LinkMirrorTests: XCTestCase {
  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    return (try SyncedStore(scenario, 1, model: MirrorModel.withLinks), try SyncedStore(scenario, 2, model: MirrorModel.withLinks))
  }

  private func synchronize(_ stores: SyncedStore...) throws {
    for store in stores + stores { try store.synchronize() }
    for store in stores {
      var verification = ObjectVerification()
      while try !store.replica.verifyObjects(&verification, batch: 3) {}
      XCTAssertEqual(verification.differences, [])
    }
  }

  /// Returns the object with a title or a name.
  private func object(_ entity: String, _ title: String, of store: SyncedStore) throws -> ManagedObject {
    let key = entity == "Tag" ? "name" : "title"
    return try XCTUnwrap(try store.context.all(entity).first { $0[key] as? String == title })
  }

  private func link(_ entity: String, _ title: String, _ relationship: String, _ member: (String, String), in store: SyncedStore) throws {
    let object = try object(entity, title, of: store)
    try object.mutableSetValue(forKey: relationship).add(try self.object(member.0, member.1, of: store))
    try store.context.save()
  }

  private func unlink(_ entity: String, _ title: String, _ relationship: String, _ member: (String, String), in store: SyncedStore) throws {
    let object = try object(entity, title, of: store)
    try object.mutableSetValue(forKey: relationship).remove(try self.object(member.0, member.1, of: store))
    try store.context.save()
  }

  /// Returns the titles or names of the members of a relationship.
  private func members(_ entity: String, _ title: String, _ relationship: String, in store: SyncedStore) throws -> [String] {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let object = try XCTUnwrap(try context.all(entity).first { $0[entity == "Tag" ? "name" : "title"] as? String == title })
    let members = try XCTUnwrap(object[relationship] as? Set<ManagedObject>)
    return members.compactMap { $0[$0.entity.name == "Tag" ? "name" : "title"] as? String }.sorted()
  }

  /// Inserts two folders, each with a note, and two tags.
  private func insertObjects(in context: ManagedObjectContext) throws {
    for title in ["a", "b"] {
      let folder = try context.insert("Folder", ["title": title])
      try context.insert("Note", ["title": "note \(title)", "folder": folder])
      try context.insert("Tag", ["name": "tag \(title)"])
    }
    try context.save()
  }

  // MARK: Links

  func testLinksOfAllKindsReachTheOtherStore() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try link("Tag", "tag a", "items", ("Note", "note b"), in: one)
    try link("Folder", "a", "friends", ("Folder", "b"), in: one)
    try link("Folder", "a", "pinned", ("Note", "note b"), in: one)
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Tag", "tag a", "items", in: other), ["a", "note b"])
    XCTAssertEqual(try members("Folder", "b", "friends", in: other), ["a"])
    XCTAssertEqual(try members("Folder", "a", "pinned", in: other), ["note b"])
    // From the other sides.
    try unlink("Tag", "tag a", "items", ("Folder", "a"), in: other)
    try unlink("Folder", "b", "friends", ("Folder", "a"), in: other)
    try unlink("Folder", "a", "pinned", ("Note", "note b"), in: other)
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Tag", "tag a", "items", in: one), ["note b"])
    XCTAssertEqual(try members("Folder", "a", "friends", in: one), [])
    XCTAssertEqual(try members("Folder", "a", "pinned", in: one), [])
    let count = one.scenario.commitCount
    try synchronize(one, other)
    XCTAssertEqual(one.scenario.commitCount, count)
  }

  func testAnAdditionWinsOverAConcurrentRemoval() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try synchronize(one, other)
    // The first store removes the link. The other one, which does not know that, removes it and adds it again.
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: other)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: other)
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "tags", in: one), ["tag a"])
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try synchronize(one, other)
    XCTAssertEqual(try members("Folder", "a", "tags", in: other), [])
  }

  func testTheSameLinkOfTwoStoresIsOneLink() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try synchronize(one, other)
    for store in [one, other] { try link("Folder", "a", "friends", ("Folder", "b"), in: store) }
    try synchronize(one, other)
    XCTAssertEqual(try members("Folder", "b", "friends", in: one), ["a"])
    try unlink("Folder", "b", "friends", ("Folder", "a"), in: other)
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "friends", in: one), [])
  }

  func testARemovalConcernsOnlyWhatWasKnownWhenItWasMade() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try synchronize(one, other)
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    // The removal is read from the history, and again after an import of another addition.
    try one.reopenReplica()
    XCTAssertFalse(try one.isIdle)
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: other)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: other)
    try other.synchronize()
    for action in try one.handle(.remoteChange) {
      if case .pull = action { for next in try one.handle(one.answer(action)) { _ = next } }
    }
    XCTAssertEqual(try members("Folder", "a", "tags", in: one), ["tag a"])
    try one.reopenReplica()
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "tags", in: other), ["tag a"])
  }

  func testSeveralSavesOfALinkAreJoined() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try synchronize(one, other)
    for _ in 0..<3 {
      try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
      try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    }
    try one.open.persistentStore.performTransaction {
      try link("Folder", "b", "tags", ("Tag", "tag a"), in: one)
      try unlink("Folder", "b", "tags", ("Tag", "tag a"), in: one)
      try link("Folder", "b", "tags", ("Tag", "tag a"), in: one)
    }
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "tags", in: other), [])
    XCTAssertEqual(try members("Folder", "b", "tags", in: other), ["tag a"])
  }

  func testManyLinksOfOneObjectAreSentAndImportedInBatches() throws {
    let (one, other) = try stores()
    let tag = try one.context.insert("Tag", ["name": "all"])
    for number in 0..<1_500 {
      let folder = try one.context.insert("Folder", ["title": "\(number)"])
      try tag.mutableSetValue(forKey: "items").add(folder)
    }
    try one.context.save()
    other.limits.recordsInBatch = 100
    other.restart()
    try synchronize(one, other)
    XCTAssertEqual(try members("Tag", "all", "items", in: other).count, 1_500)
    try other.context.execute(BatchDeleteRequest(entityName: "Folder"))
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 1)
    XCTAssertEqual(try liveLinkCount(of: one), 0)
  }

  func testUnsavedChangesOfMembersStayOnTopOfAnImport() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try synchronize(one, other)
    let folder = try object("Folder", "a", of: one)
    try folder.mutableSetValue(forKey: "tags").add(try object("Tag", "tag a", of: one))
    try link("Folder", "a", "tags", ("Tag", "tag b"), in: other)
    try other.synchronize()
    one.context.automaticallyMergesChangesFromParent = true
    try one.synchronize()
    try one.context.save()
    try synchronize(one, other)
    for store in [one, other] { XCTAssertEqual(try members("Folder", "a", "tags", in: store), ["tag a", "tag b"]) }
    try assertEqualContents(one, other, count: 6)
  }

  // MARK: Deletions

  private func liveLinkCount(of store: SyncedStore) throws -> Int {
    try store.replica.transaction {
      try store.replica.records(after: nil, maximumCount: .max).count { try store.replica.entry(of: $0)?.state?.isLink ?? false }
    }
  }

  func testCase5DeletingAnObjectLeavesNoLiveLinkAndUndoingItBringsTheLinksBack() throws {
    let (one, other) = try stores()
    one.context.undoManager = ContextUndoManager()
    try insertObjects(in: one.context)
    try link("Tag", "tag a", "items", ("Folder", "a"), in: one)
    try link("Tag", "tag a", "items", ("Note", "note a"), in: one)
    try synchronize(one, other)
    XCTAssertEqual(try liveLinkCount(of: other), 2)
    let tag = try object("Tag", "tag a", of: one)
    let former = try XCTUnwrap(tag.stableID)
    one.context.delete(tag)
    try one.context.save()
    try synchronize(one, other)
    for store in [one, other] { XCTAssertEqual(try liveLinkCount(of: store), 0) }
    try assertEqualContents(one, other, count: 5)
    try one.context.undo()
    try one.context.save()
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Tag", "tag a", "items", in: other), ["a", "note a"])
    XCTAssertNotEqual(try object("Tag", "tag a", of: other).stableID, former)
    for store in [one, other] { XCTAssertEqual(try liveLinkCount(of: store), 2) }
  }

  func testALinkToAnObjectThatAnotherStoreDeletesIsDeletedToo() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try synchronize(one, other)
    try link("Folder", "a", "pinned", ("Note", "note b"), in: one)
    other.context.delete(try object("Note", "note b", of: other))
    try other.context.save()
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 5)
    for store in [one, other] { XCTAssertEqual(try liveLinkCount(of: store), 0) }
  }

  // MARK: Before and besides synchronization

  func testLinksThatWereThereBeforeAreAdded() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: MirrorModel.withLinks) { open in
      let context = open.newContext()
      let folders = try (0..<5).map { try context.insert("Folder", ["title": "\($0)"]) }
      for (number, folder) in folders.enumerated() {
        for friend in folders[number...] { try folder.mutableSetValue(forKey: "friends").add(friend) }
      }
      try context.save()
    }
    let other = try SyncedStore(scenario, 2, model: MirrorModel.withLinks)
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 5)
    XCTAssertEqual(try members("Folder", "1", "friends", in: other), ["0", "1", "2", "3", "4"])
    try unlink("Folder", "1", "friends", ("Folder", "0"), in: other)
    try unlink("Folder", "1", "friends", ("Folder", "1"), in: other)
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 5)
    XCTAssertEqual(try members("Folder", "1", "friends", in: one), ["2", "3", "4"])
  }

  func testLinksOfCopiesOfOneStoreAreOneLinkEach() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: MirrorModel.withLinks, begins: false) { open in
      try XCTUnwrap(open.persistentStore.incrementalStore as? any IdentityStore).setTracksObjectIdentity(true)
      try self.insertObjects(in: open.newContext())
    }
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try link("Folder", "a", "friends", ("Folder", "b"), in: one)
    let (source, copy) = (one.url, one.folder.file("copy.store"))
    try waitFor { try await SQLCipherStoreFile.unlock(at: source, key: SyncedStore.databaseKey).backUp(to: copy) }
    let other = try SyncedStore(scenario, opening: copy, in: one.folder, model: MirrorModel.withLinks)
    for (number, store) in [one, other].enumerated() {
      try store.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(UInt64(number + 1)))
      while try store.replica.addBaseline(maximumCount: 2) != nil {}
    }
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try unlink("Folder", "b", "friends", ("Folder", "a"), in: other)
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Tag", "tag a", "items", in: other), [])
    XCTAssertEqual(try members("Folder", "a", "friends", in: one), [])
  }

  func testALinkThatIsRemovedBeforeItWasAddedToTheZoneIsRemoved() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: MirrorModel.withLinks, begins: false) { open in
      try self.insertObjects(in: open.newContext())
    }
    let other = try SyncedStore(scenario, 2, model: MirrorModel.withLinks)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try link("Folder", "b", "tags", ("Tag", "tag b"), in: one)
    try one.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(1))
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    while try one.replica.addBaseline(maximumCount: 1) != nil {}
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "tags", in: other), [])
    XCTAssertEqual(try members("Folder", "b", "tags", in: other), ["tag b"])
  }

  func testAModelWithoutTheRelationshipKeepsItsLinks() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: MirrorModel.withLinks)
    let other = try SyncedStore(scenario, 2)
    try insertObjects(in: one.context)
    try link("Folder", "a", "friends", ("Folder", "b"), in: one)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    for store in [one, other] { try store.synchronize() }
    let folder = try XCTUnwrap(try other.context.all("Folder").first { $0["title"] as? String == "a" })
    try folder.setValue(99, forKey: "size")
    try other.context.save()
    try synchronize(other, one)
    XCTAssertEqual(try members("Folder", "b", "friends", in: one), ["a"])
    try other.close()
    try other.reopen(MirrorModel.withLinks)
    try synchronize(other, one)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Tag", "tag a", "items", in: other), ["a"])
  }

  func testVerificationFindsLinksThatWereChangedByOtherMeans() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try synchronize(one, other)
    let (folder, tags) = (try object("Folder", "a", of: one).objectID.reference, ["tag a", "tag b"])
    let relationship = try XCTUnwrap(one.replica.schema.links.first { $0.relationship.name == "tags" || $0.relationship.name == "items" })
    let ends = try tags.map { try object("Tag", $0, of: one).objectID.reference }
    var request = SaveChangesRequest()
    let isOfTags = relationship.relationship.name == "items"
    func change(_ tag: ObjectReference, isAdded: Bool) -> SaveChangesRequest.RelationshipChange {
      let (source, member) = isOfTags ? (tag, folder) : (folder, tag)
      return .init(
        source: source, relationshipID: relationship.relationship.id, added: isAdded ? [member] : [], removed: isAdded ? [] : [member])
    }
    request.relationshipChanges = [change(ends[0], isAdded: false), change(ends[1], isAdded: true)]
    // As an import that has no records.
    try one.open.coordinator.save(request, to: one.open.persistentStore, scope: one.replica.scope)
    var verification = ObjectVerification()
    while try !one.replica.verifyObjects(&verification, batch: 2) {}
    XCTAssertEqual(verification.differences.count, isOfTags ? 2 : 1)
    XCTAssertTrue(verification.differences.allSatisfy { $0.kind == .different })
  }

  func testLinksAreComparedWhenPartOfTheHistoryIsMissing() throws {
    let (one, other) = try stores()
    try insertObjects(in: one.context)
    try link("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try link("Folder", "a", "friends", ("Folder", "b"), in: one)
    try synchronize(one, other)
    try unlink("Folder", "a", "tags", ("Tag", "tag a"), in: one)
    try link("Folder", "a", "tags", ("Tag", "tag b"), in: one)
    try one.replica.transaction { try one.replica.reconcile() }
    try synchronize(one, other)
    try assertEqualContents(one, other, count: 6)
    XCTAssertEqual(try members("Folder", "a", "tags", in: other), ["tag b"])
    XCTAssertEqual(try members("Folder", "b", "friends", in: other), ["a"])
  }
}
