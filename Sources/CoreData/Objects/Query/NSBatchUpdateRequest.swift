// NSBatchUpdateRequest: changes of many rows without objects.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// What a batch update returns.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
  /// That it succeeded.
  case statusOnlyResultType
  /// Which objects were changed.
  case updatedObjectIDsResultType
  /// How many.
  case updatedObjectsCountResultType
}

/// A change of all rows that meet a condition, without objects.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  /// The entity.
  public let entity: NSEntityDescription?
  /// Which rows; all where it is nil.
  public var predicate: NSPredicate?
  /// Whether rows of the entities below are among them.
  public var includesSubentities = true
  /// What is returned.
  public var resultType = NSBatchUpdateRequestResultType.statusOnlyResultType
  /// The new values by the properties or their names: constants, objects, or expressions.
  public var propertiesToUpdate: [AnyHashable: Any]?

  /// Changes rows of an entity.
  public init(entityName: String) { (self.entityName, entity) = (entityName, nil) }
  /// Changes rows of an entity.
  public init(entity: NSEntityDescription) { (entityName, self.entity) = (entity.name ?? "", entity) }

  /// That rows are changed.
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

  /// A value as the library takes it.
  private static func value(_ value: Any) throws -> (any Sendable)? {
    if let object = value as? ManagedObject { return object.objectID }
    if let expression = value as? NSExpression { return try expression.outcome.get() }
    return try PredicateArgument.stored(value)
  }
}

/// What a batch update has done.
open class NSBatchUpdateResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: NSBatchUpdateRequestResultType
  /// Whether it succeeded, the IDs of the objects, or their number: a `Bool`, an array of ``NSManagedObjectID``s or an `Int`.
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
