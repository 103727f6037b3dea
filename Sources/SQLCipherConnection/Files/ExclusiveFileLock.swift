// A database file held against everybody, without its key: what deleting or replacing a store needs.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Holds a database file as long as it lives: nobody else has it open, in this process or another, and nobody can begin to read it.
///
/// The lock is taken through SQLite's own file handle, which knows the locks of this process's connections; a descriptor of ours would drop them when
/// it is closed. A connection in WAL mode keeps a shared lock while it is open, so an idle one is noticed too.
final class ExclusiveFileLock {
  private let pointer: OpaquePointer

  /// - Throws: `.busy` where somebody has the file open.
  init(_ path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    // First a reader's lock, then everybody's: SQLite's order. A file that somebody has exchanged meanwhile is nobody's.
    pointer = try DatabasePlace.open(path, flags: SQLITE_OPEN_READWRITE, timeoutMilliseconds: 0, operation: operation).pointer
    let code = DatabaseFileLock.take(SQLITE_LOCK_EXCLUSIVE, pointer)
    guard code == SQLITE_OK else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
  }

  /// The lock of a file that may be a database; nil where there is none, or what stands there is too short to be one.
  static func ifThere(_ path: String, operation: StoreAccessError.Operation) throws -> ExclusiveFileLock? {
    guard try StoreFile.isThere(path, operation: operation) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else {
      let number = errno
      // A link that leads nowhere.
      if number == ENOENT || number == ENOTDIR { return nil }
      throw StoreAccessError.system(number, path: path, operation: operation)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreAccessError(.notAStore(.notARegularFile), path: path, operation: operation)
    }
    return status.st_size < 512 ? nil : try ExclusiveFileLock(path, operation: operation)
  }

  deinit {
    DatabaseFileLock.giveBack(pointer)
    sqlite3_close_v2(pointer)
  }
}
