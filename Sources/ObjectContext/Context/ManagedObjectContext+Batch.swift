// ManagedObjectContext+Batch: batch requests, and what a context does with their changes.
import ObjectModel
public import ObjectStore

extension ManagedObjectContext {
  /// Inserts the rows of a batch: all of them or none. No objects are made.
  ///
  /// - Throws: ``BatchError`` for a row or value that cannot be, ``StoreError`` from the store; nothing is written then.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    let entityName = try entityName(of: request)
    return try finish(publishes: request.publishesChanges, merges: request.mergesChanges) { done in
      try coordinator.execute(request, entityName: entityName, scope: scope(for:), done: done)
    }
  }

  /// Sets properties of all objects that meet a predicate, in each store that holds the entity: of a store all or none.
  ///
  /// - Throws: ``BatchError`` for a property or value that cannot be, ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    try finish(publishes: request.publishesChanges, merges: request.mergesChanges) { done in
      try coordinator.execute(request, scope: scope(for:), done: done)
    }
  }

  /// Deletes many objects by their delete rules, in each store that holds some of them: of a store all or none.
  ///
  /// - Throws: ``BatchError`` where a rule forbids it, ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    try finish(publishes: request.publishesChanges, merges: request.mergesChanges) { done in
      try coordinator.execute(request, scope: scope(for:), done: done)
    }
  }

  private func entityName(of request: BatchInsertRequest) throws -> String {
    if let name = request.entityName { return name }
    guard let type = request.objectType as? ManagedObject.Type, let name = classes.entityName(of: type) else {
      throw StoreError(
        .invalidRequest, "The class of the rows is not in the context's class table; use an entity's name.", operation: "batch insert")
    }
    return name
  }

  /// Runs a request; what it wrote, also before it failed, is merged here and told to others.
  private func finish(publishes: Bool, merges: Bool, _ body: ((BatchOutcome) -> Void) throws -> Void) throws -> BatchResult {
    var outcome: BatchOutcome?
    defer {
      for (store, changes) in outcome?.changes ?? [] {
        let changeSet = ChangeSet(changes, of: store, scope: scope(for: store), origin: number)
        if merges { mergeChanges(from: changeSet) }
        if publishes { coordinator.publish { changeSet } }
      }
    }
    try body { outcome = $0 }
    guard let outcome else { throw unexpectedResult() }
    return outcome.result
  }
}
