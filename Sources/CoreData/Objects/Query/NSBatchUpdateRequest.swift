import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

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
    request.resultType =
      switch resultType {
      case .statusOnlyResultType: .statusOnly
      case .updatedObjectIDsResultType: .objectIDs
      case .updatedObjectsCountResultType: .count
      }
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
    self.result =
      switch type {
      case .statusOnlyResultType: true
      case .updatedObjectIDsResultType: result.objectIDs
      case .updatedObjectsCountResultType: result.count
      }
  }
}
