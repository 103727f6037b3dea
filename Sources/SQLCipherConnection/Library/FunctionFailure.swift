// FunctionFailure: why a function in SQL fails, as a code that comes back with the statement's error.

/// Why a function fails, by the extended result code that comes back with the statement's error: a function has no other way to tell.
package enum FunctionFailure: Int32, Sendable {
  /// It refuses a value; SQLite's own code for that (`SQLITE_CONSTRAINT_FUNCTION`).
  case refusal = 1043
  /// The file of a large value is not there. The code is ours: `SQLITE_ERROR` with a number that SQLite has not given out.
  case externalMissing = 51457
  /// The file of a large value cannot be read; likewise.
  case externalDamaged = 51713
  /// What a row holds is no value of its attribute's type; likewise.
  case valueUnreadable = 51969
}
