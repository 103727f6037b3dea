// The key file on disk: read whole, replaced atomically, edited by one process at a time.

import Foundation

/// Reads and writes key files.
enum KeyFileStorage {
  /// The key file's name beside a store.
  static func path(for storePath: String) -> String { storePath + ".keys" }
  /// The name under which a new store's key file waits until the store stands at its place.
  static func pendingPath(for storePath: String) -> String { storePath + ".keys.new" }

  static func read(_ path: String) throws(StoreAccessError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: "read the key file") }
    defer { _ = Foundation.close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= KeyFile.maximumSize else {
      throw StoreAccessError(.keyFileCorrupt("it is no regular file or too large"), path: path, operation: "read the key file")
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var position = 0
    while position < bytes.count {
      let count = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress?.advanced(by: position), $0.count - position) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, path: path, operation: "read the key file") }
      position += count
    }
    return bytes
  }

  /// Replaces the file as a whole, durably; who could read and write the old one can the new one, a new file its owner alone. After a crash either the
  /// old or the new one stands there.
  static func write(_ bytes: [UInt8], to path: String, mayReplace: Bool = true) throws(StoreAccessError) {
    let temporary = try StoreFile.temporaryName(beside: path)
    let descriptor = try StoreFile.openExclusively(temporary)
    do throws(StoreAccessError) {
      defer { _ = Foundation.close(descriptor) }
      try fill(descriptor, bytes, path: temporary)
      if mayReplace { try FileOwner(of: path)?.give(descriptor, path: path) }
      guard fsync(descriptor) == 0 else { throw .system(errno, path: temporary, operation: "write the key file") }
    } catch {
      unlink(temporary)
      throw error
    }
    do throws(StoreAccessError) {
      if mayReplace {
        guard rename(temporary, path) == 0 else { throw .system(errno, path: path, operation: "write the key file") }
      } else {
        guard link(temporary, path) == 0 else { throw .system(errno, path: path, operation: "write the key file") }
        unlink(temporary)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    try StoreFile.syncFolder(of: path)
  }

  private static func fill(_ descriptor: Int32, _ bytes: [UInt8], path: String) throws(StoreAccessError) {
    var position = 0
    while position < bytes.count {
      let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress?.advanced(by: position), $0.count - position) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, path: path, operation: "write the key file") }
      position += count
    }
  }

  /// Runs `body` while no other process edits a key file of this folder. The lock is on the folder: the file itself is replaced.
  static func withLock<Result>(for path: String, _ body: () throws -> Result) throws -> Result {
    let folder = StoreFile.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreAccessError.system(errno, path: folder, operation: "lock the key file") }
    defer { _ = Foundation.close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw StoreAccessError.system(errno, path: folder, operation: "lock the key file") }
    }
    return try body()
  }
}
