import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// An exclusive lock on a database file, held for the lifetime of the object. It requires no key, and is used to delete or replace a store.
///
/// While it is held, no other connection of any process has the file open or can start reading it. The lock is taken through SQLite's file
/// handle, which takes this process's connections into account; closing another descriptor would drop their locks. A connection in WAL mode
/// keeps a shared lock while it is open, so idle connections are detected too.
final class ExclusiveFileLock {
  private let pointer: OpaquePointer

  /// - Throws: `.busy` if another connection has the file open.
  init(_ path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    // First the shared, then the exclusive lock, as SQLite requires. A replaced file is opened again.
    pointer = try DatabaseLocation.open(path, flags: SQLITE_OPEN_READWRITE, timeoutMilliseconds: 0, operation: operation).pointer
    let code = DatabaseFileLock.take(SQLITE_LOCK_EXCLUSIVE, pointer)
    guard code == SQLITE_OK else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
  }

  /// Returns a lock on a file that may be a database, or nil if there is no file or it is too short.
  static func ifFileExists(_ path: String, operation: StoreAccessError.Operation) throws -> ExclusiveFileLock? {
    guard try StoreFile.exists(path, operation: operation) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else {
      let number = errno
      // A dangling symbolic link.
      if number == ENOENT || number == ENOTDIR { return nil }
      throw StoreAccessError.system(number, path: path, operation: operation)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreAccessError(.notAStore(.notARegularFile), path: path, operation: operation)
    }
    return status.st_size < 512 ? nil : try ExclusiveFileLock(path, operation: operation)
  }

  deinit {
    DatabaseFileLock.release(pointer)
    sqlite3_close_v2(pointer)
  }
}
