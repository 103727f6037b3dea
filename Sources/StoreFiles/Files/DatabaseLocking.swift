package import StoreKeys

/// Locks database files exclusively. A lock lasts as long as the object that `take` returns.
///
/// SQLite owns the locks, and this module does not use SQLite, so the caller provides the implementation.
package struct DatabaseLocking: Sendable {
  let take: @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?

  /// - Parameter take: Returns `nil` if there is no database; throws `.busy` if it is open anywhere.
  package init(_ take: @escaping @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?) {
    self.take = take
  }
}
