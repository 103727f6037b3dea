public import Foundation
public import ObjectModel
@_spi(Generated) package import ObjectQuery
import ObjectStore

/// The type of fetch results.
public struct NSFetchRequestResultType: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt
  /// Creates a type from a raw value.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// Objects.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// Object IDs.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries of the fetched properties.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// A count.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

/// A request for objects of an entity: its predicate, sort order and limits.
public final class NSFetchRequest<ResultType>: NSPersistentStoreRequest, NSCopying {
  /// The contents, which requests with other result types may share.
  let contents: FetchContents

  /// Creates a request without an entity.
  public override init() { contents = FetchContents() }

  /// Creates a request for all objects of an entity.
  public init(entityName: String) {
    contents = FetchContents()
    contents.entityName = entityName
  }

  /// Creates a request with another result type that shares its contents with an existing request: a change to one changes both.
  ///
  /// It replaces casts such as `request as! NSFetchRequest<any NSFetchRequestResult>`, which Swift's generic classes do not support.
  ///
  /// - Parameter request: The other request.
  public convenience init<Other>(_ request: NSFetchRequest<Other>) { self.init(sharing: request.contents) }

  /// Creates a request that shares contents with a request of another result type.
  init(sharing contents: FetchContents) { self.contents = contents }

  /// Creates a request to a custom store.
  convenience init(asking specification: FetchSpecification) { self.init(sharing: FetchContents(specification)) }

  /// Returns an independent copy of the request.
  public func copy(with zone: NSZone? = nil) -> Any {
    NSFetchRequest(sharing: FetchContents(contents))
  }

  /// The stores to fetch from; nil for all.
  public override var affectedStores: [NSPersistentStore]? {
    get { contents.affectedStores }
    set { contents.affectedStores = newValue }
  }

  /// The entity's name.
  public var entityName: String? { contents.entityName }

  /// The entity.
  public var entity: NSEntityDescription? {
    get { contents.entity ?? entityName.flatMap { name in UsedModels.all.lazy.compactMap { $0.entitiesByName[name] }.first } }
    set {
      contents.entity = newValue
      contents.entityName = newValue?.name
    }
  }

  /// The predicate; nil to match all objects.
  public var predicate: NSPredicate? {
    get { contents.predicate }
    set { contents.predicate = newValue }
  }
  /// The sort descriptors.
  public var sortDescriptors: [NSSortDescriptor]? {
    get { contents.sortDescriptors }
    set { contents.sortDescriptors = newValue }
  }
  /// The maximum number of results; 0 for no limit.
  public var fetchLimit: Int {
    get { contents.fetchLimit }
    set { contents.fetchLimit = newValue }
  }
  /// The number of results to skip.
  public var fetchOffset: Int {
    get { contents.fetchOffset }
    set { contents.fetchOffset = newValue }
  }
  /// The number of rows read at a time.
  public var fetchBatchSize: Int {
    get { contents.fetchBatchSize }
    set { contents.fetchBatchSize = newValue }
  }
  /// The type of the results.
  public var resultType: NSFetchRequestResultType {
    get { contents.resultType }
    set { contents.resultType = newValue }
  }
  /// Whether objects of subentities are included.
  public var includesSubentities: Bool {
    get { contents.includesSubentities }
    set { contents.includesSubentities = newValue }
  }
  /// Whether unsaved changes are included.
  public var includesPendingChanges: Bool {
    get { contents.includesPendingChanges }
    set { contents.includesPendingChanges = newValue }
  }
  /// Whether property values are read with the fetch.
  public var includesPropertyValues: Bool {
    get { contents.includesPropertyValues }
    set { contents.includesPropertyValues = newValue }
  }
  /// Whether objects are returned as faults.
  public var returnsObjectsAsFaults: Bool {
    get { contents.returnsObjectsAsFaults }
    set { contents.returnsObjectsAsFaults = newValue }
  }
  /// Whether registered objects are refreshed with the store's values.
  public var shouldRefreshRefetchedObjects: Bool {
    get { contents.shouldRefreshRefetchedObjects }
    set { contents.shouldRefreshRefetchedObjects = newValue }
  }
  /// The relationships to prefetch.
  public var relationshipKeyPathsForPrefetching: [String]? {
    get { contents.relationshipKeyPathsForPrefetching }
    set { contents.relationshipKeyPathsForPrefetching = newValue }
  }
  /// The properties of dictionary results: names, properties or expression descriptions.
  public var propertiesToFetch: [Any]? {
    get { contents.propertiesToFetch }
    set { contents.propertiesToFetch = newValue }
  }
  /// The properties by which dictionary results are grouped.
  public var propertiesToGroupBy: [Any]? {
    get { contents.propertiesToGroupBy }
    set { contents.propertiesToGroupBy = newValue }
  }
  /// The predicate for groups.
  public var havingPredicate: NSPredicate? {
    get { contents.havingPredicate }
    set { contents.havingPredicate = newValue }
  }
  /// Whether duplicate dictionaries are removed.
  public var returnsDistinctResults: Bool {
    get { contents.returnsDistinctResults }
    set { contents.returnsDistinctResults = newValue }
  }

  /// Executes the request with the current context. Call it within a block of ``NSManagedObjectContext/perform(_:)`` or
  /// ``NSManagedObjectContext/performAndWait(_:)``.
  ///
  /// - Throws: `NSError`, also outside of such a block.
  public func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.executing else { throw CoreDataError.make(FetchRequestError.noContext) }
    return try context.results(of: self)
  }

  /// Returns the request as a value.
  ///
  /// - Throws: An error of an invalid predicate format, and ``FetchRequestError``.
  package func specification() throws -> FetchSpecification {
    var value = try contents.specification()
    value.affectedStores = storeIdentifiers
    return value
  }
}

/// The errors of an invalid fetch request.
enum FetchRequestError: LocalizedError {
  case missingEntity
  case noContext
  case unknownProperty(String)
  case missingExpression(String)

  var errorDescription: String? {
    switch self {
    case .missingEntity: "the fetch request names no entity; make it with init(entityName:), or set its entity"
    case .noContext: "execute() is for blocks of a context's perform and performAndWait; elsewhere give the request to the context's fetch"
    case .missingExpression(let name): "the expression description “\(name)” has no expression; set one"
    case .unknownProperty(let type): "a fetch request's properties are names or property descriptions, and a \(type) is neither"
    }
  }
}

extension FetchRequest {
  /// Creates a request from a specification.
  init(asking specification: FetchSpecification) {
    self.init(entityName: specification.entityName)
    self.specification = specification
    self.specification.resultType = Result.fetchResultType
  }
}

/// A type of fetch results: objects, their IDs, dictionaries or numbers.
public protocol NSFetchRequestResult {}

/// The identity of an object. It is a value and can be used on any thread.
public typealias NSManagedObjectID = ManagedObjectID

extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
// Allows the cast `results.first as? [String: Any]`.
extension Dictionary: NSFetchRequestResult where Key == String, Value == Any {}
extension NSNumber: NSFetchRequestResult {}

extension ManagedObjectID {
  /// The object's entity in the model that its store was opened with.
  public var entity: NSEntityDescription {
    UsedModels.entity(of: self) ?? NSEntityDescription(EntityDescription(name: entityName), of: nil)
  }

  /// The object's store; nil for a new object, or if no container has the store open.
  public var persistentStore: NSPersistentStore? {
    if isTemporaryID { return nil }
    return UsedModels.all.lazy.compactMap { $0.coordinator?.persistentStore(of: self) }.first.map { NSPersistentStore.of($0) }
  }
}
