import ObjectModel
import ObjectStore
import SQLCipherConnection

/// What batch requests work with: one write transaction.
struct BatchTransaction {
  let engine: StoreEngine
  let transaction: WriteTransaction
  var connection: Connection { transaction.connection }
  var schema: StoreSchema { engine.schema }

  /// A statement with its arguments bound, about to be run.
  func statement(_ sql: String, _ arguments: [Slot]) throws -> Statement {
    let statement = try connection.statement(sql: sql)
    for (position, argument) in arguments.enumerated() { try statement.bind(Int32(position + 1), argument) }
    engine.trace.note(statement)
    return statement
  }

  /// Runs a statement, and tells how many rows it changed.
  @discardableResult
  func run(_ sql: String, _ arguments: [Slot]) throws -> Int {
    try statement(sql, arguments).run()
    return connection.changes
  }

  /// Runs a statement with integers as its arguments, and tells how many rows it changed.
  @discardableResult
  func run(_ sql: String, _ arguments: Int64...) throws -> Int { try run(sql, arguments.map { .int($0) }) }

  /// The rows of a statement that selects keys and entities.
  func references(_ sql: String, _ arguments: Int64...) throws -> [ObjectReference] {
    let statement = try statement(sql, arguments.map { .int($0) })
    defer { statement.reset() }
    var found: [ObjectReference] = []
    while try statement.step() { found.append(try schema.reference(key: statement.int64(0), entity: statement.int(1))) }
    return found
  }

  /// The only number of a statement's first row; nil for NULL or no row.
  func number(_ sql: String, _ arguments: Int64...) throws -> Int64? {
    let statement = try statement(sql, arguments.map { .int($0) })
    defer { statement.reset() }
    return try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
  }

  /// Makes a temporary table, or empties it. A table stays for the next request: making one prepares all statements anew.
  func prepare(_ table: BatchTable) throws {
    for statement in table.creation { try connection.statement(sql: statement).run() }
    try empty(table)
  }

  /// Empties a temporary table.
  func empty(_ table: BatchTable) throws { try connection.statement(sql: table.emptying).run() }
}
