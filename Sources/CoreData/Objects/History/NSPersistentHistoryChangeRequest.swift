// NSPersistentHistoryChangeRequest: what is asked of the histories of stores, as objects.
public import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// What is answered.
public enum NSPersistentHistoryResultType: Int, Sendable {
  /// Whether it was done.
  case statusOnly
  /// The IDs of the objects that were changed.
  case objectIDs
  /// How many changes there are.
  case count
  /// Transactions without their changes.
  case transactionsOnly
  /// Changes.
  case changesOnly
  /// Transactions with their changes.
  case transactionsAndChanges
}

/// A request for what the histories of stores have, or for its deletion.
public final class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  private let request: PersistentHistoryChangeRequest
  /// What is answered.
  public var resultType: NSPersistentHistoryResultType
  /// The place that it begins after, where it does.
  public let token: NSPersistentHistoryToken?
  /// Which transactions, or changes: its condition and its limit count.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  private init(
    _ request: PersistentHistoryChangeRequest, _ type: NSPersistentHistoryResultType, _ token: NSPersistentHistoryToken? = nil,
    _ fetch: NSFetchRequest<any NSFetchRequestResult>? = nil
  ) {
    (self.request, resultType, self.token, fetchRequest) = (request, type, token, fetch)
  }

  /// What was written after a time.
  public class func fetchHistory(after date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: date), .transactionsAndChanges)
  }
  /// What was written after a place; all where it is nil.
  public class func fetchHistory(after token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: token?.token), .transactionsAndChanges, token)
  }
  /// What was written after a transaction; all where it is nil.
  public class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest {
    guard let transaction else { return fetchHistory(after: NSPersistentHistoryToken?.none) }
    return NSPersistentHistoryChangeRequest(.fetchHistory(after: transaction.transaction), .transactionsAndChanges)
  }
  /// What a request for transactions or changes asks for.
  public class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: PersistentHistoryToken?.none), .transactionsAndChanges, nil, fetchRequest)
  }
  /// Deletes what was written before a time.
  public class func deleteHistory(before date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: date), .statusOnly)
  }
  /// Deletes what was written before a place; all but the newest transaction where it is nil.
  public class func deleteHistory(before token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: token?.token), .statusOnly, token)
  }
  /// Deletes what was written before a transaction; all but the newest one where it is nil.
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

/// What the histories have answered.
public final class NSPersistentHistoryResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: NSPersistentHistoryResultType
  /// A `Bool`, an array of ``NSManagedObjectID``s, an `Int`, or an array of ``NSPersistentHistoryTransaction``s or ``NSPersistentHistoryChange``s.
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
