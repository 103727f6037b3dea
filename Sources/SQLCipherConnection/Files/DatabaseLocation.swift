import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// An open database file, its path and its identity. Ensures that the open file is the one at the path.
///
/// Replacing, rotating or removing a store unlinks a file that another process may be opening, and the log next to it belongs to the same
/// path. These operations first take the file's exclusive lock. A shared lock on a file that is still at its path therefore prevents them.
/// It must be taken before SQLite first reads and opens the log by name.
struct DatabaseLocation {
  let pointer: OpaquePointer
  let path: String
  let identity: FileIdentity

  /// A test hook that is called before a file is locked, including the first time after opening.
  static let whenLocking = Mutex<(@Sendable (String) -> Void)?>(nil)
  /// The maximum number of attempts to open.
  static let maximumAttempts = 20

  /// Opens the file and takes a shared lock. If the file was replaced in the meantime, opens the new one.
  static func open(
    _ path: String, flags: Int32, layer: String? = nil, timeoutMilliseconds: Int, operation: StoreAccessError.Operation = .open
  ) throws(StoreAccessError) -> DatabaseLocation {
    var attempt = 1
    while true {
      let identity = try StoreFile.checkBeforeOpening(path)
      let pointer = try DatabaseHandle.openFile(path, flags, layer: layer, operation: operation)
      let place = DatabaseLocation(pointer: pointer, path: path, identity: identity)
      do throws(StoreAccessError) {
        try place.lock(timeoutMilliseconds: timeoutMilliseconds, operation: operation)
        return place
      } catch {
        sqlite3_close_v2(pointer)
        guard error.kind == .exchanged, attempt < maximumAttempts else { throw error }
        attempt += 1
      }
    }
  }

  /// Takes a shared lock, waiting for an exclusive lock to be released. SQLite treats the lock as its own.
  ///
  /// - Throws: `.exchanged` if another file or none is at the path. The lock is then released.
  func lock(timeoutMilliseconds: Int, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    Self.whenLocking.withLock { $0 }?(path)
    let waiting = LockRetry(milliseconds: timeoutMilliseconds)
    while true {
      let code = DatabaseFileLock.take(SQLITE_LOCK_SHARED, pointer)
      guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
      if hasMoved {
        if code == SQLITE_OK { DatabaseFileLock.release(pointer) }
        throw StoreAccessError(.exchanged, path: path, operation: operation)
      }
      if code == SQLITE_OK { return }
      guard waiting.pause() else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
    }
  }

  /// Whether another file or none is at the path.
  private var hasMoved: Bool {
    var answer: Int32 = 0
    if sqlite3_file_control(pointer, "main", SQLITE_FCNTL_HAS_MOVED, &answer) == SQLITE_OK, answer != 0 { return true }
    return FileIdentity(path: path) != identity
  }
}

/// SQLite's locks on a database file, taken without reading it.
enum DatabaseFileLock {
  static func take(_ level: Int32, _ pointer: OpaquePointer) -> Int32 {
    guard let file = DatabaseHandle.file(pointer), let lock = file.pointee.pMethods?.pointee.xLock else { return SQLITE_CANTOPEN }
    return lock(file, level)
  }

  static func release(_ pointer: OpaquePointer) {
    guard let file = DatabaseHandle.file(pointer) else { return }
    _ = file.pointee.pMethods?.pointee.xUnlock?(file, SQLITE_LOCK_NONE)
  }
}
