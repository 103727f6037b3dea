// Compaction by copy, verify and swap. VACUUM is not used: with temporary storage in memory, it holds the whole database there.

import Foundation
package import StoreFiles
import StoreKeys

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
  ///   - onOpen: Registers what the schema needs.
  ///   - progress: Counts pages twice: when they are written, and when they are checked.
  /// - Throws: `.busy` if another connection has the store open; `.insufficientDiskSpace` or `.diskFull`; `.storeCorrupt` if the store or the copy is
  ///   damaged.
  package func compact(
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) async throws -> CompactedSizes {
    try await Self.runInBackground { try self.compactExclusively(onOpen, progress) }
  }

  private func compactExclusively(
    _ onOpen: (Connection) throws -> Void, _ progress: ProgressHandler?
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
    try DiskSpace.require(pages * key.format.pageSize, beside: place, operation: .compact)
    do {
      try StoreFile.createExclusively(copy, for: FileOwner(of: place))
      try source.reporting(writing, growthOf: copy, pages: pages, operation: .compact) {
        try source.export(to: copy, key: key)
      }
      try Self.checkIsSame(source, copy, key, options, onOpen)
      options.isForExport = false
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
