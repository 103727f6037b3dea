import Foundation
public import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

extension SQLCipherIncrementalStore {
  /// Returns the model that wrote the store, from the store's metadata.
  ///
  /// - Throws: ``StoreError`` if the model cannot be read.
  public func storedModel() throws -> CompiledModel? {
    guard let keyring = state.withLock({ $0.keyring }) else {
      throw StoreError(.notUnlocked, operation: .readModel, path: path)
    }
    return try StoreError.mapping {
      var options = configuration.description.connectionOptions
      options.isReadOnly = true
      let connection = try keyring.withDatabaseKey(options: options) { try Connection.reading(path, key: $0, options: options) }
      defer { connection.close() }
      let text = try connection.readTransaction { try MetadataTable.readModel(connection, path: path) }
      do {
        return try CompiledModel(try ManagedObjectModel(xmlData: Data(text.utf8)))
      } catch {
        throw StoreError(.unreadableModel, operation: .readModel, path: path)
      }
    }
  }
}
