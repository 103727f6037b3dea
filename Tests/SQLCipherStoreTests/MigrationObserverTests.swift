import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// What observers see of migrations.
final class MigrationObserverTests: XCTestCase {
  /// Migrates copies of a store with and without a history, and returns what the observer has seen. It is the same for both.
  private func observe(
    _ older: ManagedObjectModel, _ newer: ManagedObjectModel, stages: [any MigrationStage] = [],
    options: TransactionObserverOptions = TransactionObserverOptions(includesOldValues: true, includesNewValues: true),
    fill: (ManagedObjectContext) throws -> Void
  ) throws -> [String] {
    var found: [[String]] = []
    for level in [nil, HistoryLevel.properties, .values] {
      let store = try level.map { try MigratingStore.tracked(older, $0, fill) } ?? MigratingStore.make(older, fill)
      let observer = MigrationObserver()
      (store.observer, store.observerOptions) = (observer, options)
      try store.open(
        newer,
        {
          $0.migrationAuthor = "release"
          if !stages.isEmpty { $0.stagedMigrationManager = StagedMigrationManager(stages) }
        }
      ) { _ in }
      found.append(observer.takeLines())
      if level != nil { try store.open(newer, { $0.historyTracking = false }) { _ in } }
      XCTAssertEqual(observer.takeLines(), [])
      try store.check()
    }
    for other in found.dropFirst() { XCTAssertEqual(other, found[0]) }
    return found[0]
  }

