// ReadOnlyMedium: where nothing can be written, and what follows for who reads there.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// A store where nothing can be written: how it is read, and whether it stays as it is meanwhile.
struct ReadOnlyMedium: Equatable {
  private let device: dev_t
  private let inode: ino_t
  private let size: off_t
  private let changed: [Int]
  private let hasLog: Bool

  /// The state of a file whose folder may not be written; nil where it may. A log's index could not be made there, so a log cannot be read.
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

  /// Whether the file can be read as it is, without a log.
  var isComplete: Bool { !hasLog }

  /// Somebody else may be allowed to write what this process may not.
  func isUnchanged(_ path: String) -> Bool { ReadOnlyMedium(statusOf: path) == self }

  /// Whether this process may write a file, and beside it.
  static func mayWrite(_ path: String) -> Bool { access(path, W_OK) == 0 && !isReadOnly(path) }

  static func isReadOnly(_ path: String) -> Bool {
    access(StoreFile.folder(of: path), W_OK) != 0 && [EACCES, EPERM, EROFS].contains(errno)
  }

  static func hasLog(_ path: String) -> Bool { ["-wal", "-journal"].contains { StoreFile.size(path + $0) ?? 0 > 0 } }
}

extension StoreAccessError {
  /// The same error, as what it is where nothing may be written beside the file.
  func onReadOnlyMedium(_ path: String) -> StoreAccessError {
    let isThere = [SQLITE_CANTOPEN, SQLITE_READONLY].contains(code) || kind == .readOnly || kind == .permissionDenied
    guard isThere, ReadOnlyMedium.isReadOnly(path), ReadOnlyMedium.hasLog(path) else { return self }
    return with(kind: .readOnlyLog)
  }
}
