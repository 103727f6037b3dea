// Rotation of the data key by copy, verify and swap. `sqlite3_rekey` is not used: it can destroy a file and report success.

import Foundation
package import StoreFiles
package import StoreKeys
import Synchronization

extension StoreKeyring {
  /// Encrypts the whole store again with a new data key, which is sealed for all slots. Afterward, neither removed slots nor old keys open
  /// it.
  ///
  /// The pool's connections are closed during the rotation. If another process has the store open, it fails with `.busy`. The store's size
  /// is needed again on disk. If the rotation fails or the machine crashes at any point, the same keys as before open the store.
  ///
  /// - Parameters:
  ///   - newKey: The new key of a store without slots; must be nil for a store with slots.
  ///   - largeValues: Returns the IDs of the large values, whose files are encrypted again too.
  package func rotateDataKey(
    pool: ConnectionPool, newKey: DatabaseKey? = nil, largeValues: @escaping LargeValueList, progress: ProgressHandler? = nil
  ) async throws {
    let failure = try await Self.runInBackground { () throws -> (any Error)? in
      try pool.withExclusiveAccess { current in
        let next: DatabaseKey
        if self.hasSlots {
          next = try DatabaseKey.random(format: current.format)
        } else if let newKey {
          next = newKey
        } else {
          throw StoreAccessError(.keyRequired, path: self.storePath, operation: .rotateDataKey)
        }
        let failure = try self.rotate(
          from: current, to: next, largeValues: largeValues, options: pool.options, onOpen: pool.onOpen, progress: progress)
        return (failure, next)
      }
    }
    if let failure { throw failure }
  }

  /// Rotates the data key while no other connection of this process has the store open.
  ///
  /// - Returns: An error that occurred after the store got its new key. Earlier errors are thrown, and leave the store unchanged.
  func rotate(
    from current: DatabaseKey, to next: DatabaseKey, largeValues: LargeValueList, options: ConnectionOptions,
    onOpen: (Connection) throws -> Void, progress: ProgressHandler?
  ) throws -> (any Error)? {
    var options = options
    // Leaving WAL mode fails while another connection has the store open, which detects other processes.
    options.journalMode = .delete
    options.busyTimeoutMilliseconds = min(options.busyTimeoutMilliseconds, 1_000)
    let (source, key) = try openExclusively(current, options, operation: .rotateDataKey)
    defer { source.close() }

    // Files of unfinished saves were written with the old key, so those saves must finish first.
    let external = try ExternalFolder(storePath: storePath, key: key)
    let externalLock = try external.lockForRemoving()
    defer { withExtendedLifetime(externalLock) {} }
    if external.exists, externalLock == nil {
      throw StoreAccessError(.busy, path: external.path, operation: .rotateDataKey)
    }
    let renewed = try ExternalFolder(storePath: storePath, key: next)
    let externalIDs = try largeValues(source)
    // Every page is written, then checked; the files of large values follow.
    let pages = try source.allPages()
    let files = progress == nil ? 0 : external.size(of: externalIDs) / key.format.pageSize
    let shares = ProgressShare(progress, total: 2 * pages + files)

    let copy = StoreFile.rotationPath(for: storePath)
    StoreFile.removeDatabase(copy)
    let numbers = hasSlots ? try addGeneration(next, after: key) : nil
    do {
      try StoreFile.createExclusively(copy, for: FileOwner(of: storePath))
      try DatabaseCopy.backUp(source, key, to: copy, key: next, options: options, progress: shares.part(from: 0, units: pages))
      let findings = try StoreVerification.run(
        path: copy, key: next, level: .full, options: options, onOpen: onOpen, progress: shares.part(from: pages, units: pages))
      guard findings.isEmpty else {
        throw StoreAccessError(.storeCorrupt(.structure), path: storePath, operation: .rotateDataKey, circumstance: .damagedCopy)
      }
      try StoreFile.syncFile(copy)
      // The new key results in other file names: both sets exist until the store is replaced.
      try ExternalCopy.copy(
        externalIDs, from: external, to: renewed, lock: externalLock, progress: shares.part(from: 2 * pages, units: files))
      guard rename(copy, storePath) == 0 else { throw StoreAccessError.system(errno, path: storePath, operation: .rotateDataKey) }
    } catch {
      StoreFile.removeDatabase(copy)
      renewed.removeFiles(externalIDs)
      if let numbers { try? edit { file, keys in file.removeGeneration(numbers.new, keys: &keys) } }
      // Report the rotation, whichever step was canceled.
      if let error = error as? StoreAccessError, error.kind == .cancelled {
        throw error.with(kind: .cancelled, path: storePath, operation: .rotateDataKey)
      }
      throw error
    }
    if numbers == nil { state.withLock { $0.single = next } }
    do {
      // Until the new name is on disk, a power failure may restore the old file, which needs its key and its large values.
      try Self.syncFolder(storePath)
    } catch {
      return error
    }
    if externalLock != nil { _ = try? renewed.sweep(keeping: externalIDs) }
    // The store has its new key. If this fails, the next opening finds both generations and completes the key file. Another process may
    // already be rotating again.
    if let numbers { try? edit { file, keys in file.removeGeneration(numbers.old, keys: &keys) } }
    return nil
  }

  /// Replaces the sync of the store's folder in tests.
  static let folderSync = Mutex<(@Sendable (String) throws -> Void)?>(nil)

  static func syncFolder(_ path: String) throws {
    if let replacement = folderSync.withLock({ $0 }) { return try replacement(path) }
    try StoreFile.syncFolder(of: path)
  }

  /// Adds a generation to the key file, after reducing the file to the store's current one. Returns the numbers of both.
  private func addGeneration(_ next: DatabaseKey, after current: DatabaseKey) throws -> (old: UInt32, new: UInt32) {
    try edit { file, keys in
      guard let old = file.generations.first(where: { $0.salt == current.salt })?.number, file.retainGeneration(old, keys: &keys) else {
        throw StoreAccessError(.keyFileOutdated, path: keyFilePath, operation: .rotateDataKey)
      }
      return (old, try file.addGeneration(next, keys: &keys))
    }
  }
}
