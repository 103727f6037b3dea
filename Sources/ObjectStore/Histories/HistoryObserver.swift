// HistoryObserver: the transactions of histories as they come, without an end.
import Foundation
public import ObjectQuery

/// What is written to the open stores, transaction by transaction, from a place on and without an end.
///
/// ```swift
/// for try await transaction in HistoryObserver(coordinator, after: token) {
///   print(transaction.author ?? "somebody", transaction.changes?.count ?? 0)
/// }
/// ```
///
/// It begins with what is there, and waits for what comes: of this coordinator, and of others where the stores were opened with
/// ``PersistentStoreDescription/postsRemoteChangeNotifications``. Keep ``PersistentHistoryTransaction/token`` of what you have worked on to go on from there
/// after a restart. Nothing is awake while nobody writes.
public struct HistoryObserver: AsyncSequence, Sendable {
  private let coordinator: PersistentStoreCoordinator
  private let token: PersistentHistoryToken?
  private let transactions: FetchPredicate?
  private let changes: FetchPredicate?

  /// Observes the histories of a coordinator's stores.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - token: The place to begin behind; nil for the beginning of each history.
  ///   - transactionPredicate: Which transactions, as in ``PersistentHistoryChangeRequest/transactionPredicate``.
  ///   - changePredicate: Which changes, as in ``PersistentHistoryChangeRequest/changePredicate``. Transactions without one are left out.
  public init(
    _ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil,
    where transactionPredicate: FetchPredicate? = nil, changes changePredicate: FetchPredicate? = nil
  ) {
    self.coordinator = coordinator
    self.token = token
    transactions = transactionPredicate
    changes = changePredicate
  }

  /// Observes what certain authors have written, or what was done to objects of an entity.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - token: The place to begin behind; nil for the beginning of each history.
  ///   - authors: Only transactions of these authors; nil for all.
  ///   - entityName: Only changes of objects of this entity, those of entities below it not included; nil for all.
  public init(
    _ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil, authors: Set<String>?, entityName: String? = nil
  ) {
    self.init(
      coordinator, after: token, where: authors.map { .compare("author", .in, $0.sorted()) },
      changes: entityName.map { .compare("entity", .equal, $0) })
  }

  /// Begins to observe.
  public func makeAsyncIterator() -> Iterator {
    Iterator(coordinator, token, { coordinator.history(after: $0, where: transactions, changes: changes) })
  }

  /// Waits for transactions.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: (PersistentHistoryToken?) -> PersistentHistorySequence
    private let coordinator: PersistentStoreCoordinator
    private var token: PersistentHistoryToken?
    private var present: PersistentHistorySequence.Iterator?
    /// The newest place when that walk was begun.
    private var newest: PersistentHistoryToken?
    /// Something was committed since it was looked last.
    private var commits: AsyncStream<Void>.Iterator
    /// Ends what it has begun.
    private let end: EndAction

    init(
      _ coordinator: PersistentStoreCoordinator, _ token: PersistentHistoryToken?,
      _ sequence: @escaping (PersistentHistoryToken?) -> PersistentHistorySequence
    ) {
      self.coordinator = coordinator
      self.token = token
      self.sequence = sequence
      // One note that something has come is as good as many.
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let number = coordinator.addObserver { _ in continuation.yield() }
      let remote = coordinator.remoteChanges()
      let task = Task { for await _ in remote { continuation.yield() } }
      end = EndAction { [weak coordinator] in
        coordinator?.removeObserver(number)
        task.cancel()
        continuation.finish()
      }
      commits = stream.makeAsyncIterator()
    }

    /// The next transaction, or the next part of one; nil once the task is cancelled.
    ///
    /// - Throws: ``StoreError``, as ``PersistentStoreCoordinator/execute(_:)``.
    public mutating func next() async throws -> PersistentHistoryTransaction? {
      while true {
        if Task.isCancelled { return nil }
        if present == nil {
          // Asked before the walk begins: it looks at all of this, whatever of it is wanted.
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
