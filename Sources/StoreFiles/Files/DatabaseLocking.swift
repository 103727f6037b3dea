package import StoreKeys

/// Takes database files from everybody, each as long as what `take` returns lives.
package struct DatabaseLocking: Sendable {
  let take: @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?

  /// - Parameter take: Returns nil where there is no database; throws `.busy` where somebody has it open.
  package init(_ take: @escaping @Sendable (_ path: String, _ operation: StoreAccessError.Operation) throws -> AnyObject?) {
    self.take = take
  }
}
