import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// What a component with side tables sees of migrations: the same as a transaction observer.
final class SideTableMigrationTests: XCTestCase {
  private let journal = JournalComponent()

  /// Runs `body` with the store under a model, and returns the changes that the component has listed.
  @discardableResult
  private func open(
    _ store: MigratingStore, _ model: ManagedObjectModel, stages: [any MigrationStage] = [], history: HistoryLevel? = nil,
    _ component: JournalComponent? = nil, _ body: (ManagedObjectContext) throws -> Void = { _ in }
  ) throws -> [String] {
    let component = component ?? journal
    return try store.open(
      model,
      {
        $0.sideTableOwners = [component]
        if !stages.isEmpty { $0.stagedMigrationManager = StagedMigrationManager(stages) }
        if let history { ($0.historyTracking, $0.historyLevel) = (true, history) }
      }
    ) { context in
      try body(context)
      if context.hasChanges { try context.save() }
      let store = context.persistentStoreCoordinator.persistentStores[0].incrementalStore as? SQLCipherIncrementalStore
      return try XCTUnwrap(store?.sideTables(of: component)).changes()
    }
  }

  func testAComponentSeesWhatALightweightMigrationChanges() throws {
    let model = ManagedObjectModel {
      Entity("Note") {
        Attribute("title", .string)
        Attribute("pages", .integer64)
        Attribute("body", .string)
      }
      Entity("Log") {}
    }
    let renamed = ManagedObjectModel {
      Entity("Memo") {
        Attribute("heading", .string).renamed(from: "title")
        Attribute("pages", .integer64)
        Attribute("body", .string)
      }.renamed(from: "Note")
      Entity("Log") {}
    }
    let newer = ManagedObjectModel {
      Entity("Memo") {
        Attribute("heading", .string)
        Attribute("pages", .double)
        Attribute("state", .string).required().initially("new")
      }
    }
    for level in [nil, HistoryLevel.values] {
      let store = try MigratingStore()
      try open(store, model, history: level) { try $0.make("Note", ["title": "x"]) }
      XCTAssertEqual(try open(store, renamed) { try $0.make("Memo", ["heading": "y"]) }, ["insert Note", "insert Memo"])
      XCTAssertEqual(
        Array(try open(store, newer).dropFirst(2)),
        ["objectsRemoved Log", "converted Memo.pages", "filled Memo.state", "propertyRemoved Memo.body"])
      XCTAssertEqual(journal.origins.withLock { $0 }, [.save, .migration, .save, .migration])
      journal.origins.withLock { $0 = [] }
    }
  }

