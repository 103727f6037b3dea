// A database file held against everybody, without its key: what deleting or replacing a store needs.

import CSQLCipher
import Foundation

/// Holds a database file as long as it lives: nobody else has it open, in this process or another, and nobody can begin to read it.
///
/// The lock is taken through SQLite's own file handle, which knows the locks of this process's connections; a descriptor of ours would drop them when
/// it is closed. A connection in WAL mode keeps a shared lock while it is open, so an idle one is noticed too.
final class ExclusiveFileLock {
  private let pointer: OpaquePointer

  /// - Throws: `.busy` where somebody has the file open.
  init(_ path: String, operation: String) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
    guard code == SQLITE_OK, let opened else {
      let error = StoreAccessError.sqlite(code, handle: opened, path: path, operation: operation)
      sqlite3_close_v2(opened)
      throw error
    }
    pointer = opened
    // First a reader's lock, then everybody's: SQLite's order.
    for level in [SQLITE_LOCK_SHARED, SQLITE_LOCK_EXCLUSIVE] {
      let code = Self.lock(opened, level)
      guard code == SQLITE_OK else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
    }
  }

  deinit {
    var file: UnsafeMutablePointer<sqlite3_file>?
    if sqlite3_file_control(pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file {
      _ = file.pointee.pMethods?.pointee.xUnlock?(file, SQLITE_LOCK_NONE)
    }
    sqlite3_close_v2(pointer)
  }

  private static func lock(_ pointer: OpaquePointer, _ level: Int32) -> Int32 {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file, let lock = file.pointee.pMethods?.pointee.xLock else { return SQLITE_CANTOPEN }
    return lock(file, level)
  }
}
