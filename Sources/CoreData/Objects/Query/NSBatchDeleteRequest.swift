import Foundation
import ObjectContext
public import ObjectModel
import ObjectQuery
import ObjectStore

/// The type of a batch delete's result.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
  /// Whether the request succeeded.
  case resultTypeStatusOnly
  /// The IDs of the deleted objects.
  case resultTypeObjectIDs
  /// The number of deleted objects.
  case resultTypeCount
}

/// A request that deletes all objects of a fetch, or given objects, and applies their delete rules without creating objects.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  /// The request that finds the objects: a copy of the given request, or one for the object IDs.
  public let fetchRequest: NSFetchRequest<any NSFetchRequestResult>
  private let objectIDs: [NSManagedObjectID]?
  /// The type of the result.
  public var resultType = NSBatchDeleteRequestResultType.resultTypeStatusOnly

  /// Creates a request that deletes the objects of a fetch. Later changes of the fetch request have no effect.
  public init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    fetchRequest = NSFetchRequest(sharing: FetchContents(fetch.contents))
    objectIDs = nil
  }

  /// Creates a request that deletes the objects with IDs.
  public init(objectIDs objects: [NSManagedObjectID]) {
    fetchRequest = NSFetchRequest(entityName: objects.first?.entityName ?? "")
    fetchRequest.predicate = NSPredicate(format: "SELF IN %@", objects)
    objectIDs = objects
  }

  /// The batch delete request type.
  public override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  func value() throws -> BatchDeleteRequest {
    var request: BatchDeleteRequest
    if let objectIDs {
      request = BatchDeleteRequest(objectIDs: objectIDs)
    } else {
      var specification = try fetchRequest.specification()
      specification.resultType = .objects
      request = BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(asking: specification))
    }
    if let storeIdentifiers { request.affectedStores = storeIdentifiers }
    request.resultType =
      switch resultType {
      case .resultTypeStatusOnly: .statusOnly
      case .resultTypeObjectIDs: .objectIDs
      case .resultTypeCount: .count
      }
    return request
  }
}

/// The result of a batch delete.
open class NSBatchDeleteResult: NSPersistentStoreResult {
  /// The type of the result.
  public let resultType: NSBatchDeleteRequestResultType
  /// The result: a `Bool` for success, an array of ``NSManagedObjectID``s, or the number of objects as an `Int`.
  public let result: Any?

  init(_ type: NSBatchDeleteRequestResultType, _ result: BatchResult) {
    resultType = type
    self.result =
      switch type {
      case .resultTypeStatusOnly: true
      case .resultTypeObjectIDs: result.objectIDs
      case .resultTypeCount: result.count
      }
  }
}
