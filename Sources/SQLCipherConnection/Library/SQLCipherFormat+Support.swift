package import StoreKeys

extension SQLCipherFormat {
  /// Throws if the linked library or this module cannot read the format.
  package func checkSupported(path: String?) throws(StoreAccessError) {
    guard version == 3 || version == 4, pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else {
      throw StoreAccessError(.unsupportedFormat(.pages(self)), path: path, operation: .open)
    }
    guard version == 3 || LibraryVersion.isSQLCipher4 else {
      throw StoreAccessError(.unsupportedFormat(.newerPages(self, sqlite: LibraryVersion.sqliteName)), path: path, operation: .open)
    }
  }

  /// Returns the SQL that sets this format on a database that has its key and has not been read yet.
  ///
  /// - Parameter database: The schema name of the database on the connection.
  func settings(of database: String) -> String {
    var settings = "PRAGMA \(database).cipher_page_size = \(pageSize)"
    if LibraryVersion.isSQLCipher4 {
      if version == 3 { settings = "PRAGMA \(database).cipher_compatibility = 3; " + settings }
    } else {
      // Any number except that of the read key (64,000); a raw key does not need either. With equal numbers SQLCipher 3 copies the read key
      // for writing. If that copy runs out of memory, both keys share an allocation, which is freed twice when the handle closes.
      settings += "; PRAGMA \(database).rekey_kdf_iter = 1"
    }
    return settings
  }
}
