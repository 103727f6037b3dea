// Which page formats the linked library can read.

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
}
