import SQLCipherConnection

extension Connection {
  /// Returns the single number that a query selects, or 0 if it returns no row.
  ///
  /// - Parameter trace: The trace that records the statement.
  func number(_ sql: String, trace: StatementTrace? = nil) throws -> Int {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    trace?.record(statement)
    return try statement.step() ? statement.int(0) : 0
  }
}
