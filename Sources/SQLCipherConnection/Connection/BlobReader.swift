import CSQLCipher
package import Foundation
package import StoreKeys

/// Reads a blob in chunks, within a transaction of its connection. A statement would load all of it into memory.
///
/// Close the reader before changing the row.
package final class BlobReader {
  /// The number of bytes.
  package let count: Int
  private let database: DatabaseHandle
  private var blob: OpaquePointer?
  private var position = 0

  private static let chunkSize = 65_536
  private static let operation: StoreAccessError.Operation = .readValue

  /// Opens the blob in one row.
  ///
  /// - Parameters:
  ///   - table: The quoted table name.
  ///   - column: The quoted column name.
  ///   - key: The row's INTEGER PRIMARY KEY.
  package init(_ connection: Connection, table: String, column: String, key: Int64) throws(StoreAccessError) {
    try connection.database.checkOpen(Self.operation)
    database = connection.database
    let code = sqlite3_blob_open(
      connection.pointer, "main", Identifier.unquoted(table), Identifier.unquoted(column), key, 0, &blob)
    guard code == SQLITE_OK else { throw database.failure(code, operation: Self.operation) }
    count = Int(sqlite3_blob_bytes(blob))
  }

  deinit { close() }

  /// Returns the next chunk, or nil at the end.
  package func next() throws(StoreAccessError) -> Data? {
    guard position < count else { return nil }
    let size = min(Self.chunkSize, count - position)
    var chunk = Data(count: size)
    let code = chunk.withUnsafeMutableBytes { sqlite3_blob_read(blob, $0.baseAddress, Int32(size), Int32(position)) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: Self.operation) }
    position += size
    return chunk
  }

  /// Closes the blob handle. Calling it again has no effect.
  package func close() {
    if let blob { sqlite3_blob_close(blob) }
    blob = nil
  }
}
