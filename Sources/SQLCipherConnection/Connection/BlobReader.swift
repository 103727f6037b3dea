// BlobReader: reads a blob of a row piece by piece: a statement would have all of it in memory.

import CSQLCipher
package import Foundation
package import StoreKeys

/// Reads one value in place, in a transaction of its connection. Whoever changes the row closes the reader first.
package final class BlobReader {
  /// The number of bytes.
  package let count: Int
  private let database: DatabaseHandle
  private var blob: OpaquePointer?
  private var position = 0

  private static let pieceSize = 65_536
  private static let operation: StoreAccessError.Operation = .readValue

  /// - Parameters:
  ///   - table: The quoted name.
  ///   - column: The quoted name.
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

  /// The next bytes; nil at the end.
  package func next() throws(StoreAccessError) -> Data? {
    guard position < count else { return nil }
    let size = min(Self.pieceSize, count - position)
    var piece = Data(count: size)
    let code = piece.withUnsafeMutableBytes { sqlite3_blob_read(blob, $0.baseAddress, Int32(size), Int32(position)) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: Self.operation) }
    position += size
    return piece
  }

  /// Lets go of the row.
  package func close() {
    if let blob { sqlite3_blob_close(blob) }
    blob = nil
  }
}
