import CSQLCipher
import Foundation
import StoreKeys

extension Connection {
  /// Configures a connection without a key. Rejects files that are not plaintext databases, and connections that are not read-only.
  ///
  /// The connection writes nothing, and keeps temporary data in memory.
  func configurePlain() throws(StoreAccessError) {
    guard options.isReadOnly else {
      throw StoreAccessError(.misuse(.plainIsReadOnly), path: path, operation: .open)
    }
    let header = try BareDatabaseFile(path).prefix(16)
    guard header.starts(with: Array("SQLite format 3".utf8) + [0]) else {
      throw StoreAccessError(.unsupportedFormat(.notPlain), path: path, operation: .open, code: SQLITE_NOTADB)
    }
    if LibraryVersion.hasTrustedSchema { try set("trusted_schema", 0) }
    try set("temp_store", 2)
    try set("query_only", 1)
    try set("cache_size", -options.cacheSizeKiB)
    try set("cell_size_check", 1)
    try execute("PRAGMA mmap_size = 0")
    let statement = try self.statement(sql: "SELECT count(*) FROM sqlite_master")
    _ = try statement.step()
    statement.reset()
  }

  /// Returns the URI with which SQLite opens a file that cannot change.
  static func immutableURI(_ path: String) -> String {
    "file:" + (path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%"))) ?? path)
      + "?immutable=1"
  }
}
