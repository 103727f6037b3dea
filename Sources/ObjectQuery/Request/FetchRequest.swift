// FetchRequest: what is asked, with the Swift type of the answer.
public import ObjectModel

/// A type that a fetch can return: managed objects, ``ManagedObjectID``, or dictionaries.
public protocol FetchResult {
  /// What a store returns for results of this type.
  static var _fetchResultType: FetchResultType { get }
}

extension ManagedObjectID: FetchResult {
  /// What a store returns for results of this type.
  public static var _fetchResultType: FetchResultType { .objectIDs }
}

extension Dictionary: FetchResult where Key == String, Value == Any {
  /// What a store returns for results of this type.
  public static var _fetchResultType: FetchResultType { .dictionaries }
}

/// A fetch: which objects, in which order, how many, and how they are returned.
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
/// `FetchRequest<Book>` returns objects, `FetchRequest<ManagedObjectID>` their IDs, `FetchRequest<[String: Any]>` dictionaries. Every property of
/// ``FetchSpecification`` is a property of the request. A request is a value: it may be kept, changed and sent anywhere. A fetch checks what it asks for, and
/// throws ``FetchPredicateError``; ``ManagedObjectContext/explain(_:)`` says what it costs.
@dynamicMemberLookup
public struct FetchRequest<Result: FetchResult>: Sendable, Hashable {
  /// Everything that the request asks.
  public var specification: FetchSpecification

  /// Asks for objects of an entity that meet a predicate, in an order.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - predicate: The condition; nil for all.
  ///   - sortDescriptors: The order; empty for the store's.
  public init(entityName: String, predicate: FetchPredicate? = nil, sortDescriptors: [FetchSortDescriptor] = []) {
    specification = FetchSpecification(entityName: entityName, predicate: predicate)
    specification.sortDescriptors = sortDescriptors
    specification.resultType = Result._fetchResultType
  }

  /// The properties of the specification.
  public subscript<Value>(dynamicMember member: WritableKeyPath<FetchSpecification, Value>) -> Value {
    get { specification[keyPath: member] }
    set { specification[keyPath: member] = newValue }
  }
}
