// SQLiteErrorName: SQLite's result codes as a person reads them.

/// Names SQLite's result codes.
enum SQLiteErrorName {
  /// SQLite's names by primary result code, without the prefix `SQLITE_`.
  private static let names = [
    "OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "CORRUPT", "NOTFOUND", "FULL",
    "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA", "TOOBIG", "CONSTRAINT", "MISMATCH", "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB",
    "NOTICE", "WARNING",
  ]

  /// A result code with its name, such as `SQLite error 14, CANTOPEN`. An extended code has the name of its primary code.
  @_optimize(none) static func text(_ code: Int32) -> String {
    let primary = Int(code & 0xFF)
    return "SQLite error \(code)" + (names.indices.contains(primary) ? ", \(names[primary])" : "")
  }
}
