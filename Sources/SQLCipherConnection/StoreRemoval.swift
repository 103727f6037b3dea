// Removing a store with everything that belongs to it. No key is needed: whoever forgot a passphrase must be able to begin anew.

import Foundation

/// Removes stores.
package enum StoreRemoval {
  /// Removes a store: its key file first, overwritten, so that whatever survives of the rest is unreadable; then the database with its log and the
  /// files of its large values. As long as something of it is left, the rest may be missing, so an interrupted removal is finished by another.
  ///
  /// - Throws: `.busy` where somebody has the store open; then nothing is touched. `.noSuchFile` where nothing of a store is there.
  package static func destroy(_ storePath: String) throws {
    let path = try StoreFile.absolutePath(storePath)
    func checkIsThere() throws {
      guard names(of: path).contains(where: isThere) else { throw StoreAccessError(.noSuchFile, path: path, operation: .destroy) }
    }
    // Before the lock, whose folder may be missing too; and under it, since somebody else may have been faster.
    try checkIsThere()
    try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) {
      try checkIsThere()
      try StoreReplacement.finishLocked(path)
      let lock = try lockIfThere(path, operation: .destroy)
      defer { withExtendedLifetime(lock) {} }
      try removeAll(path)
    }
  }

  /// The lock of a file that may be a database; nil where there is none, or what stands there is too short to be one.
  static func lockIfThere(_ path: String, operation: StoreAccessError.Operation) throws -> ExclusiveFileLock? {
    guard StoreFile.exists(path) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreAccessError(.notAStore(.notARegularFile), path: path, operation: operation)
    }
    return status.st_size < 512 ? nil : try ExclusiveFileLock(path, operation: operation)
  }

  /// Whether there is a file or folder, or a link to a missing one.
  private static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// All that may belong to a store, what a killed rotation or replacement has left included.
  private static func names(of path: String) -> [String] {
    let rotation = StoreKeyring.rotationPath(for: path)
    return [path, KeyFileStorage.path(for: path), KeyFileStorage.pendingPath(for: path), rotation]
      + StoreFile.companionSuffixes.flatMap { [path + $0, rotation + $0] }
      + [StoreFile.supportPath(for: path), StoreReplacement.folder(for: path)]
  }

  private static func removeAll(_ path: String) throws {
    for name in [KeyFileStorage.path(for: path), KeyFileStorage.pendingPath(for: path)] {
      overwrite(name)
      try remove(name)
    }
    for suffix in StoreFile.companionSuffixes { try remove(path + suffix) }
    try remove(StoreKeyring.rotationPath(for: path))
    for suffix in StoreFile.companionSuffixes { try remove(StoreKeyring.rotationPath(for: path) + suffix) }
    try removeFolder(StoreFile.supportPath(for: path))
    try remove(path)
    try StoreFile.syncFolder(of: path)
  }

  /// Removes a file; one that is not there is no error.
  static func remove(_ path: String) throws(StoreAccessError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .system(errno, path: path, operation: .remove) }
  }

  /// Removes a folder with what is in it; one that is not there is no error.
  static func removeFolder(_ path: String) throws {
    guard StoreFile.exists(path) else { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw StoreAccessError(.io(EIO), path: path, operation: .remove, underlying: error)
    }
  }

  /// Writes random bytes over a small file. It is the best that can be done from here: drives and snapshots may keep the old ones.
  private static func overwrite(_ path: String) {
    guard let size = StoreFile.size(path), size <= KeyFile.maximumSize, let noise = try? Cryptography.randomBytes(size) else { return }
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    _ = noise.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    _ = fsync(descriptor)
    _ = Foundation.close(descriptor)
  }
}

extension StoreFile {
  /// The hidden folder beside a store that holds what belongs to it beyond the database.
  static func supportPath(for storePath: String) -> String {
    let name = storePath.split(separator: "/").last.map(String.init) ?? storePath
    return folder(of: storePath) + "/." + name + "_SUPPORT"
  }
}
