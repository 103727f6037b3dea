/// The reasons for which an SQL function fails, as extended result codes. The code is the only way for a function to report a reason.
package enum FunctionFailure: Int32, Sendable {
  /// The function rejects a value; SQLite's own code `SQLITE_CONSTRAINT_FUNCTION`.
  case rejection = 1043
  /// The file of a large value is missing. A code of this library: `SQLITE_ERROR` with a number that SQLite has not assigned.
  case externalMissing = 51457
  /// The file of a large value cannot be read. A code of this library.
  case externalDamaged = 51713
  /// A stored value does not match the type of its attribute. A code of this library.
  case valueUnreadable = 51969
}
