// TransactionExtent: the transaction that a store holds while the body of `performTransaction` runs: for the requests made there, and no others.
import Synchronization

/// Knows the transaction of a store that the caller is inside of.
///
/// The body of `performTransaction` is the application's, and takes no argument: a request belongs to the transaction by being made inside the body. That
/// is asked once, where a request comes in; from there on the transaction is handed down as a value. A task or thread that the body begins is not inside.
package final class TransactionExtent<Transaction: AnyObject>: Sendable {
  /// How many bodies run: where none does, nothing else is asked.
  private let count = Atomic<Int>(0)

  package init() {}

  /// Runs `body` inside a transaction; of two, one inside the other, the inner one is the caller's.
  package func run<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows -> Result {
    count.add(1, ordering: .relaxed)
    defer { count.subtract(1, ordering: .relaxed) }
    let place = TransactionPlace(self, transaction, outer: TransactionPlace.innermost)
    return try TransactionPlace.$innermost.withValue(place, operation: body)
  }

  /// The transaction whose body the caller is inside of; nil where it is in none of this store.
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

/// A transaction under way, and the task whose body it holds.
///
/// `@unchecked Sendable`: tasks that the body begins inherit the place, but only the task that made it gets at the transaction (`isHere`).
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
