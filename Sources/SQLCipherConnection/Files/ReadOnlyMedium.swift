import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

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
