import Foundation
package import StoreKeys

/// Reads and writes key files.
package enum KeyFileStorage {
  /// The key file's name beside a store.
  package static func path(for storePath: String) -> String { storePath + ".keys" }
  /// The name under which a new store's key file waits until the store stands at its place.
  package static func pendingPath(for storePath: String) -> String { storePath + ".keys.new" }

  package static func read(_ path: String) throws(StoreAccessError) -> [UInt8] {
    let descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: .readKeyFile) }
    defer { _ = Foundation.close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, path: path, operation: .readKeyFile) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= KeyFile.maximumSize else {
      throw StoreAccessError(.keyFileCorrupt(.noFileOrTooLarge), path: path, operation: .readKeyFile)
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var position = 0
    while position < bytes.count {
      let count = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress?.advanced(by: position), $0.count - position) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, path: path, operation: .readKeyFile) }
      position += count
    }
    return bytes
  }

  /// Replaces the file as a whole, durably; who could read and write the old one can the new one, a new file its owner alone. After a crash either the
  /// old or the new one stands there. A file that a link leads to is replaced where it is.
  package static func write(_ bytes: [UInt8], to path: String, mayReplace: Bool = true) throws(StoreAccessError) {
    let path = mayReplace ? StoreFile.place(of: path) : path
    let temporary = try StoreFile.temporaryName(beside: path)
    let descriptor = try StoreFile.openExclusively(temporary)
    do throws(StoreAccessError) {
      defer { _ = Foundation.close(descriptor) }
      try fill(descriptor, bytes, path: temporary)
      if mayReplace { try FileOwner(of: path)?.give(descriptor, path: path) }
      guard fsync(descriptor) == 0 else { throw .system(errno, path: temporary, operation: .writeKeyFile) }
    } catch {
      unlink(temporary)
      throw error
    }
    var isPlaced = false
    do throws(StoreAccessError) {
      if mayReplace {
        guard rename(temporary, path) == 0 else { throw .system(errno, path: path, operation: .writeKeyFile) }
      } else {
        guard link(temporary, path) == 0 else { throw .system(errno, path: path, operation: .writeKeyFile) }
        isPlaced = true
        unlink(temporary)
      }
      try StoreFile.syncFolder(of: path)
    } catch {
      unlink(temporary)
      // A caller that gets an error expects no new file.
      if isPlaced { unlink(path) }
      throw error
    }
  }

  private static func fill(_ descriptor: Int32, _ bytes: [UInt8], path: String) throws(StoreAccessError) {
    var position = 0
    while position < bytes.count {
      let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress?.advanced(by: position), $0.count - position) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, path: path, operation: .writeKeyFile) }
      position += count
    }
  }

  /// The name of the file whose lock keeps others from editing the key file. It is there only while somebody edits.
  static func lockPath(for path: String) -> String { path + ".lock" }

  /// Runs `body` while no other process edits the key file, or exchanges the store.
  ///
  /// The lock is on a file of its own that only the owner can open: the folder's could be taken, and kept, by everybody who may read it.
  ///
  /// - Parameter operation: What the lock is wanted for, as errors tell it.
  /// - Throws: `.busy` where somebody has the lock for longer than the limit.
  package static func withLock<Result>(
    for path: String, operation: StoreAccessError.Operation = .lockKeyFile, timeoutMilliseconds: Int = 10_000, _ body: () throws -> Result
  ) throws -> Result {
    let lockPath = lockPath(for: path)
    let descriptor = try lock(lockPath, operation, timeoutMilliseconds: timeoutMilliseconds)
    defer {
      // In this order: whoever waits for a file that has lost its name looks for another.
      unlink(lockPath)
      _ = Foundation.close(descriptor)
    }
    return try body()
  }

  private static func lock(
    _ path: String, _ operation: StoreAccessError.Operation, timeoutMilliseconds: Int
  ) throws(StoreAccessError) -> Int32 {
    let waiting = LockWaiting(milliseconds: timeoutMilliseconds)
    while true {
      let descriptor = Descriptors.open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
      let error = descriptor < 0 ? errno : 0
      // Another user's file, root's for example, who edits the key file.
      let isAnothers = error == EACCES && StoreFile.exists(path)
      guard descriptor >= 0 || isAnothers else {
        // Where no file can be made, the error is the folder's.
        if [EACCES, ENOENT, EPERM, EROFS].contains(error) { try StoreFile.checkFolder(StoreFile.folder(of: path), operation: operation) }
        throw .system(error, path: path, operation: operation)
      }
      if descriptor >= 0 {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
          var status = stat()
          if fstat(descriptor, &status) == 0, FileIdentity(path: path) == FileIdentity(status) { return descriptor }
          // Its owner has removed it before this one locked it.
          _ = Foundation.close(descriptor)
          continue
        }
        let number = errno
        _ = Foundation.close(descriptor)
        guard number == EWOULDBLOCK || number == EINTR else { throw .system(number, path: path, operation: operation) }
      }
      guard waiting.pause() else { throw StoreAccessError(.busy, path: path, operation: operation, circumstance: .keyFileEdited) }
    }
  }
}
