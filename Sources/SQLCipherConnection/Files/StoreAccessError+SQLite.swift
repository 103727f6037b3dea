import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys

extension StoreAccessError {
  /// The origin of a result code. From `step`, SQLITE_ERROR means a damaged page; from `prepare`, a mistake in the SQL.
  package enum Source: Sendable {
    case prepare
    case step
    case other
  }

  /// Returns the error for a SQLite result code, with the details that the handle provides.
  package static func sqlite(
    _ code: Int32, handle: OpaquePointer?, path: String?, operation: Operation, sql: String? = nil, subject: Subject? = nil,
    source: Source = .other
  ) -> StoreAccessError {
    var extended = code
    var message = String(cString: sqlite3_errstr(code))
    var systemError: Int32 = 0
    if let handle {
      let known = sqlite3_extended_errcode(handle)
      if known & 0xff == code & 0xff { extended = known }
      message = String(cString: sqlite3_errmsg(handle))
      systemError = sqlite3_system_errno(handle)
    }
    if extended == SQLITE_ERROR, let reported = forwardedCodes.first(where: { message == String(cString: sqlite3_errstr($0)) }) {
      extended = reported
    }
    // If SQLite cannot open a file for writing, it opens it for reading, and later reports a read-only database.
    if extended & 0xff == SQLITE_READONLY, let handle, let number = GuardedFile.failedWritableOpening(handle) {
      (extended, systemError) = (SQLITE_CANTOPEN, number)
    }
    let kind: Kind
    switch extended & 0xff {
    case SQLITE_CANTOPEN: (kind, systemError) = cannotOpen(path: path, systemError: systemError)
    case SQLITE_IOERR where extended != ResultCode.shortRead: kind = ioKind(systemError)
    default:
      kind = self.kind(extended: extended, message: message, source: source)
      // SQLite provides the system error only for the two codes above.
      systemError = 0
    }
    return StoreAccessError(
      kind, path: path, operation: operation, code: extended & 0xff, extendedCode: extended, systemError: systemError, message: message,
      sql: sql, subject: subject)
  }

  /// The codes that an SQL function which runs statements itself, SQLCipher's export, reports only through their messages.
  private static let forwardedCodes = [
    SQLITE_IOERR, SQLITE_FULL, SQLITE_NOMEM, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_BUSY, SQLITE_PROTOCOL, SQLITE_SCHEMA, SQLITE_CORRUPT,
    SQLITE_NOTADB,
    SQLITE_INTERRUPT,
  ]

  private static func kind(extended: Int32, message: String, source: Source) -> Kind {
    switch extended & 0xff {
    // SQLite returns SQLITE_PROTOCOL after trying to lock the log for ten seconds, and SQLITE_SCHEMA if others keep changing the schema.
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL, SQLITE_SCHEMA: .busy
    case SQLITE_NOMEM: .outOfMemory
    case SQLITE_READONLY: extended == ResultCode.databaseMoved ? .exchanged : .readOnly
    case SQLITE_INTERRUPT: .cancelled
    case SQLITE_CORRUPT: .storeCorrupt(extended == ResultCode.rejectedPage ? .pageMAC : .structure)
    case SQLITE_NOTADB: .storeCorrupt(.pageMAC)
    case SQLITE_FULL: .diskFull
    case SQLITE_CONSTRAINT: .constraint
    // A page ends before its full size: the file was truncated.
    case SQLITE_IOERR: .storeCorrupt(.structure)
    case SQLITE_ERROR where extended == FunctionFailure.externalMissing.rawValue: .externalDataMissing
    case SQLITE_ERROR where extended == FunctionFailure.externalDamaged.rawValue: .storeCorrupt(.externalFile)
    case SQLITE_ERROR where extended == FunctionFailure.valueUnreadable.rawValue: .storeCorrupt(.value)
    case SQLITE_ERROR where source == .step && isGeneric(message): .storeCorrupt(.pageMAC)
    default: sqlKind(message)
    }
  }

