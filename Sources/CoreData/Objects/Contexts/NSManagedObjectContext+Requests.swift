import Foundation
import ObjectContext
import ObjectStore

extension NSManagedObjectContext {
  /// Executes a request other than a fetch.
  final func result(of request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    checkQueue("execute(_:)")
    return try CoreDataError.translating {
      switch request {
      case let request as NSBatchInsertRequest:
        return NSBatchInsertResult(request.resultType, try context.execute(request.value(in: context, mergePolicy)))
      case let request as NSBatchUpdateRequest: return NSBatchUpdateResult(request.resultType, try context.execute(try request.value()))
      case let request as NSBatchDeleteRequest: return NSBatchDeleteResult(request.resultType, try context.execute(try request.value()))
      case let request as NSPersistentHistoryChangeRequest:
        return NSPersistentHistoryResult(request.resultType, try context.execute(try request.value()))
      case let request as any StartableFetch: return try request.begin(in: self)
      default: throw UnknownRequestError(type: "\(type(of: request))")
      }
    }
  }
}

/// The error that contexts do not support a request.
struct UnknownRequestError: LocalizedError, CodedError {
  let type: String
  var number: Int { NSPersistentStoreUnsupportedRequestTypeError }
  var errorDescription: String? {
    "contexts execute batch requests, asynchronous fetches and history requests, not \(type)"
  }
}
