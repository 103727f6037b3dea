import Foundation
import StoreKeys

/// Removes stores with all their files. No key is needed, so that a store with a forgotten passphrase can be removed.
package enum StoreRemoval {
  /// Removes a store.
  ///
  /// The key file is overwritten and removed first, so that remaining data is unreadable. Then the database, its log, and the files of
  /// large values are removed. If the removal is interrupted, calling the function again completes it, even if some files are missing.
  ///
  /// - Parameter lock: Locks the database exclusively.
  /// - Throws: `.busy` if the store is open anywhere, and nothing is changed; `.noSuchFile` if no file of the store exists.
  package static func destroy(_ storePath: String, lock: DatabaseLocking) throws {
    let path = try StoreFile.absolutePath(storePath)
    func checkExistence(_ names: [String]) throws {
      guard try names.contains(where: { try StoreFile.exists($0, operation: .destroy) }) else {
        throw StoreAccessError(.noSuchFile, path: path, operation: .destroy)
      }
    }
    let (names, keys) = (names(of: path), KeyFileStorage.path(for: path))
    // Check before locking, since the folder of the lock can be missing too, and again with the lock, since another process may have
    // removed the store. A killed process can leave only the lock file, which is removed with this lock.
    try checkExistence(names + [KeyFileStorage.lockPath(for: keys)])
    try KeyFileStorage.withLock(for: keys) {
      try checkExistence(names)
      try StoreReplacement.finishLocked(path, lock: lock)
      let lock = try lock.take(path, .destroy)
      defer { withExtendedLifetime(lock) {} }
      try removeAll(path)
      // A dangling link would prevent the creation of a new store.
      if StoreFile.isLink(storePath) { try StoreFile.remove(storePath) }
    }
  }

  /// Returns the paths of all files that a store can have, including those of a killed rotation or replacement.
  static func names(of path: String) -> [String] {
    let others = [StoreFile.rotationPath(for: path), StoreFile.creationPath(for: path)]
    return [path] + keyFileNames(of: path) + others
      + StoreFile.companionSuffixes.flatMap { suffix in ([path] + others).map { $0 + suffix } }
      + [NoticeFile.path(for: path), StoreFile.supportPath(for: path), StoreReplacement.folder(for: path)]
  }

  /// Returns the paths of the key file, of that of a store that is being created, and of the latter while it is written.
  private static func keyFileNames(of path: String) -> [String] {
    let keys = KeyFileStorage.path(for: path)
    return [keys, KeyFileStorage.pendingPath(for: path), StoreFile.creationPath(for: keys)]
  }

  private static func removeAll(_ path: String) throws {
    for name in keyFileNames(of: path) {
      // The key file can be a link to another location.
      let place = StoreFile.place(of: name)
      overwrite(place)
      try StoreFile.remove(place)
      try StoreFile.remove(name)
    }
    for suffix in StoreFile.companionSuffixes { try StoreFile.remove(path + suffix) }
    for other in [StoreFile.rotationPath(for: path), StoreFile.creationPath(for: path)] {
      try StoreFile.remove(other)
      for suffix in StoreFile.companionSuffixes { try StoreFile.remove(other + suffix) }
    }
    try StoreFile.removeFolder(StoreFile.supportPath(for: path))
    try StoreFile.remove(NoticeFile.path(for: path))
    try StoreFile.remove(StoreFile.synchronizationLockPath(for: path))
    try StoreFile.remove(StoreFile.lineageMarkPath(for: path))
    try StoreFile.remove(path)
    try StoreFile.syncFolder(of: path)
  }

  /// Removes a new, empty store. The database is removed first, so that no store is left without its keys. The caller holds the locks.
  ///
  /// - Returns: Whether all files were removed.
  package static func removeNew(_ path: String, hasKeyFile: Bool) -> Bool {
    let names =
      [path] + (hasKeyFile ? [KeyFileStorage.path(for: path)] : []) + StoreFile.companionSuffixes.map { path + $0 } + [
        NoticeFile.path(for: path)
      ]
    var isRemoved = true
    for name in names where (try? StoreFile.remove(name)) == nil && (try? StoreFile.remove(name)) == nil {
      // If the database cannot be removed, keep its key file.
      if name == path { return false }
      isRemoved = false
    }
    try? StoreFile.removeFolder(StoreFile.supportPath(for: path))
    try? StoreFile.syncFolder(of: path)
    return isRemoved
  }

  /// Overwrites a small file with random bytes. This is best effort: drives and snapshots can keep the old content.
  private static func overwrite(_ path: String) {
    guard let size = StoreFile.size(path), size <= KeyFile.maximumSize, let randomData = try? Cryptography.randomBytes(size) else { return }
    let descriptor = Descriptors.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    _ = randomData.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    _ = fsync(descriptor)
    _ = Foundation.close(descriptor)
  }
}
