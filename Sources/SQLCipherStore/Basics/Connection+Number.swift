// Connection+Number: what a migration counts.
import SQLCipherConnection

extension Connection {
  /// The answer of a query of one number; 0 where it has no row.
  ///
  /// - Parameter trace: Hears of the statement.
  func number(_ sql: String, trace: StatementTrace? = nil) throws -> Int {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    trace?.note(statement)
    return try statement.step() ? statement.int(0) : 0
  }
}
