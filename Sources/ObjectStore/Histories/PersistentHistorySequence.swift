// PersistentHistorySequence: the transactions of histories one after the other, however many there are.
import Foundation
public import ObjectQuery
import Synchronization

extension PersistentStoreCoordinator {
  /// The transactions behind a place, the oldest of a store first, in bounded memory.
  ///
  /// ```swift
  /// for try await transaction in coordinator.history(after: token) {
  ///   for change in transaction.changes ?? [] { print(change.changedObjectID) }
  /// }
  /// ```
  ///
  /// A transaction with more than a thousand changes comes in several elements of the same number, see ``PersistentHistoryTransaction/isContinued``. It ends behind what
  /// was written when it gets there; nothing is read before it is asked for, nor on the caller's thread.
  ///
  /// - Parameters:
  ///   - token: The place; nil for all that there is.
  ///   - transactionPredicate: Which transactions, as in ``PersistentHistoryChangeRequest/transactionPredicate``.
  ///   - changePredicate: Which changes, as in ``PersistentHistoryChangeRequest/changePredicate``. Transactions without one are left out.
  ///   - affectedStores: The UUIDs of the stores that are asked; nil for all that keep a history.
  public func history(
    after token: PersistentHistoryToken? = nil, where transactionPredicate: FetchPredicate? = nil,
    changes changePredicate: FetchPredicate? = nil,
    affectedStores: [String]? = nil
  ) -> PersistentHistorySequence {
    PersistentHistorySequence(
      coordinator: self, token: token, transactions: transactionPredicate, changes: changePredicate, affectedStores: affectedStores)
  }
}

/// The transactions of histories, see ``PersistentStoreCoordinator/history(after:where:changes:affectedStores:)``.
public struct PersistentHistorySequence: AsyncSequence, Sendable {
  let coordinator: PersistentStoreCoordinator
  let token: PersistentHistoryToken?
  let transactions: FetchPredicate?
  let changes: FetchPredicate?
  let affectedStores: [String]?

  /// Begins at the place.
  public func makeAsyncIterator() -> Iterator { Iterator(HistoryWalk(self)) }

  /// Walks through histories.
  public struct Iterator: AsyncIteratorProtocol {
    private let walk: HistoryWalk
    /// What was read and not handed out yet, the next one last: to change threads for each transaction would cost more than to read it.
    private var waiting: [PersistentHistoryTransaction] = []

    init(_ walk: HistoryWalk) { self.walk = walk }

    /// The next transaction, or the next part of one; nil behind the newest.
    ///
    /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)``; `CancellationError` where the task is cancelled.
    public mutating func next() async throws -> PersistentHistoryTransaction? { try await next(isolation: nil) }

    /// The next transaction, or the next part of one, without leaving the caller's isolation for those that were read already.
    ///
    /// - Parameter actor: The caller's isolation.
    /// - Throws: As ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> PersistentHistoryTransaction? {
      if waiting.isEmpty {
        try Task.checkCancellation()
        waiting = try await walk.next().reversed()
      }
      return waiting.popLast()
    }
  }
}

/// A walk through the histories of several stores, one after the other, on a queue of its own.
///
/// `@unchecked Sendable`: what changes is touched on the queue alone.
final class HistoryWalk: @unchecked Sendable {
  /// No more transactions are read at once.
  private static let greatestCount = 100

  private let sequence: PersistentHistorySequence
  private let queue = DispatchQueue(label: "CipherData.History")
  private var filter: HistoryFilter?
  private var waiting: [OpenHistory] = []
  private var reader: HistoryReader?
  /// Whether the transaction that is being read is wanted, and whether a part of it was told.
  private var isWanted = false
  private var isTold = false
  private var isOver = false
  /// What was found wrong behind transactions that were read.
  private var failure: (any Error)?
  /// Whether nobody waits any more: a transaction may have a million changes of which none is wanted.
  private let isCancelled = Atomic<Bool>(false)

  init(_ sequence: PersistentHistorySequence) { self.sequence = sequence }

  /// The next transactions, with no more changes than one piece has, as long as there are several; none behind the newest.
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
      while !isOver, found.count < Self.greatestCount, count < HistoryReader.pieceSize {
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
          isWanted: filter.acceptsChange.map { accepts in
            { [unowned self] change in
              if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
              return try accepts(change)
            }
          })
        continue
      }
      // Moved out, so that it is changed in its place.
      self.reader = nil
      guard let piece = try reader.next() else { continue }
      self.reader = reader
      if piece.isFirst { (isWanted, isTold) = (try filter.accepts(piece.transaction), false) }
      guard isWanted, sequence.changes == nil || !piece.changes.isEmpty || (isTold && piece.isLast) else { continue }
      isTold = true
      var transaction = piece.transaction
      transaction.changes = piece.changes
      transaction.isContinued = !piece.isLast
      return transaction
    }
  }

  /// Finds the stores, at the first step.
  private func begin() throws -> HistoryFilter {
    if let filter { return filter }
    let filter = try HistoryFilter(transactions: sequence.transactions, changes: sequence.changes)
    waiting = try sequence.coordinator.histories(affectedStores: sequence.affectedStores, token: sequence.token, .readHistory)
    self.filter = filter
    return filter
  }
}
