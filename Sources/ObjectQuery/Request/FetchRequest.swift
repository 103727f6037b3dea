public import ObjectModel

/// A type of fetch results: managed objects, ``ManagedObjectID``, or dictionaries.
public protocol FetchResult {
  /// The result type that a store returns for this type.
  @_spi(Generated) static var fetchResultType: FetchResultType { get }
}

extension FetchResult {
  /// Objects: the result type of managed objects.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .objects }
}

extension ManagedObjectID: FetchResult {
  /// The result type that a store returns for this type.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .objectIDs }
}

extension Dictionary: FetchResult where Key == String, Value == Any {
  /// The result type that a store returns for this type.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .dictionaries }
}

/// A description of the objects to fetch: the condition, order, number and type of the results.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book", predicate: try FetchPredicate(format: "author.name == %@", "Joyce"))
/// request.sortDescriptors = [FetchSortDescriptor("title")]
/// request.fetchLimit = 20
/// let books = try context.fetch(request)
///
/// let same = try context.fetch(Book.all.where { $0.author.name == "Joyce" }.sorted { $0.title }.limit(20))
/// ```
///
/// `FetchRequest<Book>` returns objects, `FetchRequest<ManagedObjectID>` their IDs, and `FetchRequest<[String: Any]>` dictionaries. Every
/// property of ``FetchSpecification`` is a property of the request. A request is a value type that can be stored, changed and sent across
/// isolation boundaries. A fetch validates the request, and throws ``FetchPredicateError`` if it is invalid.
/// ``ManagedObjectContext/explain(_:)`` returns its query plan.
@dynamicMemberLookup
public struct FetchRequest<Result: FetchResult>: Sendable, Hashable {
  /// The contents of the request, without the type of its results.
  public var specification: FetchSpecification

  /// Creates a request for objects of an entity.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - predicate: The condition; nil for all objects.
  ///   - sortDescriptors: The order; empty for an unspecified order.
  public init(entityName: String, predicate: FetchPredicate? = nil, sortDescriptors: [FetchSortDescriptor] = []) {
    specification = FetchSpecification(entityName: entityName, predicate: predicate)
    specification.sortDescriptors = sortDescriptors
    specification.resultType = Result.fetchResultType
  }

  /// Accesses a property of the specification.
  public subscript<Value>(dynamicMember member: WritableKeyPath<FetchSpecification, Value>) -> Value {
    get { specification[keyPath: member] }
    set { specification[keyPath: member] = newValue }
  }
}
