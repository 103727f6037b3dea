// Rotation of the data key by copy, verify and swap. `sqlite3_rekey` is not used: it can destroy a file and report success.

// Compaction by copy, verify and swap. VACUUM is not used: with temporary storage in memory, it holds the whole database there.

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
  ///   - completion: Changes the encrypted copy before it replaces the store.
  package func rotateDataKey(
    pool: ConnectionPool, newKey: DatabaseKey? = nil, largeValues: @escaping LargeValueList,
    completion: @escaping CopyCompletion = { _ in }, progress: ProgressHandler? = nil
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
          from: current, to: next, largeValues: largeValues, completion: completion, options: pool.options, onOpen: pool.onOpen,
          progress: progress)
        return (failure, next)
      }
    }
    if let failure { throw failure }
  }

  /// Rotates the data key while no other connection of this process has the store open.
  ///
  /// - Returns: An error that occurred after the store got its new key. Earlier errors are thrown, and leave the store unchanged.
  func rotate(
    from current: DatabaseKey, to next: DatabaseKey, largeValues: LargeValueList, completion: CopyCompletion = { _ in },
    options: ConnectionOptions, onOpen: (Connection) throws -> Void, progress: ProgressHandler?
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
      try Connection.complete(copy, key: next, options: options, completion)
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

// MARK: - Compacting the database

/// The result of a compaction.
package struct CompactedSizes: Sendable, Hashable {
  /// The size of the database and its log, in bytes.
  package let before: Int
  package let after: Int
}

extension StoreKeyring {
  /// Rewrites the database without its unused pages, with the same key, and replaces the old file. The key file and the files of large
  /// values are unchanged.
  ///
  /// The store must not be open. The pages in use need their size again on disk, which is checked first. If compaction fails or the process
  /// is killed at any point, the store is the old or the new one.
  ///
  /// - Parameters:
  ///   - completion: Changes the new database before it replaces the old one.
  ///   - onOpen: Registers what the schema needs.
  ///   - progress: Counts pages twice: when they are written, and when they are checked.
  /// - Throws: `.busy` if another connection has the store open; `.insufficientDiskSpace` or `.diskFull`; `.storeCorrupt` if the store or the copy is
  ///   damaged.
  package func compact(
    completion: @escaping CopyCompletion = { _ in }, onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in },
    progress: ProgressHandler? = nil
  ) async throws -> CompactedSizes {
    try await Self.runInBackground { try self.compactExclusively(completion, onOpen, progress) }
  }

  private func compactExclusively(
    _ completion: CopyCompletion, _ onOpen: (Connection) throws -> Void, _ progress: ProgressHandler?
  ) throws -> CompactedSizes {
    var options = ConnectionOptions()
    options.journalMode = .delete
    options.busyTimeoutMilliseconds = min(options.busyTimeoutMilliseconds, 1_000)
    options.isForExport = true
    let sizeBefore = Self.size(storePath)
    let (source, key) = try openExclusively(nil, options, operation: .compact)
    defer { source.close() }
    try onOpen(source)

    // The resolved path: a symbolic link stays.
    let place = source.databasePath
    let copy = StoreFile.rotationPath(for: place)
    StoreFile.removeDatabase(copy)
    let pages = try source.usedPages()
    let shares = ProgressShare(progress, total: 2 * pages)
    let (writing, checking) = (shares.part(from: 0, units: pages), shares.part(from: pages, units: pages))
    try DiskSpace.require(pages * key.format.pageSize, nextTo: place, operation: .compact)
    do {
      try StoreFile.createExclusively(copy, for: FileOwner(of: place))
      try source.reporting(writing, growthOf: copy, pages: pages, operation: .compact) {
        try source.export(to: copy, key: key)
      }
      try Self.checkIsSame(source, copy, key, options, onOpen)
      options.isForExport = false
      try Connection.complete(copy, key: key, options: options, completion)
      let findings = try StoreVerification.run(
        path: copy, key: key, level: .full, options: options, onOpen: onOpen, progress: checking)
      guard findings.isEmpty else {
        throw StoreAccessError(.storeCorrupt(.structure), path: storePath, operation: .compact, circumstance: .damagedCopy)
      }
      try StoreFile.syncFile(copy)
      guard checking?(1, 1) ?? true else {
        throw StoreAccessError(.cancelled, path: storePath, operation: .compact)
      }
      guard rename(copy, place) == 0 else { throw StoreAccessError.system(errno, path: place, operation: .compact) }
    } catch let error as StoreAccessError where error.kind == .cancelled {
      StoreFile.removeDatabase(copy)
      throw error.with(kind: .cancelled, path: storePath, operation: .compact)
    } catch {
      StoreFile.removeDatabase(copy)
      throw error
    }
    // Until the rename is on disk, a power failure may restore the old file, which is equally valid.
    try Self.syncFolder(place)
    return CompactedSizes(before: sizeBefore, after: StoreFile.size(place) ?? 0)
  }

  /// Returns the size of a database and its log, in bytes.
  private static func size(_ path: String) -> Int { (StoreFile.size(path) ?? 0) + (StoreFile.size(path + "-wal") ?? 0) }

  /// Checks that the copy has all tables, indexes, triggers and views, and the same number of rows in each table. An export writes what it
  /// reads, and does not report the rest.
  private static func checkIsSame(
    _ source: Connection, _ copy: String, _ key: DatabaseKey, _ options: ConnectionOptions, _ onOpen: (Connection) throws -> Void
  ) throws {
    let target = try Connection(opening: copy, key: key, options: options)
    defer { target.close() }
    try onOpen(target)
    guard try contents(source) == contents(target) else {
      throw StoreAccessError(.storeCorrupt(.structure), path: source.path, operation: .compact, circumstance: .damagedCopy)
    }
  }

  /// Returns the user version, the application ID, the schema, and the row count of each table.
  private static func contents(_ connection: Connection) throws -> [String] {
    var lines: [String] = []
    var tables: [String] = []
    for name in ["user_version", "application_id"] { lines.append("\(name) \(try connection.pragma(name) ?? "")") }
    let schema = try connection.statement(sql: "SELECT type, name, tbl_name, sql, rootpage > 0 FROM sqlite_master ORDER BY type, name")
    defer { schema.reset() }
    while try schema.step() {
      lines.append((0..<4).map { schema.optionalText($0) ?? "" }.joined(separator: "\n"))
      if schema.text(0) == "table", schema.int(4) == 1 { tables.append(schema.text(1)) }
    }
    for table in tables {
      let count = try connection.statement(sql: "SELECT count(*) FROM main.\(try Identifier.quoted(table))")
      defer { count.reset() }
      lines.append("\(table) \(try count.step() ? count.int64(0) : -1)")
    }
    return lines
  }
}
