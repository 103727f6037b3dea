public import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// The type of a history request's result.
public enum NSPersistentHistoryResultType: Int, Sendable {
  /// Whether the request succeeded.
  case statusOnly
  /// The IDs of the changed objects.
  case objectIDs
  /// The number of changes.
  case count
  /// Transactions without their changes.
  case transactionsOnly
  /// The changes without their transactions.
  case changesOnly
  /// Transactions with their changes.
  case transactionsAndChanges
}

/// A request that fetches or deletes persistent history.
public final class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  private let request: PersistentHistoryChangeRequest
  /// The type of the result.
  public var resultType: NSPersistentHistoryResultType
  /// The token after which the history begins, if any.
  public let token: NSPersistentHistoryToken?
  /// The request for transactions or changes. Only its predicate and limit are used.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  private init(
    _ request: PersistentHistoryChangeRequest, _ type: NSPersistentHistoryResultType, _ token: NSPersistentHistoryToken? = nil,
    _ fetch: NSFetchRequest<any NSFetchRequestResult>? = nil
  ) {
    (self.request, resultType, self.token, fetchRequest) = (request, type, token, fetch)
  }

  /// Returns a request for the history after a date.
  public class func fetchHistory(after date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: date), .transactionsAndChanges)
  }
  /// Returns a request for the history after a token; nil for the entire history.
  public class func fetchHistory(after token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: token?.token), .transactionsAndChanges, token)
  }
  /// Returns a request for the history after a transaction; nil for the entire history.
  public class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest {
    guard let transaction else { return fetchHistory(after: NSPersistentHistoryToken?.none) }
    return NSPersistentHistoryChangeRequest(.fetchHistory(after: transaction.transaction), .transactionsAndChanges)
  }
  /// Returns a request for the transactions or changes that a fetch request matches.
  public class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: PersistentHistoryToken?.none), .transactionsAndChanges, nil, fetchRequest)
  }
  /// Returns a request that deletes the history before a date.
  public class func deleteHistory(before date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: date), .statusOnly)
  }
  /// Returns a request that deletes the history before a token. If it is nil, all but the latest transaction is deleted.
  public class func deleteHistory(before token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: token?.token), .statusOnly, token)
  }
  /// Returns a request that deletes the history before a transaction. If it is nil, all but the latest transaction is deleted.
  public class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest {
    guard let transaction else { return deleteHistory(before: NSPersistentHistoryToken?.none) }
    return NSPersistentHistoryChangeRequest(.deleteHistory(before: transaction.transaction), .statusOnly)
  }

  func value() throws -> PersistentHistoryChangeRequest {
    var value = request
    value.affectedStores = storeIdentifiers
    if let fetchRequest {
      let predicate = try fetchRequest.predicate?.outcome.get()
      if fetchRequest.entityName == "Change" { value.changePredicate = predicate } else { value.transactionPredicate = predicate }
      value.fetchLimit = fetchRequest.fetchLimit
    }
    value.resultType =
      switch resultType {
      case .statusOnly: .statusOnly
      case .objectIDs: .objectIDs
      case .count: .count
      case .transactionsOnly: .transactionsOnly
      case .changesOnly: .changesOnly
      case .transactionsAndChanges: .transactionsAndChanges
      }
    return value
  }
}

/// The result of a history request.
public final class NSPersistentHistoryResult: NSPersistentStoreResult {
  /// The type of the result.
  public let resultType: NSPersistentHistoryResultType
  /// The result: a `Bool`, an array of ``NSManagedObjectID``s, an `Int`, or an array of ``NSPersistentHistoryTransaction``s or
  /// ``NSPersistentHistoryChange``s.
  public let result: Any?

  init(_ type: NSPersistentHistoryResultType, _ result: PersistentHistoryResult) {
    resultType = type
    self.result =
      switch type {
      case .statusOnly: result.status
      case .objectIDs: result.objectIDs
      case .count: result.count
      case .transactionsOnly, .transactionsAndChanges: result.transactions.map(NSPersistentHistoryTransaction.init)
      case .changesOnly: result.changes.map { NSPersistentHistoryChange($0, of: nil) }
      }
  }
}
