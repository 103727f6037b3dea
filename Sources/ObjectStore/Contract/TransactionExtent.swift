import Synchronization

/// The scope of a store's transactions: finds the transaction whose body the caller is running in.
///
/// The body of `performTransaction` is application code without an argument, so a request belongs to the transaction if it is made inside
/// the body. The lookup happens once, at the entry of a request; internally the transaction is passed as a value. Tasks and threads that
/// the body starts are outside the transaction.
package final class TransactionExtent<Transaction: AnyObject>: Sendable {
  /// The number of running bodies. If it is 0, the lookup is skipped.
  private let count = Atomic<Int>(0)

  package init() {}

  /// Runs `body` inside a transaction. Nested calls use the inner transaction.
  package func run<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows -> Result {
    count.add(1, ordering: .relaxed)
    defer { count.subtract(1, ordering: .relaxed) }
    let place = TransactionPlace(self, transaction, outer: TransactionPlace.innermost)
    return try TransactionPlace.$innermost.withValue(place, operation: body)
  }

  /// The transaction of this store whose body the caller is running in, or nil if there is none.
  package var current: Transaction? { count.load(ordering: .relaxed) == 0 ? nil : find() }

  private func find() -> Transaction? {
    var place = TransactionPlace.innermost
    while let known = place {
      if known.extent === self { return known.isHere ? known.transaction as? Transaction : nil }
      place = known.outer
    }
    return nil
  }
}

/// A running transaction, and the task that runs its body.
///
/// `@unchecked Sendable`: tasks that the body starts inherit the task-local value, but only the task that created it can access the
/// transaction (`isHere`).
private final class TransactionPlace: @unchecked Sendable {
  @TaskLocal static var innermost: TransactionPlace?

  let extent: AnyObject
  let transaction: AnyObject
  let outer: TransactionPlace?
  private let task: UnsafeCurrentTask?

  init(_ extent: AnyObject, _ transaction: AnyObject, outer: TransactionPlace?) {
    self.extent = extent
    self.transaction = transaction
    self.outer = outer
    task = withUnsafeCurrentTask { $0 }
  }

  var isHere: Bool { withUnsafeCurrentTask { $0 == task } }
}
