import Foundation
package import StoreKeys

/// Reads and writes key files. They are replaced atomically, and edited by one process at a time.
package enum KeyFileStorage {
  package static func path(for storePath: String) -> String { storePath + ".keys" }
  /// Returns the temporary path of a new store's key file, before the store exists at its location.
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

  /// Replaces the file atomically and durably. The new file has the owner and permissions of the old one; without an old one, only its
  /// owner can access it.
  ///
  /// After a crash, either the old or the new file exists. If the path is a symbolic link, its target is replaced.
  ///
  /// - Parameter temporary: The path under which the file is written, in the same folder, if the caller holds a lock that excludes other
  ///   users of that path. What a killed process has left there is removed. By default, an unused path.
  package static func write(
    _ bytes: [UInt8], to path: String, mayReplace: Bool = true, through temporary: String? = nil
  ) throws(StoreAccessError) {
    let path = mayReplace ? StoreFile.place(of: path) : path
    if let temporary {
      try StoreFile.checkFolder(StoreFile.folder(of: path))
      unlink(temporary)
    }
    let temporary = if let temporary { temporary } else { try StoreFile.temporaryName(nextTo: path) }
    let descriptor = try StoreFile.openExclusively(temporary)
    do throws(StoreAccessError) {
      defer { _ = Foundation.close(descriptor) }
      try fill(descriptor, bytes, path: temporary)
      if mayReplace { try FileOwner(of: path)?.transfer(descriptor, path: path) }
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
      // After an error, no new file must remain.
      if isPlaced { unlink(path) }
      throw error
    }
  }

  /// Writes a new file that contains a secret. Of several concurrent calls in any processes, one writes it, and the others receive its
  /// content.
  ///
  /// After a crash, the next call removes what was left, and writes the file unless it is complete.
  ///
  /// - Returns: The content of the file: the given bytes, or those of the existing file.
  package static func writeOnce(_ bytes: [UInt8], to path: String) throws -> [UInt8] {
    let temporary = StoreFile.creationPath(for: path)
    return try withLock(for: path, operation: .create) {
      if try StoreFile.exists(path, operation: .create) {
        unlink(temporary)
        return try read(path)
      }
      try write(bytes, to: path, mayReplace: false, through: temporary)
      return bytes
    }
  }

  /// Removes the files that a killed process has left while it created a store, or a key in a file with one of the suffixes. The store must
  /// exist. Usually nothing was left, which costs a few system calls. If another process edits the key file, they remain.
  package static func removeLeftovers(of storePath: String, suffixes: [String] = []) {
    let keys = Self.path(for: storePath)
    let created = [storePath, keys] + suffixes.map { storePath + $0 }
    let locks = created.dropFirst().map(lockPath)
    guard (created.map(StoreFile.creationPath) + locks).contains(where: StoreFile.exists) else { return }
    for file in created.dropFirst() {
      try? withLock(for: file, timeoutMilliseconds: 0) {
        unlink(StoreFile.creationPath(for: file))
        // The lock of the key file is also that of the database during its creation.
        if file == keys { StoreFile.removeDatabase(StoreFile.creationPath(for: storePath)) }
      }
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

  /// Returns the path of the lock file that serializes edits of the key file. It exists only during an edit.
  static func lockPath(for path: String) -> String { path + ".lock" }

  /// Runs `body` while no other process edits the key file or replaces the store.
  ///
  /// The lock is on a separate file that only the owner can open. A lock on the folder could be taken and kept by any user with read
  /// permission.
  ///
  /// - Parameter operation: The operation that needs the lock, for errors.
  /// - Throws: `.busy` if another process holds the lock for longer than the limit.
  package static func withLock<Result>(
    for path: String, operation: StoreAccessError.Operation = .lockKeyFile, timeoutMilliseconds: Int = 10_000, _ body: () throws -> Result
  ) throws -> Result {
    let lockPath = lockPath(for: path)
    let descriptor = try lock(lockPath, operation, timeoutMilliseconds: timeoutMilliseconds)
    defer {
      // Unlink before closing: a process that waits for a file without a name opens the path again.
      unlink(lockPath)
      _ = Foundation.close(descriptor)
    }
    return try body()
  }

  private static func lock(
    _ path: String, _ operation: StoreAccessError.Operation, timeoutMilliseconds: Int
  ) throws(StoreAccessError) -> Int32 {
    let retry = LockRetry(milliseconds: timeoutMilliseconds)
    while true {
      let isNew = !StoreFile.exists(path)
      let descriptor = Descriptors.open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
      let error = descriptor < 0 ? errno : 0
      // The file of another user, such as root, who edits the key file.
      let isAnothers = error == EACCES && StoreFile.exists(path)
      guard descriptor >= 0 || isAnothers else {
        // If no file can be created, report the error of the folder.
        if [EACCES, ENOENT, EPERM, EROFS].contains(error) { try StoreFile.checkFolder(StoreFile.folder(of: path), operation: operation) }
        throw .system(error, path: path, operation: operation)
      }
      if descriptor >= 0 {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
          var status = stat()
          if fstat(descriptor, &status) == 0, FileIdentity(path: path) == FileIdentity(status) { return descriptor }
          // The previous owner removed the file before it was locked here.
          _ = Foundation.close(descriptor)
          continue
        }
        let number = errno
        _ = Foundation.close(descriptor)
        guard number == EWOULDBLOCK || number == EINTR else {
          // Nothing is left by a failed attempt. Another process that needs the lock creates the file again.
          if isNew { unlink(path) }
          throw .system(number, path: path, operation: operation)
        }
      }
      guard retry.pause() else { throw StoreAccessError(.busy, path: path, operation: operation, circumstance: .keyFileEdited) }
    }
  }
}

/// Waits between attempts to take a file lock, with random backoff.
///
/// File locks have no queue, so a waiting process must retry. A writer that saves continuously releases its lock only for a moment between
/// saves, which take milliseconds if the disk is synced. SQLite's own busy timeout makes 58 attempts in 5 seconds, and often fails. This
/// class makes about a thousand attempts per second, at random intervals.
///
/// Only one thread at a time may use an instance.
package final class LockRetry {
  /// The maximum waiting time, in milliseconds. With 0 or less, there is no waiting.
  package var milliseconds: Int
  private var start: UInt64 = 0
  private var attempt = 0

  package init(milliseconds: Int) { self.milliseconds = milliseconds }

  package func restart() { attempt = 0 }

  /// Pauses before the next attempt.
  ///
  /// - Returns: Whether there was time left.
  package func pause() -> Bool {
    let now = DispatchTime.now().uptimeNanoseconds
    if attempt == 0 { start = now }
    let (waited, limit) = (now - start, UInt64(max(0, milliseconds)) * 1_000_000)
    guard waited < limit else { return false }
    // After 10 seconds, the holder is probably in a long operation, so attempts become less frequent.
    let longest: UInt64 = waited < 10_000_000_000 ? min(100_000 << UInt64(min(attempt, 5)), 2_000_000) : 20_000_000
    let pause = min(UInt64.random(in: longest / 4...longest), limit - waited)
    usleep(UInt32(pause / 1_000) + 1)
    attempt += 1
    return true
  }
}