  /// Distinguishes errors for which SQLite has one code, by their message.
  private static func sqlKind(_ message: String) -> Kind {
    let limits = ["parser stack overflow", "expression tree is too large", "at most 64 tables in a join", "statement too long"]
    let text = message.lowercased()
    if limits.contains(where: text.contains) { return .tooComplex }
    let missing = "no such table: "
    return message.hasPrefix(missing) ? .noSuchTable(String(message.dropFirst(missing.count))) : .sql(message)
  }

  /// SQLCipher reports a page that fails its check as SQLITE_ERROR without a message of its own. A function's error has one.
  private static func isGeneric(_ message: String) -> Bool {
    message == "not an error" || message.hasPrefix("SQL logic error")
  }

  private static func ioKind(_ number: Int32) -> Kind {
    switch number {
    case ENOSPC, EDQUOT: .diskFull
    case EACCES, EPERM: .permissionDenied
    case EROFS: .readOnly
    case ENOMEM: .outOfMemory
    default: .io(number)
    }
  }

  /// The errors that explain why a file could not be opened, regardless of its current state. Others, such as ENOENT, may refer to a file
  /// that SQLite only looked for.
  private static let reasons: Set<Int32> = [EMFILE, ENFILE, ENOSPC, EDQUOT, EIO, ENAMETOOLONG, ELOOP, ENOMEM, EROFS]

  /// Derives the reason for SQLITE_CANTOPEN, which is unspecific, from the file system. SQLite tries to open a file for reading if it
  /// cannot open it for writing; the system error is then that of the second attempt.
  private static func cannotOpen(path: String?, systemError: Int32) -> (Kind, Int32) {
    guard let path else { return (ioKind(systemError), systemError) }
    if path.utf8.count > StoreFile.longestPath { return (.io(ENAMETOOLONG), ENAMETOOLONG) }
    if reasons.contains(systemError) { return (ioKind(systemError), systemError) }
    func denial(_ path: String, _ mode: Int32) -> Int32 { access(path, mode) == 0 ? 0 : errno }
    switch denial(path, F_OK) {
    case 0: break
    case ENOENT: return (.noSuchFile, ENOENT)
    case let number: return (ioKind(number), number)
    }
    let unreadable = denial(path, R_OK)
    if unreadable != 0 { return (.permissionDenied, unreadable) }
    let folder = StoreFile.folder(of: path)
    for number in [denial(folder, W_OK), denial(path, W_OK)] where number != 0 { return (.readOnly, number) }
    let uncreatable = creationError(in: folder)
    if uncreatable != 0 { return (ioKind(uncreatable), uncreatable) }
    return [EACCES, EPERM].contains(systemError) ? (.permissionDenied, systemError) : (.io(0), 0)
  }

  /// Returns the error with which creating a file in a folder fails; 0 if it succeeds, or cannot be tried without leaving a file.
  private static func creationError(in folder: String) -> Int32 {
    #if os(Linux)
      let descriptor = open(folder, 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)  // O_TMPFILE: a file without a name
      guard descriptor < 0 else {
        _ = close(descriptor)
        return 0
      }
      let number = errno
      return reasons.contains(number) || [EACCES, EPERM].contains(number) ? number : 0
    #else
      return 0
    #endif
  }
}

extension StoreAccessError {
  /// The subject of a uniqueness constraint.
  package enum UniqueSubject: Sendable, Hashable {
    /// An index with expressions, by name.
    case index(String)
    /// Columns, each as `table.column`.
    case columns([String])
  }

  /// The subject of the violated uniqueness constraint; nil for other errors.
  package var uniqueSubject: UniqueSubject? {
    let beginning = "UNIQUE constraint failed: "
    guard code == SQLITE_CONSTRAINT, let message, message.hasPrefix(beginning) else { return nil }
    let subject = message.dropFirst(beginning.count)
    if subject.hasPrefix("index '"), subject.hasSuffix("'") { return .index(String(subject.dropFirst(7).dropLast())) }
    return .columns(subject.split(separator: ", ").map(String.init))
  }
}

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
