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
  private let specification: Result<FetchSpecification, any Error>?
  private let objectIDs: [NSManagedObjectID]
  /// What is returned.
  public var resultType = NSBatchDeleteRequestResultType.resultTypeStatusOnly

  /// Deletes what a fetch finds. What is changed of the request later is not heeded.
  public init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    specification = Result { try fetch.specification() }
    objectIDs = []
  }

  /// Deletes objects.
  public init(objectIDs objects: [NSManagedObjectID]) { (specification, objectIDs) = (nil, objects) }

  /// That rows are deleted.
  public override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  func value() throws -> BatchDeleteRequest {
    var request: BatchDeleteRequest
    if var specification = try specification?.get() {
      specification.resultType = .objects
      request = BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(asking: specification))
    } else {
      request = BatchDeleteRequest(objectIDs: objectIDs)
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
