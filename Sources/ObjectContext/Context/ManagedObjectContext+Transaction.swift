// ManagedObjectContext+Transaction: several saves that take effect together.

import ObjectStore

extension ManagedObjectContext {
  /// Runs work whose saves and fetches are one transaction of the store: all saves take effect when the work ends, none if it throws.
  ///
  /// It is meant for imports that are larger than memory: save and ``reset()`` after each portion. Other contexts see nothing until the end. The context's
  /// stores must have such transactions; each of several stores has one of its own. After an error the context is reset.
  ///
  /// - Throws: What the work throws; ``StoreError``, with ``StoreError/Code/invalidRequest`` for a store without transactions, and in
  ///   a context that is nested in another one.
  public func performTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    if rowSource.parent != nil { throw StoreError(.misuse(.transactionOfNestedContext), operation: .transaction) }
    var result: Result?
    do {
      // Imports are not to be undone, and nobody holds for that what they bring.
      try unrecorded { try rowSource.performTransaction { result = try body() } }
    } catch {
      reset()
      throw error
    }
    guard let result else { throw unexpectedResult() }
    return result
  }
}
