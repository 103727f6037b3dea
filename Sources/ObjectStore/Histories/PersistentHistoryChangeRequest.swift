// PersistentHistoryChangeRequest: asks for, or deletes, what the histories of stores have.
public import Foundation
public import ObjectModel
public import ObjectQuery

/// What a request for a history answers with.
public enum PersistentHistoryResultType: Sendable, Hashable, CaseIterable {
  /// Whether it was done.
  case statusOnly
  /// The IDs of the objects changed, each once.
  case objectIDs
  /// The number of changes.
  case count
  /// Transactions without their changes.
  case transactionsOnly
  /// Changes, those of all transactions one after the other.
  case changesOnly
  /// Transactions with their changes.
  case transactionsAndChanges
}

/// Asks what was written to stores, or deletes from their histories.
///
/// ```swift
/// var request = PersistentHistoryChangeRequest.fetchHistory(after: token)
/// request.transactionPredicate = try FetchPredicate(format: "author != 'me'")
/// let result = try context.execute(request)
/// ```
///
/// A fetch holds what it answers with in memory; ``PersistentStoreCoordinator/history(after:where:changes:affectedStores:)`` reads however much there is.
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
  /// What is answered; transactions with their changes by default, of a deletion whether it was done.
  public var resultType: PersistentHistoryResultType
  /// Which transactions: a condition over ``PersistentHistoryTransaction`` by the names of its attributes: `token` (the number), `author`, `contextName`, `processID`,
  /// `bundleID`, `storeID`, `timestamp`, `kind`. A condition over `kind` also finds the record of the library's own with which a history begins (`begin`).
  public var transactionPredicate: FetchPredicate?
  /// Which changes: a condition over `object` (its URI as a string), `entity`, `changeType` (`insert`, `update`, `delete`) and `properties`, a collection of names:
  /// `ANY properties == 'title'`.
  public var changePredicate: FetchPredicate?
  /// At most so many transactions; 0 for all. A negative number makes the request throw.
  public var fetchLimit = 0
  /// The UUIDs of the stores that are asked; nil for all that keep a history.
  public var affectedStores: [String]?
  /// Whether a deletion goes past what consumers have read.
  public var forcesDeletion = false

  private init(_ action: Action, _ resultType: PersistentHistoryResultType) {
    self.action = action
    self.resultType = resultType
  }

  /// Asks for what was written after a place; nil for all that there is.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .token(token)), .transactionsAndChanges)
  }

  /// Asks for what was written at a time and later.
  public static func fetchHistory(after date: Date) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .date(date)), .transactionsAndChanges)
  }

  /// Asks for what was written after a transaction.
  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.fetch(after: .transaction(transaction)), .transactionsAndChanges)
  }

  /// Deletes what was written before a place; the transaction of the place stays. Nil deletes all but the newest transaction.
  public static func deleteHistory(before token: PersistentHistoryToken?) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .token(token)), .statusOnly)
  }

  /// Deletes what was written before a time, but never the newest transaction.
  public static func deleteHistory(before date: Date) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .date(date)), .statusOnly)
  }

  /// Deletes what was written before a transaction, which stays.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction) -> PersistentHistoryChangeRequest {
    PersistentHistoryChangeRequest(.delete(before: .transaction(transaction)), .statusOnly)
  }
}

/// What a request for a history has found.
public struct PersistentHistoryResult: Sendable {
  /// What was asked for.
  public let resultType: PersistentHistoryResultType
  /// The transactions, with or without their changes, the oldest of a store first; empty for other types.
  public internal(set) var transactions: [PersistentHistoryTransaction] = []
  /// The changes; empty for other types.
  public internal(set) var changes: [PersistentHistoryChange] = []
  /// The IDs of the objects changed, each once, in the order of their first change; empty for other types.
  public internal(set) var objectIDs: [ManagedObjectID] = []
  /// The number of changes; 0 for types for which they are not read.
  public internal(set) var count = 0
  /// Whether it was done.
  public internal(set) var status = true
  /// The place behind the last transaction that was looked at, whether it was wanted or not: where a later request goes on. Nil where none was.
  public internal(set) var lastToken: PersistentHistoryToken?

  init(_ resultType: PersistentHistoryResultType) { self.resultType = resultType }
}
