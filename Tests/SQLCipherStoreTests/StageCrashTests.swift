import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The state of a store after a migration by stages or by a mapping model ends at any point. The application's handlers and policies read
/// and write during these migrations. All stages form one transaction, so every copy has the first or the last version, never one between,
/// and a store of the first version can be migrated again.
final class StageCrashTests: XCTestCase {
  private typealias Contents = [String: [String: String]]

  // MARK: Versions

  private static let version1 = ManagedObjectModel(version: "1") {
    Entity("Person") {
      Attribute("name", .string).required()
      Attribute("email", .string)
      Attribute("phone", .string)
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
      Relationship("tags", toMany: "Tag", inverse: "people")
    }
    Entity("Note") {
      Attribute("text", .string)
      Relationship("person", to: "Person", inverse: "notes")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
    }
  }

  private static let version2 = ManagedObjectModel(version: "2") {
    Entity("Person") {
      Attribute("name", .string).required()
      Attribute("nickname", .string).required().initially("-")
      Attribute("email", .string)
      Attribute("phone", .string)
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
      Relationship("tags", toMany: "Tag", inverse: "people")
    }
    Entity("Note") {
      Attribute("body", .string).renamed(from: "text")
      Relationship("person", to: "Person", inverse: "notes")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
    }
  }

  /// A name split in two, a text converted to a number, a constraint over former duplicates, and an entity whose objects a handler creates.
  private static let version3 = ManagedObjectModel(version: "3") {
    Entity("Person") {
      Attribute("firstName", .string).required()
      Attribute("lastName", .string)
      Attribute("nickname", .string).required().initially("-")
      Attribute("email", .string)
      Attribute("phone", .integer64).required()
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
      Relationship("tags", toMany: "Tag", inverse: "people")
      Relationship("cards", toMany: "Card", inverse: "person").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("body", .string)
      Relationship("person", to: "Person", inverse: "notes")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
      Unique("name")
    }
    Entity("Card") {
      Attribute("number", .integer64).required()
      Relationship("person", to: "Person", inverse: "cards")
    }
  }

