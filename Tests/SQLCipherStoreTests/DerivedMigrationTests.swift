import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Derived attributes after model changes: filled, recomputed, renamed and removed.
final class DerivedMigrationTests: XCTestCase {
  /// Threads with messages, with optional further components of each.
  private func forum(_ thread: [any EntityComponent] = [], _ message: [any EntityComponent]? = nil) -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("Thread") {
        Attribute("title", .string)
        Relationship("messages", toMany: "Message", inverse: "thread")
        thread
      }
      Entity("Message") {
        Attribute("text", .string)
        Relationship("thread", to: "Thread", inverse: "messages")
        message ?? [Attribute("isRead", .boolean), Attribute("weight", .integer64)]
      }
    }
  }

  private static let counts: [any EntityComponent] = [
    Attribute("count", .integer64).derived("messages.@count"),
    Attribute("unread", .integer64).derived("messages.@count", where: "isRead == NO"),
  ]

  /// Thread A has three messages, two of them unread; B has four, all read; C has none.
  private let fill: (ManagedObjectContext) throws -> Void = { context in
    for (title, flags) in [("A", [false, true, false]), ("B", [true, true, true, true]), ("C", [])] {
      let thread = try context.make("Thread", ["title": title])
      for (number, isRead) in flags.enumerated() {
        try context.make("Message", ["text": "\(title)\(number)", "isRead": isRead, "weight": Int64(number + 1), "thread": thread])
      }
    }
  }

  /// The value of a derived attribute in threads A, B and C.
  private func values(_ key: String, _ context: ManagedObjectContext) throws -> [Int64?] {
    try ["A", "B", "C"].map { try context.one("Thread", "title", $0)[key] as? Int64 }
  }

  func testAnAddedDerivedAttributeIsFilled() throws {
    let store = try MigratingStore.make(forum(), fill)
    let newer = forum(
      Self.counts + [Attribute("mails", .integer64).derived("messages.@count", where: "kind == 'mail'")],
      [
        Attribute("isRead", .boolean), Attribute("weight", .integer64), Attribute("kind", .string).required().initially("mail"),
        Attribute("threadTitle", .string).derived("thread.title"), Attribute("textKey", .string).derived("lowercase:(text)"),
      ])
    try store.open(newer) { context in
      XCTAssertEqual(try values("count", context), [3, 4, 0])
      XCTAssertEqual(try values("unread", context), [2, 0, 0])
      XCTAssertEqual(try values("mails", context), [3, 4, 0], "the new attribute's default value counts")
      let message = try context.one("Message", "text", "B2")
      XCTAssertEqual(message["threadTitle"] as? String, "B")
      XCTAssertEqual(message["textKey"] as? String, "b2")
      try message.setValue(false, forKey: "isRead")
      try message.setValue("note", forKey: "kind")
      try context.save()
      XCTAssertEqual(try values("unread", context), [2, 1, 0])
      XCTAssertEqual(try values("mails", context), [3, 3, 0])
    }
    try store.check()
  }

  func testDerivedAttributeOfANewEntityIsFilledAndUpdated() throws {
    let older = ManagedObjectModel {
      Entity("Message") {
        Attribute("text", .string)
        Attribute("isRead", .boolean)
      }
    }
    let store = try MigratingStore.make(older) { context in
      for number in 0..<3 { try context.make("Message", ["text": "\(number)", "isRead": number == 0]) }
    }
    try store.open(forum(Self.counts, [Attribute("isRead", .boolean)])) { context in
      let thread = try context.make("Thread", ["title": "A"])
      for message in try context.all("Message") { try message.setValue(thread, forKey: "thread") }
      try context.save()
      XCTAssertEqual(thread["count"] as? Int64, 3)
      XCTAssertEqual(thread["unread"] as? Int64, 2)
    }
    try store.check()
  }

  func testChangedDerivationIsRecomputedByAMigration() throws {
    let store = try MigratingStore.make(forum(Self.counts), fill)
    let more = [Attribute("isRead", .boolean), Attribute("weight", .integer64), Attribute("author", .string)]
    let newer = forum(
      [
        Attribute("count", .integer64).derived("messages.@sum.weight"),
        Attribute("unread", .integer64).derived("messages.@count", where: "isRead == YES AND weight > 1"),
      ], more)
    try store.open(newer) { context in
      XCTAssertEqual(try values("count", context), [6, 10, 0])
      XCTAssertEqual(try values("unread", context), [1, 3, 0])
      try context.one("Message", "text", "A1").setValue(Int64(0), forKey: "weight")
      try context.save()
      XCTAssertEqual(try values("count", context), [4, 10, 0])
      XCTAssertEqual(try values("unread", context), [0, 3, 0])
    }
    try store.check()
  }

  func testRecomputationOnOpeningIsRecordedInTheHistory() throws {
    let store = try MigratingStore.make(forum(Self.counts), fill)
    let place = try store.open(forum(Self.counts), { $0.historyTracking = true }) { context in
      XCTAssertEqual(try values("count", context), [3, 4, 0])
      return try context.persistentStoreCoordinator.currentPersistentHistoryToken()
    }
    let newer = forum([Attribute("count", .integer64).derived("messages.@sum.weight"), Self.counts[1]])
    for isFirst in [true, false] {
      try store.open(newer) { context in
        XCTAssertEqual(try values("count", context), [6, 10, 0])
        let coordinator = context.persistentStoreCoordinator
        let found = try coordinator.execute(.fetchHistory(after: place)).transactions
        XCTAssertEqual(found.map(\.kind), [.migration], isFirst ? "the opening" : "nothing has changed since")
        XCTAssertEqual(found.map(\.isWhole), [false])
        let changes = found.flatMap(\.schemaChanges)
        XCTAssertEqual(changes.map { "\($0.kind) \($0.entityName).\($0.propertyName ?? "")" }, ["computed Thread.count"])
      }
    }
    try store.open(newer, { $0.historyTracking = false }) { _ in }
    try store.check()
  }

  /// Another process opens the store with another derivation of the same model version. Only what it has computed is read again.
  func testContextsRefreshOnlyTheSlotsThatAnotherOpeningComputed() throws {
    let store = try MigratingStore.make(forum(Self.counts), fill)
    var description = store.store.description
    description.historyTracking = true
    let open = try OpenStore(description, model: CompiledModel(forum(Self.counts)))
    let context = ManagedObjectContext(coordinator: open.coordinator)
    let token = try open.coordinator.currentPersistentHistoryToken()
    let (threads, messages) = (try context.all("Thread"), try context.all("Message"))
    for object in threads + messages { _ = object["count"] ?? object["text"] }
    let thread = try context.one("Thread", "title", "B")
    try thread.setValue("unsaved", forKey: "title")
    let newer = forum([Attribute("count", .integer64).derived("messages.@sum.weight"), Self.counts[1]])
    try store.open(newer) { _ in }
    let set = try XCTUnwrap(open.coordinator.changeSets(afterHistory: token).changes.first)
    let entity = try open.entity("Thread")
    guard case .attribute(let count)? = entity.property(named: "count") else { return XCTFail("no attribute") }
    XCTAssertEqual(set.filled, [FilledSlots(entity: entity.number, slots: SlotMask(slots: CollectionOfOne(count.index)))])
    XCTAssertFalse(set.isWhole)
    XCTAssertFalse(set.isEmpty)
    let refreshed = Mutex<Set<ManagedObjectID>>([])
    let observer = context.addEventObserver { event in
      XCTAssertFalse(event.isWhole)
      refreshed.withLock { $0.formUnion(event.refreshed.map(\.object.objectID)) }
    }
    try context.mergeChanges(fromHistoryAfter: token)
    context.removeEventObserver(observer)
    XCTAssertEqual(refreshed.withLock { $0 }, Set(threads.map(\.objectID)))
    XCTAssertEqual(try ["A", "unsaved", "C"].map { try context.one("Thread", "title", $0)["count"] as? Int64 }, [6, 10, 0])
    XCTAssertTrue(messages.allSatisfy { !$0.isFault })
    XCTAssertEqual(thread["title"] as? String, "unsaved")
    context.rollback()
    try open.close()
    try store.open(newer, { $0.historyTracking = false }) { _ in }
    try store.check()
  }

  func testRenamedSourcesKeepDerivedValuesUpdated() throws {
    let older = forum(
      Self.counts + [Attribute("load", .integer64).derived("messages.@sum.weight", where: "isRead == NO")],
      [Attribute("isRead", .boolean), Attribute("weight", .integer64), Attribute("textKey", .string).derived("lowercase:(text)")])
    let newer = ManagedObjectModel {
      Entity("Topic") {
        Attribute("title", .string)
        Relationship("posts", toMany: "Post", inverse: "topic").renamed(from: "messages")
        Attribute("count", .integer64).derived("posts.@count")
        Attribute("unseen", .integer64).derived("posts.@count", where: "isSeen == NO").renamed(from: "unread")
        Attribute("load", .integer64).derived("posts.@sum.size", where: "isSeen == NO")
      }.renamed(from: "Thread")
      Entity("Post") {
        Attribute("body", .string).renamed(from: "text")
        Attribute("isSeen", .boolean).renamed(from: "isRead")
        Attribute("size", .integer64).renamed(from: "weight")
        Attribute("bodyKey", .string).derived("lowercase:(body)").renamed(from: "textKey")
        Relationship("topic", to: "Topic", inverse: "posts").renamed(from: "thread")
      }.renamed(from: "Message")
    }
    let store = try MigratingStore.make(older, fill)
    try store.open(newer) { context in
      func values(_ key: String) throws -> [Int64?] {
        try ["A", "B", "C"].map { try context.one("Topic", "title", $0)[key] as? Int64 }
      }
      XCTAssertEqual(try values("count"), [3, 4, 0])
      XCTAssertEqual(try values("unseen"), [2, 0, 0])
      XCTAssertEqual(try values("load"), [4, 0, 0])
      let post = try context.one("Post", "body", "A0")
      XCTAssertEqual(post["bodyKey"] as? String, "a0")
      try post.setValue(try context.one("Topic", "title", "C"), forKey: "topic")
      try post.setValue(Int64(50), forKey: "size")
      try context.one("Post", "body", "B0").setValue(false, forKey: "isSeen")
      try context.save()
      XCTAssertEqual(try values("count"), [2, 4, 1])
      XCTAssertEqual(try values("unseen"), [1, 1, 1])
      XCTAssertEqual(try values("load"), [3, 1, 50])
    }
    try store.check()
  }

  func testARemovedDerivedAttributeLeavesNothing() throws {
    let store = try MigratingStore.make(forum(Self.counts), fill)
    XCTAssertNotEqual(try store.rows("SELECT name FROM sqlite_master WHERE sql LIKE '%unread%'"), [])
    try store.open(forum([Self.counts[0]], [Attribute("weight", .integer64)])) { context in
      XCTAssertEqual(try values("count", context), [3, 4, 0])
      context.delete(try context.one("Message", "text", "A2"))
      try context.save()
      XCTAssertEqual(try values("count", context), [2, 4, 0])
    }
    XCTAssertEqual(try store.rows("SELECT name FROM sqlite_master WHERE sql LIKE '%unread%' OR sql LIKE '%isRead%'"), [])
    try store.open(forum()) { context in
      for message in try context.all("Message") { context.delete(message) }
    }
    XCTAssertEqual(try store.rows("SELECT name FROM sqlite_master WHERE sql LIKE '%cd_derive%'"), [])
    try store.check()
  }

  func testAttributeBecomesDerivedAndRegularAgain() throws {
    let plain = forum([Attribute("unread", .integer64)])
    let store = try MigratingStore.make(plain) { context in
      try fill(context)
      for thread in try context.all("Thread") { try thread.setValue(Int64(99), forKey: "unread") }
    }
    let more = [Attribute("isRead", .boolean), Attribute("weight", .integer64), Attribute("extra", .date)]
    try store.open(forum([Self.counts[1]], more)) { XCTAssertEqual(try values("unread", $0), [2, 0, 0]) }
    try store.open(forum([Attribute("unread", .integer64)], more + [Attribute("again", .string)])) { context in
      XCTAssertEqual(try values("unread", context), [2, 0, 0], "values stay")
      context.delete(try context.one("Message", "text", "A0"))
      try context.one("Thread", "title", "B").setValue(Int64(7), forKey: "unread")
      try context.save()
      XCTAssertEqual(try values("unread", context), [2, 7, 0])
    }
    try store.check()
  }

  func testLinksThatMoveIntoAJoinTableAreCounted() throws {
    func crossed(_ thread: [any EntityComponent]) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Thread") {
          Attribute("title", .string)
          Relationship("messages", toMany: "Message", inverse: "threads")
          thread
        }
        Entity("Message") {
          Attribute("text", .string)
          Attribute("isRead", .boolean)
          Attribute("weight", .integer64)
          Relationship("threads", toMany: "Thread", inverse: "messages").renamed(from: "thread")
        }
      }
    }
    let store = try MigratingStore.make(forum(Self.counts), fill)
    try store.open(crossed(Self.counts)) { context in
      XCTAssertEqual(try values("count", context), [3, 4, 0])
      XCTAssertEqual(try values("unread", context), [2, 0, 0])
      let message = try context.one("Message", "text", "A0")
      try message.setValue(Set(try context.all("Thread")), forKey: "threads")
      try context.save()
      XCTAssertEqual(try values("unread", context), [2, 1, 1])
      try message.setValue(true, forKey: "isRead")
      try context.save()
      XCTAssertEqual(try values("unread", context), [1, 0, 0])
      XCTAssertEqual(try values("count", context), [3, 5, 1])
    }
    try store.check()
  }

  func testCustomStageCanWriteSourcesOfDerivedAttributes() throws {
    let older = forum(Self.counts)
    let newer = forum(
      [Self.counts[0], Attribute("unread", .integer64).derived("messages.@count", where: "state ==[c] 'NEW'")],
      [
        Attribute("state", .string), Attribute("weight", .integer64), Attribute("textKey", .string).derived("lowercase:(text)"),
        Attribute("threadTitle", .string).derived("thread.title"),
      ])
    let store = try MigratingStore.make(older, fill)
    let stage = CustomMigrationStage(migratingFrom: ManagedObjectModelReference(older), to: ManagedObjectModelReference(newer)) {
      migration in
      let threads = try migration.destination.all("Thread")
      try migration.forEach("Message") { old, new in
        try new.setValue(old["isRead"] as? Bool == true ? "old" : "new", forKey: "state")
        if old["text"] as? String == "A0" { try new.setValue(threads[2], forKey: "thread") }
        if old["text"] as? String == "B0" { migration.destination.delete(new) }
      }
      let more = try migration.destination.insertObject(entityName: "Message")
      for (key, value) in ["text": "C9", "state": "New", "thread": threads[2]] as [String: Any] { try more.setValue(value, forKey: key) }
    }
    try store.open(newer, { $0.stagedMigrationManager = StagedMigrationManager([stage]) }) { context in
      XCTAssertEqual(try values("count", context), [2, 3, 2])
      XCTAssertEqual(try values("unread", context), [1, 0, 2])
      let message = try context.one("Message", "text", "C9")
      XCTAssertEqual(message["threadTitle"] as? String, "C")
      XCTAssertEqual(message["textKey"] as? String, "c9")
      try message.setValue("OLD", forKey: "state")
      try context.save()
      XCTAssertEqual(try values("unread", context), [1, 0, 1])
    }
    try store.check()
  }

  func testAFailedMigrationLeavesTheValuesAndTheirTriggers() throws {
    let older = forum(Self.counts)
    let store = try MigratingStore.make(older) { context in
      try fill(context)
      try context.one("Thread", "title", "B").setValue("A", forKey: "title")
    }
    let before = try store.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    XCTAssertThrowsError(try store.open(forum(Self.counts + [Unique("title")])) { _ in })
    XCTAssertEqual(try store.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"), before)
    try store.open(older) { context in
      try context.one("Message", "text", "B0").setValue(false, forKey: "isRead")
      try context.save()
      XCTAssertEqual(try context.all("Thread").map { $0["unread"] as? Int64 }, [2, 1, 0])
    }
  }
}
