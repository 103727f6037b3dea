public import Foundation

/// The type of a request.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// A fetch.
  case fetchRequestType = 1
  /// A save.
  case saveRequestType
  /// A batch insert.
  case batchInsertRequestType = 5
  /// A batch update.
  case batchUpdateRequestType = 6
  /// A batch delete.
  case batchDeleteRequestType = 7
}

/// A request to persistent stores.
open class NSPersistentStoreRequest: NSObject {
  /// The stores to which the request is sent; nil for all.
  public var affectedStores: [NSPersistentStore]?

  /// The type of the request.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The identifiers of the affected stores.
  final var storeIdentifiers: [String]? { affectedStores?.map(\.identifier) }
}

/// The result of a request.
open class NSPersistentStoreResult: NSObject {}

/// The result of an asynchronous request.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
  /// The context that executed the request.
  public let managedObjectContext: NSManagedObjectContext
  /// The progress of the request; nil if it is unknown.
  public private(set) var progress: Progress?
  /// The error of the request; nil if it is running or succeeded.
  public internal(set) var operationError: (any Error)?

  init(_ context: NSManagedObjectContext, _ progress: Progress?) {
    managedObjectContext = context
    self.progress = progress
  }

  /// Cancels the request.
  open func cancel() { progress?.cancel() }
}
