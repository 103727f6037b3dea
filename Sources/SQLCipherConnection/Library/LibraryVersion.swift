import CSQLCipher
package import StoreKeys

/// Extended result codes that the C header defines as expressions, which Swift does not import.
enum ResultCode {
  /// A page ends before its full size (SQLITE_IOERR_SHORT_READ).
  static let shortRead = SQLITE_IOERR | 2 << 8
  /// The system failed to read (SQLITE_IOERR_CORRUPTFS). Newer SQLite versions report it to statements as SQLITE_CORRUPT.
  static let readError = SQLITE_IOERR | 33 << 8
  /// A transaction was interrupted, and a read-only connection cannot roll it back (SQLITE_READONLY_ROLLBACK).
  static let readOnlyRollback = SQLITE_READONLY | 3 << 8
  /// Another file is at the path of the database (SQLITE_READONLY_DBMOVED).
  static let databaseMoved = SQLITE_READONLY | 4 << 8
  /// The result of reading a page that the page guard rejects: SQLITE_CORRUPT with a number of this library, which statements do not treat
  /// as a short read.
  static let rejectedPage = SQLITE_CORRUPT | 0x5A << 8
}

/// The version and features of the linked library. All version checks of the module are here.
package enum LibraryVersion {
  /// The version number of the library's SQLite, for example 3_015_002.
  package static let sqlite = sqlite3_libversion_number()

  /// The version of the library's SQLite, for example "3.15.2".
  package static let sqliteName = String(cString: sqlite3_libversion())

  /// The oldest supported SQLite, 3.15.0. Debian 12's SQLCipher 3.4.1 contains 3.15.2.
  package static let minimumSQLite: Int32 = 3_015_000

  /// Whether the library was built with page encryption. False for plain SQLite.
  package static let hasCodec = sqlite3_compileoption_used("HAS_CODEC") == 1

  /// Whether the library keeps temporary tables in memory always or by default (SQLITE_TEMP_STORE 2 or 3).
  package static let hasTemporaryStoreInMemory =
    sqlite3_compileoption_used("TEMP_STORE=2") == 1 || sqlite3_compileoption_used("TEMP_STORE=3") == 1

  /// Whether the library is SQLCipher 4 or later, with `cipher_compatibility`, `cipher_settings`, SHA-512 and `cipher_log_level`.
  ///
  /// SQLCipher 4.0 includes SQLite 3.25; the last 3.4 release includes 3.20.
  package static let isSQLCipher4 = sqlite >= 3_025_000

  /// Whether `cipher_log_level` exists (SQLCipher 4.5.0, SQLite 3.36). Without the setting, these versions print to standard error.
  package static let hasCipherLog = sqlite >= 3_036_000

  /// Whether the defensive setting exists (SQLite 3.26).
  package static let hasDefensive = sqlite >= 3_026_000

  /// Whether `PRAGMA trusted_schema` exists (SQLite 3.31).
  package static let hasTrustedSchema = sqlite >= 3_031_000

  /// The maximum number of bound values in a statement: 999 before SQLite 3.32, 32,766 since.
  package static let maximumVariables = sqlite >= 3_032_000 ? 32_766 : 999

  /// The maximum number of columns of a table, an index, a view or a result: 2,000 unless the library was built with another limit.
  package static let maximumColumns = limit(SQLITE_LIMIT_COLUMN, otherwise: 2_000)

  /// Returns a limit of the library, which only a connection reports.
  private static func limit(_ id: Int32, otherwise value: Int) -> Int {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    guard sqlite3_open(":memory:", &handle) == SQLITE_OK, let handle else { return value }
    return Int(sqlite3_limit(handle, id, -1))
  }

  /// Whether ORDER BY with LIMIT keeps only the needed rows while sorting (SQLite 3.24).
  package static let prunesOrderByLimit = sqlite >= 3_024_000

  /// Whether triggers can keep an FTS4 table up to date: the module is available, and an untrusted schema can use it.
  ///
  /// SQLite 3.31 introduced the trust check; FTS4 is marked as safe only since 3.44.
  package static let hasFullText =
    (sqlite3_compileoption_used("ENABLE_FTS3") == 1 || sqlite3_compileoption_used("ENABLE_FTS4") == 1)
    && (!hasTrustedSchema || sqlite >= 3_044_000)

  /// Whether SQLite's integrity check includes full-text tables (SQLite 3.44).
  package static let checksFullText = sqlite >= 3_044_000

  /// Whether EXPLAIN QUERY PLAN numbers its steps as a tree (SQLite 3.24). Earlier versions number selects.
  package static let hasPlanTree = sqlite >= 3_024_000

  /// Throws if the linked library is plain SQLite, or a SQLCipher that is too old.
  ///
  /// Call it before any key function: if both libraries are linked, `sqlite3_key` would crash.
  package static func checkEncryptionIsAvailable(path: String? = nil) throws(StoreAccessError) {
    if let problem = encryptionProblem {
      throw StoreAccessError(.encryptionUnavailable(problem), path: path, operation: .checkLibrary)
    }
  }

  private static let encryptionProblem: StoreAccessError.Unavailability? = {
    guard hasCodec else {
      return .plainSQLite(version: sqliteName)
    }
    guard sqlite >= minimumSQLite else {
      return .oldSQLite(version: sqliteName)
    }
    guard hasTemporaryStoreInMemory else { return .temporaryFilesInPlainText }
    guard sqlite3_threadsafe() != 0 else { return .oneThread }
    return nil
  }()
}

// MARK: - Supported formats

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
