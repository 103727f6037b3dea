public import Foundation
import ObjectContext
public import ObjectModel
import ObjectQuery
import ObjectStore

/// The type of a batch insert's result.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// Whether the request succeeded.
  case statusOnly
  /// The IDs of the inserted objects.
  case objectIDs
  /// The number of inserted objects.
  case count
}

/// A request that atomically inserts rows without creating objects.
///
/// The context's merge policy resolves violations of uniqueness constraints. With ``NSMergePolicy/mergeByPropertyObjectTrump``, the stored
/// objects take the row's values. With ``NSMergePolicy/overwrite``, they are replaced. With ``NSMergePolicy/mergeByPropertyStoreTrump`` and
/// ``NSMergePolicy/rollback``, the rows are skipped. With ``NSMergePolicy/error``, the request fails.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  /// The entity.
  public let entity: NSEntityDescription?
  /// The rows: dictionaries of values by property name.
  public var objectsToInsert: [[String: Any]]?
  /// A closure that fills a row and returns false, or returns true if there are no more rows.
  public var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
  /// A closure that fills an object without a context and returns false, or returns true if there are no more rows.
  public var managedObjectHandler: ((NSManagedObject) -> Bool)?
  /// The type of the result.
  public var resultType = NSBatchInsertRequestResultType.statusOnly

  private init(
    _ name: String, _ entity: NSEntityDescription?, _ objects: [[String: Any]]? = nil, _ dictionary: ((NSMutableDictionary) -> Bool)? = nil,
    _ object: ((NSManagedObject) -> Bool)? = nil
  ) {
    (entityName, self.entity, objectsToInsert, dictionaryHandler, managedObjectHandler) = (name, entity, objects, dictionary, object)
  }

  /// Creates a request that inserts rows given as dictionaries.
  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) { self.init(entityName, nil, dictionaries) }
  /// Creates a request that inserts rows given as dictionaries.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity.name ?? "", entity, dictionaries)
  }
  /// Creates a request that inserts rows that a closure fills one at a time.
  public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entityName, nil, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time.
  public convenience init(entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entity.name ?? "", entity, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time through an object's properties.
  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entityName, nil, nil, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time through an object's properties.
  public convenience init(entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entity.name ?? "", entity, nil, nil, handler)
  }

  /// The batch insert request type.
  public override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  func value(in context: ManagedObjectContext, _ policy: NSMergePolicy) -> BatchInsertRequest {
    let onConflict: BatchConflictPolicy =
      switch policy.mergeType {
      case .errorMergePolicyType: .error
      case .mergeByPropertyObjectTrumpMergePolicyType: .update()
      case .overwriteMergePolicyType: .replace
      case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: .ignore
      }
    var value = rows(in: context, onConflict)
    value.affectedStores = storeIdentifiers
    value.resultType = resultType.value
    return value
  }

  private func rows(in context: ManagedObjectContext, _ onConflict: BatchConflictPolicy) -> BatchInsertRequest {
    if let managedObjectHandler {
      let type = context.classes.type(of: entityName) as? NSManagedObject.Type ?? NSManagedObject.self
      return type.rows(filledBy: managedObjectHandler, onConflict).named(entityName)
    }
    if let dictionaryHandler {
      return BatchInsertRequest(entityName: entityName, onConflict: onConflict) { row in
        let filled = NSMutableDictionary()
        if dictionaryHandler(filled) { return true }
        row = Self.row(filled)
        return false
      }
    }
    return BatchInsertRequest(entityName: entityName, objects: (objectsToInsert ?? []).map(Self.row), onConflict: onConflict)
  }

  private static func row(_ values: NSDictionary) -> [String: Any] {
    var row: [String: Any] = [:]
    for (key, value) in values { row["\(key)"] = value }
    return Self.row(row)
  }

  /// Returns a row with objects replaced by their IDs.
  private static func row(_ values: [String: Any]) -> [String: Any] {
    values.mapValues { ManagedValue.unlinked(ManagedValue.taken($0)) ?? NSNull() }
  }
}

extension NSManagedObject {
  /// Returns the rows that a closure fills through the properties of an object of the class.
  fileprivate class func rows(
    filledBy handler: @escaping (NSManagedObject) -> Bool, _ onConflict: BatchConflictPolicy
  ) -> BatchInsertRequest {
    BatchInsertRequest(Self.self, onConflict: onConflict) { handler($0) }
  }
}

