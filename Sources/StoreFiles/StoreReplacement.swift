import Foundation
import StoreKeys

/// Puts a copy of a store in another's place.
///
/// The copy is made complete in a folder of its own; renaming that folder to a name that every opening looks for is the moment at which the new store
/// counts. Moving its files to their places comes after it, and is finished by the next opening where it was interrupted.
package enum StoreReplacement {
  /// The store's name inside the folder. It is always the same, so that a renamed folder says what it is for.
  private static let storeName = "store"
  /// Stands in the folder of a store without a key file.
  private static let keylessName = "keyless"

  /// The folder that counts.
  static func folder(for storePath: String) -> String {
    StoreFile.folder(of: storePath) + "/." + StoreFile.name(of: storePath) + ".replacement"
  }

  /// Replaces a store, or makes one where there is none, by what `copy` writes to the path it is given: a whole store with its key file.
  ///
  /// - Parameter needsFreePlace: Whether it is an error if there is a store, or a key file, when the new one is complete.
  /// - Throws: `.busy` where somebody has the store open, and what `copy` throws; the store is as it was then.
  package static func replace(
    _ storePath: String, lock: DatabaseLocking, needsFreePlace: Bool = false, copy: @Sendable (_ path: String) async throws -> Void
  ) async throws {
    let path = try StoreFile.absolutePath(storePath)
    try StoreFile.checkName(path)
    try finish(path, lock: lock)
    // Said before the work is done; it is checked again when it counts.
    _ = try lock.take(path, .replace)
    let stage = try StoreFile.temporaryName(beside: path)
    guard mkdir(stage, 0o700) == 0 else { throw StoreAccessError.system(errno, path: stage, operation: .replace) }
    do {
      let staged = stage + "/" + storeName
      try await copy(staged)
      if !StoreFile.exists(KeyFileStorage.path(for: staged)) { try StoreFile.createExclusively(stage + "/" + keylessName) }
      let support = StoreFile.supportPath(for: staged)
      if !StoreFile.exists(support) { guard mkdir(support, 0o700) == 0 else { throw system(support) } }
      try giveToOwner(of: path, stage: stage)
      try StoreFile.syncFolder(of: staged)
      try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) {
        // Another one may have been killed while this one copied: its folder has the name.
        try finishLocked(path, lock: lock)
        let isFree = try StoreRemoval.names(of: path).allSatisfy { try !StoreFile.isThere($0, operation: .replace) }
        if needsFreePlace {
          for name in [path, KeyFileStorage.path(for: path)] where try StoreFile.isThere(name, operation: .create) {
            throw StoreAccessError(.fileExists, path: name, operation: .create)
          }
        }
        let lock = try lock.take(path, .replace)
        guard rename(stage, folder(for: path)) == 0 else { throw system(stage) }
        do { try StoreFile.syncFolder(of: path) } catch {
          // Nothing was moved yet. Without the name the folder does not count.
          _ = rename(folder(for: path), stage)
          throw error
        }
        do { try move(path) } catch {
          // A caller that gets an error expects no new store. What was there before is not to be had back: there the next opening finishes the work.
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

  /// Removes a store that was being moved to a place where nothing was: the folder first, by which the next opening would finish it.
  private static func removeAll(_ path: String) {
    for _ in 0..<2 where StoreFile.exists(folder(for: path)) { try? StoreFile.removeFolder(folder(for: path)) }
    for name in [path, KeyFileStorage.path(for: path)] + StoreFile.companionSuffixes.map({ path + $0 }) {
      if (try? StoreFile.remove(name)) == nil { try? StoreFile.remove(name) }
    }
    try? StoreFile.removeFolder(StoreFile.supportPath(for: path))
  }

  /// Gives the new store, and the folder that it waits in, to whom the old one belongs.
  private static func giveToOwner(of path: String, stage: String) throws {
    guard let owner = FileOwner(of: path) else { return }
    try owner.giveTree(stage)
    // These two may have owners of their own.
    let staged = stage + "/" + storeName
    try FileOwner(of: KeyFileStorage.path(for: path))?.giveTree(KeyFileStorage.path(for: staged))
    try FileOwner(of: StoreFile.supportPath(for: path))?.giveTree(StoreFile.supportPath(for: staged))
  }

  /// Finishes a replacement that was interrupted; usually there is none, and one look tells.
  package static func finish(_ storePath: String, lock: DatabaseLocking) throws {
    let path = try StoreFile.absolutePath(storePath)
    guard StoreFile.exists(folder(for: path)) else { return }
    try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) { try finishLocked(path, lock: lock) }
  }

  /// The same for a caller that holds the lock.
  static func finishLocked(_ path: String, lock: DatabaseLocking) throws {
    guard StoreFile.exists(folder(for: path)) else { return }
    let lock = try lock.take(path, .finishReplacement)
    try move(path)
    withExtendedLifetime(lock) {}
  }

  /// Moves the files to their places. Each step may be done already: the order makes all of them repeatable.
  private static func move(_ path: String) throws {
    let folder = folder(for: path)
    let staged = folder + "/" + storeName
    if StoreFile.exists(staged) {
      // An old log would be taken for the new database's.
      for suffix in StoreFile.companionSuffixes { try StoreFile.remove(path + suffix) }
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
    // A folder without files is none that anybody needs.
    rmdir(StoreFile.supportPath(for: path))
    try StoreFile.syncFolder(of: path)
    try StoreFile.removeFolder(folder)
    try StoreFile.syncFolder(of: path)
  }

  private static func system(_ path: String) -> StoreAccessError { .system(errno, path: path, operation: .replace) }
}