  private static let version4 = ManagedObjectModel(version: "4") {
    Entity("Person") {
      Attribute("firstName", .string).required()
      Attribute("lastName", .string)
      Attribute("nickname", .string).required().initially("-")
      Attribute("phone", .integer64).required()
      Relationship("memos", toMany: "Memo", inverse: "person").onDelete(.cascade).renamed(from: "notes")
      Relationship("tags", toMany: "Tag", inverse: "people").ordered()
      Relationship("cards", toMany: "Card", inverse: "person").onDelete(.cascade)
      Index("byPhone", on: "phone")
    }
    Entity("Memo") {
      Attribute("body", .string)
      Relationship("person", to: "Person", inverse: "memos")
    }.renamed(from: "Note")
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("people", toMany: "Person", inverse: "tags")
      Unique("name")
    }
    Entity("Card") {
      Attribute("number", .integer64).required()
      Relationship("person", to: "Person", inverse: "cards")
    }
  }

  private static let people = 9

  private static func fill(_ context: ManagedObjectContext) throws {
    // Every name occurs twice.
    let tags = try (0..<12).map { try context.make("Tag", ["name": "tag \($0 / 2)"]) }
    for number in 0..<people {
      let person = try context.make(
        "Person",
        [
          "name": "first\(number) last\(number)", "email": String(repeating: "e", count: 200), "phone": "\(1000 + number)",
          "tags": Set([tags[number % 12], tags[(number + 5) % 12]]),
        ])
      for index in 0..<2 {
        try context.make("Note", ["text": "\(number)/\(index) " + String(repeating: "n", count: 150), "person": person])
      }
    }
  }

  // MARK: Kinds of migration

  /// A lightweight stage, a custom stage with all handlers, and a lightweight stage.
  private static func stages(_ points: CrashPoints?) -> StagedMigrationManager {
    var custom = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(version2), to: ManagedObjectModelReference(version3), label: "split names"
    ) { migration in
      points?.note()
      try migration.forEach("Person", batchSize: 9) { old, new in
        let parts = (old["name"] as? String ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        try new.setValue(parts[0], forKey: "firstName")
        try new.setValue(parts[1], forKey: "lastName")
        try new.setValue(Int64(old["phone"] as? String ?? ""), forKey: "phone")
        let card = try migration.destination.insertObject(entityName: "Card")
        try card.setValue(new.objectID.key, forKey: "number")
        try card.setValue(new, forKey: "person")
        points?.note()
      }
    }
    custom.willMigrateHandler = { context in
      var first: [String: ManagedObject] = [:]
      for tag in try context.all("Tag") {
        guard let name = tag["name"] as? String else { continue }
        guard let kept = first[name] else {
          first[name] = tag
          continue
        }
        let people = (kept["people"] as? Set<ManagedObject> ?? []).union(tag["people"] as? Set<ManagedObject> ?? [])
        try kept.setValue(people, forKey: "people")
        context.delete(tag)
        points?.note()
      }
    }
    custom.didMigrateHandler = { context in
      for person in try context.all("Person") {
        try person.setValue("n\((person["tags"] as? Set<ManagedObject> ?? []).count)", forKey: "nickname")
        points?.note()
      }
    }
    return StagedMigrationManager([
      LightweightMigrationStage(models: [version1, version2]), custom, LightweightMigrationStage(models: [version3, version4]),
    ])
  }

  /// Makes a card for each person, in addition to the mapping's results.
  final class CardPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
      let made = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
      let card = try manager.destinationContext.insertObject(entityName: "Card")
      try card.setValue(source.objectID.key, forKey: "number")
      try card.setValue(made.first, forKey: "person")
    }
  }

  /// Maps the first version directly to the last, without the tags.
  private static func mapping() -> MappingModel {
    MappingModel([
      EntityMapping(
        .transform, from: "Person", to: "Person",
        attributeMappings: [
          PropertyMapping(name: "firstName") { source, _ in (source["name"] as? String ?? "").split(separator: " ").first.map(String.init)
          },
          PropertyMapping(name: "lastName") { source, _ in (source["name"] as? String ?? "").split(separator: " ").last.map(String.init) },
          PropertyMapping(name: "nickname") { _, _ in "mapped" },
          PropertyMapping(name: "phone") { source, _ in Int64(source["phone"] as? String ?? "") },
        ], policy: CardPolicy.self),
      EntityMapping(
        .transform, from: "Note", to: "Memo", attributeMappings: [PropertyMapping(name: "body", sourceKeyPath: "text")],
        relationshipMappings: [PropertyMapping(name: "person", destinationInstancesOf: "PersonToPerson", sourceKeyPath: "person")]),
      EntityMapping(.remove, from: "Tag"),
    ])
  }

  // MARK: Every point

  private func description(_ url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: TestStore.key)
    description.durability = .fast
    description.createsStore = false
    return description
  }

  /// The contents of a store of a model; nil if the store has another model.
  private func contents(_ url: URL, _ model: ManagedObjectModel) throws -> Contents? {
    var description = description(url)
    description.shouldMigrateStoreAutomatically = false
    do {
      return try contents(description, model)
    } catch let error as StoreError where [.migrationNeeded, .storeNewerThanModel].contains(error.code) {
      return nil
    }
  }

  private func contents(_ description: PersistentStoreDescription, _ model: ManagedObjectModel) throws -> Contents {
    let open = try OpenStore(description, model: CompiledModel(model))
    defer { try? open.close() }
    return try ManagedObjectContext(coordinator: open.coordinator).contents()
  }

  /// Migrates a store, and checks the state at every point.
  ///
  /// - Parameter way: Configures the migration. The points are nil when a copy is migrated again.
  /// - Returns: The contents of the migrated store.
  private func tryEveryPoint(_ way: (inout PersistentStoreDescription, CrashPoints?) throws -> Void) throws -> Contents {
    let store = try MigratingStore.make(Self.version1) { try Self.fill($0) }
    let before = try XCTUnwrap(contents(store.url, Self.version1))
    let points = CrashPoints(of: store.url, in: store.store.folder)
    var migrating = description(store.url)
    // A small cache moves the other pages to the log before the commit.
    migrating.cacheSize = 32 << 10
    migrating.migrationBatchSize = 7
    migrating.sqlObserver = SQLObserver(beforeEach: { _ in points.note() })
    migrating.migrationProgress = { _ in points.note() }
    try way(&migrating, points)
    let migrated = try OpenStore(migrating, model: CompiledModel(Self.version4))
    points.note()
    try migrated.close()
    let after = try XCTUnwrap(contents(store.url, Self.version4))
    try store.check()

    let copies = points.copies
    XCTAssertGreaterThan(copies.count, 60)
    var newerFrom: Int?
    for (number, copy) in copies.enumerated() {
      for between in [Self.version2, Self.version3] where number % 5 == 0 {
        XCTAssertNil(try contents(copy, between), "point \(number)")
      }
      guard let older = try contents(copy, Self.version1) else {
        newerFrom = newerFrom ?? number
        XCTAssertEqual(try contents(copy, Self.version4), after, "point \(number)")
        continue
      }
      XCTAssertNil(newerFrom, "point \(number) is older than one before")
      XCTAssertEqual(older, before, "point \(number)")
      var again = description(copy)
      try way(&again, nil)
      XCTAssertEqual(try contents(again, Self.version4), after, "point \(number), migrated again")
      if number % 20 == 0 {
        let file = try waitFor { try await SQLCipherStoreFile.unlock(at: copy, key: TestStore.key) }
        XCTAssertEqual(try waitFor { try await file.verify(.full) }, [], "point \(number)")
      }
    }
    XCTAssertGreaterThan(newerFrom ?? 0, 60, "Nearly all points are before the commit.")
    return after
  }

  func testCrashDuringAStagedMigrationCanBeRetried() throws {
    let after = try tryEveryPoint { $0.stagedMigrationManager = Self.stages($1) }
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Tag/") }, 6)
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Card/") }, Self.people)
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Memo/") }, 2 * Self.people)
    let person = try XCTUnwrap(after.values.first { $0["firstName"] == "first7" })
    XCTAssertEqual(person["lastName"], "last7")
    XCTAssertEqual(person["phone"], "1007")
    XCTAssertEqual(person["nickname"], "n2")
    XCTAssertEqual(person["tags"]?.split(separator: " ").count, 2)
    XCTAssertEqual(person["memos"]?.split(separator: " ").count, 2)
    XCTAssertEqual(person["cards"]?.split(separator: " ").count, 1)
  }

  func testCrashDuringAMappingModelMigrationCanBeRetried() throws {
    let mapping = Self.mapping()
    let after = try tryEveryPoint { description, _ in description.mappingModels = [mapping] }
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Tag/") }, 0)
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Card/") }, Self.people)
    XCTAssertEqual(after.keys.count { $0.hasPrefix("Memo/") }, 2 * Self.people)
    let person = try XCTUnwrap(after.values.first { $0["firstName"] == "first7" })
    XCTAssertEqual(person["lastName"], "last7")
    XCTAssertEqual(person["nickname"], "mapped")
    XCTAssertEqual(person["memos"]?.split(separator: " ").count, 2)
    XCTAssertEqual(person["cards"]?.split(separator: " ").count, 1)
  }
}
