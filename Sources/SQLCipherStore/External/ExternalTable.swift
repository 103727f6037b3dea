// ExternalTable: the table that lists a store's large values.
import SQLCipherConnection

/// The table of large values: one row for each file that some row refers to.
enum ExternalTable {
  static let name = "cipherdata_external"
  static let createStatements = [
    "CREATE TABLE IF NOT EXISTS \(name) (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, digest BLOB NOT NULL, removed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS \(name)_removed ON \(name) (removed) WHERE removed = 1",
  ]

  static func exists(_ connection: Connection) throws -> Bool {
    let statement = try connection.statement(sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '\(name)'")
    defer { statement.reset() }
    return try statement.step()
  }

  /// The numbers of all values; none where there is no table.
  @Sendable static func ids(_ connection: Connection) throws -> [Int64] {
    guard try exists(connection) else { return [] }
    let statement = try connection.statement(sql: "SELECT id FROM \(name)")
    defer { statement.reset() }
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.int64(0)) }
    return ids
  }
}
