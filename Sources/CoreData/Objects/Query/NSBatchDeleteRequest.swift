// NSBatchDeleteRequest: deletions of many rows without objects.
import Foundation
import ObjectContext
public import ObjectModel
import ObjectQuery
import ObjectStore

/// What a batch deletion returns.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
  /// That it succeeded.
  case resultTypeStatusOnly
  /// Which objects were deleted.
  case resultTypeObjectIDs
  /// How many.
  case resultTypeCount
}

/// A deletion of all objects of a fetch, or of given ones, by their delete rules and without making objects.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  /// What finds the objects: a copy of the request that was given, or one for the objects' IDs.
  public let fetchRequest: NSFetchRequest<any NSFetchRequestResult>
  private let objectIDs: [NSManagedObjectID]?
  /// What is returned.
  public var resultType = NSBatchDeleteRequestResultType.resultTypeStatusOnly

  /// Deletes what a fetch finds. What is changed of the request later is not heeded.
  public init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    fetchRequest = NSFetchRequest(sharing: FetchContents(fetch.question))
    objectIDs = nil
  }

  /// Deletes objects.
  public init(objectIDs objects: [NSManagedObjectID]) {
    fetchRequest = NSFetchRequest(entityName: objects.first?.entityName ?? "")
    fetchRequest.predicate = NSPredicate(format: "SELF IN %@", objects)
    objectIDs = objects
  }

  /// That rows are deleted.
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

/// What a batch deletion has done.
open class NSBatchDeleteResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: NSBatchDeleteRequestResultType
  /// Whether it succeeded, the IDs of the objects, or their number: a `Bool`, an array of ``NSManagedObjectID``s or an `Int`.
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
