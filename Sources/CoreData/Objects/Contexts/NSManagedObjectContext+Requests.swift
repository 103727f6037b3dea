// NSManagedObjectContext+Requests: requests that are more than fetches, and the changes of others.
import Foundation
import ObjectContext
import ObjectStore

extension NSManagedObjectContext {
  /// Does what a request asks for: inserts, changes or deletes rows without objects, or begins an asynchronous fetch.
  ///
  /// The context's own objects are brought in step with a batch request before the call returns, and so are other contexts with ``automaticallyMergesChangesFromParent``.
  ///
  /// - Returns: An ``NSBatchInsertResult``, ``NSBatchUpdateResult``, ``NSBatchDeleteResult`` or ``NSAsynchronousFetchResult``.
  /// - Throws: `NSError`.
  @discardableResult public func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    checkQueue("execute(_:)")
    return try CoreDataError.translating {
      switch request {
      case let request as NSBatchInsertRequest:
        return NSBatchInsertResult(request.resultType, try context.execute(request.value(in: context, mergePolicy)))
      case let request as NSBatchUpdateRequest: return NSBatchUpdateResult(request.resultType, try context.execute(try request.value()))
      case let request as NSBatchDeleteRequest: return NSBatchDeleteResult(request.resultType, try context.execute(try request.value()))
      case let request as NSPersistentHistoryChangeRequest:
        return NSPersistentHistoryResult(request.resultType, try context.execute(try request.value()))
      case let request as any BeginningFetch: return try request.begin(in: self)
      default: throw UnknownRequestError(type: "\(type(of: request))")
      }
    }
  }

  /// Brings contexts in step with changes that were made elsewhere: by another process, or by a batch request.
  ///
  /// - Parameters:
  ///   - changeNotificationData: Objects, their IDs or the URIs of these under ``NSInsertedObjectsKey``, ``NSUpdatedObjectsKey``, ``NSDeletedObjectsKey`` and their like.
  ///   - contexts: The contexts. Each does it on its queue before the call returns.
  public class func mergeChanges(fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext])
  {
    for context in contexts {
      context.performAndWait {
        for changes in SavedChanges(changeNotificationData, in: context).changeSets(in: context) {
          context.context.mergeChanges(from: changes)
        }
      }
    }
  }
}

/// A request that contexts do not know.
struct UnknownRequestError: LocalizedError {
  let type: String
  var errorDescription: String? {
    "contexts execute batch requests, asynchronous fetches and requests for histories, and \(type) is none of them"
  }
}
