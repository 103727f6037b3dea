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

/// A question for objects of an entity: which, in what order, how many.
public final class NSFetchRequest<ResultType>: NSPersistentStoreRequest, NSCopying {
  /// What is asked, which requests for other types of results may share.
  let question: FetchContents

  /// A question for an entity that is set later.
  public override init() { question = FetchContents() }

  /// A question for all objects of an entity.
  public init(entityName: String) {
    question = FetchContents()
    question.entityName = entityName
  }

  /// What another request asks, with results of another type: what is changed in one is changed in both.
  ///
  /// It stands for casts, such as `request as! NSFetchRequest<any NSFetchRequestResult>`: Swift's own generic classes have none from one type of results to another.
  ///
  /// - Parameter request: The other one.
  public convenience init<Other>(_ request: NSFetchRequest<Other>) { self.init(sharing: request.question) }

  /// The question of another request for results of another type: what is changed of the one is changed of the other.
  init(sharing question: FetchContents) { self.question = question }

  /// A question as stores of the application's own are asked it.
  convenience init(asking specification: FetchSpecification) { self.init(sharing: FetchContents(specification)) }

  /// A request that asks the same and is changed by itself.
  public func copy(with zone: NSZone? = nil) -> Any {
    NSFetchRequest(sharing: FetchContents(question))
  }

  /// The stores that are asked; nil for all.
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

  /// Which objects; all where it is nil.
  public var predicate: NSPredicate? {
    get { question.predicate }
    set { question.predicate = newValue }
  }
  /// In what order.
  public var sortDescriptors: [NSSortDescriptor]? {
    get { question.sortDescriptors }
    set { question.sortDescriptors = newValue }
  }
  /// How many at most; 0 for all.
  public var fetchLimit: Int {
    get { question.fetchLimit }
    set { question.fetchLimit = newValue }
  }
  /// How many of the first ones are passed over.
  public var fetchOffset: Int {
    get { question.fetchOffset }
    set { question.fetchOffset = newValue }
  }
  /// How many rows are read at once.
  public var fetchBatchSize: Int {
    get { question.fetchBatchSize }
    set { question.fetchBatchSize = newValue }
  }
  /// What the fetch gives.
  public var resultType: NSFetchRequestResultType {
    get { question.resultType }
    set { question.resultType = newValue }
  }
  /// Whether objects of the entities below are among them.
  public var includesSubentities: Bool {
    get { question.includesSubentities }
    set { question.includesSubentities = newValue }
  }
  /// Whether unsaved changes count.
  public var includesPendingChanges: Bool {
    get { question.includesPendingChanges }
    set { question.includesPendingChanges = newValue }
  }
  /// Whether the rows are read with the fetch.
  public var includesPropertyValues: Bool {
    get { question.includesPropertyValues }
    set { question.includesPropertyValues = newValue }
  }
  /// Whether objects are given out as faults.
  public var returnsObjectsAsFaults: Bool {
    get { question.returnsObjectsAsFaults }
    set { question.returnsObjectsAsFaults = newValue }
  }
  /// Whether objects that are there already get what the store has now.
  public var shouldRefreshRefetchedObjects: Bool {
    get { question.shouldRefreshRefetchedObjects }
    set { question.shouldRefreshRefetchedObjects = newValue }
  }
  /// The relationships whose objects are read with the fetch.
  public var relationshipKeyPathsForPrefetching: [String]? {
    get { question.relationshipKeyPathsForPrefetching }
    set { question.relationshipKeyPathsForPrefetching = newValue }
  }
  /// The properties of dictionaries: names, properties or expression descriptions.
  public var propertiesToFetch: [Any]? {
    get { question.propertiesToFetch }
    set { question.propertiesToFetch = newValue }
  }
  /// The properties that dictionaries are grouped by.
  public var propertiesToGroupBy: [Any]? {
    get { question.propertiesToGroupBy }
    set { question.propertiesToGroupBy = newValue }
  }
  /// Which groups.
  public var havingPredicate: NSPredicate? {
    get { question.havingPredicate }
    set { question.havingPredicate = newValue }
  }
  /// Whether the same dictionary comes once.
  public var returnsDistinctResults: Bool {
    get { question.returnsDistinctResults }
    set { question.returnsDistinctResults = newValue }
  }

  /// What the request finds, within the work of a context: in a block of ``NSManagedObjectContext/perform(_:)`` or ``NSManagedObjectContext/performAndWait(_:)``.
  ///
  /// - Throws: `NSError`, also where no context does its work.
  public func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.atWork else { throw CoreDataError.make(FetchRequestError.noContext) }
    return try context.results(of: self)
  }

  /// The question as a value.
  ///
  /// - Throws: What is wrong with a predicate's text, and ``FetchRequestError``.
  package func specification() throws -> FetchSpecification {
    var value = try question.specification()
    value.affectedStores = storeIdentifiers
    return value
  }
}

/// Why a fetch request asks for nothing.
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
  /// A request that asks for what a specification says.
  init(asking specification: FetchSpecification) {
    self.init(entityName: specification.entityName)
    self.specification = specification
    self.specification.resultType = Result._fetchResultType
  }
}
