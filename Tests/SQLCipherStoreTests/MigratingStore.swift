import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore

/// A store that is opened with successive versions of a model, and read and written through contexts.
final class MigratingStore {
  let store: TestStore
  var url: URL { store.url }

  /// The observer of each opening, with the changes that it asks for.
  var observer: (any TransactionObserver)?
  var observerOptions = TransactionObserverOptions(includesOldValues: true, includesNewValues: true)

  init() throws { store = try TestStore() }

  /// Opens the store with a model, runs `body` with a context, saves and closes.
  @discardableResult
  func open<Result>(
    _ model: ManagedObjectModel, _ change: (inout PersistentStoreDescription) -> Void = { _ in },
    _ body: (ManagedObjectContext) throws -> Result
  ) throws -> Result {
    var description = store.description
    change(&description)
    let open = try OpenStore(description, model: CompiledModel(model)) { coordinator in
      if let observer { try coordinator.addTransactionObserver(observer, options: observerOptions) }
    }
    let result: Result
    do {
      let context = ManagedObjectContext(coordinator: open.coordinator)
      result = try body(context)
      if context.hasChanges { try context.save() }
    } catch {
      try? open.close()
      throw error
    }
    try open.close()
    return result
  }

  /// Creates a store and fills it with objects of a model.
  static func make(_ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Void) throws -> MigratingStore {
    let store = try MigratingStore()
    try store.open(model, { _ in }, body)
    return store
  }

  /// Returns the store's contents under a model: objects by URI without the store identifier, properties as text.
  func contents(_ model: ManagedObjectModel, _ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws -> [String: [String:
    String]]
  {
    try open(model, change) { try $0.contents() }
  }

  /// Runs a statement that yields one number on the closed file.
  func number(_ sql: String) throws -> Int { try rows(sql).first.flatMap { Int($0) } ?? 0 }

  /// Returns the first column of a statement's rows from the closed file.
  func rows(_ sql: String) throws -> [String] {
    try connected { connection in
      let statement = try connection.statement(sql: sql)
      defer { statement.reset() }
      var result: [String] = []
      while try statement.step() { result.append(statement.text(0)) }
      return result
    }
  }

  func connected<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let path = url.path
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: TestStore.key) }
    let connection = try Connection(opening: path, key: try keyring.databaseKey())
    defer { connection.close() }
    try StoredFunctionIndexes.register(on: connection)
    return try body(connection)
  }

  /// Checks that the file is intact, that every reference resolves, and that the layout describes every table.
  func check(file: StaticString = #filePath, line: UInt = #line) throws {
    XCTAssertEqual(try rows("PRAGMA integrity_check"), ["ok"], file: file, line: line)
    XCTAssertEqual(try rows("PRAGMA foreign_key_check"), [], file: file, line: line)
    let layout = try connected { try MetadataTable.readLayout($0, path: url.path) }
    let tables = try rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'f^_%' ESCAPE '^'")
    XCTAssertEqual(
      Set(tables), Set(layout.physicalTables + [BookkeepingTables.metadata, BookkeepingTables.keys, BookkeepingTables.lineage]), "tables",
      file: file, line: line)
    for table in layout.tables {
      let columns = try connected { connection in
        let statement = try connection.statement(sql: "PRAGMA table_info(\(try Identifier.quoted(table.name)))")
        defer { statement.reset() }
        var names: [String] = []
        while try statement.step() { names.append(statement.text(1)) }
        return names
      }
      XCTAssertEqual(Set(columns), Set(table.physicalColumns), "columns of \(table.name)", file: file, line: line)
    }
  }

  func bytes() throws -> [String: Data] {
    var result: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: store.folder.url.path) {
      result[name] = try Data(contentsOf: store.folder.file(name))
    }
    return result
  }
}

extension ManagedObjectContext {
  @discardableResult
  func make(_ entityName: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    let object = try insertObject(entityName: entityName)
    for (key, value) in values { try object.setValue(value, forKey: key) }
    return object
  }

  /// The objects of an entity and its subentities, by key.
  func all(_ entityName: String) throws -> [ManagedObject] {
    try fetch(FetchRequest<ManagedObject>(entityName: entityName)).sorted { $0.objectID.key < $1.objectID.key }
  }

  /// The one object of an entity, or the one with a value if there are several.
  func one(_ entityName: String, _ key: String? = nil, _ value: String = "") throws -> ManagedObject {
    try XCTUnwrap(all(entityName).first { object in key.map { object[$0] as? String == value } ?? true }, "\(entityName) \(value)")
  }

  func contents() throws -> [String: [String: String]] {
    var result: [String: [String: String]] = [:]
    for entity in persistentStoreCoordinator.compiledModel.entities where entity.parent == nil {
      for object in try all(entity.name) { result[object.name] = try object.contents() }
    }
    return result
  }
}

extension ManagedObject {
  /// The entity name and the key.
  var name: String { "\(entity.name)/\(objectID.key)" }

  /// The properties as text, without those that are nil.
  func contents() throws -> [String: String] {
    var result: [String: String] = [:]
    for slot in compiledEntity.slots where !slot.isTransient {
      guard let value = try value(forKey: slot.name) else { continue }
      result[slot.name] = (value as? ManagedObject).map(\.name) ?? "\(value)"
    }
    for relationship in compiledEntity.toManyRelationships where !relationship.isTransient {
      let value = try value(forKey: relationship.name)
      let names = (value as? [ManagedObject])?.map(\.name) ?? (value as? Set<ManagedObject>)?.map(\.name).sorted() ?? []
      if !names.isEmpty { result[relationship.name] = names.joined(separator: " ") }
    }
    return result
  }
}