/// The result of a batch insert.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// The type of the result.
  public let resultType: NSBatchInsertRequestResultType
  /// The result: a `Bool` for success, an array of ``NSManagedObjectID``s, or the number of objects as an `Int`.
  public let result: Any?

  init(_ type: NSBatchInsertRequestResultType, _ result: BatchResult) {
    resultType = type
    self.result = result.value(of: type.value)
  }
}

/// The type of a batch update's result.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
  /// Whether the request succeeded.
  case statusOnlyResultType
  /// The IDs of the updated objects.
  case updatedObjectIDsResultType
  /// The number of updated objects.
  case updatedObjectsCountResultType
}

/// A request that updates all rows that match a predicate without creating objects.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  /// The entity.
  public let entity: NSEntityDescription?
  /// The predicate of the rows to update; nil for all rows.
  public var predicate: NSPredicate?
  /// Whether rows of subentities are included.
  public var includesSubentities = true
  /// The type of the result.
  public var resultType = NSBatchUpdateRequestResultType.statusOnlyResultType
  /// The new values by property or property name: constants, objects or expressions.
  public var propertiesToUpdate: [AnyHashable: Any]?

  /// Creates a request that updates rows of an entity.
  public init(entityName: String) { (self.entityName, entity) = (entityName, nil) }
  /// Creates a request that updates rows of an entity.
  public init(entity: NSEntityDescription) { (entityName, self.entity) = (entity.name ?? "", entity) }

  /// The batch update request type.
  public override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }

  func value() throws -> BatchUpdateRequest {
    var values: [String: (any Sendable)?] = [:]
    for (key, value) in propertiesToUpdate ?? [:] {
      guard let name = (key.base as? NSPropertyDescription)?.name ?? (key.base as? String) else {
        throw FetchRequestError.unknownProperty("\(type(of: key.base))")
      }
      values[name] = .some(try Self.value(value))
    }
    var request = BatchUpdateRequest(entityName: entityName, predicate: try predicate?.outcome.get(), propertiesToUpdate: values)
    request.includesSubentities = includesSubentities
    request.affectedStores = storeIdentifiers
    request.resultType = resultType.value
    return request
  }

  /// Returns a value in the library's type.
  private static func value(_ value: Any) throws -> (any Sendable)? {
    if let object = value as? ManagedObject { return object.objectID }
    if let expression = value as? NSExpression { return try expression.outcome.get() }
    return try PredicateArgument.stored(value)
  }
}

/// The result of a batch update.
open class NSBatchUpdateResult: NSPersistentStoreResult {
  /// The type of the result.
  public let resultType: NSBatchUpdateRequestResultType
  /// The result: a `Bool` for success, an array of ``NSManagedObjectID``s, or the number of objects as an `Int`.
  public let result: Any?

  init(_ type: NSBatchUpdateRequestResultType, _ result: BatchResult) {
    resultType = type
    self.result = result.value(of: type.value)
  }
}

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
    request.resultType = resultType.value
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
    self.result = result.value(of: type.value)
  }
}

// MARK: - Result types

extension NSBatchInsertRequestResultType {
  fileprivate var value: BatchResultType {
    switch self {
    case .statusOnly: .statusOnly
    case .objectIDs: .objectIDs
    case .count: .count
    }
  }
}

extension NSBatchUpdateRequestResultType {
  fileprivate var value: BatchResultType {
    switch self {
    case .statusOnlyResultType: .statusOnly
    case .updatedObjectIDsResultType: .objectIDs
    case .updatedObjectsCountResultType: .count
    }
  }
}

extension NSBatchDeleteRequestResultType {
  fileprivate var value: BatchResultType {
    switch self {
    case .resultTypeStatusOnly: .statusOnly
    case .resultTypeObjectIDs: .objectIDs
    case .resultTypeCount: .count
    }
  }
}

extension BatchResult {
  /// Returns the result as Core Data's classes contain it.
  fileprivate func value(of type: BatchResultType) -> Any {
    switch type {
    case .statusOnly: true
    case .objectIDs: objectIDs
    case .count: count
    }
  }
}
