package import Foundation
package import ObjectStore
import SQLCipherConnection
import StoreFiles

extension SQLCipherIncrementalStore {
  /// Returns the size of a value in a file of the store, and the SHA-256 of its bytes, without reading them.
  ///
  /// - Returns: Nil if the value is not in a file of this store, or no row refers to the file anymore.
  package func content(of value: ExternalData) throws -> (size: Int64, digest: Data)? {
    guard let stored = value.content as? StoredLargeValue else { return nil }
    let engine = try engine(.read)
    guard stored.storage === engine.externals else { return nil }
    return try StoreError.mapping {
      try engine.read { transaction in
        let statement = try transaction.connection.statement(.largeValue)
        defer { statement.reset() }
        try statement.bind(1, stored.id)
        guard try statement.step() else { return nil }
        return (statement.int64(0), statement.data(1))
      }
    }
  }

  /// Returns a reader of a value in a file of the store, which begins after some bytes. Unlike ``ExternalData/makeReader()``, it never reads
  /// the value that has replaced this one.
  ///
  /// - Parameter size: The number of bytes to skip: a multiple of 65,536.
  /// - Returns: Nil if the value is not in a file of this store.
  /// - Throws: ``StoreError`` with `externalDataMissing` if the value was replaced or deleted.
  package func makeReader(of value: ExternalData, skipping size: Int) throws -> ExternalDataReader? {
    guard let stored = value.content as? StoredLargeValue, stored.storage === (try engine(.read)).externals else { return nil }
    return try StoreError.mapping {
      let file = try stored.storage.folder.openFile(id: stored.id)
      file.skip(size)
      return ExternalDataReader { try StoreError.mapping { try file.next() } }
    }
  }

  /// The path of the folder for parts of large values that are not complete yet. Its files need not survive, and are not copied with the
  /// store.
  package var incomingFolderPath: String { get throws { ExternalFolder.incomingPath(for: try engine(.read).path) } }
}
