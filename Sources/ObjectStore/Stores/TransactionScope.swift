import Synchronization

/// The scope of a store's transactions: finds the transaction whose body the caller is running in.
///
/// The body of `performTransaction` is application code without an argument, so a request belongs to the transaction if it is made inside
/// the body. The lookup happens once, at the entry of a request; internally the transaction is passed as a value. Tasks and threads that
/// the body starts are outside the transaction.
package final class TransactionScope<Transaction: AnyObject>: Sendable {
  /// The number of running bodies. If it is 0, the lookup is skipped.
  private let count = Atomic<Int>(0)

  package init() {}

  /// Runs `body` inside a transaction. Nested calls use the inner transaction.
  package func run<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows -> Result {
    count.add(1, ordering: .relaxed)
    defer { count.subtract(1, ordering: .relaxed) }
    let frame = TransactionFrame(self, transaction, outer: TransactionFrame.innermost)
    return try TransactionFrame.$innermost.withValue(frame, operation: body)
  }

  /// The transaction of this store whose body the caller is running in, or nil if there is none.
  package var current: Transaction? { count.load(ordering: .relaxed) == 0 ? nil : find() }

  private func find() -> Transaction? {
    var frame = TransactionFrame.innermost
    while let known = frame {
      if known.scope === self { return known.isCurrentTask ? known.transaction as? Transaction : nil }
      frame = known.outer
    }
    return nil
  }
}

/// A running transaction, and the task that runs its body.
///
/// `@unchecked Sendable`: tasks that the body starts inherit the task-local value, but only the task that created it can access the
/// transaction (`isCurrentTask`).
private final class TransactionFrame: @unchecked Sendable {
  @TaskLocal static var innermost: TransactionFrame?

  let scope: AnyObject
  let transaction: AnyObject
  let outer: TransactionFrame?
  private let task: UnsafeCurrentTask?

  init(_ scope: AnyObject, _ transaction: AnyObject, outer: TransactionFrame?) {
    self.scope = scope
    self.transaction = transaction
    self.outer = outer
    task = withUnsafeCurrentTask { $0 }
  }

  var isCurrentTask: Bool { withUnsafeCurrentTask { $0 == task } }
}
