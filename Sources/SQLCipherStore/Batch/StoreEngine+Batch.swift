// StoreEngine+Batch: batch requests, each as one write transaction.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Inserts a portion of a batch.
  func execute(_ insertion: BatchInsertion, in scope: RequestScope) throws -> BatchChanges {
    try writeKeepingReferences(operation: "batch insert") { connection in
      var inserter = try BatchInserter(BatchConnection(engine: self, connection: connection), insertion, space: scope.objectIDSpace)
      return try inserter.run(space: scope.objectIDSpace)
    }
  }

  /// Sets properties of all rows that meet a predicate.
  func execute(_ request: BatchUpdateRequest, in scope: RequestScope) throws -> BatchChanges {
    let plan = try BatchUpdatePlan(request, model: schema.model, objectIDSpace: scope.objectIDSpace)
    return try writeKeepingReferences(operation: "batch update") { connection in
      try BatchUpdater(BatchConnection(engine: self, connection: connection), plan: plan, space: scope.objectIDSpace).run()
    }
  }

  /// Deletes rows by their delete rules.
  func execute(_ request: BatchDeleteRequest, in scope: RequestScope) throws -> BatchChanges {
    try writeKeepingReferences(operation: "batch delete") { connection in
      var deleter = BatchDeleter(BatchConnection(engine: self, connection: connection), space: scope.objectIDSpace)
      return try deleter.run(request)
    }
  }
}
