// StoreKeyring+Compaction: a store written anew without its unused pages: copy, verify and swap. VACUUM is never used: with temporary storage in memory it holds
// the whole database there.

import Foundation
package import StoreFiles
import StoreKeys

/// What a compaction has come to.
package struct CompactedSizes: Sendable, Hashable {
  /// The bytes of the database and its log.
  package let before: Int
  package let after: Int
}

extension StoreKeyring {
  /// Writes the database anew, with the same key, without its unused pages, and puts it in the old one's place. The key file and the files of large values stay as
  /// they are.
  ///
  /// Nobody may have the store open. It needs the pages that are in use once more on the disk, which is checked first. If it fails or the process is killed at any
  /// point, the store is the old or the new one.
  ///
  /// - Parameters:
  ///   - onOpen: Registers what the schema needs.
  ///   - progress: Counts pages twice: when they are written, and when they are checked.
  /// - Throws: `.busy` where anybody has the store open; `.noRoom`, `.diskFull`; `.storeCorrupt` where the store, or the copy, is not sound.
  package func compact(
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) async throws -> CompactedSizes {
    try await Self.offActor { try self.compactAlone(onOpen, progress) }
  }

  private func compactAlone(
    _ onOpen: (Connection) throws -> Void, _ progress: ProgressHandler?
  ) throws -> CompactedSizes {
    var options = ConnectionOptions()
    options.journalMode = .delete
    options.busyTimeoutMilliseconds = min(options.busyTimeoutMilliseconds, 1_000)
    options.isForExport = true
    let sizeBefore = Self.size(storePath)
    let (source, key) = try openAlone(nil, options, operation: .compact)
    defer { source.close() }
    try onOpen(source)

    // Where a link leads: the link stays.
    let place = source.databasePath
    let copy = StoreFile.rotationPath(for: place)
    StoreFile.removeDatabase(copy)
    let pages = try source.usedPages()
    let shares = WorkShare(progress, total: 2 * pages)
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
    // Until the name is on the disk a power cut may bring back the old file, which is as good.
    try Self.syncFolder(place)
    return CompactedSizes(before: sizeBefore, after: StoreFile.size(place) ?? 0)
  }

  /// The bytes of a database and its log.
  private static func size(_ path: String) -> Int { (StoreFile.size(path) ?? 0) + (StoreFile.size(path + "-wal") ?? 0) }

  /// Makes sure that the copy has every table, index, trigger and view, and as many rows of each table: an export writes what it reads, and says nothing of the
  /// rest.
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

  /// The numbers in the first page, the schema, and the rows of each table.
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
