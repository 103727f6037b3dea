import Foundation
import ObjectModel
import ObjectQuery

/// The contents of a fetch request.
final class FetchContents {
  var entityName: String?
  var entity: NSEntityDescription?
  var affectedStores: [NSPersistentStore]?
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor]?
  var fetchLimit: Int = 0
  var fetchOffset: Int = 0
  var fetchBatchSize: Int = 0
  var resultType: NSFetchRequestResultType = .managedObjectResultType
  var includesSubentities: Bool = true
  var includesPendingChanges: Bool = true
  var includesPropertyValues: Bool = true
  var returnsObjectsAsFaults: Bool = true
  var shouldRefreshRefetchedObjects: Bool = false
  var relationshipKeyPathsForPrefetching: [String]?
  var propertiesToFetch: [Any]?
  var propertiesToGroupBy: [Any]?
  var havingPredicate: NSPredicate?
  var returnsDistinctResults: Bool = false

  init() {}

  init(_ other: FetchContents) {
    (entityName, entity) = (other.entityName, other.entity)
    affectedStores = other.affectedStores
    predicate = other.predicate
    sortDescriptors = other.sortDescriptors
    fetchLimit = other.fetchLimit
    fetchOffset = other.fetchOffset
    fetchBatchSize = other.fetchBatchSize
    resultType = other.resultType
    includesSubentities = other.includesSubentities
    includesPendingChanges = other.includesPendingChanges
    includesPropertyValues = other.includesPropertyValues
    returnsObjectsAsFaults = other.returnsObjectsAsFaults
    shouldRefreshRefetchedObjects = other.shouldRefreshRefetchedObjects
    relationshipKeyPathsForPrefetching = other.relationshipKeyPathsForPrefetching
    propertiesToFetch = other.propertiesToFetch
    propertiesToGroupBy = other.propertiesToGroupBy
    havingPredicate = other.havingPredicate
    returnsDistinctResults = other.returnsDistinctResults
  }

  /// Creates the contents of a request to a custom store. Dictionaries are derived from objects.
  init(_ specification: FetchSpecification) {
    entityName = specification.entityName
    predicate = specification.predicate.map { NSPredicate($0) }
    sortDescriptors = specification.sortDescriptors.isEmpty ? nil : specification.sortDescriptors.map { NSSortDescriptor($0) }
    (fetchLimit, fetchOffset, fetchBatchSize) = (specification.fetchLimit, specification.fetchOffset, specification.fetchBatchSize)
    (includesSubentities, includesPropertyValues) = (specification.includesSubentities, specification.includesPropertyValues)
    switch specification.resultType {
    case .objects, .dictionaries: resultType = .managedObjectResultType
    case .objectIDs: resultType = .managedObjectIDResultType
    case .count: resultType = .countResultType
    }
  }

  /// Returns the request as a value.
  ///
  /// - Throws: An error of an invalid predicate format, and ``FetchRequestError``.
  func specification() throws -> FetchSpecification {
    guard let entityName else { throw FetchRequestError.missingEntity }
    var value = FetchSpecification(entityName: entityName)
    value.predicate = try predicate?.outcome.get()
    value.sortDescriptors = try (sortDescriptors ?? []).map { try $0.outcome.get() }
    value.fetchLimit = fetchLimit
    value.fetchOffset = fetchOffset
    value.fetchBatchSize = fetchBatchSize
    value.includesSubentities = includesSubentities
    value.includesPendingChanges = includesPendingChanges
    value.includesPropertyValues = includesPropertyValues
    value.returnsObjectsAsFaults = returnsObjectsAsFaults
    value.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    value.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching ?? []
    if resultType == .dictionaryResultType {
      value.propertiesToFetch = try (propertiesToFetch ?? []).map(Self.property)
      value.propertiesToGroupBy = try (propertiesToGroupBy ?? []).map(Self.property)
      value.havingPredicate = try havingPredicate?.outcome.get()
      value.returnsDistinctResults = returnsDistinctResults
    }
    return value
  }

  private static func property(_ property: Any) throws -> FetchProperty {
    if let name = property as? String { return .keyPath(name) }
    if let property = property as? NSExpressionDescription { return try property.property() }
    if let property = property as? NSPropertyDescription { return .keyPath(property.name) }
    throw FetchRequestError.unknownProperty("\(type(of: property))")
  }
}
