// A new data key for a store: copy, verify and swap. `sqlite3_rekey` is never used: it can destroy a file and report success.

import Foundation
import Synchronization

extension StoreKeyring {
  /// The copy under the new key until it takes the store's place.
  static func rotationPath(for storePath: String) -> String { storePath + ".new" }

  /// Finds the generation that the database really has, and rewrites the key file with that one alone.
  func settle(_ candidates: [DatabaseKey], options: ConnectionOptions) throws -> DatabaseKey {
    let bare = try BareDatabaseFile(storePath)
    let authentic = try candidates.firstIndex { try bare.isFirstPageAuthentic($0) }
    // Torn by a crash: let each key be tried with the log and the journal.
    var lastError: (any Error)?
    for index in authentic.map({ [$0] }) ?? Array(candidates.indices) {
      do {
        // The open connection keeps a rotation of another process from starting, and waits for one that runs.
        let connection = try Connection(opening: storePath, key: candidates[index], options: options)
        defer { connection.close() }
        if !options.isReadOnly {
          // The candidates stand in the opposite order of the generations.
          let generation = candidates.count - 1 - index
          try edit { file, keys in file.keepGeneration(at: generation, keys: &keys) }
          StoreFile.removeDatabase(Self.rotationPath(for: storePath))
        }
        return candidates[index]
      } catch {
        lastError = error
      }
    }
    throw lastError ?? StoreAccessError(.storeCorrupt(.pageMAC), path: storePath, operation: "open")
  }
}

extension StoreKeyring {
  /// Encrypts the whole store anew under a new data key, sealed for all slots; afterwards no removed slot and no old key opens it.
  ///
  /// The pool's connections are closed while it runs; another process that has the store open makes it fail with `.busy`. It needs the
  /// store's size once more on the disk. If it fails or the machine crashes at any point, the store opens with the same keys as before.
  ///
  /// - Parameters:
  ///   - newKey: The new key of a store without slots; must be nil where there are any.
  package func rotateDataKey(pool: ConnectionPool, newKey: DatabaseKey? = nil, progress: ProgressHandler? = nil) async throws {
    try await Self.offActor {
      try pool.withExclusiveAccess { current in
        let next: DatabaseKey
        if self.hasSlots {
          next = try DatabaseKey.random(format: current.format)
        } else if let newKey {
          next = newKey
        } else {
          throw StoreAccessError(.keyRequired, path: self.storePath, operation: "rotate the data key")
        }
        try self.rotate(from: current, to: next, options: pool.options, onOpen: pool.onOpen, progress: progress)
        return ((), next)
      }
    }
  }

  /// Does it while nobody else in this process has the store open.
  func rotate(
    from current: DatabaseKey, to next: DatabaseKey, options: ConnectionOptions, onOpen: (Connection) throws -> Void,
    progress: ProgressHandler?
  ) throws {
    var options = options
    // Leaving the write-ahead log fails while anybody has the store open: that is the test for other processes.
    options.journalMode = .delete
    options.busyTimeoutMilliseconds = min(options.busyTimeoutMilliseconds, 1_000)
    let source = try Connection(opening: storePath, key: current, options: options)
    defer { source.close() }
    // From here on nobody can come in: the lock stays until the connection closes.
    _ = try source.pragma("locking_mode = EXCLUSIVE")
    try source.execute("BEGIN EXCLUSIVE; COMMIT")

    // Files that wait for a save were written with the key that goes: their owners have to be done first.
    let external = try ExternalFolder(storePath: storePath, key: current)
    let externalLock = try external.lockForRemoving()
    defer { withExtendedLifetime(externalLock) {} }
    if external.exists, externalLock == nil {
      throw StoreAccessError(.busy, path: external.path, operation: "rotate the data key")
    }
    let renewed = try ExternalFolder(storePath: storePath, key: next)
    let externalIDs = try ExternalTable.ids(source)

    let copy = Self.rotationPath(for: storePath)
    StoreFile.removeDatabase(copy)
    if hasSlots { try edit { file, keys in try file.addGeneration(next, keys: &keys) } }
    do {
      try StoreFile.createExclusively(copy, for: FileOwner(of: storePath))
      try DatabaseCopy.backUp(source, current, to: copy, key: next, options: options, progress: progress)
      let findings = try StoreVerification.run(path: copy, key: next, level: .full, options: options, onOpen: onOpen)
      guard findings.isEmpty else {
        throw StoreAccessError(.storeCorrupt(.structure), path: storePath, operation: "rotate the data key", message: "\(findings[0])")
      }
      try StoreFile.syncFile(copy)
      // Under the new key the files have other names: both sets stand here until the store has its place.
      try ExternalCopy.copy(externalIDs, from: external, to: renewed, lock: externalLock)
      guard rename(copy, storePath) == 0 else { throw StoreAccessError.system(errno, path: storePath, operation: "rotate the data key") }
    } catch {
      StoreFile.removeDatabase(copy)
      renewed.removeFiles(externalIDs)
      if hasSlots { try? edit { file, keys in file.keepGeneration(at: 0, keys: &keys) } }
      throw error
    }
    try? StoreFile.syncFolder(of: storePath)
    if externalLock != nil { _ = try? renewed.sweep(keeping: externalIDs) }
    guard hasSlots else { return state.withLock { $0.single = next } }
    // The store has its new key: should this fail, the next opening finds both generations and finishes.
    try? edit { file, keys in file.keepGeneration(at: 1, keys: &keys) }
  }
}
