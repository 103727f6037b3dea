import ObjectModel
import ObjectStore
import SQLCipherConnection

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
    let transaction = try begin(.init(cancellation: scope.cancellation, objectIDSpace: scope.objectIDSpace))
    do {
      var changes = try transaction.withCancellation {
        _ = try beginRecord(.batch, transaction, scope)
        return try body(BatchTransaction(engine: self, transaction: transaction))
      }
      try transaction.commit()
      changes.add(transaction.outcome)
      return changes
    } catch {
      transaction.rollBack()
      throw explained(error, operation)
    }
  }
}
