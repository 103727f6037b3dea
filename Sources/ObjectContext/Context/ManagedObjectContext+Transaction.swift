import ObjectStore

extension ManagedObjectContext {
  /// Runs a closure whose saves and fetches form one transaction of the store. All saves take effect when the closure returns, and none if
  /// it throws.
  ///
  /// Use this method for imports that do not fit into memory: save and ``reset()`` after each batch. Other contexts do not see the changes
  /// until the end. The stores must support transactions; with several stores, each has its own transaction. If the closure throws, the
  /// context is reset.
  ///
  /// - Throws: Any error of the closure; ``StoreError``, with ``StoreError/Code/invalidRequest`` if a store does not support transactions
  ///   or the context is nested in another one.
  public func performTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    if rowSource.parent != nil { throw StoreError(.transactionOfNestedContext, operation: .transaction) }
    var result: Result?
    do {
      // Imports cannot be undone, so that undo does not retain what they insert.
      try unrecorded { try rowSource.performTransaction { result = try body() } }
    } catch {
      reset()
      throw error
    }
    guard let result else { throw unexpectedResult() }
    return result
  }
}

extension StoreError.Reason {
  static var transactionOfNestedContext: Self {
    Self(.invalidRequest, "A nested context saves atomically to its parent; run the transaction in the context that saves to the stores.")
  }
}
