import SQLCipherConnection

/// The table of large values: one row for each referenced file.
enum ExternalTable {
  static func exists(_ connection: Connection) throws -> Bool {
    let statement = try connection.statement(.hasExternals)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Returns the numbers of all values; empty if there is no table.
  @Sendable static func ids(_ connection: Connection) throws -> [Int64] {
    guard try exists(connection) else { return [] }
    let statement = try connection.statement(.externals)
    defer { statement.reset() }
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.int64(0)) }
    return ids
  }
}
