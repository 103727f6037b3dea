import CSQLCipher
import Foundation
package import StoreFiles
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

// MARK: - Locking store files

extension StoreRemoval {
  /// Removes a store and all files that belong to it.
  ///
  /// - Throws: `.busy` if the store is open; nothing is then changed. `.noSuchFile` if no file of the store exists.
  package static func destroy(_ storePath: String) throws {
    try destroy(storePath, lock: .exclusive)
  }
}

extension StoreReplacement {
  /// Replaces or creates a store with the one that `copy` writes to the path that it receives: a complete store with its key file.
  ///
  /// - Throws: `.busy` if the store is open, and errors of `copy`. The store is then unchanged.
  package static func replace(
    _ storePath: String, requiresUnusedPath: Bool = false, copy: @Sendable (_ path: String) async throws -> Void
  ) async throws {
    try await replace(storePath, lock: .exclusive, requiresUnusedPath: requiresUnusedPath, copy: copy)
  }

  /// Finishes an interrupted replacement. Usually none exists, which costs one file system lookup.
  package static func finish(_ storePath: String) throws {
    try finish(storePath, lock: .exclusive)
  }
}

extension DatabaseLocking {
  fileprivate static let exclusive = DatabaseLocking { try ExclusiveFileLock.ifFileExists($0, operation: $1) }
}

/// The state of a store in a folder that is not writable. It determines how the store is read, and whether it has changed since.
struct ReadOnlyMedium: Equatable {
  private let device: dev_t
  private let inode: ino_t
  private let size: off_t
  private let changed: [Int]
  private let hasLog: Bool

  /// Captures the state of a file; nil if its folder is writable. In a read-only folder the index of a log cannot be created, so a log
  /// cannot be read.
  init?(_ path: String) {
    guard Self.isReadOnly(path) else { return nil }
    self.init(statusOf: path)
  }

  private init?(statusOf path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
    #if os(Linux)
      changed = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    #else
      changed = [
        status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec, status.st_ctimespec.tv_sec, status.st_ctimespec.tv_nsec,
      ]
    #endif
    hasLog = Self.hasLog(path)
  }

  /// Whether the file is complete without a log.
  var isComplete: Bool { !hasLog }

  /// Returns whether the file is unchanged. Processes with more permissions may write it.
  func isUnchanged(_ path: String) -> Bool { ReadOnlyMedium(statusOf: path) == self }

  /// Returns whether this process can write the file and its folder.
  static func mayWrite(_ path: String) -> Bool { access(path, W_OK) == 0 && !isReadOnly(path) }

  static func isReadOnly(_ path: String) -> Bool {
    access(StoreFile.folder(of: path), W_OK) != 0 && [EACCES, EPERM, EROFS].contains(errno)
  }

  static func hasLog(_ path: String) -> Bool { ["-wal", "-journal"].contains { StoreFile.size(path + $0) ?? 0 > 0 } }
}

extension StoreAccessError {
  /// Returns the error, as `.readOnlyLog` if it was caused by a log in a folder that is not writable.
  func onReadOnlyMedium(_ path: String) -> StoreAccessError {
    let exists = [SQLITE_CANTOPEN, SQLITE_READONLY].contains(code) || kind == .readOnly || kind == .permissionDenied
    guard exists, ReadOnlyMedium.isReadOnly(path), ReadOnlyMedium.hasLog(path) else { return self }
    return with(kind: .readOnlyLog)
  }
}
