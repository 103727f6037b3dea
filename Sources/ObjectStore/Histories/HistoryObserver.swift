import Foundation
public import ObjectQuery

/// An endless asynchronous sequence of the transactions in the open stores, starting after a token.
///
/// ```swift
/// for try await transaction in HistoryObserver(coordinator, after: token) {
///   print(transaction.author ?? "unknown", transaction.changes?.count ?? 0)
/// }
/// ```
///
/// The sequence returns the existing transactions and then waits for new ones: of this coordinator, and of other processes and coordinators
/// if the stores were opened with ``PersistentStoreDescription/postsRemoteChangeNotifications``. To continue after a restart, save the
/// ``PersistentHistoryTransaction/token`` of the last processed transaction. The observer does not poll.
public struct HistoryObserver: AsyncSequence, Sendable {
  private let coordinator: PersistentStoreCoordinator
  private let token: PersistentHistoryToken?
  private let transactions: FetchPredicate?
  private let changes: FetchPredicate?

  /// Creates an observer of the histories of a coordinator's stores.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - token: The token after which to start, or nil for the beginning of each history.
  ///   - transactionPredicate: A predicate for transactions, as in ``PersistentHistoryChangeRequest/transactionPredicate``.
  ///   - changePredicate: A predicate for changes, as in ``PersistentHistoryChangeRequest/changePredicate``. Transactions without matching
  ///     changes are omitted.
  public init(
    _ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil,
    where transactionPredicate: FetchPredicate? = nil, changes changePredicate: FetchPredicate? = nil
  ) {
    self.coordinator = coordinator
    self.token = token
    transactions = transactionPredicate
    changes = changePredicate
  }

  /// Creates an observer for certain authors, or for changes of objects of an entity.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - token: The token after which to start, or nil for the beginning of each history.
  ///   - authors: The authors of the transactions, or nil for all.
  ///   - entityName: The entity of the changed objects, without its subentities, or nil for all.
  public init(
    _ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil, authors: Set<String>?, entityName: String? = nil
  ) {
    self.init(
      coordinator, after: token, where: authors.map { .compare("author", .in, $0.sorted()) },
      changes: entityName.map { .compare("entity", .equal, $0) })
  }

  /// Returns an iterator and starts observing.
  public func makeAsyncIterator() -> Iterator {
    Iterator(coordinator, token, { coordinator.history(after: $0, where: transactions, changes: changes) })
  }

  /// Waits for transactions.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: (PersistentHistoryToken?) -> PersistentHistorySequence
    private let coordinator: PersistentStoreCoordinator
    private var token: PersistentHistoryToken?
    private var present: PersistentHistorySequence.Iterator?
    /// The newest token when the current sequence was started.
    private var newest: PersistentHistoryToken?
    /// Signals commits since the last check.
    private var commits: AsyncStream<Void>.Iterator
    /// Stops observing when the iterator is deallocated.
    private let end: DeinitAction

    init(
      _ coordinator: PersistentStoreCoordinator, _ token: PersistentHistoryToken?,
      _ sequence: @escaping (PersistentHistoryToken?) -> PersistentHistorySequence
    ) {
      self.coordinator = coordinator
      self.token = token
      self.sequence = sequence
      // Only the most recent signal is buffered, because one is enough.
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let number = coordinator.addObserver { _ in continuation.yield() }
      let remote = coordinator.remoteChanges()
      let task = Task { for await _ in remote { continuation.yield() } }
      end = DeinitAction { [weak coordinator] in
        coordinator?.removeObserver(number)
        task.cancel()
        continuation.finish()
      }
      commits = stream.makeAsyncIterator()
    }

    /// Returns the next transaction or part of one, or nil if the task is canceled.
    ///
    /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)``.
    public mutating func next() async throws -> PersistentHistoryTransaction? {
      while true {
        if Task.isCancelled { return nil }
        if present == nil {
          // Read before the sequence starts: it will have covered all transactions up to here, even those that do not match.
          newest = try coordinator.currentPersistentHistoryToken()
          present = sequence(token).makeAsyncIterator()
        }
        do {
          if let transaction = try await present?.next() {
            if !transaction.isContinued { token = token?.merging(transaction.token) ?? transaction.token }
            return transaction
          }
        } catch is CancellationError { return nil }
        present = nil
        if let newest { token = token?.merging(newest) ?? newest }
        guard await commits.next() != nil else { return nil }
      }
    }
  }
}
