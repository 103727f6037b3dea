import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A folder with an encrypted store that can be opened several times, with an observer of its statements.
final class TestStore {
  let folder: TemporaryFolder
  let observer = SQLObserver()
  var url: URL { folder.file("test.store") }
  static let key = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))

  init() throws { folder = try TemporaryFolder("SQLCipherStoreTests") }

  var description: PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: Self.key)
    description.durability = .fast
    description.sqlObserver = observer
    return description
  }

  func open(_ model: CompiledModel = SpecificationModels.library) throws -> OpenStore { try OpenStore(description, model: model) }

  /// Returns the statements that run during `body`.
  func statements(_ body: () throws -> Void) rethrows -> [String] {
    observer.reset()
    try body()
    return observer.statements
  }

  /// The SQL of the file's schema, in order of creation.
  func ddl() throws -> [String] {
    let connection = try Connection(opening: url.path, key: try databaseKey())
    defer { connection.close() }
    let statement = try connection.statement(sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    var texts: [String] = []
    while try statement.step() { texts.append(statement.text(0)) }
    return texts
  }

  /// Modifies the file as another program would.
  func execute(_ sql: String) throws {
    let connection = try Connection(opening: url.path, key: try databaseKey())
    defer { connection.close() }
    try connection.execute(sql)
  }

  func databaseKey() throws -> DatabaseKey {
    let path = url.path
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: TestStore.key) }
    return try keyring.databaseKey()
  }
}

extension SpecificationModels {
  static func frozen(_ entities: [EntityDescription]) throws -> CompiledModel {
    try CompiledModel(ManagedObjectModel(entities: entities))
  }
}
