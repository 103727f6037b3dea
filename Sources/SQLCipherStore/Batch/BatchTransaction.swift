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

  /// Returns the objects of a statement that selects keys and entities. Only for statements that select few.
  func references(_ sql: String, _ arguments: Int64...) throws -> [ObjectReference] {
    var found: [ObjectReference] = []
    try forEachReference(sql, arguments.map { .int($0) }) { found.append($0) }
    return found
  }

  /// Calls a closure with each object of a statement that selects keys and entities.
  func forEachReference(_ sql: String, _ arguments: [Slot] = [], _ body: (ObjectReference) throws -> Void) throws {
    let statement = try statement(sql, arguments)
    defer { statement.reset() }
    while try statement.step() { try body(try schema.reference(key: statement.int64(0), entity: statement.int(1))) }
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

// MARK: - Executing batch requests

extension StoreEngine {
  /// Inserts a chunk of a batch.
  func execute(_ insertion: BatchInsertion, in scope: RequestScope) throws -> BatchChanges {
    try write(.batchInsert, scope) { batch in
      var inserter = try BatchInserter(batch, insertion, space: scope.objectIDSpace)
      return try inserter.run(space: scope.objectIDSpace)
    }
  }

  /// Updates properties of all rows that match a predicate.
  func execute(_ request: BatchUpdateRequest, in scope: RequestScope) throws -> BatchChanges {
    let plan = try BatchUpdatePlan(request, model: schema.model, objectIDSpace: scope.objectIDSpace)
    return try write(.batchUpdate, scope) { try BatchUpdater($0, plan: plan, space: scope.objectIDSpace).run() }
  }

  /// Deletes rows and applies delete rules.
  func execute(_ request: BatchDeleteRequest, in scope: RequestScope) throws -> BatchChanges {
    try write(.batchDelete, scope) { batch in
      var deleter = BatchDeleter(batch, space: scope.objectIDSpace)
      return try deleter.run(request)
    }
  }

  private func write(_ operation: StoreOperation, _ scope: RequestScope, _ body: (BatchTransaction) throws -> BatchChanges) throws
    -> BatchChanges
  {
    var isRepeated = false
    return try withoutDamage {
      if isRepeated { for consumer in scope.publishedChanges { consumer.discardChanges() } }
      isRepeated = true
      return try writeOnce(operation, scope, body)
    }
  }

  private func writeOnce(_ operation: StoreOperation, _ scope: RequestScope, _ body: (BatchTransaction) throws -> BatchChanges) throws
    -> BatchChanges
  {
    let transaction = try begin(.init(cancellation: scope.cancellation, objectIDSpace: scope.objectIDSpace))
    do {
      var changes = try transaction.withCancellation {
        _ = try beginChanges(.batch, transaction, scope)
        return try body(BatchTransaction(engine: self, transaction: transaction))
      }
      try transaction.commit()
      changes.historyPosition = transaction.outcome.historyPosition
      return changes
    } catch {
      transaction.rollBack()
      throw explained(error, operation)
    }
  }
}
