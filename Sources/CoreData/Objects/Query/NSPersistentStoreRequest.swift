// NSPersistentStoreRequest: what is asked of stores, and what they answer, as objects.
public import Foundation

/// What a request asks for.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// Objects.
  case fetchRequestType = 1
  /// That changes are saved.
  case saveRequestType
  /// That rows are inserted without objects.
  case batchInsertRequestType = 5
  /// That rows are changed without objects.
  case batchUpdateRequestType = 6
  /// That rows are deleted without objects.
  case batchDeleteRequestType = 7
}

/// Something that is asked of stores.
open class NSPersistentStoreRequest: NSObject {
  /// The stores that are asked; nil for all.
  public var affectedStores: [NSPersistentStore]?

  /// What it asks for.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The identifiers of the stores that are asked.
  final var storeIdentifiers: [String]? { affectedStores?.map(\.identifier) }
}

/// What stores have answered.
open class NSPersistentStoreResult: NSObject {}

/// What stores will answer.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
  /// The context that has asked.
  public let managedObjectContext: NSManagedObjectContext
  /// How far the stores have come; nil where that is not known.
  public private(set) var progress: Progress?
  /// Why there is no answer; nil as long as that is not known, and where there is one.
  public internal(set) var operationError: (any Error)?

  init(_ context: NSManagedObjectContext, _ progress: Progress?) {
    managedObjectContext = context
    self.progress = progress
  }

  /// Calls the request off.
  open func cancel() { progress?.cancel() }
}