  func testAComponentSeesWhatStagesChangeInTermsOfTheNewestModel() throws {
    for level in [nil, HistoryLevel.values] {
      let store = try MigratingStore()
      let before = try open(store, StageHistoryTests.person1, history: level, nil, StageHistoryTests.fill)
      let observer = MigrationObserver()
      store.observer = observer
      let found = try open(store, StageHistoryTests.person3, stages: StageHistoryTests.stages())
      let changes = Array(found.dropFirst(before.count))
      XCTAssertEqual(changes.prefix(2).sorted(), ["delete Person", "update Person"])
      XCTAssertEqual(Array(changes[2..<4]), ["filled Person.state", "propertyRemoved Person.name"])
      XCTAssertEqual(changes[4..<7].sorted(), ["insert Person", "update Person", "update Person"])
      XCTAssertEqual(Array(changes[7...]), ["update Person", "filled Person.rank"])
      // The observer sees the values too, and links, which the component does not ask for.
      let seen = observer.takeLines().filter { !$0.hasPrefix("Person.tags") && !$0.hasPrefix("will") && !$0.hasPrefix("did") }
      XCTAssertEqual(seen.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }, changes)
    }
  }

  func testChangesOfAnIntermediateModelAreConverted() throws {
    func model(_ version: Int) -> ManagedObjectModel {
      ManagedObjectModel(version: "\(version)") {
        if version < 3 { Entity("Log") { Attribute("line", .string) } }
        Entity(version < 3 ? "Article" : "Story") {
          Attribute("title", .string)
          if version > 1 { Attribute("draft", .string) }
        }.renamed(from: "Article")
      }
    }
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model(1)), to: ManagedObjectModelReference(model(2))
    ) { migration in
      let context = migration.destination
      try context.make("Log", ["line": "one"])
      let article = try context.make("Article", ["title": "a"])
      try context.save()
      try article.setValue("b", forKey: "title")
      try context.save()
      struct Stop: Error {}
      try? context.performTransaction {
        try context.make("Article", ["title": "undone"])
        try context.save()
        throw Stop()
      }
      context.rollback()
    }
    let store = try MigratingStore.make(model(1)) { try $0.make("Article", ["title": "x"]) }
    XCTAssertEqual(
      try open(store, model(3), stages: [stage, LightweightMigrationStage(models: [model(2), model(3)])]),
      ["insert Story", "update Story", "objectsRemoved Log"])
  }

  func testAMigrationThatReplacesAllObjectsIsUnspecified() throws {
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(StageHistoryTests.person1), to: ManagedObjectModelReference(StageHistoryTests.person2))
    stage.mappingModel = try MappingModel.inferred(
      forSourceModel: StageHistoryTests.person1, destinationModel: StageHistoryTests.person2)
    let store = try MigratingStore.make(StageHistoryTests.person1, StageHistoryTests.fill)
    XCTAssertEqual(try open(store, StageHistoryTests.person2, stages: [stage]), ["unspecified"])
  }

  func testAComponentSeesDerivedValuesThatTheOpeningComputes() throws {
    func forum(_ derivation: String) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Thread") {
          Attribute("count", .integer64).derived(derivation)
          Relationship("messages", toMany: "Message", inverse: "thread")
        }
        Entity("Message") {
          Attribute("weight", .integer64)
          Relationship("thread", to: "Thread", inverse: "messages")
        }
      }
    }
    let store = try MigratingStore.make(forum("messages.@count")) { try $0.make("Thread", [:]) }
    XCTAssertEqual(try open(store, forum("messages.@sum.weight")), ["computed Thread.count"])
  }

  func testHandlersWriteToAStoreWithARequiredComponent() throws {
    let required = JournalComponent(isRequired: true)
    let store = try MigratingStore()
    let before = try open(store, StageHistoryTests.person1, required, StageHistoryTests.fill)
    let changes = try open(store, StageHistoryTests.person3, stages: StageHistoryTests.stages(), required)
    XCTAssertEqual(changes.count, before.count + 9)
  }

  func testAnErrorOfTheComponentLeavesTheStoreUnchanged() throws {
    let store = try MigratingStore()
    let before = try open(store, StageHistoryTests.person1, nil, StageHistoryTests.fill)
    let contents = try store.contents(StageHistoryTests.person1)
    journal.rejects.withLock { $0 = true }
    XCTAssertThrowsError(try open(store, StageHistoryTests.person3, stages: StageHistoryTests.stages()))
    journal.rejects.withLock { $0 = false }
    XCTAssertEqual(try store.contents(StageHistoryTests.person1), contents)
    XCTAssertEqual(try open(store, StageHistoryTests.person1), before)
  }

  func testDamageThatAHandlerFindsPreventsNoMigration() throws {
    struct Wrapped: Error {}
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(StageHistoryTests.person1), to: ManagedObjectModelReference(StageHistoryTests.person2))
    stage.willMigrateHandler = { context in
      try context.make("Tag", ["name": "made"])
      do { try context.save() } catch { throw Wrapped() }
    }
    for table in ["cipherdata_journal", "cipherdata_history"] {
      let store = try MigratingStore()
      try open(store, StageHistoryTests.person1, history: .values) { try $0.make("Tag", ["name": "a"]) }
      try store.store.execute("DROP TABLE \(table)")
      try store.open(
        StageHistoryTests.person2,
        {
          $0.sideTableOwners = [journal]
          $0.stagedMigrationManager = StagedMigrationManager([stage])
        }
      ) { context in
        XCTAssertEqual(try context.all("Tag").compactMap { try $0.value(forKey: "name") as? String }.sorted(), ["a", "made"], table)
      }
    }
  }
}
