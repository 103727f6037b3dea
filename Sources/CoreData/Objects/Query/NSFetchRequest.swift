public import Foundation
import ObjectModel
@_spi(Generated) package import ObjectQuery

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
  let question: FetchContents

  /// Creates a request without an entity.
  public override init() { question = FetchContents() }

  /// Creates a request for all objects of an entity.
  public init(entityName: String) {
    question = FetchContents()
    question.entityName = entityName
  }

  /// Creates a request with another result type that shares its contents with an existing request: a change to one changes both.
  ///
  /// It replaces casts such as `request as! NSFetchRequest<any NSFetchRequestResult>`, which Swift's generic classes do not support.
  ///
  /// - Parameter request: The other request.
  public convenience init<Other>(_ request: NSFetchRequest<Other>) { self.init(sharing: request.question) }

  /// Creates a request that shares contents with a request of another result type.
  init(sharing question: FetchContents) { self.question = question }

  /// Creates a request to a custom store.
  convenience init(asking specification: FetchSpecification) { self.init(sharing: FetchContents(specification)) }

  /// Returns an independent copy of the request.
  public func copy(with zone: NSZone? = nil) -> Any {
    NSFetchRequest(sharing: FetchContents(question))
  }

  /// The stores to fetch from; nil for all.
  public override var affectedStores: [NSPersistentStore]? {
    get { question.affectedStores }
    set { question.affectedStores = newValue }
  }

  /// The entity's name.
  public var entityName: String? { question.entityName }

  /// The entity.
  public var entity: NSEntityDescription? {
    get { question.entity ?? entityName.flatMap { name in UsedModels.all.lazy.compactMap { $0.entitiesByName[name] }.first } }
    set {
      question.entity = newValue
      question.entityName = newValue?.name
    }
  }

  /// The predicate; nil to match all objects.
  public var predicate: NSPredicate? {
    get { question.predicate }
    set { question.predicate = newValue }
  }
  /// The sort descriptors.
  public var sortDescriptors: [NSSortDescriptor]? {
    get { question.sortDescriptors }
    set { question.sortDescriptors = newValue }
  }
  /// The maximum number of results; 0 for no limit.
  public var fetchLimit: Int {
    get { question.fetchLimit }
    set { question.fetchLimit = newValue }
  }
  /// The number of results to skip.
  public var fetchOffset: Int {
    get { question.fetchOffset }
    set { question.fetchOffset = newValue }
  }
  /// The number of rows read at a time.
  public var fetchBatchSize: Int {
    get { question.fetchBatchSize }
    set { question.fetchBatchSize = newValue }
  }
  /// The type of the results.
  public var resultType: NSFetchRequestResultType {
    get { question.resultType }
    set { question.resultType = newValue }
  }
  /// Whether objects of subentities are included.
  public var includesSubentities: Bool {
    get { question.includesSubentities }
    set { question.includesSubentities = newValue }
  }
  /// Whether unsaved changes are included.
  public var includesPendingChanges: Bool {
    get { question.includesPendingChanges }
    set { question.includesPendingChanges = newValue }
  }
  /// Whether property values are read with the fetch.
  public var includesPropertyValues: Bool {
    get { question.includesPropertyValues }
    set { question.includesPropertyValues = newValue }
  }
  /// Whether objects are returned as faults.
  public var returnsObjectsAsFaults: Bool {
    get { question.returnsObjectsAsFaults }
    set { question.returnsObjectsAsFaults = newValue }
  }
  /// Whether registered objects are refreshed with the store's values.
  public var shouldRefreshRefetchedObjects: Bool {
    get { question.shouldRefreshRefetchedObjects }
    set { question.shouldRefreshRefetchedObjects = newValue }
  }
  /// The relationships to prefetch.
  public var relationshipKeyPathsForPrefetching: [String]? {
    get { question.relationshipKeyPathsForPrefetching }
    set { question.relationshipKeyPathsForPrefetching = newValue }
  }
  /// The properties of dictionary results: names, properties or expression descriptions.
  public var propertiesToFetch: [Any]? {
    get { question.propertiesToFetch }
    set { question.propertiesToFetch = newValue }
  }
  /// The properties by which dictionary results are grouped.
  public var propertiesToGroupBy: [Any]? {
    get { question.propertiesToGroupBy }
    set { question.propertiesToGroupBy = newValue }
  }
  /// The predicate for groups.
  public var havingPredicate: NSPredicate? {
    get { question.havingPredicate }
    set { question.havingPredicate = newValue }
  }
  /// Whether duplicate dictionaries are removed.
  public var returnsDistinctResults: Bool {
    get { question.returnsDistinctResults }
    set { question.returnsDistinctResults = newValue }
  }

  /// Executes the request with the current context. Call it within a block of ``NSManagedObjectContext/perform(_:)`` or
  /// ``NSManagedObjectContext/performAndWait(_:)``.
  ///
  /// - Throws: `NSError`, also outside of such a block.
  public func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.atWork else { throw CoreDataError.make(FetchRequestError.noContext) }
    return try context.results(of: self)
  }

  /// Returns the request as a value.
  ///
  /// - Throws: An error of an invalid predicate format, and ``FetchRequestError``.
  package func specification() throws -> FetchSpecification {
    var value = try question.specification()
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
