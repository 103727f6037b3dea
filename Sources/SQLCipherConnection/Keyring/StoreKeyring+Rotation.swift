// A new data key for a store: copy, verify and swap. `sqlite3_rekey` is never used: it can destroy a file and report success.

import Foundation
package import StoreFiles
package import StoreKeys
import Synchronization

extension StoreKeyring {
  /// Encrypts the whole store anew under a new data key, sealed for all slots; afterwards no removed slot and no old key opens it.
  ///
  /// The pool's connections are closed while it runs; another process that has the store open makes it fail with `.busy`. It needs the
  /// store's size once more on the disk. If it fails or the machine crashes at any point, the store opens with the same keys as before.
  ///
  /// - Parameters:
  ///   - newKey: The new key of a store without slots; must be nil where there are any.
  ///   - largeValues: The numbers of the large values, whose files are encrypted anew too.
  package func rotateDataKey(
    pool: ConnectionPool, newKey: DatabaseKey? = nil, largeValues: @escaping LargeValueList, progress: ProgressHandler? = nil
  ) async throws {
    let failure = try await Self.offActor { () throws -> (any Error)? in
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

  /// Does it while nobody else in this process has the store open.
  ///
  /// - Returns: What failed after the store got its new key; before that the error is thrown, and nothing is changed.
  func rotate(
    from current: DatabaseKey, to next: DatabaseKey, largeValues: LargeValueList, options: ConnectionOptions,
    onOpen: (Connection) throws -> Void, progress: ProgressHandler?
  ) throws -> (any Error)? {
    var options = options
    // Leaving the write-ahead log fails while anybody has the store open: that is the test for other processes.
    options.journalMode = .delete
    options.busyTimeoutMilliseconds = min(options.busyTimeoutMilliseconds, 1_000)
    let (source, key) = try openAlone(current, options, operation: .rotateDataKey)
    defer { source.close() }

    // Files that wait for a save were written with the key that goes: their owners have to be done first.
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
    let shares = WorkShare(progress, total: 2 * pages + files)

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
      // Under the new key the files have other names: both sets stand here until the store has its place.
      try ExternalCopy.copy(
        externalIDs, from: external, to: renewed, lock: externalLock, progress: shares.part(from: 2 * pages, units: files))
      guard rename(copy, storePath) == 0 else { throw StoreAccessError.system(errno, path: storePath, operation: .rotateDataKey) }
    } catch {
      StoreFile.removeDatabase(copy)
      renewed.removeFiles(externalIDs)
      if let numbers { try? edit { file, keys in file.removeGeneration(numbers.new, keys: &keys) } }
      // Whichever part was stopped: the rotation was.
      if let error = error as? StoreAccessError, error.kind == .cancelled {
        throw error.with(kind: .cancelled, path: storePath, operation: .rotateDataKey)
      }
      throw error
    }
    if numbers == nil { state.withLock { $0.single = next } }
    do {
      // A power cut may bring back the old file as long as its name is not on the disk: until then it keeps its key and its large values.
      try Self.syncFolder(storePath)
    } catch {
      return error
    }
    if externalLock != nil { _ = try? renewed.sweep(keeping: externalIDs) }
    // The store has its new key: should this fail, the next opening finds both generations and finishes. Another process may be rotating it already.
    if let numbers { try? edit { file, keys in file.removeGeneration(numbers.old, keys: &keys) } }
    return nil
  }

  /// Stands in for the sync of the store's folder, for tests.
  static let folderSync = Mutex<(@Sendable (String) throws -> Void)?>(nil)

  static func syncFolder(_ path: String) throws {
    if let replacement = folderSync.withLock({ $0 }) { return try replacement(path) }
    try StoreFile.syncFolder(of: path)
  }

  /// Adds a generation to the key file, which has that of the store alone before. The numbers of both.
  private func addGeneration(_ next: DatabaseKey, after current: DatabaseKey) throws -> (old: UInt32, new: UInt32) {
    try edit { file, keys in
      guard let old = file.generations.first(where: { $0.salt == current.salt })?.number, file.keepGeneration(old, keys: &keys) else {
        throw StoreAccessError(.keyFileOutdated, path: keyFilePath, operation: .rotateDataKey)
      }
      return (old, try file.addGeneration(next, keys: &keys))
    }
  }
}
