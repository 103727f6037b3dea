// From SQLite's result codes and the system's errno to the error list, and what each case says to the user.

import CSQLCipher
import Foundation

extension StoreAccessError {
  /// Where a SQLite result code came from; `step` gives SQLITE_ERROR for a damaged page, `prepare` for a mistake in SQL.
  package enum Source: Sendable {
    case prepare
    case step
    case other
  }

  /// Makes the error for a SQLite result code, with what the handle knows about it.
  package static func sqlite(
    _ code: Int32, handle: OpaquePointer?, path: String?, operation: Operation, sql: String? = nil, source: Source = .other
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
    let kind = kind(extended: extended, message: message, systemError: systemError, path: path, source: source)
    return StoreAccessError(
      kind, path: path, operation: operation, code: extended & 0xff, extendedCode: extended, message: message, sql: sql)
  }

  /// Makes the error for the system's `errno`.
  package static func system(_ number: Int32, path: String?, operation: Operation) -> StoreAccessError {
    let kind: Kind =
      switch number {
      case ENOENT: .noSuchFile
      case EEXIST: .fileExists
      case EACCES, EPERM: .permissionDenied
      case EROFS: .readOnly
      case ENOSPC, EDQUOT: .diskFull
      case ENOMEM: .outOfMemory
      case EISDIR, ELOOP, ENOTDIR: .notAStore(.notARegularFile)
      default: .io(number)
      }
    return StoreAccessError(kind, path: path, operation: operation, message: String(cString: strerror(number)))
  }

  private static func kind(extended: Int32, message: String, systemError: Int32, path: String?, source: Source) -> Kind {
    switch extended & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_NOMEM: .outOfMemory
    case SQLITE_READONLY: extended == ResultCode.databaseMoved ? .exchanged : .readOnly
    case SQLITE_INTERRUPT: .cancelled
    case SQLITE_CORRUPT: .storeCorrupt(extended == PageGuard.refusal ? .pageMAC : .structure)
    case SQLITE_NOTADB: .storeCorrupt(.pageMAC)
    case SQLITE_FULL: .diskFull
    case SQLITE_CONSTRAINT: .constraint
    case SQLITE_CANTOPEN: cannotOpen(path: path, systemError: systemError)
    case SQLITE_IOERR:
      // A page that ends before its size: the file was cut.
      extended == ResultCode.shortRead ? .storeCorrupt(.structure) : ioKind(systemError)
    case SQLITE_ERROR where source == .step && isGeneric(message): .storeCorrupt(.pageMAC)
    default: .sql(message)
    }
  }

  /// SQLCipher reports a page that fails its check as SQLITE_ERROR with no message of its own; a function's error has one.
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

  /// SQLITE_CANTOPEN says little: ask the file system.
  private static func cannotOpen(path: String?, systemError: Int32) -> Kind {
    guard let path else { return ioKind(systemError) }
    if access(path, F_OK) != 0 { return errno == EACCES ? .permissionDenied : errno == ENOENT ? .noSuchFile : ioKind(errno) }
    if access(path, R_OK) != 0 { return .permissionDenied }
    let folder = (path as NSString).deletingLastPathComponent
    if access(folder.isEmpty ? "." : folder, W_OK) != 0 { return .readOnly }
    if access(path, W_OK) != 0 { return .readOnly }
    return ioKind(systemError)
  }

  /// What the kind means and what to do, in one sentence.
  package var explanation: String {
    switch kind {
    case .encryptionUnavailable(let reason): "encryption is not available: \(reason)"
    case .keyRequired: "the store is encrypted and no key was given"
    case .invalidKey(.empty): "the key is empty"
    case .invalidKey(.length(let expected, let found)): "the key has \(found) bytes and must have \(expected)"
    case .invalidKey(.malformed(let why)), .invalidKey(.parameters(let why)): "the key cannot be used: \(why)"
    case .wrongKey: "the key opens none of the store's key slots"
    case .keyFileMissing: "the key file beside the store is missing; restore it from a backup, without it the store cannot be opened"
    case .keyFileCorrupt(let what): "the key file is damaged (\(what)); restore it from a backup"
    case .keyFileExists: "a key file without a store stands here already; move it away before creating a store of this name"
    case .keyFileOutdated:
      "the key file belongs to another state of the store: its data key is not the one that the store was last encrypted with; put back the key file that was written with this state of the store, or a backup of the store with the key file that belongs to it; if neither was exchanged, the beginning of the store is damaged"
    case .keyProviderFailed: "the key provider failed" + (underlying.map { ": \(type(of: $0))" } ?? "")
    case .keyWorkExceeded(let slot, let needed, false):
      "the key opens none of the slots that were tried, and key slot \(slot) takes more work than is spent on a key file unasked: if you trust the file, allow a key work of \(needed) (keyWorkLimit, --key-work)"
    case .keyWorkExceeded(let slot, let needed, true):
      "key slot \(slot) would take more work than opening spends on a key file unasked: allow a key work of \(needed) (keyWorkLimit, --key-work) here and wherever the store is opened, or choose a cheaper derivation"
    case .lastSlot: "the last key slot cannot be removed, the store could never be opened again"
    case .unknownSlot: "there is no such key slot"
    case .noSuchFile: "there is no such file"
    case .fileExists: "the file exists already and is not overwritten"
    case .notEncrypted: "the file is a plain SQLite database, not an encrypted store"
    case .notAStore(.empty): "the file has no bytes, it is not a store"
    case .notAStore(.stub): "the file is too short to be a store"
    case .notAStore(.notARegularFile): "not a regular file"
    case .unreadableStore: "the key does not fit the file: either the key is wrong or the file is damaged, which cannot be told apart here"
    case .otherFormat(let format): "the key opens the file in another format than the one that was given: open it as \(format)"
    case .storeCorrupt(.pageMAC): "the store is damaged or was changed: a page fails its authentication"
    case .storeCorrupt(.structure): "the store is damaged: its pages do not make a database"
    case .storeCorrupt(.wal): "the write-ahead log beside the store is damaged or belongs to another store"
    case .storeCorrupt(.externalFile):
      "the file of a large value is damaged, was changed, or belongs to another value or store; restore it from a backup, or set the value anew"
    case .externalDataMissing:
      "the file of a large value is not beside the store: either the value was replaced or deleted since it was read, or the file was lost; verify the store"
    case .unsupportedFormat(let what): "the store's format is not supported: \(what)"
    case .busy: "another connection holds the store; try again"
    case .exchanged: "another process has replaced, rotated or removed the store meanwhile; open it again"
    case .readOnly: "the store, its folder or its file system can only be read"
    case .readOnlyLog:
      "the store has a write-ahead log or a journal, and its folder can only be read; copy the store with everything beside it to a folder of your own, or open it once where it can be written"
    case .permissionDenied: "no permission"
    case .diskFull: "no space is left on the disk"
    case .io(let number): number == 0 ? "input or output failed" : "input or output failed: \(String(cString: strerror(number)))"
    case .outOfMemory: "out of memory"
    case .cancelled: "cancelled"
    case .constraint: "a constraint of the database failed"
    case .sql(let message): message
    case .closed: "the store is closed"
    }
  }
}
