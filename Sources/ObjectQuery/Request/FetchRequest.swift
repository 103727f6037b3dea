// FetchRequest: what is asked, with the Swift type of the answer.
public import ObjectModel

/// A type that a fetch can return: managed objects, ``ManagedObjectID``, or dictionaries.
public protocol FetchResult {
  /// What a store returns for it.
  static var fetchResultType: FetchResultType { get }
}

extension ManagedObjectID: FetchResult {
  /// What a store returns for it.
  public static var fetchResultType: FetchResultType { .objectIDs }
}

extension Dictionary: FetchResult where Key == String, Value == Any {
  /// What a store returns for it.
  public static var fetchResultType: FetchResultType { .dictionaries }
}

/// A fetch: which objects, in which order, how many, and how they are returned.
///
/// `FetchRequest<Book>` returns objects, `FetchRequest<ManagedObjectID>` their IDs, `FetchRequest<[String: Any]>` dictionaries. Every property of
/// ``FetchSpecification`` is a property of the request. A request is a value: it may be kept, changed and sent anywhere.
@dynamicMemberLookup
public struct FetchRequest<Result: FetchResult>: Sendable, Hashable {
  /// Everything asked.
  public var specification: FetchSpecification

  /// Asks for all objects of an entity.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    specification = FetchSpecification(entityName: entityName, predicate: predicate)
    specification.resultType = Result.fetchResultType
  }

  /// The properties of the specification.
  public subscript<Value>(dynamicMember member: WritableKeyPath<FetchSpecification, Value>) -> Value {
    get { specification[keyPath: member] }
    set { specification[keyPath: member] = newValue }
  }
}
