public import Foundation
public import ObjectModel
public import ObjectQuery

/// The kind of result that a history request returns.
public enum PersistentHistoryResultType: Sendable, Hashable, CaseIterable {
  /// Only success or failure.
  case statusOnly
  /// The distinct IDs of the changed objects.
  case objectIDs
  /// The number of changes.
  case count
  /// Transactions without their changes.
  case transactionsOnly
  /// The changes of all transactions in sequence.
  case changesOnly
  /// Transactions with their changes.
  case transactionsAndChanges
}

/// A request to fetch or delete transactions of the stores' histories.
///
/// ```swift
/// var request = PersistentHistoryChangeRequest.fetchHistory(after: token)
/// request.transactionPredicate = try FetchPredicate(format: "author != 'me'")
/// let result = try context.execute(request)
/// ```
///
/// A fetch returns its whole result in memory. ``PersistentStoreCoordinator/history(after:where:changes:affectedStores:)`` reads a history
/// of any size in bounded memory.
public struct PersistentHistoryChangeRequest: Sendable {
  enum Place: Sendable {
    case token(PersistentHistoryToken?)
    case date(Date)
    case transaction(PersistentHistoryTransaction)
  }
  enum Action: Sendable {
    case fetch(after: Place)
    case delete(before: Place)
  }

  let action: Action
  /// The kind of result. Transactions with their changes by default for a fetch, only the status for a deletion.
  public var resultType: PersistentHistoryResultType
  /// A predicate for transactions.
  ///
  /// It can use these attributes of ``PersistentHistoryTransaction``: `token` (the number), `author`, `contextName`, `processID`,
  /// `bundleID`, `storeID`, `timestamp`, and `kind`. If it uses `kind`, the result can also include the initial record of a history
  /// (`begin`), which the library itself writes.
  public var transactionPredicate: FetchPredicate?
  /// A predicate for changes. It can use `object` (the URI as a string), `entity`, `changeType` (`insert`, `update`, `delete`), and
  /// `properties`, a collection of names: `ANY properties == 'title'`.
  public var changePredicate: FetchPredicate?
  /// The maximum number of transactions, or 0 for all. With a negative number, the request throws.
  public var fetchLimit = 0
  /// The UUIDs of the stores, or nil for all that keep a history.
  public var affectedStores: [String]?
  /// Whether a deletion includes transactions that consumers have not read.
  public var forcesDeletion = false

  private init(_ action: Action, _ resultType: PersistentHistoryResultType) {
    self.action = action
    self.resultType = resultType
  }

  /// Returns a request to fetch the transactions after a token, or all transactions if the token is nil.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .token(token)), .transactionsAndChanges)
  }

  /// Returns a request to fetch the transactions at or after a date.
  public static func fetchHistory(after date: Date) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .date(date)), .transactionsAndChanges)
  }

  /// Returns a request to fetch the transactions after a transaction.
  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .transaction(transaction)), .transactionsAndChanges)
  }

  /// Returns a request to delete the transactions before a token. The transaction of the token is kept. If the token is nil, all
  /// transactions except the newest are deleted.
  public static func deleteHistory(before token: PersistentHistoryToken?) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .token(token)), .statusOnly)
  }

  /// Returns a request to delete the transactions before a date. The newest transaction is always kept.
  public static func deleteHistory(before date: Date) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .date(date)), .statusOnly)
  }

  /// Returns a request to delete the transactions before a transaction, which is kept.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .transaction(transaction)), .statusOnly)
  }
}

/// The result of a history request.
public struct PersistentHistoryResult: Sendable {
  /// The requested kind of result.
  public let resultType: PersistentHistoryResultType
  /// The transactions, with or without their changes, the oldest of each store first. Empty for other kinds of results.
  public internal(set) var transactions: [PersistentHistoryTransaction] = []
  /// The changes. Empty for other kinds of results.
  public internal(set) var changes: [PersistentHistoryChange] = []
  /// The distinct IDs of the changed objects, in the order of their first change. Empty for other kinds of results.
  public internal(set) var objectIDs: [ManagedObjectID] = []
  /// The number of changes. 0 for kinds of results for which changes are not read.
  public internal(set) var count = 0
  /// Whether the request succeeded.
  public internal(set) var status = true
  /// The token after the last transaction that was examined, whether or not it matched. A later request can continue from it. Nil if there
  /// was no transaction.
  public internal(set) var lastToken: PersistentHistoryToken?

  init(_ resultType: PersistentHistoryResultType) { self.resultType = resultType }
}

/// Collects the result of a history request.
struct HistoryCollector {
  private(set) var result: PersistentHistoryResult
  private let limit: Int
  /// Whether transactions without matching changes are omitted.
  private let isFiltered: Bool
  private var seen: Set<ManagedObjectID> = []
  private var transactionCount = 0
  /// The current transaction with its changes so far, and whether it is included.
  private var open: (transaction: PersistentHistoryTransaction, isIncluded: Bool)?

  init(_ type: PersistentHistoryResultType, limit: Int, isFiltered: Bool) {
    result = PersistentHistoryResult(type)
    self.limit = limit
    self.isFiltered = isFiltered
  }

  var includesChanges: Bool { isFiltered || !(result.resultType == .transactionsOnly || result.resultType == .statusOnly) }
  var isFull: Bool { limit > 0 && transactionCount >= limit && open == nil }

  /// Skips a piece of a transaction that does not match.
  mutating func pass(_ fragment: HistoryFragment) { if fragment.isLast { record(fragment) } }

  mutating func add(_ fragment: HistoryFragment) {
    if fragment.isFirst {
      var transaction = fragment.transaction
      if result.resultType == .transactionsAndChanges { transaction.changes = [] }
      open = (transaction, !isFiltered)
    }
    guard var (transaction, isIncluded) = open else { return }
    isIncluded = isIncluded || !fragment.changes.isEmpty
    transaction.skippedChangeCount = fragment.transaction.skippedChangeCount
    transaction.schemaChanges = fragment.transaction.schemaChanges
    switch result.resultType {
    case .transactionsAndChanges: transaction.changes?.append(contentsOf: fragment.changes)
    case .changesOnly: result.changes += fragment.changes
    case .objectIDs:
      for change in fragment.changes where seen.insert(change.changedObjectID).inserted { result.objectIDs.append(change.changedObjectID) }
    case .count, .transactionsOnly, .statusOnly: break
    }
    if includesChanges { result.count += fragment.changes.count }
    guard fragment.isLast else {
      open = (transaction, isIncluded)
      return
    }
    open = nil
    record(fragment)
    guard isIncluded else { return }
    transactionCount += 1
    if result.resultType == .transactionsAndChanges || result.resultType == .transactionsOnly { result.transactions.append(transaction) }
  }

  private mutating func record(_ fragment: HistoryFragment) {
    let token = fragment.transaction.token
    result.lastToken = result.lastToken.map { $0.merging(token) } ?? token
  }
}
