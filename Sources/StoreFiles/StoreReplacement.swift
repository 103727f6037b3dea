import Foundation
package import StoreKeys

/// Replaces a store with a copy of another one: the database, the key file, and the files of large values change together.
///
/// The copy is completed in a separate folder. Renaming that folder to a name that every opening checks commits the replacement. Then its
/// files are moved to their locations. If that is interrupted, the next opening completes it.
package enum StoreReplacement {
  /// The store's name in the folder. It is constant, so that the files can be found after the folder is renamed.
  private static let storeName = "store"
  /// The name of a marker file in the folder of a store without a key file.
  private static let keylessName = "keyless"

  /// Returns the path of the folder that commits a replacement.
  static func folder(for storePath: String) -> String {
    StoreFile.folder(of: storePath) + "/." + StoreFile.name(of: storePath) + ".replacement"
  }

  /// Replaces a store, or creates one if there is none.
  ///
  /// - Parameters:
  ///   - requiresUnusedPath: Whether it is an error if a store or a key file exists when the new one is complete.
  ///   - copy: Writes a whole store with its key file to the path that it receives.
  /// - Throws: `.busy` if the store is open anywhere, or any error of `copy`. The store is unchanged then.
  package static func replace(
    _ storePath: String, lock: DatabaseLocking, requiresUnusedPath: Bool = false, copy: @Sendable (_ path: String) async throws -> Void
  ) async throws {
    let path = try StoreFile.absolutePath(storePath)
    try StoreFile.checkName(path)
    try finish(path, lock: lock)
    // Fail early. The lock is taken again for the replacement itself.
    _ = try lock.take(path, .replace)
    let stage = try StoreFile.temporaryName(nextTo: path)
    guard mkdir(stage, 0o700) == 0 else { throw StoreAccessError.system(errno, path: stage, operation: .replace) }
    do {
      let staged = stage + "/" + storeName
      try await copy(staged)
      if !StoreFile.exists(KeyFileStorage.path(for: staged)) { try StoreFile.createExclusively(stage + "/" + keylessName) }
      let support = StoreFile.supportPath(for: staged)
      if !StoreFile.exists(support) { guard mkdir(support, 0o700) == 0 else { throw system(support) } }
      try transferToOwner(of: path, stage: stage)
      try StoreFile.syncFolder(of: staged)
      try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) {
        // Another process may have been killed during its replacement while this one copied.
        try finishLocked(path, lock: lock)
        let isFree = try StoreRemoval.names(of: path).allSatisfy { try !StoreFile.exists($0, operation: .replace) }
        if requiresUnusedPath {
          for name in [path, KeyFileStorage.path(for: path)] where try StoreFile.exists(name, operation: .create) {
            throw StoreAccessError(.fileExists, path: name, operation: .create)
          }
        }
        let lock = try lock.take(path, .replace)
        guard rename(stage, folder(for: path)) == 0 else { throw system(stage) }
        do { try StoreFile.syncFolder(of: path) } catch {
          // Nothing was moved yet. Without its name, the folder has no effect.
          _ = rename(folder(for: path), stage)
          throw error
        }
        do { try move(path) } catch {
          // After an error, no new store must remain. If an old store existed, it cannot be restored, and the next opening completes the
          // replacement.
          if isFree { removeAll(path) }
          throw error
        }
        withExtendedLifetime(lock) {}
      }
    } catch {
      try? StoreFile.removeFolder(stage)
      throw error
    }
  }

  /// Removes a store that was being moved to an unused location. The folder is removed first, since the next opening would complete the
  /// replacement with it.
  private static func removeAll(_ path: String) {
    for _ in 0..<2 where StoreFile.exists(folder(for: path)) { try? StoreFile.removeFolder(folder(for: path)) }
    for name in [path, KeyFileStorage.path(for: path)] + StoreFile.companionSuffixes.map({ path + $0 }) {
      if (try? StoreFile.remove(name)) == nil { try? StoreFile.remove(name) }
    }
    try? StoreFile.removeFolder(StoreFile.supportPath(for: path))
  }

  private static func transferToOwner(of path: String, stage: String) throws {
    guard let owner = FileOwner(of: path) else { return }
    try owner.transferTree(stage)
    // These can have different owners.
    let staged = stage + "/" + storeName
    try FileOwner(of: KeyFileStorage.path(for: path))?.transferTree(KeyFileStorage.path(for: staged))
    try FileOwner(of: StoreFile.supportPath(for: path))?.transferTree(StoreFile.supportPath(for: staged))
  }

  /// Completes an interrupted replacement. Usually there is none, which costs one system call.
  package static func finish(_ storePath: String, lock: DatabaseLocking) throws {
    let path = try StoreFile.absolutePath(storePath)
    guard StoreFile.exists(folder(for: path)) else { return }
    try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) { try finishLocked(path, lock: lock) }
  }

  /// Completes an interrupted replacement. The caller holds the lock.
  static func finishLocked(_ path: String, lock: DatabaseLocking) throws {
    guard StoreFile.exists(folder(for: path)) else { return }
    let lock = try lock.take(path, .finishReplacement)
    try move(path)
    withExtendedLifetime(lock) {}
  }

  /// Moves the files to their locations. The order makes all steps repeatable after an interruption.
  private static func move(_ path: String) throws {
    let folder = folder(for: path)
    let staged = folder + "/" + storeName
    if StoreFile.exists(staged) {
      // SQLite would apply an old log to the new database.
      for suffix in StoreFile.companionSuffixes { try StoreFile.remove(path + suffix) }
      // The mark is that of the old database.
      try StoreFile.remove(StoreFile.lineageMarkPath(for: path))
      let support = StoreFile.supportPath(for: staged)
      if StoreFile.exists(support) {
        try StoreFile.removeFolder(StoreFile.supportPath(for: path))
        guard rename(support, StoreFile.supportPath(for: path)) == 0 else { throw system(support) }
      }
      let keys = KeyFileStorage.path(for: staged)
      if StoreFile.exists(folder + "/" + keylessName) {
        try StoreFile.remove(KeyFileStorage.path(for: path))
      } else if StoreFile.exists(keys) {
        guard rename(keys, KeyFileStorage.path(for: path)) == 0 else { throw system(keys) }
      }
      try StoreFile.remove(KeyFileStorage.pendingPath(for: path))
      guard rename(staged, path) == 0 else { throw system(staged) }
    }
    // Removes the folder of large values if it is empty.
    rmdir(StoreFile.supportPath(for: path))
    try StoreFile.syncFolder(of: path)
    try StoreFile.removeFolder(folder)
    try StoreFile.syncFolder(of: path)
  }

  private static func system(_ path: String) -> StoreAccessError { .system(errno, path: path, operation: .replace) }
}

/// Locks database files exclusively. A lock lasts as long as the object that `take` returns.
///
/// SQLite owns the locks, and this module does not use SQLite, so the caller provides the implementation.
package struct DatabaseLocking: Sendable {
  let take: @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?

  /// - Parameter take: Returns `nil` if there is no database; throws `.busy` if it is open anywhere.
  package init(_ take: @escaping @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?) {
    self.take = take
  }
}
