// The SQLCipher and SQLite that answer at run time: the minimum, the feature gates, and the pre-flight against plain SQLite.

import CSQLCipher
package import StoreKeys

/// Extended result codes that the header spells as sums, which Swift does not import.
enum ResultCode {
  /// A page ends before its size (SQLITE_IOERR_SHORT_READ).
  static let shortRead = SQLITE_IOERR | 2 << 8
  /// The system has failed to read, in the words of newer SQLites (SQLITE_IOERR_CORRUPTFS), which tell statements of it as SQLITE_CORRUPT.
  static let readError = SQLITE_IOERR | 33 << 8
  /// A transaction was interrupted, and who may only read cannot take it back (SQLITE_READONLY_ROLLBACK).
  static let readOnlyRollback = SQLITE_READONLY | 3 << 8
  /// Another file stands where the database stood (SQLITE_READONLY_DBMOVED).
  static let databaseMoved = SQLITE_READONLY | 4 << 8
  /// What a read of a page that the page guard refuses ends with: SQLITE_CORRUPT with a number of our own behind it, that no statement takes for a
  /// short read.
  static let refusedPage = SQLITE_CORRUPT | 0x5A << 8
}

/// What the linked library is and can do. All version gates of the module stand here.
package enum LibraryVersion {
  /// The version number of SQLite inside the library, for example 3_015_002.
  package static let sqlite = sqlite3_libversion_number()

  /// The version of SQLite inside the library, for example "3.15.2".
  package static let sqliteName = String(cString: sqlite3_libversion())

  /// The oldest SQLite that the module runs on: the one in Debian 12's SQLCipher 3.4.1.
  package static let minimumSQLite: Int32 = 3_015_000

  /// True when the library was built with page encryption; plain SQLite in its place says no.
  package static let hasCodec = sqlite3_compileoption_used("HAS_CODEC") == 1

  /// True when the library keeps temporary tables in memory whatever a pragma says, or by default (SQLITE_TEMP_STORE 2 or 3).
  package static let hasTemporaryStoreInMemory =
    sqlite3_compileoption_used("TEMP_STORE=2") == 1 || sqlite3_compileoption_used("TEMP_STORE=3") == 1

  /// True for SQLCipher 4 and later: `cipher_compatibility`, `cipher_settings`, SHA-512, `cipher_log_level`.
  /// SQLCipher 4.0 came with SQLite 3.25, the last 3.4 release with 3.20.
  package static let isSQLCipher4 = sqlite >= 3_025_000

  /// True when `cipher_log_level` exists (SQLCipher 4.5.0, SQLite 3.36): later releases print to standard error otherwise.
  package static let hasCipherLog = sqlite >= 3_036_000

  /// True when a connection can be told not to checkpoint as it closes (SQLite 3.16).
  package static let hasNoCheckpointOnClose = sqlite >= 3_016_000

  /// True when the defensive switch exists (SQLite 3.26).
  package static let hasDefensive = sqlite >= 3_026_000

  /// True when `PRAGMA trusted_schema` exists (SQLite 3.31).
  package static let hasTrustedSchema = sqlite >= 3_031_000

  /// True when the library refuses a backup between an encrypted and a plain database itself; SQLCipher 3 makes a plain copy silently.
  package static let refusesMixedBackup = isSQLCipher4

  /// The number of bound values that one statement may carry: 999 before SQLite 3.32, 32,766 since.
  package static let maximumVariables = sqlite >= 3_032_000 ? 32_766 : 999

  /// The number of columns that a table, an index, a view or a result may have, as the library was built: 2,000 unless its builder said otherwise.
  package static let maximumColumns = limit(SQLITE_LIMIT_COLUMN, otherwise: 2_000)

  /// A limit of the library. Only a connection tells it.
  private static func limit(_ id: Int32, otherwise value: Int) -> Int {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    guard sqlite3_open(":memory:", &handle) == SQLITE_OK, let handle else { return value }
    return Int(sqlite3_limit(handle, id, -1))
  }

  /// True when UPSERT is there (SQLite 3.24).
  package static let hasUpsert = sqlite >= 3_024_000

  /// True when RETURNING is there (SQLite 3.35).
  package static let hasReturning = sqlite >= 3_035_000

  /// True when window functions are there (SQLite 3.25).
  package static let hasWindowFunctions = sqlite >= 3_025_000

  /// True when ORDER BY with LIMIT keeps only the needed rows while sorting (SQLite 3.24 and later).
  package static let prunesOrderByLimit = sqlite >= 3_024_000

  /// True when triggers can keep an FTS4 table in step: the module is there, and a schema that is not trusted may use it. Between SQLite 3.31, which
  /// began to ask, and 3.44 FTS4 did not say that it may be.
  package static let hasFullText =
    (sqlite3_compileoption_used("ENABLE_FTS3") == 1 || sqlite3_compileoption_used("ENABLE_FTS4") == 1)
    && (!hasTrustedSchema || sqlite >= 3_044_000)

  /// True when SQLite's integrity check looks into full-text tables too (SQLite 3.44).
  package static let checksFullText = sqlite >= 3_044_000

  /// True when EXPLAIN QUERY PLAN numbers its steps as a tree (SQLite 3.24); before, it numbers selects.
  package static let hasPlanTree = sqlite >= 3_024_000

  /// Refuses to go on where plain SQLite, or a SQLCipher that is too old, answers in SQLCipher's place.
  ///
  /// It runs before any key function is called: where both libraries are linked, `sqlite3_key` would crash.
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