  func testAnInferredMigrationReportsWhatItChanges() throws {
    func library(_ book: [any EntityComponent], _ others: [Entity] = []) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Book") {
          Attribute("title", .string)
          Relationship("tags", toMany: "Tag", inverse: "books")
          book
        }
        Entity("Tag") {
          Attribute("name", .string)
          Relationship("books", toMany: "Book", inverse: "tags")
        }
        others
      }
    }
    let older = library([Attribute("pages", .integer64), Attribute("note", .string)], [Entity("Log") { Attribute("line", .string) }])
    let newer = library([
      Attribute("pages", .double), Attribute("state", .string).required().initially("new"), Attribute("subtitle", .string),
      Attribute("length", .integer64).derived("tags.@count"),
    ])
    let fill: (ManagedObjectContext) throws -> Void = { context in try context.make("Book", ["title": "A", "pages": Int64(3)]) }
    XCTAssertEqual(
      try observe(older, newer, fill: fill),
      [
        "objectsRemoved Log", "converted Book.pages", "filled Book.state new", "propertyRemoved Book.note", "computed Book.length",
        "will commit migration release", "did commit",
      ])
    let withoutValues = TransactionObserverOptions(entityNames: ["Book"], propertyNames: ["state"])
    XCTAssertEqual(
      try observe(older, newer, options: withoutValues, fill: fill), ["filled Book.state", "will commit migration release", "did commit"])
    let ofTags = TransactionObserverOptions(entityNames: ["Tag"])
    XCTAssertEqual(try observe(older, newer, options: ofTags, fill: fill), [])
  }

  func testAMigrationThatChangesNoObjectsIsNotReported() throws {
    let older = ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let newer = ManagedObjectModel {
      Entity("Memo") {
        Attribute("heading", .string).renamed(from: "title")
        Attribute("extra", .string)
      }.renamed(from: "Note")
    }
    XCTAssertEqual(try observe(older, newer) { try $0.make("Note", ["title": "a"]) }, [])
  }

  func testStagesReportTheChangesOfTheirHandlersAsChangesOfTheNewestModel() throws {
    let found = try observe(
      StageHistoryTests.person1, StageHistoryTests.person3, stages: StageHistoryTests.stages(), fill: StageHistoryTests.fill)
    // Before the first stage: under the oldest model.
    XCTAssertEqual(
      found.prefix(3).sorted(),
      ["Person.tags -1 +0", "delete Person years=20", "update Person years years=40 -> years=50"].sorted())
    // In the stage, under the second model, after its own changes.
    XCTAssertEqual(Array(found[3..<5]), ["filled Person.state new", "propertyRemoved Person.name"])
    XCTAssertEqual(
      found[5..<9].sorted(),
      [
        "Person.tags -0 +1", "insert Person firstName=Zoe state=new",
        "update Person firstName,lastName state=new years=30 -> firstName=Anna lastName=Arp state=new years=30",
        "update Person firstName,lastName state=new years=50 -> firstName=Ben lastName=Berg state=new years=50",
      ].sorted())
    XCTAssertEqual(
      Array(found[9...]),
      [
        "update Person state firstName=Anna lastName=Arp state=new years=30 -> firstName=Anna lastName=Arp state=checked years=30",
        "filled Person.rank 1", "will commit migration release", "did commit",
      ])
  }

  func testChangesOfAnIntermediateModelAreConverted() throws {
    func model(_ version: Int) -> ManagedObjectModel {
      ManagedObjectModel(version: "\(version)") {
        if version < 3 { Entity("Log") { Attribute("line", .string) } }
        Entity(version < 3 ? "Article" : "Story") {
          Attribute("title", .string)
          if version < 3 { Attribute("draft", .string) }
          if version < 3 { Attribute("size", .integer64) } else { Attribute("size", .double) }
          if version > 1 { Attribute("image", .binary) }
          Relationship("author", to: "Person", inverse: version < 3 ? "articles" : "stories")
          Relationship("tags", toMany: "Tag", inverse: version < 3 ? "articles" : "stories").ordered()
        }.renamed(from: "Article")
        Entity("Person") {
          Attribute("name", .string)
          Relationship(version < 3 ? "articles" : "stories", toMany: version < 3 ? "Article" : "Story", inverse: "author").renamed(
            from: "articles")
        }
        Entity("Tag") {
          Attribute("name", .string)
          Relationship(version < 3 ? "articles" : "stories", toMany: version < 3 ? "Article" : "Story", inverse: "tags").renamed(
            from: "articles")
        }
      }
    }
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model(1)), to: ManagedObjectModelReference(model(2)), label: "first"
    ) { migration in
      let context = migration.destination
      let person = try context.make("Person", ["name": "Ann"])
      let tags = try ["x", "y"].map { try context.make("Tag", ["name": $0]) }
      try context.make(
        "Article",
        ["title": "T", "draft": "D", "size": Int64(5), "image": Data([1, 2]), "author": person, "tags": tags as [ManagedObject]])
      try context.make("Log", ["line": "one"])
      try context.save()
      let log = try context.one("Log")
      try log.setValue("two", forKey: "line")
      let article = try context.one("Article", "title", "T")
      try article.setValue("E", forKey: "draft")
      try context.save()
      try article.setValue("U", forKey: "title")
      try context.save()
    }
    let found = try observe(model(1), model(3), stages: [stage, LightweightMigrationStage(models: [model(2), model(3)])]) { _ in }
    XCTAssertEqual(
      found.prefix(6).sorted(),
      [
        "Story.tags -0 +2", "insert Person name=Ann", "insert Story author=Person image=2 bytes size=5.0 title=T", "insert Tag name=x",
        "insert Tag name=y", "order Story.tags 2",
      ])
    XCTAssertEqual(
      Array(found.dropFirst(6)),
      [
        "update Story title author=Person image=2 bytes size=5.0 title=T -> author=Person image=2 bytes size=5.0 title=U",
        "objectsRemoved Log", "converted Story.size", "propertyRemoved Story.draft", "will commit migration release", "did commit",
      ])
  }

  func testAStageThatReplacesAllObjectsIsUnspecified() throws {
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(StageHistoryTests.person1), to: ManagedObjectModelReference(StageHistoryTests.person2))
    stage.mappingModel = try MappingModel.inferred(
      forSourceModel: StageHistoryTests.person1, destinationModel: StageHistoryTests.person2)
    let found = try observe(StageHistoryTests.person1, StageHistoryTests.person2, stages: [stage], fill: StageHistoryTests.fill)
    XCTAssertEqual(found, ["unspecified", "will commit migration release", "did commit"])
  }

  func testARejectedMigrationOfSeveralStepsLeavesTheStoreUnchanged() throws {
    for level in [nil, HistoryLevel.values] {
      let (older, newer) = (StageHistoryTests.person1, StageHistoryTests.person3)
      let store =
        try level.map { try MigratingStore.tracked(older, $0, StageHistoryTests.fill) }
        ?? MigratingStore.make(older, StageHistoryTests.fill)
      func history() throws -> [PersistentHistoryTransaction] {
        if level == nil { return [] }
        return try store.open(older) { try $0.persistentStoreCoordinator.execute(.fetchHistory(after: nil)).transactions }
      }
      let before = (try store.contents(older), try history(), try store.rows("SELECT sql FROM sqlite_master ORDER BY name"))
      let observer = MigrationObserver()
      store.observer = observer
      observer.rejects = true
      func migrate() throws {
        try store.open(newer, { $0.stagedMigrationManager = StagedMigrationManager(StageHistoryTests.stages()) }) { _ in }
      }
      XCTAssertThrowsError(try migrate()) { XCTAssertTrue($0 is MigrationObserver.Rejection, "\($0)") }
      let seen = observer.takeLines()
      XCTAssertTrue(seen.contains("filled Person.rank 1"), "the second step")
      XCTAssertEqual(Array(seen.suffix(2)), ["will commit migration", "did roll back"])
      store.observer = nil
      XCTAssertEqual(try store.contents(older), before.0)
      XCTAssertEqual(try history(), before.1)
      XCTAssertEqual(try store.rows("SELECT sql FROM sqlite_master ORDER BY name"), before.2)
      (store.observer, observer.rejects) = (observer, false)
      try migrate()
      XCTAssertEqual(observer.takeLines().last, "did commit")
      if level != nil { try store.open(newer, { $0.historyTracking = false }) { _ in } }
      try store.check()
    }
  }

  func testRequestsOfAHandlerThatAreRolledBackAreUndone() throws {
    struct Stop: Error {}
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(StageHistoryTests.person1), to: ManagedObjectModelReference(StageHistoryTests.person2)
    ) { migration in
      let context = migration.destination
      try context.make("Tag", ["name": "kept"])
      try context.save()
      try? context.performTransaction {
        try context.make("Tag", ["name": "undone"])
        try context.save()
        throw Stop()
      }
      context.rollback()
      for person in try context.all("Person") {
        try person.setValue("x", forKey: "firstName")
        try person.setValue("y", forKey: "lastName")
      }
    }
    let found = try observe(StageHistoryTests.person1, StageHistoryTests.person2, stages: [stage]) { try $0.make("Person", ["name": "n"]) }
    XCTAssertEqual(
      found,
      [
        "filled Person.state new", "propertyRemoved Person.name", "insert Tag name=kept", "insert Tag name=undone", "undone to 3",
        "update Person firstName,lastName state=new -> firstName=x lastName=y state=new", "will commit migration release", "did commit",
      ])
  }

  func testDerivedValuesThatTheOpeningComputesAreReported() throws {
    func forum(_ derivation: String) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Thread") {
          Attribute("title", .string)
          Attribute("count", .integer64).derived(derivation)
          Relationship("messages", toMany: "Message", inverse: "thread")
        }
        Entity("Message") {
          Attribute("weight", .integer64)
          Relationship("thread", to: "Thread", inverse: "messages")
        }
      }
    }
    let found = try observe(forum("messages.@count"), forum("messages.@sum.weight")) { try $0.make("Thread", ["title": "a"]) }
    XCTAssertEqual(found, ["computed Thread.count", "will commit migration release", "did commit"])
    // The observer can reject the opening.
    let store = try MigratingStore.make(forum("messages.@count")) { try $0.make("Thread", ["title": "a"]) }
    let observer = MigrationObserver()
    (store.observer, observer.rejects) = (observer, true)
    XCTAssertThrowsError(try store.open(forum("messages.@sum.weight")) { _ in }) {
      XCTAssertTrue($0 is MigrationObserver.Rejection, "\($0)")
    }
    XCTAssertEqual(observer.takeLines().last, "did roll back")
    observer.rejects = false
    try store.open(forum("messages.@sum.weight")) { _ in }
    XCTAssertEqual(observer.takeLines().first, "computed Thread.count")
  }
}

