import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The write transaction of a batch request, with its temporary tables.
struct BatchTransaction {
  let engine: StoreEngine
  let transaction: WriteTransaction
  var connection: Connection { transaction.connection }
  var schema: StoreSchema { engine.schema }

  /// Returns a statement with bound arguments, ready to run.
  func statement(_ sql: String, _ arguments: [Slot]) throws -> Statement {
    let statement = try connection.statement(sql: sql)
    for (position, argument) in arguments.enumerated() { try statement.bind(Int32(position + 1), argument) }
    engine.trace.record(statement)
    return statement
  }

  /// Runs a statement, and returns the number of changed rows.
  @discardableResult
  func run(_ sql: String, _ arguments: [Slot]) throws -> Int {
    try statement(sql, arguments).run()
    return connection.changes
  }

  @discardableResult
  func run(_ sql: String, _ arguments: Int64...) throws -> Int { try run(sql, arguments.map { .int($0) }) }

  /// Returns the objects of a statement that selects keys and entities.
  func references(_ sql: String, _ arguments: Int64...) throws -> [ObjectReference] {
    let statement = try statement(sql, arguments.map { .int($0) })
    defer { statement.reset() }
    var found: [ObjectReference] = []
    while try statement.step() { found.append(try schema.reference(key: statement.int64(0), entity: statement.int(1))) }
    return found
  }

  /// Returns the number in the first row of a statement, or `nil` for NULL or no row.
  func number(_ sql: String, _ arguments: Int64...) throws -> Int64? {
    let statement = try statement(sql, arguments.map { .int($0) })
    defer { statement.reset() }
    return try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
  }

  /// Creates a temporary table, or empties an existing one. Tables remain for the next request, since creating one invalidates all prepared
  /// statements.
  func prepare(_ table: BatchTable) throws {
    for statement in table.creation { try connection.statement(sql: statement).run() }
    try empty(table)
  }

  func empty(_ table: BatchTable) throws { try connection.statement(sql: table.emptying).run() }
}
