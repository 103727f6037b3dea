import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// A store file that tests open with successive versions of a model.
final class MigratingStore {
  let folder: TemporaryFolder
  var description: PersistentStoreDescription
  private(set) var coordinator: PersistentStoreCoordinator?

  init() throws {
    folder = try TemporaryFolder()
    description = .encrypted(in: folder)
  }

  deinit { try? close() }

  /// Opens the store with a model, after closing another coordinator that has it open.
  @discardableResult
  func open(_ model: ManagedObjectModel) async throws -> ManagedObjectContext {
    try close()
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    try await coordinator.addPersistentStore(with: description)
    self.coordinator = coordinator
    return ManagedObjectContext(coordinator: coordinator)
  }

  func close() throws {
    for store in coordinator?.persistentStores ?? [] { try coordinator?.remove(store) }
    coordinator = nil
  }

  /// Opens the store with a model, fills it and closes it.
  func fill(_ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Void) async throws {
    let context = try await open(model)
    try body(context)
    try context.save()
    try close()
  }

  /// Returns the error of opening the store with a model.
  func failure(_ model: ManagedObjectModel, file: StaticString = #filePath, line: UInt = #line) async -> StoreError? {
    do {
      try await open(model)
      XCTFail("the store was opened", file: file, line: line)
    } catch let error as StoreError {
      return error
    } catch { XCTFail("\(error)", file: file, line: line) }
    return nil
  }

  /// Whether the file is a store of the model, which opens without a migration.
  func has(_ model: ManagedObjectModel) async throws -> Bool {
    var plain = description
    plain.stagedMigrationManager = nil
    plain.mappingModels = []
    plain.shouldMigrateStoreAutomatically = false
    try close()
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    do {
      let store = try await coordinator.addPersistentStore(with: plain)
      try coordinator.remove(store)
      return true
    } catch let error as StoreError where error.code == .migrationNeeded {
      return false
    }
  }
}

/// Records messages from closures on other threads.
final class Log: Sendable {
  private let lines = Mutex<[String]>([])
  func note(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
  func removeAll() { lines.withLock { $0 = [] } }
}

/// An error of an application.
struct HandlerError: Error, Equatable {
  var text = "no"
}

/// Five versions of an address book: a property added and one renamed, a name split in two, an entity renamed, a text converted to a
/// number.
enum AddressBook {
  static let version1 = ManagedObjectModel(version: "1") {
    Entity("Person") {
      Attribute("name", .string).required()
      Attribute("phone", .string)
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("text", .string)
      Relationship("person", to: "Person", inverse: "notes")
    }
  }
  static let version2 = ManagedObjectModel(version: "2") {
    Entity("Person") {
      Attribute("name", .string).required()
      Attribute("nickname", .string)
      Attribute("phone", .string)
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("body", .string).renamed(from: "text")
      Relationship("person", to: "Person", inverse: "notes")
    }
  }
  static let version3 = ManagedObjectModel(version: "3") {
    Entity("Person") {
      Attribute("firstName", .string).required()
      Attribute("lastName", .string)
      Attribute("nickname", .string)
      Attribute("phone", .string)
      Relationship("notes", toMany: "Note", inverse: "person").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("body", .string)
      Relationship("person", to: "Person", inverse: "notes")
    }
  }
  static let version4 = ManagedObjectModel(version: "4") {
    Entity("Person") {
      Attribute("firstName", .string).required()
      Attribute("lastName", .string)
      Attribute("nickname", .string)
      Attribute("phone", .string)
      Relationship("memos", toMany: "Memo", inverse: "person").onDelete(.cascade).renamed(from: "notes")
    }
    Entity("Memo") {
      Attribute("body", .string)
      Relationship("person", to: "Person", inverse: "memos")
    }.renamed(from: "Note")
  }
  static let version5 = ManagedObjectModel(version: "5") {
    Entity("Person") {
      Attribute("firstName", .string).required()
      Attribute("lastName", .string)
      Attribute("nickname", .string)
      Attribute("phone", .integer64).required()
      Relationship("memos", toMany: "Memo", inverse: "person").onDelete(.cascade)
    }
    Entity("Memo") {
      Attribute("body", .string)
      Relationship("person", to: "Person", inverse: "memos")
    }
  }
  static let versions = [version1, version2, version3, version4, version5]

  static func reference(_ number: Int) -> ManagedObjectModelReference { ManagedObjectModelReference(versions[number - 1]) }

  static let bundle = VersionedModel(
    name: "AddressBook", versions: versions.enumerated().map { .init(name: "AddressBook \($0 + 1)", model: $1) },
    currentVersionName: "AddressBook 5")

  /// Splits names.
  static func split(_ log: Log) -> CustomMigrationStage {
    CustomMigrationStage(migratingFrom: reference(2), to: reference(3), label: "split names") { migration in
      log.note("split")
      try migration.forEach("Person") { old, new in
        let parts = (old["name"] as? String ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        try new.setValue(parts[0], forKey: "firstName")
        try new.setValue(parts.count > 1 ? parts[1] : nil, forKey: "lastName")
      }
    }
  }

  /// Converts texts to numbers.
  static func number(_ log: Log) -> CustomMigrationStage {
    CustomMigrationStage(migratingFrom: reference(4), to: reference(5), label: "number phones") { migration in
      log.note("number")
      try migration.forEach("Person") { old, new in
        try new.setValue(Int64(old["phone"] as? String ?? "") ?? 0, forKey: "phone")
      }
    }
  }

  static func stages(_ log: Log) -> [any MigrationStage] {
    [
      LightweightMigrationStage([reference(1), reference(2)]), split(log), LightweightMigrationStage([reference(3), reference(4)]),
      number(log),
    ]
  }

  /// Inserts Ada with two notes and Bob without, for any version.
  static func fill(_ context: ManagedObjectContext, version: Int) throws {
    for (first, last, phone) in [("Ada", "Byron King", "100"), ("Bob", nil, "7") as (String, String?, String)] {
      let person = try context.insertObject(entityName: "Person")
      if version < 3 {
        try person.setValue([first, last].compactMap { $0 }.joined(separator: " "), forKey: "name")
      } else {
        try person.setValue(first, forKey: "firstName")
        try person.setValue(last, forKey: "lastName")
      }
      try person.setValue(version < 5 ? phone : Int64(phone) as Any, forKey: "phone")
      guard first == "Ada" else { continue }
      for text in ["one", "two"] {
        let note = try context.insertObject(entityName: version < 4 ? "Note" : "Memo")
        try note.setValue(text, forKey: version < 2 ? "text" : "body")
        try note.setValue(person, forKey: "person")
      }
    }
  }

  /// Returns the objects of ``fill(_:version:)`` in the newest version, as text.
  static func contents(_ context: ManagedObjectContext) throws -> [String] {
    try context.objects("Person", by: "firstName").map { person in
      let memos = try XCTUnwrap(person.value(forKey: "memos") as? Set<ManagedObject>)
      let bodies = memos.map { $0["body"] as? String ?? "-" }.sorted()
      let name = [person["firstName"] as? String, person["lastName"] as? String].compactMap { $0 }
      return "\(name) \(person["phone"] as? Int64 ?? -1) \(bodies)"
    }
  }
  static let expected = [#"["Ada", "Byron King"] 100 ["one", "two"]"#, #"["Bob"] 7 []"#]
}
