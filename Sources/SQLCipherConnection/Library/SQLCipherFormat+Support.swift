// Which page formats the linked library can read, and how it is told of one.

package import StoreKeys

extension SQLCipherFormat {
  /// Refuses what the linked library or this module cannot read.
  package func checkSupported(path: String?) throws(StoreAccessError) {
    guard version == 3 || version == 4, pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else {
      throw StoreAccessError(.unsupportedFormat(.pages(self)), path: path, operation: .open)
    }
    guard version == 3 || LibraryVersion.isSQLCipher4 else {
      throw StoreAccessError(.unsupportedFormat(.newerPages(self, sqlite: LibraryVersion.sqliteName)), path: path, operation: .open)
    }
  }

  /// The SQL that tells the linked library of this format, for a database that has its key and has not been read yet.
  ///
  /// - Parameter database: The name under which the connection has it.
  func settings(of database: String) -> String {
    var settings = "PRAGMA \(database).cipher_page_size = \(pageSize)"
    if LibraryVersion.isSQLCipher4 {
      if version == 3 { settings = "PRAGMA \(database).cipher_compatibility = 3; " + settings }
    } else {
      // Any number but that of the key that reads (64,000), which a key that is no passphrase does not need: SQLCipher 3 derives the key that writes then,
      // instead of copying the other one. A copy that gets too little memory leaves both with one piece, which is freed twice when the handle is closed.
      settings += "; PRAGMA \(database).rekey_kdf_iter = 1"
    }
    return settings
  }
}
