// NSFetchRequest: what is to be fetched, as an object.
public import Foundation
import ObjectModel
package import ObjectQuery

/// What fetches give.
public struct NSFetchRequestResultType: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt
  /// A type of a raw value.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// Objects.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// IDs of objects.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries of the properties asked for.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// One number.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

/// Something that is asked of stores.
public class NSPersistentStoreRequest: NSObject {}

/// A question for objects of an entity: which, in what order, how many.
public final class NSFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// The entity's name.
  public private(set) var entityName: String?
  /// The entity.
  public var entity: NSEntityDescription? {
    get { setEntity ?? entityName.flatMap { name in UsedModels.all.lazy.compactMap { $0.entitiesByName[name] }.first } }
    set {
      setEntity = newValue
      entityName = newValue?.name
    }
  }
  private var setEntity: NSEntityDescription?

  /// Which objects; all where it is nil.
  public var predicate: NSPredicate?
  /// In what order.
  public var sortDescriptors: [NSSortDescriptor]?
  /// How many at most; 0 for all.
  public var fetchLimit = 0
  /// How many of the first ones are passed over.
  public var fetchOffset = 0
  /// How many rows are read at once.
  public var fetchBatchSize = 0
  /// What the fetch gives.
  public var resultType = NSFetchRequestResultType.managedObjectResultType
  /// Whether objects of the entities below are among them.
  public var includesSubentities = true
  /// Whether unsaved changes count.
  public var includesPendingChanges = true
  /// Whether the rows are read with the fetch.
  public var includesPropertyValues = true
  /// Whether objects are given out as faults.
  public var returnsObjectsAsFaults = true
  /// Whether objects that are there already get what the store has now.
  public var shouldRefreshRefetchedObjects = false
  /// The relationships whose objects are read with the fetch.
  public var relationshipKeyPathsForPrefetching: [String]?
  /// The properties of dictionaries, by their names.
  public var propertiesToFetch: [Any]?
  /// The properties that dictionaries are grouped by, by their names.
  public var propertiesToGroupBy: [Any]?
  /// Which groups.
  public var havingPredicate: NSPredicate?
  /// Whether the same dictionary comes once.
  public var returnsDistinctResults = false

  /// A question for an entity that is set later.
  public override init() {}

  /// A question for all objects of an entity.
  public init(entityName: String) { self.entityName = entityName }

  /// The question as a value.
  ///
  /// - Throws: What is wrong with a predicate's text, and ``FetchRequestError``.
  package func specification() throws -> FetchSpecification {
    guard let entityName else { throw FetchRequestError.missingEntity }
    var value = FetchSpecification(entityName: entityName)
    value.predicate = try predicate?.outcome.get()
    value.sortDescriptors = (sortDescriptors ?? []).map(\.descriptor)
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
    if let property = property as? NSPropertyDescription { return .keyPath(property.name) }
    throw FetchRequestError.unknownProperty("\(type(of: property))")
  }
}

/// Why a fetch request asks for nothing.
enum FetchRequestError: LocalizedError {
  case missingEntity
  case unknownProperty(String)

  var errorDescription: String? {
    switch self {
    case .missingEntity: "the fetch request names no entity; make it with init(entityName:), or set its entity"
    case .unknownProperty(let type): "a fetch request's properties are names or property descriptions, and a \(type) is neither"
    }
  }
}
