import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

extension NSManagedObjectContext {
  // MARK: Fetching

  /// Returns the results of a request: objects, IDs, dictionaries or a count, depending on its result type.
  ///
  /// - Throws: `NSError`.
  public func fetch<Result: NSFetchRequestResult>(_ request: NSFetchRequest<Result>) throws -> [Result] {
    try results(of: request)
  }

  /// Returns the results of a request of any type.
  final func results<Result>(of request: NSFetchRequest<Result>) throws -> [Result] {
    // A subclass may override the method for requests of any result type.
    let results =
      type(of: self) == NSManagedObjectContext.self ? try found(request) : try fetch(NSFetchRequest<any NSFetchRequestResult>(request))
    // An array of exactly this type is returned without checking its elements.
    if let results = results as? [Result] { return results }
    throw CoreDataError.make(FetchResultError(entity: request.entityName ?? "", type: "\(Result.self)"))
  }

  /// Returns the results of a request, in an array of their type.
  final func found<Result>(_ request: NSFetchRequest<Result>) throws -> Any {
    checkQueue("fetch(_:)")
    return try CoreDataError.translating {
      try throwMisuse()
      let specification = try request.specification()
      let found: Any
      switch request.resultType {
      case .managedObjectIDResultType: found = try context.fetch(FetchRequest<ManagedObjectID>(asking: specification))
      case .dictionaryResultType:
        found = try context.fetch(FetchRequest<[String: Any]>(asking: specification)).map { NSDictionary(dictionary: $0) }
      case .countResultType: found = [NSNumber(value: try context.count(for: FetchRequest<ManagedObject>(asking: specification)))]
      default:
        let type = Result.self as? any (NSManagedObject & NSFetchRequestResult).Type
        found = try type.map { try objects($0, specification) } ?? context.fetch(FetchRequest<ManagedObject>(asking: specification))
      }
      return found
    }
  }

  /// Returns objects as an array of a class if all of them are instances of it. Only a generic function has the static type, so the
  /// protocol's metatype is opened.
  private func objects<Object: NSManagedObject & NSFetchRequestResult>(
    _ type: Object.Type, _ specification: FetchSpecification
  ) throws -> Any {
    if try context.returnsOnly(type, for: specification) { return try context.fetch(FetchRequest<Object>(asking: specification)) }
    return try context.fetch(FetchRequest<ManagedObject>(asking: specification))
  }

  /// Returns the number of objects that match a request.
  ///
  /// - Throws: `NSError`.
  public func count<Result: NSFetchRequestResult>(for request: NSFetchRequest<Result>) throws -> Int {
    type(of: self) == NSManagedObjectContext.self
      ? try number(of: request) : try count(for: NSFetchRequest<any NSFetchRequestResult>(request))
  }

  /// Returns the number of objects that match a request.
  final func number<Result>(of request: NSFetchRequest<Result>) throws -> Int {
    checkQueue("count(for:)")
    return try CoreDataError.translating { try context.count(for: FetchRequest<ManagedObject>(asking: try request.specification())) }
  }
}

extension NSEntityDescription {
  /// Returns the entity with a name in a context's model.
  public class func entity(forEntityName name: String, in context: NSManagedObjectContext) -> NSEntityDescription? {
    context.model?.entitiesByName[name]
  }

  /// Inserts a new object of an entity, which must exist.
  public class func insertNewObject(forEntityName name: String, into context: NSManagedObjectContext) -> NSManagedObject {
    context.checkQueue("insertNewObject(forEntityName:into:)")
    do {
      if let object = try context.context.insertObject(entityName: name) as? NSManagedObject { return object }
      // Every registered class of an entity inherits from NSManagedObject.
      preconditionFailure("the class of the entity “\(name)” is not below NSManagedObject")
    } catch {
      // The method cannot throw, and an object requires an entity. Core Data raises an exception too.
      preconditionFailure("\(error)")
    }
  }
}

/// The error that a fetched object is not an instance of the request's class.
struct FetchResultError: LocalizedError {
  let entity: String
  let type: String
  var errorDescription: String? {
    "the request for “\(entity)” names \(type), and what was fetched is of another type; see its result type and the entity's class"
  }
}

// MARK: - Executing store requests

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