/// Records what an observer sees, as lines of text, and rejects transactions on request.
final class MigrationObserver: TransactionObserver {
  struct Rejection: Error {}
  private let state = Mutex<(lines: [String], rejects: Bool)>(([], false))
  var rejects: Bool {
    get { state.withLock { $0.rejects } }
    set { state.withLock { $0.rejects = newValue } }
  }

  func takeLines() -> [String] {
    state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }

  private func record(_ parts: String?...) {
    state.withLock { $0.lines.append(parts.compactMap { $0 == "" ? nil : $0 }.joined(separator: " ")) }
  }

  private static func text(_ values: RowValues?) -> String? {
    values.map { values in
      values.names.sorted().compactMap { name in
        switch values[name] {
        case let data as Data: "\(name)=\(data.count) bytes"
        case let id as ManagedObjectID: "\(name)=\(id.entityName)"
        case let value?: "\(name)=\(value)"
        case nil: nil
        }
      }.joined(separator: " ")
    }
  }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
    switch change {
    case .insert(let row): record("insert", row.entityName, Self.text(row.newValues))
    case .update(let row):
      let values = row.oldValues.map { [$0, row.newValues].map { Self.text($0) ?? "" }.joined(separator: " -> ") }
      record(row.isDerived ? "derived" : "update", row.entityName, row.changedProperties.joined(separator: ","), values)
    case .delete(let row): record("delete", row.entityName, Self.text(row.oldValues))
    case .links(let links):
      record("\(links.objectID.entityName).\(links.relationshipName)", "-\(links.removed.count) +\(links.added.count)")
    case .order(let order): record("order", "\(order.objectID.entityName).\(order.relationshipName)", "\(order.members.count)")
    case .schema(let change):
      record(
        "\(change.kind)", [change.entityName, change.propertyName].compactMap { $0 }.joined(separator: "."),
        change.formerPropertyName.map { "from \($0)" }, change.value.map { "\($0)" })
    case .unspecified: record("unspecified")
    }
  }

  func willCommit(_ transaction: ObservedTransaction) throws {
    record("will commit", "\(transaction.kind)", transaction.author)
    if rejects { throw Rejection() }
  }
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) { record("undone to \(count)") }
  func didCommit(_ transaction: ObservedTransaction) { record("did commit") }
  func didRollback(_ transaction: ObservedTransaction) { record("did roll back") }
}
