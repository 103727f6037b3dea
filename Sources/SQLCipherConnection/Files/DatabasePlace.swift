// Makes sure that the file which a handle has open is the one at its path: whoever replaces, rotates or removes a store unlinks a file that
// somebody may just be opening, and the log beside it has the name of both.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// An open database file and where it stood.
///
/// Whoever exchanges the file takes its exclusive lock first. So a reader's lock on a file that still stands at its path, taken before SQLite
/// reads for the first time and opens the log by its name, keeps everything as it is.
struct DatabasePlace {
  let pointer: OpaquePointer
  let path: String
  let identity: FileIdentity

  /// Called before a file is locked, also for the first time after it was opened, for tests.
  static let whenLocking = Mutex<(@Sendable (String) -> Void)?>(nil)
  /// How often an opening begins anew.
  static let maximumAttempts = 20

  /// Opens the file and takes a reader's lock on it; where it has moved meanwhile, the one that stands there now.
  static func open(
    _ path: String, flags: Int32, layer: String? = nil, timeoutMilliseconds: Int, operation: StoreAccessError.Operation = .open
  ) throws(StoreAccessError) -> DatabasePlace {
    var attempt = 1
    while true {
      let identity = try StoreFile.checkBeforeOpening(path)
      let pointer = try DatabaseHandle.openFile(path, flags, layer: layer, operation: operation)
      let place = DatabasePlace(pointer: pointer, path: path, identity: identity)
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

  /// Takes a reader's lock, waiting for whoever has the file alone. SQLite finds it taken, and keeps it or lets it go as if it were its own.
  ///
  /// - Throws: `.exchanged` where another file stands at the path, or none; then the lock is given back.
  func lock(timeoutMilliseconds: Int, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    Self.whenLocking.withLock { $0 }?(path)
    let waiting = LockWaiting(milliseconds: timeoutMilliseconds)
    while true {
      let code = DatabaseFileLock.take(SQLITE_LOCK_SHARED, pointer)
      guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
      if hasMoved {
        if code == SQLITE_OK { DatabaseFileLock.giveBack(pointer) }
        throw StoreAccessError(.exchanged, path: path, operation: operation)
      }
      if code == SQLITE_OK { return }
      guard waiting.pause() else { throw .sqlite(code, handle: nil, path: path, operation: operation) }
    }
  }

  /// Whether another file stands at the path, or none.
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

  static func giveBack(_ pointer: OpaquePointer) {
    guard let file = DatabaseHandle.file(pointer) else { return }
    _ = file.pointee.pMethods?.pointee.xUnlock?(file, SQLITE_LOCK_NONE)
  }
}
