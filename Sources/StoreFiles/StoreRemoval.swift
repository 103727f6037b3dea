import Foundation
import StoreKeys

/// Removes stores.
package enum StoreRemoval {
  /// Removes a store: its key file first, overwritten, so that whatever survives of the rest is unreadable; then the database with its log and the
  /// files of its large values. As long as something of it is left, the rest may be missing, so an interrupted removal is finished by another.
  ///
  /// - Parameter lock: Takes the database from everybody.
  /// - Throws: `.busy` where somebody has the store open; then nothing is touched. `.noSuchFile` where nothing of a store is there.
  package static func destroy(_ storePath: String, lock: DatabaseLocking) throws {
    let path = try StoreFile.absolutePath(storePath)
    func checkIsThere(_ names: [String]) throws {
      guard try names.contains(where: { try StoreFile.isThere($0, operation: .destroy) }) else {
        throw StoreAccessError(.noSuchFile, path: path, operation: .destroy)
      }
    }
    let (names, keys) = (names(of: path), KeyFileStorage.path(for: path))
    // Before the lock, whose folder may be missing too; and under it, since somebody else may have been faster. The file of the lock may be all that a killed
    // process has left: it goes with this lock.
    try checkIsThere(names + [KeyFileStorage.lockPath(for: keys)])
    try KeyFileStorage.withLock(for: keys) {
      try checkIsThere(names)
      try StoreReplacement.finishLocked(path, lock: lock)
      let lock = try lock.take(path, .destroy)
      defer { withExtendedLifetime(lock) {} }
      try removeAll(path)
      // A link would lead nowhere, and be in the way of a new store.
      if StoreFile.isLink(storePath) { try StoreFile.remove(storePath) }
    }
  }

  /// All that may belong to a store, what a killed rotation or replacement has left included.
  static func names(of path: String) -> [String] {
    let others = [StoreFile.rotationPath(for: path), StoreFile.creationPath(for: path)]
    return [path, KeyFileStorage.path(for: path), KeyFileStorage.pendingPath(for: path)] + others
      + StoreFile.companionSuffixes.flatMap { suffix in ([path] + others).map { $0 + suffix } }
      + [NoticeFile.path(for: path), StoreFile.supportPath(for: path), StoreReplacement.folder(for: path)]
  }

  private static func removeAll(_ path: String) throws {
    for name in [KeyFileStorage.path(for: path), KeyFileStorage.pendingPath(for: path)] {
      // It may be kept elsewhere.
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
    try StoreFile.remove(path)
    try StoreFile.syncFolder(of: path)
  }

  /// Removes a store that was made just now, and that holds nothing: the database first, so that no store is left without its keys. The caller holds its locks.
  ///
  /// - Returns: Whether all is gone.
  package static func removeNew(_ path: String, hasKeyFile: Bool) -> Bool {
    let names =
      [path] + (hasKeyFile ? [KeyFileStorage.path(for: path)] : []) + StoreFile.companionSuffixes.map { path + $0 } + [
        NoticeFile.path(for: path)
      ]
    var isRemoved = true
    for name in names where (try? StoreFile.remove(name)) == nil && (try? StoreFile.remove(name)) == nil {
      // Without its key file a database that could not be removed would be lost.
      if name == path { return false }
      isRemoved = false
    }
    try? StoreFile.removeFolder(StoreFile.supportPath(for: path))
    try? StoreFile.syncFolder(of: path)
    return isRemoved
  }

  /// Writes random bytes over a small file. It is the best that can be done from here: drives and snapshots may keep the old ones.
  private static func overwrite(_ path: String) {
    guard let size = StoreFile.size(path), size <= KeyFile.maximumSize, let noise = try? Cryptography.randomBytes(size) else { return }
    let descriptor = Descriptors.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    _ = noise.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    _ = fsync(descriptor)
    _ = Foundation.close(descriptor)
  }
}
