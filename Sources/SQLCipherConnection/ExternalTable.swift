// ExternalTable: the table that lists a store's large values, and copies of their files with a copy of the store.

import Foundation

/// The table of large values: one row for each file that some row refers to.
package enum ExternalTable {
  package static let name = "cipherdata_external"
  package static let createStatements = [
    "CREATE TABLE IF NOT EXISTS \(name) (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, digest BLOB NOT NULL, removed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS \(name)_removed ON \(name) (removed) WHERE removed = 1",
  ]

  package static func exists(_ connection: Connection) throws -> Bool {
    let statement = try connection.statement(sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '\(name)'")
    defer { statement.reset() }
    return try statement.step()
  }

  /// The numbers of all values; none where there is no table.
  package static func ids(_ connection: Connection) throws -> [Int64] {
    guard try exists(connection) else { return [] }
    let statement = try connection.statement(sql: "SELECT id FROM \(name)")
    defer { statement.reset() }
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.int64(0)) }
    return ids
  }
}

/// Copies of the files of large values.
package enum ExternalCopy {
  /// Copies the files of values into another store's folder, encrypting them anew where its key is another; what else lies there goes. They are durable
  /// in the end. The caller holds the source's lock.
  package static func copy(
    _ ids: [Int64], from source: ExternalFolder, to target: ExternalFolder, lock: ExternalFolder.Lock? = nil,
    progress: ProgressHandler? = nil
  ) throws {
    if ids.isEmpty { return }
    let lock = try lock ?? target.lockForWriting()
    defer { withExtendedLifetime(lock) {} }
    target.requestSweep()
    do {
      for (number, id) in ids.enumerated() {
        try copyFile(id, from: source, to: target)
        if let progress, !progress(number + 1, ids.count) { throw StoreAccessError(.cancelled, path: target.path, operation: .copy) }
      }
      try target.sync()
    } catch {
      target.removeFiles(ids)
      throw error
    }
  }

  private static func copyFile(_ id: Int64, from source: ExternalFolder, to target: ExternalFolder) throws {
    let reader = try source.openFile(id: id)
    let writer = try target.makeFile(id: id)
    while let piece = try reader.next() {
      try piece.withUnsafeBytes { bytes in try writer.write(bytes) }
    }
    _ = try writer.finish()
  }
}
