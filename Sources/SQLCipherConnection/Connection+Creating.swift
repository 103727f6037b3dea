// Creation of a new database: complete under another name first, then linked to its place, so that a crash leaves no half store.

import CSQLCipher
import Foundation

extension Connection {
  /// Creates a new database, readable by its owner only, and opens it. Whatever stands at the path already is refused and left alone.
  package static func create(
    path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws(StoreAccessError) -> Connection {
    let path = try StoreFile.absolutePath(path)
    try prepare(path: path, key: key, options: options)
    return try Connection(opening: path, key: key, options: options)
  }

  /// Makes the file without keeping it open.
  static func prepare(path: String, key: DatabaseKey, options: ConnectionOptions) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    for name in [path] + StoreFile.companionSuffixes.map({ path + $0 }) where StoreFile.exists(name) {
      throw StoreAccessError(.fileExists, path: name, operation: "create")
    }
    let temporary = try StoreFile.temporaryName(beside: path)
    try StoreFile.createExclusively(temporary)
    defer { StoreFile.removeDatabase(temporary) }
    do {
      var options = options
      options.isReadOnly = false
      let connection = try Connection(path: temporary, key: key, options: options, isNew: true)
      // An empty database has no page yet that could prove the key: write one.
      try connection.execute("PRAGMA user_version = 0; CREATE TABLE \"new\" (x); DROP TABLE \"new\"")
      _ = try connection.pragma("wal_checkpoint(TRUNCATE)")
      connection.close()
    }
    // A hard link fails where the name is taken, which a rename would not.
    guard link(temporary, path) == 0 else { throw .system(errno, path: path, operation: "create") }
    try StoreFile.syncFolder(of: path)
  }
}
