import Foundation
public import ObjectQuery
import Synchronization

extension PersistentStoreCoordinator {
  /// Returns the transactions after a token as an asynchronous sequence that uses bounded memory, the oldest of each store first.
  ///
  /// ```swift
  /// for try await transaction in coordinator.history(after: token) {
  ///   for change in transaction.changes ?? [] { print(change.changedObjectID) }
  /// }
  /// ```
  ///
  /// A transaction with more than 1,000 changes is returned as several elements with the same number; see
  /// ``PersistentHistoryTransaction/isContinued``. The sequence includes transactions that are committed while it is read. Rows are read on
  /// demand, and not on the caller's thread.
  ///
  /// - Parameters:
  ///   - token: The token after which to start, or nil for all transactions.
  ///   - transactionPredicate: A predicate for transactions, as in ``PersistentHistoryChangeRequest/transactionPredicate``.
  ///   - changePredicate: A predicate for changes, as in ``PersistentHistoryChangeRequest/changePredicate``. Transactions without matching
  ///     changes are omitted.
  ///   - affectedStores: The UUIDs of the stores, or nil for all that keep a history.
  public func history(
    after token: PersistentHistoryToken? = nil, where transactionPredicate: FetchPredicate? = nil,
    changes changePredicate: FetchPredicate? = nil,
    affectedStores: [String]? = nil
  ) -> PersistentHistorySequence {
    PersistentHistorySequence(
      coordinator: self, token: token, transactions: transactionPredicate, changes: changePredicate, affectedStores: affectedStores)
  }
}

/// An asynchronous sequence of history transactions; see ``PersistentStoreCoordinator/history(after:where:changes:affectedStores:)``.
public struct PersistentHistorySequence: AsyncSequence, Sendable {
  let coordinator: PersistentStoreCoordinator
  let token: PersistentHistoryToken?
  let transactions: FetchPredicate?
  let changes: FetchPredicate?
  let affectedStores: [String]?

  /// Returns an iterator that starts after the token.
  public func makeAsyncIterator() -> Iterator { Iterator(HistoryCursor(self)) }

  /// Iterates over the transactions.
  public struct Iterator: AsyncIteratorProtocol {
    private let cursor: HistoryCursor
    /// The transactions read ahead, in reverse order. Switching threads for each transaction would cost more than reading it.
    private var waiting: [PersistentHistoryTransaction] = []

    init(_ cursor: HistoryCursor) { self.cursor = cursor }

    /// Returns the next transaction or part of one, or nil after the newest.
    ///
    /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)``; `CancellationError` if the task is canceled.
    public mutating func next() async throws -> PersistentHistoryTransaction? { try await next(isolation: nil) }

    /// Returns the next transaction or part of one. Does not leave the caller's isolation for transactions that were read ahead.
    ///
    /// - Parameter actor: The caller's isolation.
    /// - Throws: The errors of ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> PersistentHistoryTransaction? {
      if waiting.isEmpty {
        try Task.checkCancellation()
        waiting = try await cursor.next().reversed()
      }
      return waiting.popLast()
    }
  }
}

/// Reads the histories of several stores, one after the other, on a queue of its own.
///
/// `@unchecked Sendable`: mutable state is accessed only on the queue.
final class HistoryCursor: @unchecked Sendable {
  /// The maximum number of transactions to read at a time.
  private static let maximumCount = 100

  private let sequence: PersistentHistorySequence
  private let queue = DispatchQueue(label: "CipherData.History")
  private var filter: HistoryFilter?
  private var waiting: [OpenHistory] = []
  private var reader: HistoryReader?
  /// Whether the current transaction matches. `hasEmitted` says whether a part of it was already returned.
  private var isIncluded = false
  private var hasEmitted = false
  private var isOver = false
  /// An error that occurred after transactions had been read, thrown by the next call.
  private var failure: (any Error)?
  /// Whether the task was canceled. Checked for each change, because a transaction may have a million changes of which none matches.
  private let isCancelled = Atomic<Bool>(false)

  init(_ sequence: PersistentHistorySequence) { self.sequence = sequence }

  /// Returns the next transactions, or an empty array after the newest. Ends early when the number of changes reaches the maximum of a
  /// piece.
  func next() async throws -> [PersistentHistoryTransaction] {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { continuation.resume(with: Result { try self.advance() }) }
      }
    } onCancel: {
      isCancelled.store(true, ordering: .relaxed)
    }
  }

  private func advance() throws -> [PersistentHistoryTransaction] {
    if let failure {
      self.failure = nil
      throw failure
    }
    var found: [PersistentHistoryTransaction] = []
    var count = 0
    do {
      while !isOver, found.count < Self.maximumCount, count < HistoryReader.fragmentSize {
        guard let transaction = try step() else {
          isOver = true
          break
        }
        count += transaction.changes?.count ?? 0
        found.append(transaction)
      }
    } catch {
      isOver = true
      if found.isEmpty { throw error }
      failure = error
    }
    return found
  }

  private func step() throws -> PersistentHistoryTransaction? {
    let filter = try begin()
    while true {
      guard var reader else {
        guard !waiting.isEmpty else { return nil }
        let history = waiting.removeFirst()
        var query = HistoryQuery()
        filter.narrow(&query)
        query.after = max(query.after, try history.number(after: sequence.token))
        self.reader = history.reader(
          query,
          isIncluded: filter.acceptsChange.map { accepts in
            { [unowned self] change in
              if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
              return try accepts(change)
            }
          })
        continue
      }
      // Moved out, so that it is mutated in place.
      self.reader = nil
      guard let fragment = try reader.next() else { continue }
      self.reader = reader
      if fragment.isFirst { (isIncluded, hasEmitted) = (try filter.accepts(fragment.transaction), false) }
      guard isIncluded, sequence.changes == nil || !fragment.changes.isEmpty || (hasEmitted && fragment.isLast) else { continue }
      hasEmitted = true
      var transaction = fragment.transaction
      transaction.changes = fragment.changes
      transaction.isContinued = !fragment.isLast
      return transaction
    }
  }

  /// Creates the filter and finds the stores on the first call.
  private func begin() throws -> HistoryFilter {
    if let filter { return filter }
    let filter = try HistoryFilter(transactions: sequence.transactions, changes: sequence.changes)
    waiting = try sequence.coordinator.histories(affectedStores: sequence.affectedStores, token: sequence.token, .readHistory)
    self.filter = filter
    return filter
  }
}

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
      let number = coordinator.addCommitListener { continuation.yield() }
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
